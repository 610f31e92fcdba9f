//! On a terminal: the plan is shown, consent is asked for, colours are used, long output goes through the pager.

use std::io::{Read, Write};

use crate::world::World;

/// Runs `belay` on a pseudo-terminal and types `input`; nothing where there is no `script`.
fn on_terminal(world: &World, words: &str, input: &str) -> Option<String> {
    let program = format!("{} {words}", env!("CARGO_BIN_EXE_belay"));
    let Ok(mut child) = world.at_terminal(&program).spawn() else {
        belay_testkit::skip("there is no script(1) to make a terminal with");
        return None;
    };
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("script reads");
    let output = child.wait_with_output().expect("script ends");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn changed() -> World {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.snapshot();
    world.workspace.file("notes.txt", "two\n").file("new.txt", "x\n");
    world
}

#[test]
fn a_rollback_shows_its_plan_and_takes_no_for_an_answer() {
    let world = changed();
    let Some(text) = on_terminal(&world, "rollback", "n\n") else { return };
    assert!(text.contains("notes.txt") && text.contains("new.txt") && text.contains("Go ahead?"), "{text}");
    assert!(text.contains("nothing was changed"), "{text}");
    assert_eq!(world.read("notes.txt"), "two\n");
}

#[test]
fn ctrl_c_ends_a_question_at_once() {
    let world = changed();
    let program = format!("{} rollback", env!("CARGO_BIN_EXE_belay"));
    let Ok(mut child) = world.at_terminal(&program).spawn() else {
        belay_testkit::skip("there is no script(1) to make a terminal with");
        return;
    };
    let (mut input, mut output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut text = Vec::new();
    let mut bytes = [0; 512];
    while !String::from_utf8_lossy(&text).contains("[y/N]") {
        let got = output.read(&mut bytes).expect("script writes");
        assert!(got > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&bytes[..got]);
    }
    input.write_all(b"\x03").expect("script reads");
    // With the pipe still open: nothing but the key ends it.
    output.read_to_end(&mut text).expect("it ends");
    child.wait().expect("script ends");
    assert_eq!(world.read("notes.txt"), "two\n");
}

#[test]
fn a_rollback_goes_ahead_when_told_so() {
    let world = changed();
    let Some(text) = on_terminal(&world, "rollback", "y\n") else { return };
    assert!(text.contains("To undo:"), "{text}");
    assert_eq!(world.read("notes.txt"), "one\n");
    assert!(!world.has("new.txt"));
}

#[test]
fn errors_and_hints_break_between_words_at_the_width_of_the_terminal() {
    let world = changed();
    let program = env!("CARGO_BIN_EXE_belay");
    let words = format!(
        "--version; stty rows 24 cols 50; {program} --color never diff no-such-snapshot; {program} --color never run -- true"
    );
    let Some(text) = on_terminal(&world, &words, "") else { return };
    assert!(text.contains("hint: ") && text.contains("error: "), "{text}");
    let (_, said) = text.split_once("error: ").expect("it fails");
    let long = said.lines().find(|line| line.trim_end().chars().count() > 50 && line.trim().contains(' '));
    assert_eq!(long, None, "{text}");
}

#[test]
fn a_diff_is_coloured() {
    let world = changed();
    let Some(text) = on_terminal(&world, "diff", "") else { return };
    assert!(text.contains("\u{1b}[32m+two"), "{text:?}");
}

#[test]
fn the_pager_is_the_users_choice() {
    let world = changed();
    let pager = world.workspace.outside().join("pager");
    std::fs::write(&pager, "#!/bin/sh\nsed 's/^/paged: /'\n").expect("a script");
    std::fs::set_permissions(&pager, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let program = env!("CARGO_BIN_EXE_belay");
    let words = format!("--version; BELAY_PAGER={} {program} diff --color never", pager.display());
    let Some(text) = on_terminal(&world, &words, "") else { return };
    assert!(text.contains("paged: +two") && !text.contains('\u{1b}'), "{text:?}");
    let words = format!("--version; BELAY_PAGER= {program} diff --color never");
    let Some(text) = on_terminal(&world, &words, "") else { return };
    assert!(text.contains("\n+two"), "{text:?}");
}
