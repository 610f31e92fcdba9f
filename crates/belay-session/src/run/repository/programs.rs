//! Which of git's settings name programs, and what in them is the path of one.

use std::borrow::Cow;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;

/// Keys whose values git has a shell carry out, or executes, in whatever section they stand.
const COMMANDS: [&str; 29] = [
    "alternaterefscommand",
    "askpass",
    "cccmd",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "headercmd",
    "helper",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "receivepack",
    "recentobjectshook",
    "sendmailcmd",
    "smudge",
    "sshcommand",
    "textconv",
    "tocmd",
    "tunnel",
    "uploadpack",
    "vcs",
];
/// Words of one value that are looked at.
const WORDS_MAX: usize = 64;

/// A word that may be the path of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word<'v> {
    pub(super) path: Cow<'v, [u8]>,
    /// Whether git would execute what somebody puts there.
    pub(super) may_be_made: bool,
    /// Whether nothing is known of the key, so that only what can be executed counts.
    is_guess: bool,
}

impl Word<'_> {
    /// Whether this file is a program that is meant.
    pub(super) fn counts_with(&self, found: &Metadata) -> bool {
        !self.is_guess || found.permissions().mode() & 0o111 != 0
    }
}

/// Whether git executes the value, or has a shell do so.
fn is_command(section: &str, key: &str, value: &[u8]) -> bool {
    let first = section.split([' ', '\t', '.', '"']).next().unwrap_or_default();
    let is_shell = value.starts_with(b"!");
    match first {
        "alias" => is_shell,
        "submodule" => key == "update" && is_shell,
        "pager" => true,
        _ => COMMANDS.contains(&key),
    }
}

/// Whether settings have git execute something of theirs, or lead to others that may.
pub(super) fn executes(section: &str, key: &str, value: &[u8]) -> bool {
    let leads = (key == "path" && section.starts_with("include")) || (section == "core" && key == "hookspath");
    // Git's own daemon, or none.
    let is_own = matches!(&value.to_ascii_lowercase()[..], b"true" | b"false" | b"0" | b"1" | b"yes" | b"no" | b"");
    // Such an address is a command, which git fetches missing objects by if it is allowed.
    let is_protocol = section == "protocol" || (section.starts_with("protocol") && section.contains("ext"));
    let is_address = value.starts_with(b"ext::") || (is_protocol && key == "allow" && value != b"never");
    leads || is_address || (is_command(section, key, value) && !is_own)
}

/// The words of a value that may be programs; a name without a slash is looked for elsewhere.
pub(super) fn named_by<'v>(section: &str, key: &str, value: &'v [u8]) -> Vec<Word<'v>> {
    if !is_command(section, key, value) {
        let has_slash = value.contains(&b'/') && !value.iter().any(u8::is_ascii_whitespace);
        return Vec::from_iter(has_slash.then(|| Word { path: value.into(), may_be_made: false, is_guess: true }));
    }
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b";|&()<>'\"`!=$".contains(byte);
    let words = value.split(is_end).filter(|word| !word.is_empty());
    let has_several = words.clone().nth(1).is_some();
    let is_path = |(_, word): &(usize, &[u8])| word.contains(&b'/') || has_several;
    let words = words.enumerate().take(WORDS_MAX).filter(is_path);
    let word = |(at, path): (usize, &'v [u8])| Word {
        path: path.into(),
        may_be_made: at == 0 && path.contains(&b'/'),
        is_guess: false,
    };
    words.map(word).chain(with_spaces(value)).chain(behind_variables(value)).collect()
}

/// What a path may be that begins with what only a shell knows, as `$HOME/x` or `$(git rev-parse --show-toplevel)/x`: most
/// often that is the directory of the files, or the home.
fn behind_variables(value: &[u8]) -> Vec<Word<'_>> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b";|&()<>'\"`!=$}".contains(byte);
    let words = value.split(is_end).filter(|_| value.contains(&b'$') || value.contains(&b'`')).take(WORDS_MAX);
    let rests =
        words.filter_map(|word| Some(super::without_slashes(&word[word.iter().position(|byte| *byte == b'/')?..])));
    let guess = |path| Word { path, may_be_made: false, is_guess: false };
    let places = |rest: &'_ [u8]| [Cow::from(rest.to_vec()), Cow::from([b"~/", rest].concat())].map(guess);
    rests.filter(|rest| !rest.is_empty()).flat_map(places).collect()
}

/// What of a value is one word although it has a space in it: all of it, which git may execute as it stands, what is in
/// quotes, and what has its spaces escaped.
fn with_spaces(value: &[u8]) -> Vec<Word<'_>> {
    let mut paths: Vec<Cow<'_, [u8]>> = vec![value.into()];
    for quote in [b'"', b'\''] {
        paths.extend(value.split(|byte| *byte == quote).skip(1).step_by(2).map(Cow::from));
    }
    if value.contains(&b'\\') {
        let marked = String::from_utf8_lossy(value).replace("\\ ", "\0");
        let words = marked.split(|one: char| one.is_ascii_whitespace() || ";|&!".contains(one));
        paths.extend(words.map(|word| Cow::from(word.replace('\0', " ").into_bytes())));
    }
    paths.retain(|path| path.contains(&b'/') && path.iter().any(u8::is_ascii_whitespace));
    paths.into_iter().map(|path| Word { path, may_be_made: true, is_guess: false }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_what_git_executes_and_words_are_not() {
        let paths = |section: &str, key: &str, value: &'static str| -> Vec<(String, bool)> {
            let words = named_by(section, key, value.as_bytes());
            words.iter().map(|word| (String::from_utf8_lossy(&word.path).into_owned(), word.may_be_made)).collect()
        };
        let one = |path: &str, may_be_made| vec![(path.to_owned(), may_be_made)];
        assert_eq!(paths("core", "fsmonitor", "tools/watch"), one("tools/watch", true));
        assert_eq!(paths("core", "pager", "less"), []);
        assert_eq!(paths("alias", "x", "!./run.sh"), one("./run.sh", true));
        assert_eq!(paths("alias", "x", "log a/b"), []);
        let filter = [("python3".to_owned(), false), ("clean.py".to_owned(), false), ("%f".to_owned(), false)];
        assert_eq!(paths("filter \"x\"", "clean", "python3 clean.py %f"), filter);
        assert_eq!(paths("gitflow \"prefix\"", "feature", "feature/"), one("feature/", false));
        assert_eq!(paths("submodule \"x\"", "update", "checkout"), []);
        for value in [
            "$HOME/tools/run",
            "\"${A}\"/tools/run -v",
            "$(git rev-parse --show-toplevel)/tools/run",
            "`pwd`/tools/run",
        ] {
            let found = paths("core", "sshcommand", value);
            for place in ["tools/run", "~/tools/run"] {
                assert!(found.contains(&(place.to_owned(), false)), "{value}: {found:?}");
            }
        }
        for value in ["my tools/run", "\"my tools/run\" -v", "! 'my tools/run'", "my\\ tools/run %f"] {
            let found = paths("core", "sshcommand", value);
            assert!(found.contains(&("my tools/run".to_owned(), true)), "{value}: {found:?}");
        }
    }
}
