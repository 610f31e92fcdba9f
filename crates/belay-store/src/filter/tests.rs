//! Filters take and leave what they should, parents before children.

use super::*;
use crate::tree::Opaque;
use std::sync::Arc;

/// Evidence that is exactly what it lists.
#[derive(Default)]
struct Seen {
    siblings: &'static [&'static str],
    children: &'static [&'static str],
    bytes: u64,
    ignores_itself: bool,
}

impl Evidence for Seen {
    fn sibling(&self, name: &[u8]) -> bool {
        self.siblings.iter().any(|one| one.as_bytes() == name)
    }

    fn child(&self, name: &[u8]) -> bool {
        self.children.iter().any(|one| one.as_bytes() == name)
    }

    fn exceeds(&self, bytes: u64) -> bool {
        self.bytes > bytes
    }

    fn ignores_itself(&self) -> bool {
        self.ignores_itself
    }
}

const NOTHING: Seen = Seen { siblings: &[], children: &[], bytes: 0, ignores_itself: false };

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// What the filter decides about `path` in a workspace with these ignore files (directory, text).
fn decide(filter: &Filter, ignores: &[(&str, &str)], path: &str, is_dir: bool, evidence: &dyn Evidence) -> Verdict {
    let judge = filter.judge().unwrap();
    let mut rules = judge.rules();
    let mut at = 0;
    loop {
        let dir = &path[..at];
        let texts: Vec<&[u8]> = ignores.iter().filter(|(of, _)| *of == dir).map(|(_, text)| text.as_bytes()).collect();
        rules = judge.enter(&rules, dir.as_bytes(), &texts);
        let begin = if at == 0 { 0 } else { at + 1 };
        let end = path[begin..].find('/').map_or(path.len(), |slash| begin + slash);
        let (here, name) = (&path[..end], &path[begin..end]);
        let last = end == path.len();
        let is_dir = is_dir || !last;
        let verdict = match judge.is_candidate(name.as_bytes(), is_dir) {
            true => judge.decide(&rules, here.as_bytes(), name.as_bytes(), is_dir, evidence),
            false => Verdict::Take,
        };
        match verdict {
            _ if last => return verdict,
            Verdict::Leave(_) => return verdict,
            Verdict::Through(reason) => rules = judge.through(&rules, here.as_bytes(), reason),
            Verdict::Take => {}
        }
        at = end;
    }
}

const LEFT: Verdict = Verdict::Leave(Opaque::Regenerable);
const EXCLUDED: Verdict = Verdict::Leave(Opaque::Excluded);
const IGNORED: Verdict = Verdict::Leave(Opaque::GitIgnored);

#[test]
fn regenerable_needs_the_list_and_git_and_the_evidence() {
    let filter = Filter::default();
    let beside = Seen { siblings: &["package.json"], ..NOTHING };
    let ask = |text, path, evidence: &Seen| decide(&filter, &[("", text)], path, true, evidence);
    assert_eq!(ask("node_modules/\n", "node_modules", &beside), LEFT);
    assert_eq!(ask("node_modules/\n", "node_modules", &NOTHING), Verdict::Take);
    assert_eq!(ask("", "node_modules", &beside), Verdict::Take);
    assert_eq!(ask("*\n", "modules", &beside), Verdict::Take);
    assert_eq!(ask("*\n", "a/__pycache__", &NOTHING), LEFT);
    assert_eq!(ask("", ".pytest_cache", &Seen { ignores_itself: true, ..NOTHING }), LEFT);
    assert_eq!(decide(&filter, &[("", "*\n")], "node_modules", false, &beside), Verdict::Take, "a file of that name");
}

#[test]
fn evidence_may_be_beside_or_inside_or_the_size() {
    let filter = Filter { regenerable_bytes_min: 1000, ..Filter::default() };
    let ask = |path, evidence: &Seen| decide(&filter, &[("", "*\n")], path, true, evidence);
    assert_eq!(ask("target", &Seen { siblings: &["pom.xml"], ..NOTHING }), LEFT);
    assert_eq!(ask("target", &Seen { children: &["CACHEDIR.TAG"], ..NOTHING }), LEFT);
    assert_eq!(ask("target", &Seen { bytes: u64::MAX, ..NOTHING }), Verdict::Take);
    assert_eq!(ask("venv", &Seen { siblings: &["pyvenv.cfg"], ..NOTHING }), Verdict::Take);
    assert_eq!(ask("venv", &Seen { children: &["pyvenv.cfg"], ..NOTHING }), LEFT);
    assert_eq!(ask("build", &Seen { bytes: 1000, ..NOTHING }), Verdict::Take);
    assert_eq!(ask("build", &Seen { bytes: 1001, ..NOTHING }), LEFT);
    assert_eq!(ask("build", &Seen { children: &["CACHEDIR.TAG"], ..NOTHING }), Verdict::Take);
}

#[test]
fn what_people_lost_is_taken() {
    for path in [".env", "local.db", "notes/secret.txt", "env/prod.json", "vendor", "x.egg-info"] {
        assert_eq!(decide(&Filter::default(), &[("", "*\n")], path, false, &NOTHING), Verdict::Take, "{path}");
    }
}

#[test]
fn skip_leaves_all_that_git_ignores_but_never_the_repository() {
    let filter = Filter { gitignored: Ignored::Skip, ..Filter::default() };
    let ask = |path, is_dir| decide(&filter, &[("", "*\n!keep\n")], path, is_dir, &NOTHING);
    assert_eq!(ask("a", false), IGNORED);
    assert_eq!(ask("keep", false), Verdict::Take);
    assert_eq!(ask("keep/a", false), IGNORED);
    assert_eq!(ask(".git", true), Verdict::Take);
    assert_eq!(ask(".git/objects/00", false), Verdict::Take);
}

#[test]
fn an_ignore_file_inside_an_ignored_directory_has_no_say() {
    let filter = Filter::default();
    let ignores = [("", "cache/\n"), ("cache", "!__pycache__\n"), ("cache/b", "!*\n")];
    assert_eq!(decide(&filter, &ignores, "cache/__pycache__", true, &NOTHING), LEFT);
    assert_eq!(decide(&filter, &ignores, "cache/b/c/__pycache__", true, &NOTHING), LEFT);
    assert_eq!(
        decide(&filter, &[("", "__pycache__\n"), ("b", "!*\n")], "b/__pycache__", true, &NOTHING),
        Verdict::Take
    );
}

#[test]
fn exclude_prevails_over_git_but_lower_files_over_higher_ones() {
    let filter = Filter { gitignored: Ignored::Skip, ..Filter::default() };
    let ignores = [("", "!a\n"), ("", "a\nb\n"), ("sub", "b\n!b\n")];
    assert_eq!(decide(&filter, &ignores, "a", false, &NOTHING), Verdict::Take, "the first text prevails");
    assert_eq!(decide(&filter, &ignores, "b", false, &NOTHING), IGNORED);
    assert_eq!(decide(&filter, &ignores, "sub/b", false, &NOTHING), Verdict::Take);
}

#[test]
fn configured_exclusions() {
    let filter = Filter {
        additional: strings(&["/logs", "*.tmp", "!__pycache__"]),
        exclude_patterns: strings(&["secrets", "gen/out", "/top/", ""]),
        exclude_globs: strings(&["*.iso"]),
        ..Filter::default()
    };
    let ask = |path, is_dir| decide(&filter, &[("", "*")], path, is_dir, &NOTHING);
    assert_eq!(ask("logs", true), EXCLUDED);
    assert_eq!(ask("a/logs", true), Verdict::Take);
    assert_eq!(ask("a/b.tmp", false), EXCLUDED);
    assert_eq!(ask("a/secrets", true), EXCLUDED);
    assert_eq!(ask("a/secrets2", true), Verdict::Take);
    assert_eq!(ask("a/gen/output", false), EXCLUDED);
    assert_eq!(ask("top", true), EXCLUDED);
    assert_eq!(ask("a/top", true), EXCLUDED, "a part of a path, wherever it is");
    assert_eq!(ask("top", false), Verdict::Take);
    assert_eq!(ask("a/b.iso", false), EXCLUDED);
    assert_eq!(ask("b.iso", true), Verdict::Take);
    assert_eq!(ask("a/__pycache__", true), Verdict::Take, "taken back by a negated pattern");
}

#[test]
fn force_beats_all_and_opens_the_way_to_it() {
    let filter = Filter {
        force_include: strings(&["/node_modules/@me/*/patched.js", "keep.log", "deep/**/x"]),
        exclude_patterns: strings(&["logs"]),
        ..Filter::default()
    };
    let ask = |path, is_dir| decide(&filter, &[("", "node_modules")], path, is_dir, &AssumeAll);
    let through = Verdict::Through(Opaque::Regenerable);
    assert_eq!(ask("node_modules/@me/lib/patched.js", false), Verdict::Take);
    assert_eq!(ask("node_modules/@me/lib/other.js", false), LEFT);
    assert_eq!(ask("node_modules", true), through);
    assert_eq!(ask("logs/a/keep.log", false), Verdict::Take);
    assert_eq!(ask("logs/a/other.log", false), EXCLUDED);
    assert_eq!(ask("src/main.rs", false), Verdict::Take);

    let anchored = Filter { force_include: strings(&["/node_modules/a/b", "deep/**/x"]), ..filter };
    let ask = |path, is_dir| decide(&anchored, &[("", "node_modules")], path, is_dir, &AssumeAll);
    assert_eq!(ask("node_modules/a", true), through);
    assert_eq!(ask("node_modules/b", true), LEFT);
    assert_eq!(ask("node_modules/a/b/c/d", false), Verdict::Take);
    assert_eq!(ask("logs", true), EXCLUDED);
    assert_eq!(ask("deep/1/2/logs/x", false), Verdict::Take);
}

#[test]
fn ignore_files_above_the_workspace_count() {
    let outer = vec![
        ("app".to_string(), "!sub/__pycache__\n".to_string()),
        ("pkgs/app".to_string(), "__pycache__\n/pkgs/app/b/__pycache__\n!/pkgs/app/c/__pycache__".to_string()),
        ("pkgs/app".to_string(), "/pkgs\n".to_string()),
    ];
    let filter = Filter { outer, ..Filter::default() };
    let ask = |path| decide(&filter, &[("d", "!__pycache__")], path, true, &NOTHING);
    assert_eq!(ask("__pycache__"), LEFT);
    assert_eq!(ask("c/__pycache__"), Verdict::Take, "anchored where the outer file is");
    assert_eq!(ask("sub/__pycache__"), LEFT, "anchored elsewhere");
    assert_eq!(ask("d/__pycache__"), Verdict::Take);
    let skip = Filter { gitignored: Ignored::Skip, ..filter };
    assert_eq!(decide(&skip, &[], "a", false, &NOTHING), Verdict::Take, "the workspace itself is meant");
}

#[test]
fn nothing_in_an_ignore_file_breaks_the_walk() {
    let filter = Filter { gitignored: Ignored::Skip, ..Filter::default() };
    let judge = filter.judge().unwrap();
    let huge = b"x\n".repeat(1 << 20);
    let many = (0..5_000).map(|n| format!("*{n}*a*b*c\nx\n")).collect::<String>();
    let texts: [(&[u8], bool); 7] = [
        (b"[\n***\n{a\n\\\n!\n/\n//\nx", true),
        (b"\xff\xfe\nx\n\xff*\n", true),
        (b"x\n!\xff\n", false),
        (b"\xef\xbb\xbfx\r\n", true),
        (b"x\0\n", false),
        (&huge, false),
        (many.as_bytes(), false),
    ];
    for (text, ignored) in texts {
        let rules = judge.enter(&judge.rules(), b"", &[text]);
        let name: &[u8] = if text.starts_with(b"x\n!\xff") { b"\xfe" } else { b"x" };
        let verdict = judge.decide(&rules, name, name, false, &NOTHING);
        assert_eq!(verdict == IGNORED, ignored, "{:?}", &text[..text.len().min(30)]);
    }
}

#[test]
fn the_fingerprint_follows_everything_a_decision_depends_on() {
    let judge = Filter::default().judge().unwrap();
    let top = judge.rules();
    let a = judge.enter(&top, b"", &[b"a"]);
    assert!(Arc::ptr_eq(&judge.enter(&a, b"sub", &[]), &a));
    let others = [
        judge.enter(&top, b"", &[b"b"]),
        judge.enter(&top, b"sub", &[b"a"]),
        judge.enter(&top, b"", &[b"a", b""]),
        judge.enter(&a, b"", &[b"a"]),
        judge.through(&a, b"", Opaque::Excluded),
        judge.through(&a, b"", Opaque::Regenerable),
        Filter::everything().judge().unwrap().rules(),
        Filter { regenerable_bytes_min: 1, ..Filter::default() }.judge().unwrap().rules(),
        top,
    ];
    let all: std::collections::HashSet<u64> = others.iter().chain([&a]).map(|rules| rules.fingerprint()).collect();
    assert_eq!(all.len(), others.len() + 1);
    assert_eq!(a.fingerprint(), judge.enter(&judge.rules(), b"", &[b"a"]).fingerprint());
}

#[test]
fn trivial_filters_are_known_as_such() {
    assert!(Filter::everything().judge().unwrap().is_trivial());
    assert!(!Filter::default().judge().unwrap().is_trivial());
    let judge = Filter::default().judge().unwrap();
    assert!(judge.is_candidate(b"target", true) && !judge.is_candidate(b"target", false));
    assert!(!judge.is_candidate(b"src", true));
}

#[test]
fn a_very_deep_tree_of_ignore_files_is_no_trouble() {
    let judge = Filter::default().judge().unwrap();
    let mut rules = judge.enter(&judge.rules(), b"", &[b"x"]);
    let mut dir = b"d".to_vec();
    for _ in 0..100_000 {
        rules = match dir.len() {
            0..5_000 => judge.enter(&rules, &dir, &[b"y"]),
            _ => judge.through(&rules, b"d", Opaque::Excluded),
        };
        dir.extend_from_slice(b"/d");
    }
    assert!(rules.ignores(b"d/d/x", false));
    assert!(!rules.ignores(b"d/d/z", false));
}

#[test]
fn invalid_patterns_of_a_filter_are_refused_by_name() {
    for filter in [
        Filter { additional: strings(&["ok", "a[z-a]"]), ..Filter::default() },
        Filter { exclude_globs: strings(&["a[z-a]"]), ..Filter::default() },
        Filter { force_include: strings(&["a[z-a]"]), ..Filter::default() },
    ] {
        let error = filter.judge().err().expect("the pattern is not valid");
        assert!(error.to_string().contains("a[z-a]"), "{error}");
    }
}

#[test]
fn encoding_round_trips_and_no_cut_or_flip_panics() {
    let filter = Filter {
        gitignored: Ignored::Skip,
        additional: strings(&["a"]),
        exclude_patterns: strings(&["b", "c/d"]),
        exclude_globs: strings(&["*.e"]),
        force_include: strings(&["f"]),
        outer: vec![("g".into(), "h\n".into())],
        ..Filter::default()
    };
    let bytes = filter.encode();
    assert_eq!(Filter::decode(&bytes).unwrap(), filter);
    for len in 0..bytes.len() {
        assert!(Filter::decode(&bytes[..len]).is_err());
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = Filter::decode(&flipped) {
            assert_ne!(other, filter);
        }
    }
}
