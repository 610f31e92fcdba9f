//! `belay doctor`: proves each layer on this machine by using it, and says how to get what is missing.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, ExitCode, Stdio};

use belay_session::{Budget, Resident, Settings, Standing, Told, Unheard, Want, plain};
use serde_json::{Value, json};

use crate::agents::Agent;
use crate::agents::plan::{Ground, files};
use crate::agents::settings;
use crate::agents::silence::silence;
use crate::commands::install::{TIME_MAX, apply, is_used, program, try_out, user_home};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::swift;
use crate::ui::escape::printable;
use crate::ui::quantity;
use crate::ui::style;
use crate::ui::table::{Cell, Table};
use crate::view;

/// Prove each layer of protection on this machine, and say how to get what is missing
///
/// Everything is really done, in a directory of its own: a file is restored, a command is traced and confined, a hook of
/// each agent that is used here is fired. Exits with 1 when something does not work.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Connect the agents that are used here and are not connected
    #[arg(long)]
    fix: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay doctor
  belay doctor --fix
  belay doctor --json";

/// How well a layer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// It works, though not as well as it could.
    Weak,
    Bad,
}

/// What was found out about a layer.
#[derive(Clone)]
struct Finding {
    layer: String,
    state: State,
    detail: String,
    /// What to do about it.
    advice: Option<String>,
}

impl Finding {
    fn new(layer: impl Into<String>, state: State, detail: impl Into<String>) -> Finding {
        Finding { layer: layer.into(), state, detail: detail.into(), advice: None }
    }

    fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }
}

/// Tries everything, and prints what came of it.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let world = World::new()?;
    let mut findings = vec![world.restore(), world.trace(), world.jail(), world.tools()];
    findings.extend(world.machine());
    findings.push(store(context));
    findings.extend(agents(context, args.fix)?);
    findings.extend(helpers(context));
    let mut out = context.ui.out();
    if context.ui.json {
        for finding in &findings {
            out.json(&to_json(finding))?;
        }
    } else {
        let mut table = Table::new(&["LAYER", "STATE", "WHAT WAS SEEN"]);
        findings.iter().for_each(|finding| table.row(row(finding)));
        table.write(&mut out)?;
    }
    out.finish()?;
    for finding in &findings {
        if let Some(advice) = &finding.advice {
            context.ui.hint(format_args!("{}: {advice}", finding.layer));
        }
    }
    let is_bad = findings.iter().any(|finding| finding.state == State::Bad);
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Shows what else protects, for whoever has connected an agent a moment ago.
pub(crate) fn tell_of_the_rest(context: &Context<'_>) -> Result<()> {
    let findings = [World::new()?.machine(), vec![store(context)]].concat();
    let mut table = Table::new(&["LAYER", "STATE", "WHAT WAS SEEN"]);
    findings.iter().for_each(|finding| table.row(row(finding)));
    let mut text = Vec::new();
    table.write(&mut text)?;
    context.ui.say(String::from_utf8_lossy(&text).trim_end());
    context.ui.hint("`belay doctor` tries every layer");
    Ok(())
}

/// The real store: how full it is, and who can reach it.
fn store(context: &Context<'_>) -> Finding {
    let place = context.environment.home.join("store");
    let is_open = |meta: std::fs::Metadata| meta.permissions().mode() & 0o077 != 0;
    if place.metadata().is_ok_and(is_open) {
        let detail = format!("{} can be entered by others", view::path(&place));
        return Finding::new("store", State::Bad, detail).advise("`chmod 700` it");
    }
    match context.home().and_then(|home| Ok(home.ailments()?)) {
        Ok(ailments) if ailments.is_empty() => {}
        Ok(ailments) => {
            let detail = format!("{}: {}", ailments[0].file, ailments[0].detail);
            return Finding::new("store", State::Bad, detail)
                .advise("`belay verify --repair` brings back what is left; until then nothing is freed");
        }
        Err(failure) => return Finding::new("store", State::Bad, failure.line()),
    }
    let budget = || -> Result<Budget> {
        let (home, sources) = (context.home()?, context.sources()?);
        match home.find(&context.directory()?, &sources)? {
            Some(workspace) => Ok(workspace.budget()?),
            None => Ok(home.budget(&Settings::resolve(&sources)?)?),
        }
    };
    let budget = match budget() {
        Ok(budget) => budget,
        Err(failure) => return Finding::new("store", State::Bad, failure.line()),
    };
    let (used, limit) = (quantity::size(budget.used_bytes), quantity::size(budget.limit_bytes));
    let free = quantity::size(budget.free_bytes);
    let detail = format!(
        "{used} of {limit} are used, {free} are free; only you can reach it, and what you run outside of `belay run`"
    );
    match budget.is_over() {
        true => Finding::new("store", State::Weak, detail).advise(
            "old snapshots are thinned; `belay du` shows what takes the space, snapshots.retention.budget is the limit",
        ),
        false => Finding::new("store", State::Good, detail),
    }
}

/// The processes that answer hooks at this moment.
fn helpers(context: &Context<'_>) -> Vec<Finding> {
    let letter = swift::letter(&context.environment, "/".into(), Want::Standing);
    let all = Resident::all(&context.environment.home);
    let found = all.into_iter().filter_map(|found| match found.and_then(|mut helper| helper.ask(&letter)) {
        Ok(Told::Standing(standing)) => Some(helper(&standing)),
        Err(Unheard::Hangs(pid)) => Some(hung(pid)),
        _ => None,
    });
    found.collect()
}

fn hung(pid: Option<u32>) -> Finding {
    let which = pid.map_or_else(|| "a helper".to_owned(), |pid| format!("process {pid}"));
    let detail = format!("{which} should answer hooks and gives no sign of life; they do without");
    Finding::new("helper", State::Weak, detail).advise("`belay stop --helper` in its workspace ends it")
}

fn helper(standing: &Standing) -> Finding {
    let path = printable(standing.path.bytes());
    let (pid, files, minutes) = (standing.pid, &standing.files, standing.idle_seconds.div_ceil(60));
    let detail = format!("process {pid} answers hooks in {path}, by {files}; it ends {minutes} minutes after the last");
    match files.as_str() {
        "none" => Finding::new("helper", State::Weak, detail)
            .advise("it cannot see what changes, so every look is a walk; raise fs.inotify.max_user_watches"),
        _ => Finding::new("helper", State::Good, detail),
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Good => "works",
        State::Weak => "weak",
        State::Bad => "missing",
    }
}

fn row(finding: &Finding) -> Vec<Cell> {
    let style = match finding.state {
        State::Good => style::GOOD,
        State::Weak => style::CAUTION,
        State::Bad => style::BAD,
    };
    vec![finding.layer.clone().into(), Cell::new(word(finding.state), style), finding.detail.clone().into()]
}

fn to_json(finding: &Finding) -> Value {
    json!({
        "layer": finding.layer, "state": word(finding.state), "detail": finding.detail, "advice": finding.advice,
    })
}

/// A workspace with a home of its own, in which this very program is used.
struct World {
    base: tempfile::TempDir,
}

impl World {
    fn new() -> Result<World> {
        let cannot = |error: std::io::Error| Failure::system("cannot make a directory to try in", &error);
        let base = tempfile::tempdir().map_err(cannot)?;
        std::fs::create_dir(base.path().join("workspace")).map_err(cannot)?;
        std::fs::write(base.path().join("workspace/file"), "before\n").map_err(cannot)?;
        Ok(World { base })
    }

    fn file(&self) -> std::path::PathBuf {
        self.base.path().join("workspace/file")
    }

    /// Runs belay; what it says if it fails.
    fn belay(&self, words: &[&str]) -> Result<String, String> {
        self.belay_told(words, b"")
    }

    /// The same with something to read on its standard input.
    fn belay_told(&self, words: &[&str], input: &[u8]) -> Result<String, String> {
        let own = std::env::current_exe().map_err(plain)?;
        let mut command = Command::new(own);
        command
            .args(words)
            .env("BELAY_HOME", self.base.path().join("home"))
            .current_dir(self.base.path().join("workspace"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(plain)?;
        if let Some(mut pipe) = child.stdin.take() {
            // Whoever does not read says why on its standard error.
            let _ = pipe.write_all(input);
        }
        let output = child.wait_with_output().map_err(plain)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(said.lines().next().unwrap_or("it ended badly").trim_start_matches("error: ").to_owned())
            }
        }
    }

    fn restore(&self) -> Finding {
        let tried = self.belay(&["snapshot", "-q", "--label", "doctor"]).and_then(|_| {
            std::fs::write(self.file(), "after\n").map_err(plain)?;
            self.belay(&["rollback", "doctor", "-y", "-q"])
        });
        let is_back = std::fs::read(self.file()).is_ok_and(|bytes| bytes == b"before\n");
        match tried {
            Ok(_) if is_back => Finding::new("snapshots", State::Good, "a file was changed and brought back"),
            Ok(_) => Finding::new("snapshots", State::Bad, "a rollback did not bring a file back"),
            Err(why) => Finding::new("snapshots", State::Bad, why)
                .advise("check the space and the rights of the directory for temporary files"),
        }
    }

    fn trace(&self) -> Finding {
        let tried = self.belay(&["run", "-q", "--isolation", "none", "--", "sh", "-c", "echo traced > made"]);
        let log = tried.and_then(|_| self.belay(&["log", "--json"]));
        let seen = |log: &str, what: &str| log.lines().any(|line| line.contains(what));
        let sources = |log: &str| {
            let started = log.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
            let protection = started.map(|event| event["protection"].clone()).unwrap_or_default();
            let name = |key: &str| protection[key].as_str().unwrap_or("none").to_owned();
            (name("exec"), name("files"))
        };
        match log {
            Ok(log) if seen(&log, "echo traced") && seen(&log, "\"made\"") => {
                let (exec, files) = sources(&log);
                let is_best = exec == "ebpf" && files == "fanotify";
                let detail = format!("a command and its file were recorded (commands by {exec}, files by {files})");
                let found = Finding::new("tracing", if is_best { State::Good } else { State::Weak }, detail);
                if is_best {
                    found
                } else {
                    found.advise("as root belay traces with BPF and fanotify, which miss nothing and cost less")
                }
            }
            Ok(_) => Finding::new("tracing", State::Bad, "a command ran and was not recorded"),
            Err(why) => Finding::new("tracing", State::Bad, why),
        }
    }

    fn tools(&self) -> Finding {
        let client = json!({ "name": "doctor", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let said = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "snapshots_list", "arguments": {} } }),
        ];
        let lines: String = said.iter().map(|line| format!("{line}\n")).collect();
        let answers = self.belay_told(&["mcp"], lines.as_bytes());
        let is_answer = |line: &str| {
            serde_json::from_str::<Value>(line).is_ok_and(|answer| answer["result"]["isError"] == Value::Bool(false))
        };
        match answers {
            Ok(answers) if answers.lines().any(is_answer) => {
                Finding::new("tools", State::Good, "an MCP client listed the snapshots")
            }
            Ok(_) => Finding::new("tools", State::Bad, "an MCP client asked for the snapshots and got no answer"),
            Err(why) => Finding::new("tools", State::Bad, why),
        }
    }

    /// What of the kernel a jail is made of.
    fn machine(&self) -> Vec<Finding> {
        let landlock = match belay_session::landlock_abi() {
            Some(abi @ 6..) => Finding::new("landlock", State::Good, format!("the kernel knows ABI {abi}")),
            Some(abi) => {
                Finding::new("landlock", State::Weak, format!("the kernel knows ABI {abi}; all of it is in ABI 6"))
                    .advise("a newer kernel keeps signals and abstract sockets in as well")
            }
            None => Finding::new("landlock", State::Weak, "the kernel has none")
                .advise("add landlock to the kernel's `lsm=` to have rules on paths beneath the namespaces"),
        };
        let ran = self.belay(&["run", "-q", "--isolation", "jail", "--", "true"]);
        let shown = ran.and_then(|_| self.belay(&["show", "--json"]));
        let isolation = shown.map(|shown| {
            let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
            shown["run"]["protection"]["isolation"].as_str().unwrap_or("none").to_owned()
        });
        let namespaces = match isolation.as_deref() {
            Ok("jail") => Finding::new("namespaces", State::Good, "a command was given a user namespace of its own"),
            Ok(other) => {
                Finding::new("namespaces", State::Weak, format!("no user namespace: a run is kept in by {other}"))
            }
            Err(why) => Finding::new("namespaces", State::Bad, why.clone()),
        };
        let namespaces = match namespaces.state {
            State::Good => namespaces,
            _ => namespaces.advise(
                "see kernel.unprivileged_userns_clone, user.max_user_namespaces and, on Ubuntu, \
                 kernel.apparmor_restrict_unprivileged_userns",
            ),
        };
        let cgroups = match belay_session::try_cgroup() {
            Ok(()) => {
                Finding::new("cgroups", State::Good, "a group was made: a run can be frozen, limited and ended whole")
            }
            Err(error) => Finding::new("cgroups", State::Weak, format!("no group can be made: {}", plain(error)))
                .advise("start belay in a group of its own: `systemd-run --user --scope -p Delegate=yes belay run …`"),
        };
        vec![landlock, namespaces, cgroups]
    }

    fn jail(&self) -> Finding {
        let home = self.base.path().join("home");
        let home = home.to_string_lossy();
        let script = format!("test ! -e '{home}/store' && touch inside");
        match self.belay(&["run", "-q", "--isolation", "jail", "--", "sh", "-c", &script]) {
            Ok(_) if self.base.path().join("workspace/inside").exists() => {
                Finding::new("jail", State::Good, "a confined command wrote its workspace and could not see the store")
            }
            Ok(_) => Finding::new("jail", State::Bad, "a confined command could not write its workspace"),
            Err(why) => Finding::new("jail", State::Bad, why)
                .advise("unprivileged user namespaces or Landlock are needed; `belay run` says what is missing"),
        }
    }
}

/// Every agent that is used here: connected or not, and whether its hook really does something.
fn agents(context: &Context<'_>, fix: bool) -> Result<Vec<Finding>> {
    let home = user_home(context)?;
    let belay = program()?;
    let ground = Ground { home: &home, project: None, belay: &belay, worktrees: false, shell: false };
    let mut findings = Vec::new();
    for agent in Agent::ALL.into_iter().filter(|agent| is_used(*agent, &home)) {
        findings.push(examine(context, agent, &ground, fix));
    }
    if findings.is_empty() {
        let none = Finding::new("agents", State::Weak, "no agent that belay knows is used here");
        findings.push(none.advise("`belay run -- COMMAND` and `belay watch` protect from any other"));
    }
    Ok(findings)
}

fn examine(context: &Context<'_>, agent: Agent, ground: &Ground<'_>, fix: bool) -> Finding {
    let project = context.directory().unwrap_or_default();
    let project = project.as_path();
    let layer = format!("{} hooks", agent.name());
    // What connects it may be among the settings of the project.
    let in_project = Ground { project: Some(project), ..*ground };
    let is_there =
        files(agent, &in_project).iter().all(|file| settings::install(file).is_ok_and(|edit| edit.is_nothing()));
    let ground = if is_there { &in_project } else { ground };
    let edits: Result<Vec<_>> = files(agent, ground).iter().map(settings::install).collect();
    let connected = edits.and_then(|edits| match edits.iter().all(settings::Edit::is_nothing) {
        true => Ok(true),
        false if fix => apply(context, agent, edits, false, "everything is in place").map(|()| true),
        false => Ok(false),
    });
    match connected {
        Err(failure) => Finding::new(layer, State::Bad, failure.line()).advise("mend its settings by hand"),
        Ok(false) => Finding::new(layer, State::Bad, "not connected")
            .advise(format!("`belay install {}` connects it", agent.name())),
        Ok(true) => match (try_out(agent), silence(agent, ground.home, project)) {
            (Err(failure), _) => Finding::new(layer, State::Bad, failure.line()),
            (Ok(_), Some(silence)) => {
                Finding::new(layer, State::Bad, format!("connected, but {}", silence.why)).advise(silence.advice)
            }
            (Ok(took), None) => {
                let detail = format!("connected; a hook made a snapshot, and takes {}", quantity::took(took));
                match took > TIME_MAX {
                    true => Finding::new(layer, State::Weak, detail).advise("10 ms are enough; is the machine busy?"),
                    false => Finding::new(layer, State::Good, detail),
                }
            }
        },
    }
}
