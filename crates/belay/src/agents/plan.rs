//! What belongs into each agent's settings: its hooks, its status line, and belay as a server of tools.
//!
//! Which entries are ours is told by what they call, so that they are found again whoever moved them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Agent;

/// One settings file, and what is ours in it.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// What is ours in a file.
#[derive(Debug)]
pub(crate) enum Content {
    /// Entries of a JSON file that is somebody else's.
    Entries(Vec<Entry>),
    /// A block at the end of a TOML file that is somebody else's, and the table that it makes.
    Block { table: [&'static str; 2], text: String },
    /// All of it.
    Whole(String),
    /// All of it, and it is a program.
    Program(String),
}

/// An entry of a JSON file.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) place: Vec<&'static str>,
    pub(crate) value: Value,
    pub(crate) how: How,
}

/// How an entry is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As one more element of a list.
    Push,
    /// At its place; what somebody made of it there stays, and only the program in it is renewed.
    Serve,
    /// At its place, unless somebody else's is there.
    SetIfFree,
}

/// Where things are on this machine.
pub(crate) struct Ground<'a> {
    /// The user's home.
    pub(crate) home: &'a Path,
    /// The project, for settings that go into it.
    pub(crate) project: Option<&'a Path>,
    /// How belay is called.
    pub(crate) belay: &'a str,
    /// Whether Claude Code gets its copies of a workspace from belay.
    pub(crate) worktrees: bool,
    /// Whether what Claude Code gives to a shell goes through belay.
    pub(crate) shell: bool,
}

/// The first line of a file that is all ours, and of a block.
pub(crate) const MARK: &str = "written by `belay install`; `belay uninstall` removes it";

/// What Claude Code starts instead of a shell, if that is wanted: beneath the home.
const SHELL: &str = ".claude/belay-sh";

const CLAUDE_TOOLS: &str = "^(Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*)$";
const GEMINI_TOOLS: &str = "run_shell_command|write_file|replace|mcp_.*";
const CODEX_TOOLS: &str = "Bash|apply_patch|mcp__.*";

/// The files of an agent.
pub(crate) fn files(agent: Agent, ground: &Ground<'_>) -> Vec<File> {
    let home = |path: &str| ground.home.join(path);
    let entries = |path: PathBuf, entries| File { path, content: Content::Entries(entries) };
    let server = json!({ "command": ground.belay, "args": ["mcp"] });
    match agent {
        Agent::Claude => {
            let dir = ground.project.unwrap_or(ground.home);
            let servers = if ground.project.is_some() { dir.join(".mcp.json") } else { dir.join(".claude.json") };
            let mut all = claude(ground);
            let mut files = vec![entries(servers, vec![mcp(&["mcpServers", "belay"], server)])];
            if ground.shell {
                let path = dir.join(SHELL);
                let value = Value::from(path.to_string_lossy());
                all.push(Entry { place: vec!["env", "CLAUDE_CODE_SHELL_PREFIX"], value, how: How::SetIfFree });
                files.push(File { path, content: Content::Program(shell(ground)) });
            }
            files.push(entries(dir.join(".claude/settings.json"), all));
            files
        }
        Agent::Codex => vec![
            entries(ground.project.unwrap_or(ground.home).join(".codex/hooks.json"), codex(ground)),
            File {
                path: ground.project.unwrap_or(ground.home).join(".codex/config.toml"),
                content: codex_server(ground),
            },
        ],
        Agent::Gemini => {
            let server = json!({ "command": ground.belay, "args": ["mcp"], "trust": false });
            let mut all = gemini(ground);
            all.push(mcp(&["mcpServers", "belay"], server));
            vec![entries(ground.project.unwrap_or(ground.home).join(".gemini/settings.json"), all)]
        }
        Agent::Cursor => {
            let dir = ground.project.unwrap_or(ground.home).join(".cursor");
            vec![
                entries(dir.join("hooks.json"), cursor(ground)),
                entries(dir.join("mcp.json"), vec![mcp(&["mcpServers", "belay"], server)]),
            ]
        }
        Agent::Opencode => {
            let server = json!({ "type": "local", "command": [ground.belay, "mcp"], "enabled": true });
            let (plugins, settings) = match ground.project {
                Some(project) => (project.join(".opencode/plugins"), project.join("opencode.json")),
                None => (home(".config/opencode/plugins"), home(".config/opencode/opencode.json")),
            };
            vec![
                File { path: plugins.join("belay.js"), content: Content::Whole(plugin(ground)) },
                entries(settings, vec![mcp(&["mcp", "belay"], server)]),
            ]
        }
        Agent::Copilot => {
            let server = json!({ "type": "local", "command": ground.belay, "args": ["mcp"], "tools": ["*"] });
            let servers = entries(home(".copilot/mcp-config.json"), vec![mcp(&["mcpServers", "belay"], server)]);
            match ground.project {
                // Its tools are set up for a person, never for a project.
                Some(project) => vec![entries(project.join(".github/hooks/belay.json"), copilot(ground))],
                None => vec![servers, entries(home(".copilot/hooks/belay.json"), copilot(ground))],
            }
        }
    }
}

/// The directory whose presence tells that the agent is used here.
pub(crate) fn trace(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => ".claude",
        Agent::Codex => ".codex",
        Agent::Gemini => ".gemini",
        Agent::Cursor => ".cursor",
        Agent::Opencode => ".config/opencode",
        Agent::Copilot => ".copilot",
    }
}

/// The program by which an agent is started.
pub(crate) fn program_of(agent: Agent) -> &'static str {
    match agent {
        Agent::Cursor => "cursor-agent",
        other => other.name(),
    }
}

/// Whether a value calls belay's hook or status line, or is belay as a server.
pub(crate) fn is_ours(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let calls = |verb: &&str| {
                let before = text.split_once(verb).map(|(before, _)| before);
                let exactly = text.strip_suffix(verb.trim_end());
                before.or(exactly).is_some_and(is_belay)
            };
            text.ends_with(SHELL) || [" hook ", " statusline", " mcp"].iter().any(calls)
        }
        Value::Array(words) => {
            let is_call = words.first().and_then(Value::as_str).is_some_and(is_belay) && words.len() > 1;
            is_call || words.iter().any(is_ours)
        }
        Value::Object(members) => {
            let first = members.get("args").and_then(|args| args.get(0)?.as_str());
            let is_call = members.get("command").and_then(Value::as_str).is_some_and(is_belay);
            (is_call && matches!(first, Some("hook" | "mcp"))) || members.values().any(is_ours)
        }
        _ => false,
    }
}

pub(crate) fn is_belay(program: &str) -> bool {
    let bare = program.trim_matches(['\'', '"', ' ']);
    bare.rsplit('/').next() == Some("belay")
}

/// Where the program is that is called by its name.
fn absolute(program: &str) -> String {
    let found = if program.contains('/') { None } else { crate::environment::in_path(program) };
    found.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| program.to_owned())
}

/// The program as a shell reads it.
fn quoted(program: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if program.chars().all(plain) { program.to_owned() } else { format!("'{}'", program.replace('\'', "'\\''")) }
}

fn mcp(place: &[&'static str], value: Value) -> Entry {
    Entry { place: place.to_vec(), value, how: How::Serve }
}

fn hook(event: &'static str, value: Value) -> Entry {
    Entry { place: vec!["hooks", event], value, how: How::Push }
}

/// A group of one handler, as Claude Code and those who follow it want it.
fn group(matcher: Option<&str>, handler: Value) -> Value {
    match matcher {
        Some(matcher) => json!({ "matcher": matcher, "hooks": [handler] }),
        None => json!({ "hooks": [handler] }),
    }
}

fn claude(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        ("SessionStart", None, 10),
        ("UserPromptSubmit", None, 20),
        ("PreToolUse", Some(CLAUDE_TOOLS), 20),
        ("PostToolUse", Some(CLAUDE_TOOLS), 20),
        ("PostToolUseFailure", Some(CLAUDE_TOOLS), 20),
        ("SubagentStop", None, 20),
        ("WorktreeRemove", None, 20),
        ("ConfigChange", None, 10),
        ("Stop", None, 20),
        ("SessionEnd", None, 3),
    ];
    // One line, without `args`: Cursor runs these hooks too and drops the arguments, and what is left of them it takes for
    // a hook that refuses.
    let command = format!("{} hook claude", quoted(ground.belay));
    let call = |seconds: u64| json!({ "type": "command", "command": command, "timeout": seconds });
    let hooks = events.map(|(event, matcher, seconds)| hook(event, group(matcher, call(seconds))));
    // It takes the place of what Claude Code does by itself, so nobody gets it unasked.
    let copies = ground.worktrees.then(|| hook("WorktreeCreate", group(None, call(600))));
    let line = json!({ "type": "command", "command": format!("{} statusline", quoted(ground.belay)) });
    let line = Entry { place: vec!["statusLine"], value: line, how: How::SetIfFree };
    hooks.into_iter().chain(copies).chain([line]).collect()
}

fn codex(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("PreToolUse", Some(CODEX_TOOLS)),
        ("PostToolUse", Some(CODEX_TOOLS)),
        ("Stop", None),
    ];
    let call = json!({ "type": "command", "command": format!("{} hook codex", quoted(ground.belay)), "timeout": 20 });
    events.map(|(event, matcher)| hook(event, group(matcher, call.clone()))).into_iter().collect()
}

fn codex_server(ground: &Ground<'_>) -> Content {
    let belay = Value::from(ground.belay);
    let text = format!("# {MARK}\n[mcp_servers.belay]\ncommand = {belay}\nargs = [\"mcp\"]\n");
    Content::Block { table: ["mcp_servers", "belay"], text }
}

fn gemini(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        ("BeforeAgent", None),
        ("BeforeTool", Some(GEMINI_TOOLS)),
        ("AfterTool", Some(GEMINI_TOOLS)),
        ("AfterAgent", None),
    ];
    let command = format!("{} hook gemini", quoted(ground.belay));
    // Its timeouts are in milliseconds.
    let call = json!({ "type": "command", "name": "belay", "command": command, "timeout": 20_000 });
    events.map(|(event, matcher)| hook(event, group(matcher, call.clone()))).into_iter().collect()
}

fn cursor(ground: &Ground<'_>) -> Vec<Entry> {
    let events = [
        "beforeSubmitPrompt",
        "beforeShellExecution",
        "afterShellExecution",
        "beforeMCPExecution",
        "afterMCPExecution",
        "afterFileEdit",
        "stop",
    ];
    // It starts hooks by a login shell, which knows only the directories that a profile names.
    let program = match ground.project {
        None => absolute(ground.belay),
        Some(_) => ground.belay.to_owned(),
    };
    let command = format!("{} hook cursor", quoted(&program));
    let call = json!({ "command": command });
    // Commands and servers have events of their own.
    let edits = hook("preToolUse", json!({ "command": command, "matcher": "Write|Delete" }));
    let version = Entry { place: vec!["version"], value: json!(1), how: How::SetIfFree };
    std::iter::once(version).chain(events.map(|event| hook(event, call.clone()))).chain([edits]).collect()
}

fn copilot(ground: &Ground<'_>) -> Vec<Entry> {
    let events = ["userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "agentStop", "sessionEnd"];
    let call = |event: &str| {
        // It does not say which event it is.
        json!({ "type": "command", "bash": format!("{} hook copilot {event}", quoted(ground.belay)), "timeoutSec": 20 })
    };
    let version = Entry { place: vec!["version"], value: json!(1), how: How::SetIfFree };
    std::iter::once(version).chain(events.map(|event| hook(event, call(event)))).collect()
}

/// A shell that tells belay first. If belay is gone it is still a shell.
fn shell(ground: &Ground<'_>) -> String {
    format!("#!/bin/sh\n# {MARK}\n{}", include_str!("belay-sh").replace("BELAY", &quoted(ground.belay)))
}

fn plugin(ground: &Ground<'_>) -> String {
    let (belay, template) = (Value::from(ground.belay).to_string(), include_str!("opencode.js"));
    format!("// {MARK}\n{}", template.replace("\"BELAY\"", &belay))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_known_by_what_it_calls() {
        for ours in [
            json!({"hooks": [{"command": "belay", "args": ["hook", "claude"]}]}),
            json!({"command": "/opt/x y/belay", "args": ["mcp"]}),
            json!({"command": "'/opt/x y/belay' hook codex"}),
            json!({"command": "belay statusline"}),
            json!({"type": "local", "command": ["belay", "mcp"]}),
        ] {
            assert!(is_ours(&ours), "{ours}");
        }
        for other in [
            json!({"command": "say belay"}),
            json!({"command": "notbelay hook claude"}),
            json!({"command": "belay-like", "args": ["hook"]}),
            json!({"command": "echo hook"}),
            json!("belay"),
        ] {
            assert!(!is_ours(&other), "{other}");
        }
    }

    #[test]
    fn every_entry_of_every_agent_is_known_again() {
        for belay in ["belay", "/opt/it's here/belay"] {
            for project in [None, Some(Path::new("/p"))] {
                let ground = Ground { home: Path::new("/h"), project, belay, worktrees: true, shell: true };
                for entry in
                    Agent::ALL.into_iter().flat_map(|agent| files(agent, &ground)).flat_map(|file| match file.content {
                        Content::Entries(entries) => entries,
                        _ => Vec::new(),
                    })
                {
                    assert!(entry.place == ["version"] || is_ours(&entry.value), "{entry:?}");
                }
            }
        }
    }
}
