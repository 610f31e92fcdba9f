//! Rules on the text of one file.

use super::Complaint;
use super::source::{Source, has_word};

const LINES_MAX: usize = 800;
/// Crates of this project that talk to people or to their environment.
const TALKERS: [&str; 4] = ["belay", "belay-testkit", "bench", "xtask"];
const ASYNC_ROOMS: [&str; 3] = ["belay-proxy", "belay-server", "belay-vm"];
/// Crates that reach into a workspace.
const HANDLE_ROOMS: [&str; 3] = ["belay-session", "belay-store", "belay-sys"];
const EMPTY_NAMES: [&str; 6] = ["common", "helper", "helpers", "manager", "misc", "utils"];
/// Invented people whose homes may stand in examples.
const EXAMPLE_HOMES: [&str; 2] = ["ada", "you"];

/// A rule on a line of code: what is wrong, what to do instead, where it holds, and what breaks it.
struct LineRule {
    what: &'static str,
    instead: &'static str,
    in_tests_too: bool,
    holds_in: fn(room: &str) -> bool,
    broken_by: fn(code: &str) -> bool,
}

const LINE_RULES: [LineRule; 8] = [
    LineRule {
        what: "unsafe outside of belay-sys",
        instead: "Put a safe wrapper into belay-sys, with a SAFETY sentence, and call that",
        in_tests_too: true,
        holds_in: |room| room != "belay-sys",
        broken_by: |code| has_word(code, "unsafe") || code.contains("allow(unsafe_code)"),
    },
    LineRule {
        what: "a library prints",
        instead: "Return the fact and let the crate belay say it",
        in_tests_too: false,
        holds_in: |room| !TALKERS.contains(&room),
        broken_by: |code| {
            ["println!", "eprintln!", "print!", "eprint!", "dbg!"].iter().any(|name| has_word(code, name))
        },
    },
    LineRule {
        what: "a library reads the environment or the home",
        instead: "Take the value as a parameter; the crate belay reads it",
        in_tests_too: false,
        holds_in: |room| !TALKERS.contains(&room),
        broken_by: reads_environment,
    },
    LineRule {
        what: "unwrap outside of tests",
        instead: "Return the error, or say why it cannot happen with expect(\"...\")",
        in_tests_too: false,
        holds_in: |_| true,
        broken_by: |code| code.contains(".unwrap()"),
    },
    LineRule {
        what: "async code outside of proxy and server",
        instead: "Use threads here, and keep async at the rim",
        in_tests_too: true,
        holds_in: |room| !ASYNC_ROOMS.contains(&room),
        broken_by: |code| has_word(code, "async") || code.contains(".await") || has_word(code, "tokio"),
    },
    LineRule {
        what: "the store reads a clock",
        instead: "Take the time as a parameter, so that a test can choose it",
        in_tests_too: false,
        holds_in: |room| room == "belay-store",
        broken_by: |code| has_word(code, "SystemTime") || code.contains("Instant::now") || has_word(code, "jiff"),
    },
    LineRule {
        what: "an ignored test",
        instead: "Make it pass, make it short, or call belay_testkit::skip with the reason",
        in_tests_too: true,
        holds_in: |_| true,
        broken_by: |code| code.contains("#[ignore"),
    },
    LineRule {
        what: "a path is canonicalized where workspaces are reached",
        instead: "Open it beneath the root's handle (belay_sys::Root), which no swapped link can lead outside",
        in_tests_too: false,
        holds_in: |room| room == "belay-store" || room == "belay-sys",
        broken_by: |code| has_word(code, "canonicalize"),
    },
];

/// Complaints about a Rust file.
pub(crate) fn rust(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |line, what: &str, instead| {
        complaints.push(Complaint { path: source.path.clone(), line, what: what.to_owned(), instead });
    };
    for rule in LINE_RULES.iter().filter(|rule| (rule.holds_in)(source.room())) {
        let broken = |(number, code)| (rule.broken_by)(code).then_some(number);
        let numbers: Vec<usize> = match rule.in_tests_too {
            true => source.lines().filter_map(broken).collect(),
            false => source.product_lines().filter_map(broken).collect(),
        };
        numbers.into_iter().for_each(|number| complain(number, rule.what, rule.instead));
    }
    if !source.text.trim().is_empty() && !source.text.starts_with("//! ") {
        complain(1, "no opening sentence", "Begin with one `//!` sentence that says what the file is for");
    }
    if source.text.lines().count() > LINES_MAX {
        complain(LINES_MAX, "more than 800 lines", "Find the second room in it and split it there");
    }
    if has_empty_name(&source.path) {
        complain(1, "a file name that says nothing", "Name it by the noun that it is about");
    }
    if let Some(line) = canonicalize_and_compare(source) {
        complain(
            line,
            "canonicalize and starts_with decide where a path leads",
            "Open it beneath the root's handle (belay_sys::Root), which no swapped link can lead outside",
        );
    }
    complaints
}

/// Complaints about a text file of any kind.
pub(crate) fn text(path: &str, text: &str) -> Vec<Complaint> {
    // What a recorded output or a licence holds is not ours to format.
    let formatted = !path.ends_with(".snap") && !path.starts_with("LICENSE") && !path.starts_with("docs/reference/");
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut complain = |what: String, instead| {
            complaints.push(Complaint { path: path.to_owned(), line: index + 1, what, instead });
        };
        if formatted && (line.contains('\t') || line.ends_with([' ', '\r'])) {
            complain("a tab or a space at the end".into(), "Indent with spaces and end the line with its last word");
        }
        for mark in UNFINISHED {
            if has_word(line, mark) {
                complain(format!("{mark} in the tree"), "Do it now, or write an issue");
            }
        }
        if let Some(found) = machine_path(line) {
            complain(format!("{found} is a path of somebody's machine"), "Write a path that everybody has");
        }
    }
    complaints
}

/// Written in two parts, so that this file may name them.
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const MACHINE_DIRECTORIES: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

fn machine_path(line: &str) -> Option<&'static str> {
    MACHINE_DIRECTORIES.into_iter().find(|directory| {
        line.match_indices(directory).any(|(start, _)| {
            let before = line[..start].chars().next_back();
            let begins =
                before.is_none_or(|character| !(character.is_alphanumeric() || ".-_/}]>~*".contains(character)));
            let owner: String = line[start + directory.len()..]
                .chars()
                .take_while(|character| character.is_ascii_alphanumeric() || "-_".contains(*character))
                .collect();
            let example = directory.ends_with("me/") && (owner.is_empty() || EXAMPLE_HOMES.contains(&owner.as_str()));
            begins && !example
        })
    })
}

fn reads_environment(code: &str) -> bool {
    const READS: [&str; 8] = ["args", "args_os", "current_dir", "home_dir", "temp_dir", "var", "var_os", "vars"];
    has_word(code, "home_dir") || READS.iter().any(|read| has_word(code, &format!("env::{read}")))
}

fn has_empty_name(path: &str) -> bool {
    path.split('/').any(|part| EMPTY_NAMES.contains(&part.strip_suffix(".rs").unwrap_or(part)))
}

fn canonicalize_and_compare(source: &Source) -> Option<usize> {
    let line_with = |word: &str| source.product_lines().find(|(_, code)| has_word(code, word)).map(|(line, _)| line);
    line_with("starts_with")?;
    HANDLE_ROOMS.contains(&source.room()).then(|| line_with("canonicalize")).flatten()
}
