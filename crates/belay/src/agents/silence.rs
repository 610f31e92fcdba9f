//! What keeps an agent from running hooks that are set up as they should be: a switch, or trust that nobody has given yet.

use std::path::{Path, PathBuf};

use belay_session::store::Algorithm;
use serde_json::{Value, json};

use super::plan::{calls_belay, is_hook};
use super::settings::text_within;
use super::{Agent, jsonc};
use crate::view;

/// Why hooks are not run, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) why: String,
    pub(crate) advice: String,
}

/// A switch in a settings file: where it is, and how it stands when hooks are off.
struct Switch {
    place: &'static [&'static str],
    off: fn(&Value) -> bool,
}

/// The settings of a machine come last: nobody but its administrator can change them.
const CLAUDE_MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// A hook that is being waited for reads no more than this of a file; nobody writes as much into one.
const BYTES_MAX: u64 = 4 << 20;

fn text_of(path: &Path) -> std::io::Result<String> {
    text_within(path, BYTES_MAX)
}

/// What silences the agent's hooks, if something does.
pub(crate) fn silence(agent: Agent, home: &Path, project: &Path) -> Option<Silence> {
    let is_true = |value: &Value| *value == Value::Bool(true);
    match agent {
        Agent::Claude => {
            let switches = [
                Switch { place: &["disableAllHooks"], off: is_true },
                Switch { place: &["allowManagedHooksOnly"], off: is_true },
            ];
            let files = claude_settings(home, &[project]);
            switched_off(files.iter(), &switches).or_else(|| unread(files.iter()))
        }
        Agent::Gemini => {
            let names_belay = |value: &Value| value.as_array().is_some_and(|list| list.contains(&"belay".into()));
            let switches = [
                Switch { place: &["hooksConfig", "enabled"], off: |value| *value == Value::Bool(false) },
                Switch { place: &["hooksConfig", "disabled"], off: names_belay },
            ];
            switched_off([home, project].map(|dir| dir.join(".gemini/settings.json")).iter(), &switches)
        }
        Agent::Copilot => {
            let switches = [Switch { place: &["disableAllHooks"], off: is_true }];
            let shared =
                ["settings.json", "settings.local.json"].map(|name| project.join(".github/copilot").join(name));
            switched_off([home.join(".copilot/settings.json")].iter().chain(&shared), &switches)
        }
        Agent::Codex => codex(home, project),
        Agent::Cursor | Agent::Opencode => None,
    }
}

/// Settings with our hooks in them of which Claude Code reads nothing: it takes no comments and no commas at the end of a list.
fn unread<'a>(mut files: impl Iterator<Item = &'a PathBuf>) -> Option<Silence> {
    let file = files.find(|file| {
        let text = text_of(file).unwrap_or_default();
        let has_ours = matches!(jsonc::get(&text, &["hooks"]), Ok(Some(hooks)) if calls_belay(&hooks));
        has_ours && serde_json::from_str::<Value>(&text).is_err()
    })?;
    let file = view::path(file);
    let why = format!("Claude Code reads nothing of {file}, since there are comments or odd commas in it");
    Some(Silence { why, advice: format!("take them out of {file}") })
}

/// The settings of Claude Code that hold in a project, the machine's last.
fn claude_settings(home: &Path, projects: &[&Path]) -> Vec<PathBuf> {
    let shared = projects
        .iter()
        .flat_map(|project| [".claude/settings.json", ".claude/settings.local.json"].map(|name| project.join(name)));
    let own = [home.join(".claude/settings.json"), PathBuf::from(CLAUDE_MANAGED)];
    own.into_iter().chain(shared).collect()
}

/// What became of belay's hooks in the settings of Claude Code, if they no longer do what they should.
pub(crate) fn tampered(home: &Path, projects: &[&Path]) -> Option<Silence> {
    if let Some(silence) = projects.iter().find_map(|project| silence(Agent::Claude, home, project)) {
        return Some(silence);
    }
    let texts: Vec<String> = claude_settings(home, projects).iter().filter_map(|file| text_of(file).ok()).collect();
    let is_there = |event: &&str| {
        let ours = |text: &String| match jsonc::get(text, &["hooks", event]) {
            Ok(Some(Value::Array(groups))) => groups.iter().any(calls_belay),
            _ => false,
        };
        texts.iter().any(ours)
    };
    // Without these there is no turn, no command or no end of either.
    let needed = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
    let missing: Vec<&str> = needed.into_iter().filter(|event| !is_there(event)).collect();
    (!missing.is_empty()).then(|| Silence {
        why: format!("belay's hooks were taken out of Claude Code's settings ({})", missing.join(", ")),
        advice: "`belay install claude` puts them back".to_owned(),
    })
}

fn switched_off<'a>(files: impl Iterator<Item = &'a PathBuf>, switches: &[Switch]) -> Option<Silence> {
    for file in files {
        let Ok(text) = text_of(file) else { continue };
        let is_off =
            |switch: &&Switch| matches!(jsonc::get(&text, switch.place), Ok(Some(value)) if (switch.off)(&value));
        if let Some(switch) = switches.iter().find(is_off) {
            let (name, file) = (switch.place.join("."), view::path(file));
            let why = format!("{name} switches hooks off");
            return Some(Silence { why, advice: format!("change {name} in {file}") });
        }
    }
    None
}

/// How Codex stands to a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trust {
    Untrusted,
    /// It trusted another hook at this place.
    Modified,
    SwitchedOff,
    Trusted,
}

/// Codex runs a hook only once its user has looked at it, and remembers that by the hook's place and what it said then.
fn codex(home: &Path, project: &Path) -> Option<Silence> {
    let text = text_of(&home.join(".codex/config.toml")).unwrap_or_default();
    let config: toml::Table = text.parse().unwrap_or_default();
    if config.get("features").and_then(|features| features.get("hooks")?.as_bool()) == Some(false) {
        let advice = "set features.hooks to true in ~/.codex/config.toml".to_owned();
        return Some(Silence { why: "features.hooks switches hooks off".to_owned(), advice });
    }
    let states = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
    let trust = |(event, label)| {
        let files = [home, project].map(|dir| dir.join(".codex/hooks.json"));
        files.iter().filter_map(|file| trust(states, file, event, label)).max().unwrap_or(Trust::Untrusted)
    };
    // Without these two there is neither a turn nor a command.
    let weakest = [("UserPromptSubmit", "user_prompt_submit"), ("PreToolUse", "pre_tool_use")].map(trust);
    let why = match weakest.into_iter().min()? {
        Trust::Trusted => return None,
        Trust::Untrusted => "Codex does not trust them yet",
        Trust::Modified => "they were changed since Codex was told to trust them",
        Trust::SwitchedOff => "they are switched off in Codex",
    };
    Some(Silence { why: why.to_owned(), advice: "open Codex, run /hooks and trust belay".to_owned() })
}

/// How Codex stands to belay's hook for an event in that file, if there is one.
fn trust(states: Option<&toml::Table>, file: &Path, event: &str, label: &str) -> Option<Trust> {
    let text = text_of(file).ok()?;
    let Ok(Some(Value::Array(groups))) = jsonc::get(&text, &["hooks", event]) else { return None };
    let mut found = None;
    for (at, group) in groups.iter().enumerate() {
        let handlers = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
        for (number, handler) in handlers.enumerate().filter(|(_, handler)| is_hook(handler)) {
            let key = format!("{}:{label}:{at}:{number}", file.display());
            let state = states.and_then(|states| states.get(&key));
            let hash = state.and_then(|state| state.get("trusted_hash")?.as_str());
            let is_off = state.and_then(|state| state.get("enabled")?.as_bool()) == Some(false);
            let matcher = group.get("matcher").filter(|_| label != "user_prompt_submit");
            let one = match hash {
                None => Trust::Untrusted,
                Some(hash) if hash != identity(label, matcher, handler) => Trust::Modified,
                Some(_) if is_off => Trust::SwitchedOff,
                Some(_) => Trust::Trusted,
            };
            found = found.max(Some(one));
        }
    }
    found
}

/// What Codex knows a hook by: the hash of everything that it does, in a fixed order and with what is left out filled in.
fn identity(label: &str, matcher: Option<&Value>, handler: &Value) -> String {
    let mut own = json!({ "type": "command", "async": false, "timeout": 600 });
    for name in ["command", "timeout", "async", "statusMessage"] {
        if let Some(value) = handler.get(name) {
            own[name] = value.clone();
        }
    }
    let mut all = json!({ "event_name": label, "hooks": [own] });
    if let Some(matcher) = matcher {
        all["matcher"] = matcher.clone();
    }
    // Keys of a map are in order, as Codex wants them.
    let hash = Algorithm::Sha256.hash(all.to_string().as_bytes());
    format!("sha256:{hash}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn said(agent: Agent, file: &str, text: &str) -> Option<String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("HOME", &home.path().display().to_string())).unwrap();
        silence(agent, home.path(), home.path()).map(|silence| silence.why)
    }

    #[test]
    fn a_switch_is_found_wherever_it_is() {
        for (agent, file, text, why) in [
            (Agent::Claude, ".claude/settings.json", "{ \"disableAllHooks\": true }", "disableAllHooks"),
            (Agent::Claude, ".claude/settings.local.json", "{ \"disableAllHooks\": true }", "disableAllHooks"),
            (
                Agent::Gemini,
                ".gemini/settings.json",
                "{ \"hooksConfig\": { \"enabled\": false } }",
                "hooksConfig.enabled",
            ),
            (
                Agent::Gemini,
                ".gemini/settings.json",
                "{ \"hooksConfig\": { \"disabled\": [\"belay\"] } }",
                "hooksConfig.disabled",
            ),
            (Agent::Copilot, ".copilot/settings.json", "{ \"disableAllHooks\": true }", "disableAllHooks"),
            (Agent::Codex, ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
        ] {
            assert_eq!(said(agent, file, text), Some(format!("{why} switches hooks off")), "{text}");
        }
        assert_eq!(said(Agent::Claude, ".claude/settings.json", "{ \"disableAllHooks\": false }"), None);
        let hooks = "{ \"hooks\": { \"Stop\": [{ \"command\": \"belay\", \"args\": [\"hook\", \"claude\"] }] } }";
        assert_eq!(said(Agent::Claude, ".claude/settings.json", hooks), None);
        let commented = said(Agent::Claude, ".claude/settings.json", &format!("{hooks} // mine"));
        assert!(commented.is_some_and(|why| why.contains("Claude Code reads nothing of")));
    }

    #[test]
    fn hooks_that_were_taken_out_are_missed_wherever_they_were() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("p");
        let write = |file: &str, events: &[&str]| {
            let ours = serde_json::json!([{ "hooks": [{ "command": "belay", "args": ["hook", "claude"] }] }]);
            let hooks: serde_json::Map<String, Value> =
                events.iter().map(|event| ((*event).into(), ours.clone())).collect();
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, serde_json::json!({ "hooks": hooks }).to_string()).unwrap();
        };
        let found = || tampered(home.path(), &[&project]).map(|silence| silence.why);
        write(".claude/settings.json", &["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]);
        assert_eq!(found(), None);
        write(".claude/settings.json", &["UserPromptSubmit", "Stop"]);
        assert!(found().is_some_and(|why| why.contains("(PreToolUse, PostToolUse)")));
        write("p/.claude/settings.local.json", &["PreToolUse", "PostToolUse"]);
        assert_eq!(found(), None, "together they are all there");
        fs::write(project.join(".claude/settings.json"), "{ \"disableAllHooks\": true }").unwrap();
        assert_eq!(found().as_deref(), Some("disableAllHooks switches hooks off"));
    }

    #[test]
    fn codex_knows_a_hook_by_the_hash_of_what_it_does() {
        // As Codex itself has it for this hook.
        let handler = json!({ "type": "command",
            "command": "'/Applications/GWT.app/Contents/MacOS/gwtd' hook event PostToolUse" });
        assert_eq!(
            identity("post_tool_use", Some(&json!("*")), &handler),
            "sha256:9c3ce103f03f0b27a28bc4a30883f7e98a80b5df566b4572fcbb2955ebf5ba62"
        );
    }

    #[test]
    fn codex_trusts_hooks_by_their_places() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("p");
        let found = || silence(Agent::Codex, home.path(), &project).map(|silence| silence.why);
        let place = |dir: &Path, name: &str| {
            fs::create_dir_all(dir.join(".codex")).unwrap();
            dir.join(".codex").join(name)
        };
        let ours = json!({ "type": "command", "command": "belay hook codex", "timeout": 20 });
        let theirs = json!({ "hooks": [{ "type": "command", "command": "say hello" }] });
        let hooks = json!({ "hooks": { "UserPromptSubmit": [theirs, { "hooks": [ours] }],
            "PreToolUse": [{ "matcher": "Bash", "hooks": [ours] }] } });
        let file = place(home.path(), "hooks.json");
        fs::write(&file, hooks.to_string()).unwrap();
        let prompt = identity("user_prompt_submit", None, &ours);
        let tool = identity("pre_tool_use", Some(&json!("Bash")), &ours);
        let trusting = |file: &Path, entries: &[(&str, &str)]| {
            let entry = |(place, hash): &(&str, &str)| {
                format!("[hooks.state.\"{}:{place}\"]\ntrusted_hash = \"{hash}\"\n", file.display())
            };
            fs::write(place(home.path(), "config.toml"), entries.iter().map(entry).collect::<String>()).unwrap();
        };
        let untrusted = Some("Codex does not trust them yet".to_owned());
        assert_eq!(found(), untrusted);
        trusting(&file, &[("user_prompt_submit:0:0", &prompt), ("pre_tool_use:0:0", &tool)]);
        assert_eq!(found(), untrusted, "what is trusted there is somebody else's");
        trusting(&file, &[("user_prompt_submit:1:0", &prompt)]);
        assert_eq!(found(), untrusted, "half of it is not enough");
        trusting(&file, &[("user_prompt_submit:1:0", &prompt), ("pre_tool_use:0:0", &tool)]);
        assert_eq!(found(), None);
        trusting(&file, &[("user_prompt_submit:1:0", &prompt), ("pre_tool_use:0:0", "sha256:old")]);
        assert_eq!(found().as_deref(), Some("they were changed since Codex was told to trust them"));
        let in_project = place(&project, "hooks.json");
        fs::rename(&file, &in_project).unwrap();
        assert_eq!(found(), untrusted);
        trusting(&in_project, &[("user_prompt_submit:1:0", &prompt), ("pre_tool_use:0:0", &tool)]);
        assert_eq!(found(), None, "the project's own count as well");
    }
}
