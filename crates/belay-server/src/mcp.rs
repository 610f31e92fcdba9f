//! The operations spoken as MCP, the Model Context Protocol: lines of JSON-RPC on a pair of streams.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};

use belay_session::{Tree, Workspace};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::mpsc::unbounded_channel;

use crate::arguments::{Arguments, schema};
use crate::crew::{self, Job, Jobs, Queue, Said};
use crate::error::{Error, Result};
use crate::ops::{Effect, Need, OPERATIONS, Operation};
use crate::output::Output;

/// A longer message than this is not one that anybody means.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Characters of a name that is told back to whoever sent it.
const NAME_CHARS_MAX: usize = 100;
/// The requests that are answered.
const KNOWN: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

const INSTRUCTIONS: &str = "belay keeps snapshots of this workspace, complete to the last permission bit, and brings any \
state of any file back. Before a risky change call snapshots_create; to see what you changed call snapshots_changes or \
snapshot_diff; to take back one file call snapshots_revert, for everything snapshot_restore, for a whole turn \
belay_undo. Nothing is ever lost: every change that belay makes to files is itself undone by belay_undo. Prefer these \
tools to git reset, git checkout, git clean and git stash.";

/// Writes how two trees differ as a unified diff, as far as a path is wanted.
pub type Patch<'a> =
    dyn Fn(&Workspace<'_>, &Tree, &Tree, &dyn Fn(&[u8]) -> bool) -> belay_session::Result<String> + Sync + 'a;

/// What the server works with.
pub struct Desk<'a> {
    /// Opens the workspace that is meant.
    pub open: &'a (dyn Fn() -> belay_session::Result<Workspace<'a>> + Sync),
    /// Shows differences.
    pub patch: &'a Patch<'a>,
    /// Offer only what changes nothing.
    pub read_only: bool,
    /// Offer nothing that needs any of this.
    pub denied: &'a [Need],
    /// The version that clients are told.
    pub version: &'a str,
}

/// Answers on standard input and output until the input ends.
pub fn serve(desk: &Desk<'_>) -> Result<()> {
    let queue = Arc::new(Queue::default());
    let jobs = Jobs(Arc::clone(&queue));
    let (called, calls) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || crew::write_down(desk, &calls));
        for _ in 0..crew::WORKERS {
            let called = called.clone();
            scope.spawn(|| crew::work(desk, &queue, called));
        }
        // It goes with the last of them.
        drop(called);
        // The last sender goes with the runtime, and that lets the threads go.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::Connection)?;
        let mcp =
            Mcp { jobs, read_only: desk.read_only, denied: desk.denied.to_vec(), version: desk.version.to_owned() };
        let done = runtime.block_on(talk(mcp));
        // A read of standard input that nobody answers must not keep the process.
        runtime.shutdown_background();
        done
    })
}

async fn talk(mcp: Mcp) -> Result<()> {
    let transport = AsyncRwTransport::new_server(tokio::io::stdin(), Output::default());
    let transport = transport.with_max_line_length(LINE_BYTES_MAX);
    // A client that goes away before it has said anything has done nothing wrong.
    let Ok(service) = serve_server(mcp, transport).await else { return Ok(()) };
    let ended = service.waiting().await;
    ended.map(drop).map_err(|error| Error::Connection(std::io::Error::other(error)))
}

struct Mcp {
    jobs: Jobs,
    read_only: bool,
    denied: Vec<Need>,
    version: String,
}

impl Mcp {
    fn offered(&self) -> impl Iterator<Item = &'static Operation> {
        OPERATIONS.iter().filter(|operation| self.objection(operation).is_none())
    }

    /// Why an operation is not offered.
    fn objection(&self, operation: &Operation) -> Option<&'static str> {
        let needed = |need: &Need| operation.needs.contains(need);
        match operation.effect != Effect::Reads && self.read_only {
            true => Some("changes something, and this server was started with --read-only"),
            false => self.denied.iter().find(|need| needed(need)).map(|need| need.objection()),
        }
    }

    /// Says of a tool that is not offered why that is.
    fn unknown(&self, name: &str) -> ErrorData {
        let known = OPERATIONS.iter().find(|operation| operation.name == name);
        let short: String = name.chars().take(NAME_CHARS_MAX).collect();
        let why = match known.and_then(|operation| self.objection(operation)) {
            Some(objection) => format!("{short} {objection}"),
            None => format!("unknown tool: {}", short.escape_debug()),
        };
        ErrorData::new(ErrorCode::INVALID_PARAMS, why, None)
    }

    fn begin(&self, operation: &'static Operation, arguments: Arguments) -> Waiting {
        let (said, heard) = unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let job = Job { operation, arguments, stop: Arc::clone(&stop), said };
        self.jobs.send(job);
        Waiting { heard, stop }
    }
}

/// A job that is waited for; it is told to stop when the waiting ends.
struct Waiting {
    heard: tokio::sync::mpsc::UnboundedReceiver<Said>,
    stop: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        let name = Implementation::new("belay", self.version.clone()).with_title("belay");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(name)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offered().map(tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offered().find(|operation| operation.name == name).map(tool)
    }

    /// What fits no request that is known: one of a known name has the wrong parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(NAME_CHARS_MAX).collect();
        Err(match KNOWN.contains(&request.method.as_str()) {
            true => ErrorData::invalid_params(format!("the parameters of {method} do not fit it"), None),
            false => {
                let what = format!("unknown method: {}", method.escape_debug());
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what, None)
            }
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(operation) = self.offered().find(|operation| operation.name == request.name) else {
            return Err(self.unknown(&request.name));
        };
        let arguments = match Arguments::check(operation.parameters, request.arguments.unwrap_or_default()) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(refusal(&error).into()),
        };
        let gone = || ErrorData::internal_error("belay is shutting down", None);
        let mut waiting = self.begin(operation, arguments);
        loop {
            let said = tokio::select! {
                () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
                said = waiting.heard.recv() => said,
            };
            match said.ok_or_else(gone)? {
                Said::Progress(done, total) => tell(&context, done, total).await,
                Said::Done(Ok(reply)) => {
                    let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
                    result.structured_content = Some(reply.data);
                    return Ok(result.into());
                }
                Said::Done(Err(error)) => return Ok(refusal(&error).into()),
            }
        }
    }
}

async fn tell(context: &RequestContext<RoleServer>, done: u64, total: Option<u64>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let mut progress = ProgressNotificationParam::new(token, done as f64);
    progress.total = total.map(|total| total as f64);
    // Whoever does not want to hear it still gets the answer.
    let _ = context.peer.notify_progress(progress).await;
}

/// An error that a model can read and mend, as the protocol wants it: a result, not a failure of the call.
fn refusal(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.story())])
}

/// The tools, in the order of the operations; one is asked for with every call, and a schema takes its time.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| OPERATIONS.iter().map(described).collect());

fn tool(operation: &Operation) -> Tool {
    let at = OPERATIONS.iter().position(|other| other.name == operation.name);
    at.map_or_else(|| described(operation), |at| TOOLS[at].clone())
}

fn described(operation: &Operation) -> Tool {
    let reads = operation.effect == Effect::Reads;
    let annotations = ToolAnnotations::with_title(operation.title)
        .read_only(reads)
        .destructive(operation.effect == Effect::Overwrites)
        .idempotent(reads || operation.idempotent)
        .open_world(false);
    Tool::new(operation.name, operation.description, Arc::new(schema(operation.parameters)))
        .with_title(operation.title)
        .with_annotations(annotations)
}
