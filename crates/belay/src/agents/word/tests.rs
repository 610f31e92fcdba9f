//! Recorded JSON of each agent, and what it is understood as.

use std::path::Path;

use super::*;

fn heard(agent: Agent, fixture: &str) -> Vec<String> {
    let understood = fixture.lines().map(|line| {
        let said: Value = serde_json::from_str(line).expect("a fixture is JSON");
        let Some(said) = understand(agent, None, &said) else { return "nothing".to_owned() };
        assert_eq!(said.cwd.as_deref(), Some(Path::new("/home/ada/shop")), "{line}");
        assert_eq!(said.word.agent, agent.name(), "{line}");
        let key = said.word.key.map(|key| format!(" [{key}]")).unwrap_or_default();
        match said.word.deed {
            AgentDeed::Prompt(prompt) => format!("prompt {prompt}{key}"),
            AgentDeed::ToolStart { id, tool, what } => format!("start {id} {tool} {what}"),
            AgentDeed::ToolEnd { id, failed } => format!("end {id} {}", if failed { "badly" } else { "well" }),
            AgentDeed::TurnEnd => "turn end".to_owned(),
            AgentDeed::Other(what) => what,
        }
    });
    understood.collect()
}

#[test]
fn claude_is_understood() {
    let expected = [
        "SessionStart",
        "prompt Rename the function [p1]",
        "start toolu_01 Bash npm test",
        "end toolu_01 well",
        "start toolu_02 Edit /home/ada/shop/a.js",
        "end toolu_02 badly",
        "nothing",
        "turn end",
        "turn end",
    ];
    assert_eq!(heard(Agent::Claude, include_str!("fixtures/claude.jsonl")), expected);
}

#[test]
fn codex_gemini_and_cursor_are_understood() {
    let codex = ["prompt Fix it [t1]", "start call_1 apply_patch *** Begin Patch", "end call_1 well", "turn end"];
    assert_eq!(heard(Agent::Codex, include_str!("fixtures/codex.jsonl")), codex);
    let gemini = ["prompt Tidy up", "start  run_shell_command rm -rf dist", "end  badly", "turn end"];
    assert_eq!(heard(Agent::Gemini, include_str!("fixtures/gemini.jsonl")), gemini);
    let cursor = [
        "prompt Speed it up [n1]",
        "start  Shell make",
        "end  well",
        "start w1 Write /home/ada/shop/b.py",
        "end  well",
        "start  database_query SELECT 1",
        "end  well",
        "turn end",
    ];
    assert_eq!(heard(Agent::Cursor, include_str!("fixtures/cursor.jsonl")), cursor);
}

#[test]
fn copilot_and_opencode_are_understood() {
    let copilot = ["prompt Add a test", "start  bash cargo test", "end  badly", "turn end"];
    assert_eq!(heard(Agent::Copilot, include_str!("fixtures/copilot.jsonl")), copilot);
    let opencode = ["prompt Write docs", "start q1 bash ls", "end q1 well", "turn end"];
    assert_eq!(heard(Agent::Opencode, include_str!("fixtures/opencode.jsonl")), opencode);
}

#[test]
fn cursor_is_known_even_when_it_runs_the_hooks_of_claude() {
    let line = include_str!("fixtures/cursor.jsonl").lines().next().unwrap();
    let said: Value = serde_json::from_str(line).unwrap();
    let [own, other] = [Agent::Cursor, Agent::Claude].map(|agent| understand(agent, None, &said));
    assert_eq!(own, other);
}

#[test]
fn what_goes_to_a_shell_is_shown_as_it_was_asked_for() {
    let around = "source /h/.claude/shell-snapshots/s.sh 2>/dev/null || true && { shopt -u extglob || true; } \
                  2>/dev/null && eval 'rm .env && echo done' \\< /dev/null && pwd -P >| /tmp/cwd";
    assert_eq!(asked_for(around), "rm .env && echo done");
    assert_eq!(asked_for("make test"), "make test");
}

#[test]
fn nonsense_is_no_word() {
    for nonsense in ["null", "[]", "{}", "3", "{\"hook_event_name\": 3}", "{\"hook_event_name\": \"Else\"}"] {
        let said: Value = serde_json::from_str(nonsense).unwrap();
        assert_eq!(understand(Agent::Claude, None, &said), None, "{nonsense}");
    }
    let odd: Value = serde_json::json!({"tool_input": 7, "tool_name": {}, "session_id": []});
    let said = understand(Agent::Claude, Some("PreToolUse"), &odd).expect("the event is known");
    assert_eq!(said.word.deed, AgentDeed::ToolStart { id: String::new(), tool: "tool".into(), what: String::new() });
}

/// What the agents themselves said when `scripts/agents-check` had each work one turn; of Cursor what its SDK puts around a step.
#[test]
fn what_was_recorded_of_real_agents_is_a_turn_with_one_command() {
    let mut heard: Vec<(String, Vec<String>)> = Vec::new();
    for line in include_str!("fixtures/recorded.jsonl").lines() {
        let line: Value = serde_json::from_str(line).expect("a fixture is JSON");
        let agent = Agent::ALL.into_iter().find(|agent| line["agent"] == agent.name()).expect("an agent that is known");
        let said = understand(agent, line["event"].as_str(), &line["said"]).expect("a word");
        assert_eq!(said.cwd.as_deref(), Some(Path::new("/home/ada/shop")), "{line}");
        assert_ne!(said.word.session, format!("{} only", agent.name()), "{line}");
        let deed = match said.word.deed {
            AgentDeed::Prompt(prompt) => format!("prompt {}", prompt.trim_matches('"')),
            AgentDeed::ToolStart { what, .. } => format!("start {what}"),
            AgentDeed::ToolEnd { failed: false, .. } => "end".to_owned(),
            AgentDeed::TurnEnd => "turn end".to_owned(),
            AgentDeed::Other(_) => continue,
            other => panic!("{other:?}"),
        };
        match heard.last_mut().filter(|(last, _)| last == agent.name()) {
            Some((_, deeds)) => deeds.push(deed),
            None => heard.push((agent.name().to_owned(), vec![deed])),
        }
    }
    assert_eq!(heard.len(), Agent::ALL.len(), "{heard:?}");
    for (agent, mut deeds) in heard {
        deeds.dedup();
        let expected = ["prompt write two into the file", "start echo two > a.txt", "end", "turn end"];
        assert_eq!(deeds, expected, "{agent}");
    }
}
