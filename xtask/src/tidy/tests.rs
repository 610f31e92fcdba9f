//! Every rule catches what it is for, and nothing else.

use super::source::Source;
use super::{check, check_text};

/// What is said about `code` in a file of the crate `room`, which opens as it should.
fn said(room: &str, code: &str) -> Vec<String> {
    said_of(&format!("crates/{room}/src/thing.rs"), &format!("//! A thing.\n{code}\n"))
}

fn said_of(path: &str, text: &str) -> Vec<String> {
    check_text(path, text.to_owned())
        .iter()
        .map(|complaint| format!("{}: {}", complaint.line, complaint.what))
        .collect()
}

#[test]
fn the_project_is_tidy() {
    let complaints = check(&crate::project()).expect("the project can be read");
    let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn unsafe_stays_in_belay_sys() {
    let code = "fn f() { unsafe { g() } }";
    assert_eq!(said("belay-store", code), ["2: unsafe outside of belay-sys"]);
    assert_eq!(said("belay-store", "#![allow(unsafe_code)]"), ["2: unsafe outside of belay-sys"]);
    assert_eq!(said("belay-sys", code), [""; 0]);
    assert_eq!(said("belay-store", "#![deny(unsafe_code)]"), [""; 0]);
}

#[test]
fn libraries_neither_print_nor_look_around() {
    assert_eq!(said("belay-session", "fn f() { println!(); }"), ["2: a library prints"]);
    assert_eq!(said("belay-session", "let h = std::env::var(\"HOME\");").len(), 1);
    assert_eq!(said("belay-session", "let h = env::home_dir();").len(), 1);
    assert_eq!(said("belay-session", "fn f() { writeln!(out); } const V: &str = env!(\"X\");"), [""; 0]);
    for room in ["belay", "belay-testkit"] {
        assert_eq!(said(room, "fn f() { println!(); std::env::var(\"HOME\"); }"), [""; 0]);
    }
}

#[test]
fn unwrap_is_for_tests() {
    let code = "fn f() { g().unwrap() }";
    assert_eq!(said("belay", code), ["2: unwrap outside of tests"]);
    assert_eq!(said("belay", &format!("#[cfg(test)]\nmod tests {{\n    {code}\n}}")), [""; 0]);
    assert_eq!(
        said("belay", &format!("#[cfg(test)]\nmod tests;\n{code}")),
        ["4: unwrap outside of tests"],
        "what follows a test module is no test"
    );
    assert_eq!(said_of("crates/belay/tests/it/main.rs", &format!("//! Tests.\n{code}\n")), [""; 0]);
    assert_eq!(said_of("crates/belay/src/a.rs", &format!("//! Tests.\n\n#![cfg(test)]\n{code}\n")), [""; 0]);
    assert_eq!(said_of("crates/belay/src/a/tests.rs", &format!("//! Tests.\n{code}\n")), [""; 0]);
    assert_eq!(said("belay", "fn f() { g().unwrap_or(1) }"), [""; 0]);
}

#[test]
fn async_stays_at_the_rim() {
    assert_eq!(said("belay-store", "async fn f() {}"), ["2: async code outside of proxy and server"]);
    assert_eq!(said("belay-session", "fn f() { g().await }").len(), 1);
    assert_eq!(said("belay-server", "async fn f() { g().await }"), [""; 0]);
}

#[test]
fn the_store_has_no_clock() {
    assert_eq!(said("belay-store", "let now = SystemTime::now();"), ["2: the store reads a clock"]);
    assert_eq!(said("belay-store", "let now = Instant::now();"), ["2: the store reads a clock"]);
    assert_eq!(said("belay-session", "let now = Instant::now();"), [""; 0]);
}

#[test]
fn no_test_is_ignored() {
    assert_eq!(
        said_of("crates/belay/tests/it/a.rs", "//! A.\n#[test]\n#[ignore = \"slow\"]\n"),
        ["3: an ignored test"]
    );
}

#[test]
fn paths_are_reached_by_handles() {
    assert_eq!(said("belay-store", "let p = path.canonicalize();").len(), 1);
    assert_eq!(said("belay-session", "let p = path.canonicalize();"), [""; 0]);
    assert_eq!(
        said("belay-session", "let p = path.canonicalize()?;\nif p.starts_with(root) {}"),
        ["2: canonicalize and starts_with decide where a path leads"]
    );
}

#[test]
fn files_open_with_a_sentence_end_in_time_and_have_a_name() {
    assert_eq!(said_of("crates/belay/src/a.rs", "use b;\n"), ["1: no opening sentence"]);
    let long = format!("//! Long.\n{}", "\n".repeat(800));
    assert_eq!(said_of("crates/belay/src/a.rs", &long), ["800: more than 800 lines"]);
    assert_eq!(said_of("crates/belay/src/utils.rs", "//! A.\n"), ["1: a file name that says nothing"]);
}

#[test]
fn text_is_clean_finished_and_nobodys() {
    assert_eq!(said_of("README.md", "a\tb\nc \n").len(), 2);
    assert_eq!(said_of("crates/belay/tests/it/snapshots/a.snap", "a \n"), [""; 0]);
    let unfinished = format!("//! A.\n// {}{}: later\n", "TO", "DO");
    assert_eq!(said_of("crates/belay/src/a.rs", &unfinished).len(), 1);
    for (start, name) in [("/wo", "rk/x"), ("/ro", "ot/.cargo"), ("/ho", "me/jo/x")] {
        assert_eq!(said_of("docs/a.md", &format!("see `{start}{name}`\n")).len(), 1, "{start}{name}");
        assert_eq!(said_of("docs/a.md", &format!("see target{start}{name}\n")), [""; 0]);
    }
    assert_eq!(said_of("docs/a.md", "cd /home/you/project\n"), [""; 0]);
}

#[test]
fn strings_and_comments_are_no_code() {
    let code = [
        "// unsafe",
        "/* unsafe /* nested */ unsafe */",
        "const A: &str = \"unsafe \\\" unsafe\";",
        "const B: &str = r#\"unsafe \" unsafe\"#;",
        "const C: &[u8] = br\"unsafe\";",
        "const D: char = '\"'; const E: &'static str = \"unsafe\";",
        "const F: u8 = b'\\''; const G: &str = \"unsafe\";",
    ];
    for code in code {
        assert_eq!(said("belay-store", code), [""; 0], "{code}");
        let source = Source::new("a.rs", format!("{code}\nlast"));
        assert_eq!(source.lines().count(), 2);
        assert!(source.code.ends_with("\nlast"), "{code}");
    }
    assert_eq!(said("belay-store", "const D: char = '\"'; unsafe {}").len(), 1);
}

const MANIFEST: &str = "[package]\nname = \"belay-store\"\n[lints]\nworkspace = true\n";

#[test]
fn arrows_point_down() {
    let with = |more: &str| said_of("crates/belay-store/Cargo.toml", &format!("{MANIFEST}{more}"));
    assert_eq!(with("[dependencies]\nbelay-sys.workspace = true\n"), [""; 0]);
    assert_eq!(with("[dev-dependencies]\nbelay-testkit.workspace = true\n"), [""; 0]);
    let up = ["1: belay-store depends on belay-session"];
    assert_eq!(with("[dependencies]\nbelay-session.workspace = true\n"), up);
    assert_eq!(with("[dev-dependencies]\nbelay-session.workspace = true\n"), up);
    assert_eq!(with("[target.'cfg(unix)'.dependencies]\nbelay-session = \"1\"\n"), up);
    assert_eq!(with("[dependencies]\nbelay-testkit.workspace = true\n").len(), 1);
    assert_eq!(with("[dependencies]\nanyhow = \"1\"\n"), ["1: belay-store depends on anyhow"]);
}

#[test]
fn every_crate_is_planned_and_linted() {
    assert_eq!(said_of("Cargo.toml", "[workspace]\nmembers = []\n"), [""; 0]);
    assert_eq!(
        said_of("crates/attic/Cargo.toml", "[package]\nname = \"attic\"\n"),
        ["1: attic does without the lints", "1: attic is a room that nobody planned"]
    );
}

#[test]
fn the_lock_file_is_bounded() {
    assert_eq!(said_of("Cargo.lock", &"[[package]]\n".repeat(250)), [""; 0]);
    assert_eq!(said_of("Cargo.lock", &"[[package]]\n".repeat(251)).len(), 1);
}
