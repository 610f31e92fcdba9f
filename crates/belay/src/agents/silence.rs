//! What keeps an agent from running hooks that are set up as they should be: a switch, or trust that nobody has given yet.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plan::is_ours;
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

/// What silences the agent's hooks, if something does.
pub(crate) fn silence(agent: Agent, home: &Path, project: &Path) -> Option<Silence> {
    let is_true = |value: &Value| *value == Value::Bool(true);
    match agent {
        Agent::Claude => {
            let switches = [
                Switch { place: &["disableAllHooks"], off: is_true },
                Switch { place: &["allowManagedHooksOnly"], off: is_true },
            ];
            switched_off(claude_settings(home, &[project]).iter(), &switches)
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
        Agent::Codex => codex(home),
        Agent::Cursor | Agent::Opencode => None,
    }
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
    let texts: Vec<String> =
        claude_settings(home, projects).iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    let is_there = |event: &&str| {
        let ours = |text: &String| match jsonc::get(text, &["hooks", event]) {
            Ok(Some(Value::Array(groups))) => groups.iter().any(is_ours),
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
        let Ok(text) = fs::read_to_string(file) else { continue };
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

/// Codex runs a hook only once its user has looked at it, and remembers that by the hook's place.
fn codex(home: &Path) -> Option<Silence> {
    let text = fs::read_to_string(home.join(".codex/config.toml")).unwrap_or_default();
    let config: toml::Table = text.parse().unwrap_or_default();
    if config.get("features").and_then(|features| features.get("hooks")?.as_bool()) == Some(false) {
        let advice = "set features.hooks to true in ~/.codex/config.toml".to_owned();
        return Some(Silence { why: "features.hooks switches hooks off".to_owned(), advice });
    }
    let source = home.join(".codex/hooks.json");
    let states = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
    let is_trusted = |event: &str| {
        let beginning = format!("{}:{event}:", source.display());
        states.is_some_and(|states| {
            states.iter().any(|(key, state)| key.starts_with(&beginning) && state.get("trusted_hash").is_some())
        })
    };
    // Without these two there is neither a turn nor a command.
    let is_silent = !["user_prompt_submit", "pre_tool_use"].into_iter().all(is_trusted);
    is_silent.then(|| Silence {
        why: "Codex does not trust them yet".to_owned(),
        advice: "open Codex, run /hooks and trust belay".to_owned(),
    })
}

#[cfg(test)]
mod tests {
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
            (Agent::Claude, ".claude/settings.local.json", "{ \"disableAllHooks\": true } // mine", "disableAllHooks"),
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
    fn codex_trusts_hooks_by_their_places() {
        let trusted = "[hooks.state.\"HOME/.codex/hooks.json:user_prompt_submit:0:0\"]\ntrusted_hash = \"sha256:1\"\n\
                       [hooks.state.\"HOME/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:2\"\n";
        assert_eq!(said(Agent::Codex, ".codex/config.toml", trusted), None);
        let half = trusted.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(said(Agent::Codex, ".codex/config.toml", &half).as_deref(), Some("Codex does not trust them yet"));
    }
}
