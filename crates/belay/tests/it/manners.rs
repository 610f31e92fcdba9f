//! What every command has in common: help, colour, JSON errors, closed pipes, exit codes.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::world::World;

const COMMANDS: &[&str] = &[
    "snapshot",
    "snapshots",
    "status",
    "diff",
    "rollback",
    "undo",
    "redo",
    "restore",
    "history",
    "cat",
    "ls",
    "find",
    "du",
    "gc",
    "verify",
    "forget",
    "workspaces",
    "config",
    "trust",
    "demo",
    "completions",
];

#[test]
fn every_command_has_short_and_long_help() {
    let mut world = World::new();
    for command in COMMANDS {
        let short = world.ok(&[command, "-h"]);
        let long = world.ok(&[command, "--help"]);
        assert!(long.contains("Examples:") && long.len() > short.len(), "{command} has no examples");
    }
    assert_eq!(world.belay(&["no-such-command"]).code, 2);
    assert_eq!(world.belay(&["--version"]).code, 0);
}

#[test]
fn an_error_is_an_object_when_json_is_wanted() {
    let mut world = World::new();
    assert_snapshot!(world.belay(&["--json", "status"]), @r#"
    exit 3
    --- stderr
    {"error":{"causes":[],"exit_code":3,"hints":["`belay snapshot` makes it a workspace; `belay workspaces` lists those that belay knows"],"kind":"not-found","message":"[WORKSPACE] is not protected yet: no workspace holds it","notes":[]}}
    "#);
}

#[test]
fn colour_is_for_terminals_and_for_those_who_insist() {
    let mut world = World::new();
    world.workspace.file("a", "a\n");
    world.snapshot();
    assert!(!world.ok(&["snapshots"]).contains('\u{1b}'));
    assert!(world.ok(&["snapshots", "--color", "always"]).contains('\u{1b}'));
    assert!(!world.ok(&["snapshots", "--color", "never"]).contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut world = World::new();
    for number in 0..2000 {
        world.workspace.file(format!("a-rather-long-name-to-fill-the-pipe-{number:05}"), "");
    }
    world.snapshot();
    let mut command = world.command(&["ls", "@latest"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("belay starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut [0; 10]).expect("a first line");
    drop(stdout);
    let output = child.wait_with_output().expect("belay ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn quiet_leaves_only_what_was_asked_for() {
    let mut world = World::new();
    world.workspace.file("a", "a\n");
    world.snapshot();
    world.workspace.file("a", "b\n");
    let ran = world.belay(&["-q", "rollback", "-y"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let mut world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(world.ok(&["completions", shell]).contains("rollback"), "{shell}");
    }
    let pages = world.workspace.outside().join("man");
    world.ok(&["util", "man", "--dir", &pages.to_string_lossy()]);
    for command in COMMANDS {
        let page = std::fs::read_to_string(pages.join(format!("belay-{command}.1"))).expect("a page");
        assert!(page.contains("belay"), "{command}");
    }
    let reference = world.ok(&["util", "markdown"]);
    assert!(COMMANDS.iter().all(|command| reference.contains(&format!("## belay {command}"))));
}

#[test]
fn the_help_is_ordered_by_what_one_wants_to_do() {
    let mut world = World::new();
    let long = world.ok(&["--help"]);
    for group in ["Protect:\n", "Take back:\n", "Look:\n", "The store:\n"] {
        assert!(long.contains(group), "{group}{long}");
    }
    assert!(long.contains("Exit codes:") && !long.contains('\u{1b}'), "{long}");
    assert_eq!(world.ok(&["help"]), long);
    let short = world.ok(&["-h"]);
    assert!(short.contains("Take back:") && !short.contains("Exit codes:"), "{short}");
    let nothing = world.belay(&[]);
    assert!(nothing.code == 2 && nothing.stdout.is_empty() && nothing.stderr.contains("Take back:"), "{nothing}");
    let one = world.ok(&["help", "rollback"]);
    assert!(one.starts_with("Take the workspace back") && !one.contains("Take back:"), "{one}");
}
