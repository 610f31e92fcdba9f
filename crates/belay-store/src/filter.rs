//! What a snapshot takes and what it leaves out, as data that is stored inside it.
//!
//! - A decision is a function of the filter, the ignore files above the path and the evidence beside it; nothing else.
//! - Whatever cannot be understood (a huge, binary or invalid ignore file) leaves nothing out.
//! - A path named `.git`, and all beneath it, is never taken for ignored by git.
//! - A directory named [`KEPT_BESIDE`] is never taken, whatever the filter says: it holds the snapshots of a workspace inside.

mod judge;
mod pattern;
mod regenerable;
mod rules;

pub(crate) use judge::is_kept_beside;
pub use judge::{AssumeAll, Evidence, Judge, Verdict};
pub use regenerable::Regenerable;
pub use rules::Rules;

use crate::codec::{Decoder, Encoder};
use crate::error::Result;

const FILTER_VERSION: u8 = 1;

/// The directory beside a workspace that holds what a filesystem made of it.
///
/// A workspace around it neither captures nor removes it. That is no part of a stored filter, because the directory may be
/// made by whoever keeps another home after the snapshot was taken.
pub const KEPT_BESIDE: &str = ".belay-snapshots";

/// What to do with what git ignores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// Leave out only directories that can be made again.
    #[default]
    Regenerable,
    /// Leave out all of it.
    Skip,
    /// Leave out nothing.
    Capture,
}

const IGNORED: [Ignored; 3] = [Ignored::Regenerable, Ignored::Skip, Ignored::Capture];

/// The effective filter of a snapshot: configuration and outer ignore files, as they were then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// What to do with what git ignores.
    pub gitignored: Ignored,
    /// Patterns in gitignore syntax, anchored at the workspace; a negated one takes what git ignores.
    pub additional: Vec<String>,
    /// Names of path components, or parts of paths if they contain a slash.
    pub exclude_patterns: Vec<String>,
    /// Globs matched against the names of all but directories.
    pub exclude_globs: Vec<String>,
    /// Patterns in gitignore syntax that beat all exclusions, of the directories above a match too.
    pub force_include: Vec<String>,
    /// Ignore files of the directories above the workspace, up to its repository's top: the workspace's
    /// path beneath that directory, and the file's text. Of two for one directory the first prevails.
    pub outer: Vec<(String, String)>,
    /// Up to this size `build`, `dist` and their like are captured although git ignores them.
    pub regenerable_bytes_min: u64,
    /// Directories that can be made again; part of the snapshot, because a later belay may know others.
    pub regenerable: Vec<Regenerable>,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            gitignored: Ignored::Regenerable,
            regenerable_bytes_min: 64 << 20,
            regenerable: regenerable::builtin(),
            ..Filter::everything()
        }
    }
}

impl Filter {
    /// Leaves nothing out.
    pub fn everything() -> Filter {
        Filter {
            gitignored: Ignored::Capture,
            additional: Vec::new(),
            exclude_patterns: Vec::new(),
            exclude_globs: Vec::new(),
            force_include: Vec::new(),
            outer: Vec::new(),
            regenerable_bytes_min: 0,
            regenerable: Vec::new(),
        }
    }

    /// Compiles the filter; fails if one of its own patterns is not valid.
    pub fn judge(&self) -> Result<Judge> {
        Judge::new(self)
    }

    /// The filter as the bytes that a snapshot stores.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(FILTER_VERSION);
        out.byte(IGNORED.iter().position(|one| *one == self.gitignored).expect("the table lists every variant") as u8);
        for list in [&self.additional, &self.exclude_patterns, &self.exclude_globs, &self.force_include] {
            encode_texts(list, &mut out);
        }
        out.number(self.outer.len() as u64);
        for (path, text) in &self.outer {
            out.blob(path.as_bytes());
            out.blob(text.as_bytes());
        }
        out.number(self.regenerable_bytes_min);
        out.number(self.regenerable.len() as u64);
        self.regenerable.iter().for_each(|one| one.encode(&mut out));
        out.bytes
    }

    /// Reads what [`Filter::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Filter> {
        let mut input = Decoder::new(bytes, "a filter");
        if input.byte()? != FILTER_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let code = usize::from(input.byte()?);
        let gitignored = *IGNORED.get(code).ok_or_else(|| input.bad("a code is unknown"))?;
        let filter = Filter {
            gitignored,
            additional: decode_texts(&mut input)?,
            exclude_patterns: decode_texts(&mut input)?,
            exclude_globs: decode_texts(&mut input)?,
            force_include: decode_texts(&mut input)?,
            outer: decode_list(&mut input, |input| Ok((input.text()?, input.text()?)))?,
            regenerable_bytes_min: input.number()?,
            regenerable: decode_list(&mut input, Regenerable::decode)?,
        };
        input.finish()?;
        Ok(filter)
    }
}

fn encode_texts(texts: &[String], out: &mut Encoder) {
    out.number(texts.len() as u64);
    texts.iter().for_each(|text| out.blob(text.as_bytes()));
}

fn decode_texts(input: &mut Decoder<'_>) -> Result<Vec<String>> {
    decode_list(input, |input| input.text())
}

fn decode_list<T>(input: &mut Decoder<'_>, mut one: impl FnMut(&mut Decoder<'_>) -> Result<T>) -> Result<Vec<T>> {
    let count = input.count()?;
    (0..count).map(|_| one(input)).collect()
}

mod like_git;
#[cfg(test)]
mod tests;
