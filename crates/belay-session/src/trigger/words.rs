//! What a command is called and what it is asked to do, whoever interprets its script.

use belay_event::Raw;

/// Programs that run a script: the kernel reports them, with the script as their first argument.
const INTERPRETERS: [&str; 11] =
    ["node", "nodejs", "bun", "deno", "sh", "bash", "dash", "zsh", "ksh", "python3", "python"];

/// Names under which the same tool also runs.
const SAME: [(&str, &str); 6] = [
    ("npm-cli.js", "npm"),
    ("yarn.js", "yarn"),
    ("yarnpkg", "yarn"),
    ("gmake", "make"),
    ("mvnw", "mvn"),
    ("gradlew", "gradle"),
];

/// The name of the program, or of the script that an interpreter runs, and the arguments after it.
pub(super) fn program(argv: &[Raw]) -> Option<(&str, &[Raw])> {
    let (first, rest) = argv.split_first()?;
    let (name, rest) = match rest.split_first() {
        Some((script, rest)) if INTERPRETERS.contains(&name(first)?) && !script.bytes().starts_with(b"-") => {
            (name(script)?, rest)
        }
        _ => (name(first)?, rest),
    };
    let name = SAME.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, usual)| usual);
    Some((name, rest))
}

/// The last part of a path, without the dash that marks a login shell.
fn name(path: &Raw) -> Option<&str> {
    let last = path.bytes().rsplit(|byte| *byte == b'/').next()?;
    std::str::from_utf8(last.strip_prefix(b"-").unwrap_or(last)).ok()
}

/// The arguments that are neither options nor values of those options, up to and beyond `--`.
pub(super) fn operands<'a>(arguments: &'a [Raw], with_value: &[&str]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    let mut rest = arguments.iter().map(Raw::bytes);
    while let Some(word) = rest.next() {
        if word == b"--" {
            found.extend(rest);
            break;
        }
        if !word.starts_with(b"-") || word == b"-" {
            found.push(word);
        } else if with_value.iter().any(|option| option.as_bytes() == word) {
            rest.next();
        }
    }
    found
}

const SAID_CHARS_MAX: usize = 120;

/// The command line as a cause is written: on one line, and cut if it is long.
pub(crate) fn said(argv: &[Raw]) -> String {
    let words: Vec<_> = argv.iter().map(Raw::lossy).collect();
    let line = words.join(" ");
    match line.char_indices().nth(SAID_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A command line without quotes as its arguments.
    pub(in crate::trigger) fn argv(line: &str) -> Vec<Raw> {
        line.split_whitespace().map(Raw::from).collect()
    }

    #[test]
    fn a_script_is_known_by_its_own_name() {
        let cases = [
            ("/usr/bin/make all", "make", 1),
            ("node /usr/bin/npm run build", "npm", 2),
            ("/usr/bin/node /opt/npm/bin/npm-cli.js run build", "npm", 2),
            ("/bin/sh ./mvnw package", "mvn", 1),
            ("sh -c make", "sh", 2),
            ("-bash", "bash", 0),
            ("node", "node", 0),
        ];
        for (line, wanted, rest) in cases {
            let line = argv(line);
            let (name, arguments) = program(&line).unwrap();
            assert_eq!((name, arguments.len()), (wanted, rest));
        }
        assert_eq!(program(&[]), None);
        assert_eq!(program(&[Raw::from(vec![0xff])]), None);
    }

    #[test]
    fn operands_are_what_is_left_of_options_and_their_values() {
        let line = argv("-j 4 -k all --file=x -- -odd");
        assert_eq!(operands(&line, &["-j"]), [&b"all"[..], b"-odd"]);
        assert_eq!(operands(&line, &[]), [&b"4"[..], b"all", b"-odd"]);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let long = [Raw::from("ä".repeat(500).as_str())];
        assert_eq!(said(&long).chars().count(), SAID_CHARS_MAX + 1);
        assert_eq!(said(&argv("git commit")), "git commit");
    }
}
