//! What an event says of a path that is to be forgotten, and the same event without it.
//!
//! A word of a command that names the path goes as a whole: what is written into a file often stands beside its name.
//! A path is known by its name beneath the workspace, from wherever the command was started, or by its full name; one
//! that a command came to in another way (a pattern, a variable, `cd` within a script) is not found by its words.

use belay_event::{Event, Raw, What};

/// What stands where a word was.
pub(crate) const ERASED: &str = "(erased)";

/// Paths beneath a workspace that was at `root`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    pub(crate) paths: &'a [Vec<u8>],
    pub(crate) root: &'a [u8],
}

impl Words<'_> {
    /// The event without what names a path; none if nothing does.
    pub(crate) fn redact(&self, event: &Event) -> Option<Event> {
        if let What::File(change) = &event.what
            && !self.holds(change.path.bytes())
            && !change.to.as_ref().is_some_and(|to| self.holds(to.bytes()))
        {
            // There are many of these, and few are meant.
            return None;
        }
        let mut new = event.clone();
        match &mut new.what {
            What::File(change) => {
                change.size = None;
                for path in [Some(&mut change.path), change.to.as_mut()].into_iter().flatten() {
                    self.path(path);
                }
            }
            What::Exec(exec) => {
                self.command(&mut exec.argv, &mut exec.cwd);
                self.path(&mut exec.exe);
            }
            What::RunStarted(started) => self.command(&mut started.argv, &mut started.cwd),
            What::McpCall(call) => {
                self.text(&mut call.request);
                self.text(&mut call.response);
                call.error.iter_mut().for_each(|text| self.text(text));
            }
            What::Denied(denied) => {
                denied.path.iter_mut().for_each(|path| self.path(path));
                denied.closed.iter_mut().for_each(|text| self.text(text));
            }
            What::Snapshot(taken) => taken.failed.iter_mut().for_each(|text| self.text(text)),
            What::Degraded(degraded) => self.text(&mut degraded.why),
            What::RunEnded(ended) => ended.because.iter_mut().for_each(|text| self.text(text)),
            What::Exit(_) | What::Rewound(_) | What::Lost(_) | What::Storm(_) | What::Erased(_) => {}
        }
        (new != *event).then_some(new)
    }

    /// The words of a command that was started in `cwd`.
    pub(crate) fn command(&self, argv: &mut [Raw], cwd: &mut Raw) {
        let inside = self.beneath_root(cwd.bytes()).map(<[u8]>::to_vec);
        for path in self.paths {
            let from_there = inside.as_deref().map(|dir| from(dir, path));
            let is_within = from_there.is_some_and(<[u8]>::is_empty);
            for (at, word) in argv.iter_mut().enumerate() {
                let is_named = names(word.bytes(), path) || from_there.is_some_and(|name| names(word.bytes(), name));
                if is_named || (is_within && at > 0) {
                    *word = Raw::from(ERASED);
                }
            }
        }
        self.path(cwd);
    }

    /// A text that names a path goes as a whole.
    pub(crate) fn text(&self, text: &mut String) {
        if self.are_named_in(text.as_bytes()) {
            ERASED.clone_into(text);
        }
    }

    pub(crate) fn are_named_in(&self, text: &[u8]) -> bool {
        self.paths.iter().any(|path| names(text, path))
    }

    fn path(&self, path: &mut Raw) {
        if self.holds(self.beneath_root(path.bytes()).unwrap_or(path.bytes())) {
            *path = Raw::from(ERASED);
        }
    }

    /// Whether it is one of the paths, or beneath one.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        super::is_beneath_any(path, self.paths)
    }

    /// A full path as one beneath the workspace; empty for the workspace itself.
    fn beneath_root<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let rest = path.strip_prefix(self.root)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
    }
}

/// What is left of `path` for somebody in `dir` who went up as far as needed; empty if `dir` is in it.
fn from<'p>(dir: &[u8], path: &'p [u8]) -> &'p [u8] {
    let mut rest = path;
    for part in dir.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        match rest.strip_prefix(part) {
            Some(b"") => return b"",
            Some(after) if after[0] == b'/' => rest = &after[1..],
            _ => return rest,
        }
    }
    rest
}

/// Whether the text has the name in it, and not as a part of a longer one.
pub(crate) fn names(text: &[u8], name: &[u8]) -> bool {
    let mut from = 0;
    while let Some(start) = find(text, name, from) {
        let end = start + name.len();
        // `-iid_rsa` is the option -i.
        let is_option = start == 2 && text[0] == b'-';
        let is_begun = start > 0 && is_of_name(text[start - 1]) && !is_option;
        let is_going_on = match &text[end..] {
            [b'.', next, ..] => is_of_name(*next),
            [b'.'] | [] => false,
            [next, ..] => is_of_name(*next),
        };
        if !is_begun && !is_going_on {
            return true;
        }
        from = start + 1;
    }
    false
}

/// Whether the text has the name in it, as a part of whatever.
pub(crate) fn contains(text: &[u8], name: &[u8]) -> bool {
    find(text, name, 0).is_some()
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-' | b'.')
}

fn find(text: &[u8], name: &[u8], from: usize) -> Option<usize> {
    let first = *name.first()?;
    let mut at = from;
    loop {
        at += text.get(at..)?.iter().position(|byte| *byte == first)?;
        if text[at..].starts_with(name) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_whole_only() {
        let named = |text: &str| names(text.as_bytes(), b".env");
        assert!(
            [".env", "./.env", "cat .env", "--file=.env", "-f.env", "a '.env'.", "/srv/p/.env"].into_iter().all(named)
        );
        assert!(![".envrc", ".env.local", "a.env", "env", ""].into_iter().any(named));
    }

    #[test]
    fn a_name_is_what_is_left_from_where_one_is() {
        assert_eq!(from(b"", b"a/b"), b"a/b");
        assert_eq!(from(b"a", b"a/b"), b"b");
        assert_eq!(from(b"a/c", b"a/b"), b"b");
        assert_eq!(from(b"ab", b"a/b"), b"a/b");
        assert_eq!(from(b"a/b", b"a/b"), b"");
        assert_eq!(from(b"a/b/c", b"a"), b"");
    }

    #[test]
    fn the_words_of_a_command_are_understood_where_it_was_started() {
        let paths = [b"keys/id_rsa".to_vec()];
        let words = Words { paths: &paths, root: b"/srv/p" };
        let left = |cwd: &str, argv: &[&str]| {
            let mut argv: Vec<Raw> = argv.iter().map(|word| Raw::from(*word)).collect();
            words.command(&mut argv, &mut Raw::from(cwd));
            argv.iter().map(|word| word.lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(left("/srv/p", &["cat", "keys/id_rsa"]), ["cat", ERASED]);
        assert_eq!(left("/srv/p/keys", &["cat", "id_rsa", "id_rsa.pub"]), ["cat", ERASED, "id_rsa.pub"]);
        assert_eq!(left("/srv/p/src", &["cat", "../keys/id_rsa"]), ["cat", ERASED]);
        assert_eq!(left("/", &["cat", "/srv/p/keys/id_rsa"]), ["cat", ERASED]);
        assert_eq!(left("/srv/p", &["cat", "id_rsa"]), ["cat", "id_rsa"], "that is another file");
        assert_eq!(left("/srv/p", &["sh", "-c", "echo s3cret > keys/id_rsa"]), ["sh", "-c", ERASED]);
    }
}
