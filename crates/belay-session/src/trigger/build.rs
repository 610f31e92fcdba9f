//! Which commands are builds.
//!
//! A pattern is a program and the words that it is first asked for, options and their values not counted: `npm run
//! build` is also `npm --prefix web run build -- --watch`. For `make`, `mvn` and `gradle`, whose goals may come in any
//! order, the goal may stand anywhere: `mvn clean package` packages. `make` alone means make without a goal, so
//! `make -j4` is a build and `make clean` is none. A user's pattern is a beginning: `tox` is also `tox run py312`.

use belay_event::Raw;

use super::words::{operands, program};

/// The patterns that are built in.
pub(super) const PATTERNS: [&str; 12] = [
    "npm run build",
    "npm run compile",
    "yarn build",
    "go build",
    "go install",
    "make",
    "make all",
    "make build",
    "cargo build",
    "mvn package",
    "mvn compile",
    "gradle build",
];

/// What is known of a tool: how its words are read.
struct Tool {
    name: &'static str,
    /// Its options that take the next word.
    with_value: &'static [&'static str],
    /// Whether its words are goals that come in any order.
    goals: bool,
    /// Words that mean another.
    same: &'static [(&'static str, &'static str)],
}

const TOOLS: [Tool; 7] = [
    Tool {
        name: "npm",
        with_value: &["--prefix", "-C", "--workspace", "-w", "--loglevel", "--userconfig", "--cache"],
        goals: false,
        same: &[("run-script", "run")],
    },
    Tool { name: "yarn", with_value: &["--cwd", "--cache-folder", "--modules-folder"], goals: false, same: &[] },
    Tool { name: "go", with_value: &["-C"], goals: false, same: &[] },
    Tool {
        name: "make",
        with_value: &[
            "-C",
            "--directory",
            "-f",
            "--file",
            "--makefile",
            "-I",
            "--include-dir",
            "-o",
            "--old-file",
            "-W",
            "--what-if",
            "-E",
            "--eval",
        ],
        goals: true,
        same: &[],
    },
    Tool {
        name: "cargo",
        with_value: &["-C", "-Z", "--config", "--color", "--manifest-path"],
        goals: false,
        same: &[("b", "build")],
    },
    Tool {
        name: "mvn",
        with_value: &["-f", "--file", "-P", "--activate-profiles", "-pl", "--projects", "-s", "--settings", "-T", "-l"],
        goals: true,
        same: &[],
    },
    Tool {
        name: "gradle",
        with_value: &["-p", "--project-dir", "-b", "-c", "-I", "--init-script", "-x", "--exclude-task", "-g"],
        goals: true,
        same: &[],
    },
];

/// The patterns in force.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    users: Vec<Vec<String>>,
}

impl Patterns {
    /// The patterns that are built in, and these.
    pub(super) fn with(users: &[String]) -> Patterns {
        let words = |pattern: &String| pattern.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        Patterns { users: users.iter().map(words).filter(|words| !words.is_empty()).collect() }
    }

    /// Whether the command is a build.
    pub(super) fn match_argv(&self, argv: &[Raw]) -> bool {
        let Some((name, arguments)) = program(argv) else { return false };
        let tool = TOOLS.iter().find(|tool| tool.name == name);
        let words = words(tool, arguments);
        let built_in = tool.is_some_and(|tool| PATTERNS.iter().any(|pattern| is_built_in(tool, pattern, &words)));
        let goals = tool.is_some_and(|tool| tool.goals);
        built_in || self.users.iter().any(|pattern| pattern[0] == name && is_asked(&pattern[1..], goals, &words))
    }
}

fn words<'a>(tool: Option<&Tool>, arguments: &'a [Raw]) -> Vec<&'a [u8]> {
    let mut words = operands(arguments, tool.map_or(&[], |tool| tool.with_value));
    match tool.map(|tool| tool.name) {
        // `make -j 4` may have the number apart, and `CC=clang` is no goal.
        Some("make") => words.retain(|word| !word.contains(&b'=') && !word.iter().all(u8::is_ascii_digit)),
        Some("cargo") => words.retain(|word| !word.starts_with(b"+")),
        Some("yarn") if words.first() == Some(&&b"run"[..]) => drop(words.remove(0)),
        _ => {}
    }
    for word in &mut words {
        if let Some((_, usual)) = tool.and_then(|tool| tool.same.iter().find(|(same, _)| same.as_bytes() == *word)) {
            *word = usual.as_bytes();
        }
    }
    words
}

fn is_built_in(tool: &Tool, pattern: &str, words: &[&[u8]]) -> bool {
    let mut wanted = pattern.split(' ');
    let is_tool = wanted.next() == Some(tool.name);
    let wanted: Vec<&str> = wanted.collect();
    is_tool && if wanted.is_empty() { words.is_empty() } else { is_asked(&wanted, tool.goals, words) }
}

/// Whether the words begin with those that are wanted, or hold the one goal that is.
fn is_asked(wanted: &[impl AsRef<str>], goals: bool, words: &[&[u8]]) -> bool {
    let wanted: Vec<&[u8]> = wanted.iter().map(|word| word.as_ref().as_bytes()).collect();
    match wanted[..] {
        [goal] if goals => words.contains(&goal),
        _ => words.starts_with(&wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::words::tests::argv;

    fn is_build(line: &str) -> bool {
        Patterns::default().match_argv(&argv(line))
    }

    #[test]
    fn each_built_in_pattern_matches_itself_and_its_usual_shapes() {
        for line in PATTERNS {
            assert!(is_build(line), "{line}");
            assert!(is_build(&format!("/usr/local/bin/{line}")), "{line}");
        }
        let shapes = [
            "npm run build -- --x",
            "npm --prefix web run build",
            "npm run --silent build",
            "npm run-script compile",
            "node /usr/bin/npm run build",
            "yarn run build",
            "yarn --cwd web build",
            "go build ./...",
            "go -C sub build",
            "go install example.com/tool@latest",
            "make -j4",
            "make -j 4",
            "make -C sub",
            "make CC=clang",
            "make -j8 all",
            "make clean build",
            "make -f Makefile.linux all install",
            "cargo +nightly build --release",
            "cargo b",
            "cargo -C sub build",
            "cargo --config x=1 build -p y",
            "mvn -q clean package -DskipTests",
            "/bin/sh ./mvnw compile",
            "/bin/sh ./gradlew clean build",
            "gradle -p app build",
        ];
        for line in shapes {
            assert!(is_build(line), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_build_is_none() {
        let others = [
            "npm install",
            "npm run test build",
            "npm build",
            "npm run build:docs",
            "yarn add build",
            "yarn",
            "go test build",
            "go vet",
            "make clean",
            "make -C build clean",
            "make -j4 test",
            "cargo test",
            "cargo run build",
            "cargo",
            "cargo build-std",
            "mvn clean",
            "mvn -f package",
            "gradle test",
            "gradle -x build test",
            "cmake --build .",
            "sh -c make",
            "echo make",
        ];
        for line in others {
            assert!(!is_build(line), "{line}");
        }
    }

    #[test]
    fn a_users_pattern_is_a_beginning() {
        let patterns = Patterns::with(&["tox".into(), "just  build".into(), "  ".into(), "make dist".into()]);
        for line in ["tox", "tox -q run", "just build x", "/usr/bin/just -v build", "make clean dist", "cargo build"] {
            assert!(patterns.match_argv(&argv(line)), "{line}");
        }
        for line in ["toxic", "just", "just test build", "make clean"] {
            assert!(!patterns.match_argv(&argv(line)), "{line}");
        }
    }
}
