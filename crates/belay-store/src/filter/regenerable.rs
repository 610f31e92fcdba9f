//! Directories that a tool makes again, and what must lie beside or inside them as evidence that it would.

use super::{Evidence, decode_texts, encode_texts};
use crate::codec::{Decoder, Encoder};
use crate::error::Result;

/// A directory that a tool makes again.
///
/// Any one piece of evidence is enough; a directory without siblings, children and size to ask for needs none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regenerable {
    /// What it is called.
    pub name: String,
    /// Files beside it from which it is made.
    pub siblings: Vec<String>,
    /// Files inside it by which its tool marks it.
    pub children: Vec<String>,
    /// It counts only when it is large, because people keep their own work under that name too.
    pub large: bool,
}

struct Row {
    name: &'static str,
    siblings: &'static [&'static str],
    children: &'static [&'static str],
    large: bool,
}

const fn by_name(name: &'static str) -> Row {
    Row { name, siblings: &[], children: &[], large: false }
}

const fn beside(name: &'static str, siblings: &'static [&'static str]) -> Row {
    Row { siblings, ..by_name(name) }
}

const fn holding(name: &'static str, children: &'static [&'static str]) -> Row {
    Row { children, ..by_name(name) }
}

const fn if_large(name: &'static str) -> Row {
    Row { large: true, ..by_name(name) }
}

const BUILTIN: [Row; 27] = [
    beside("node_modules", &["package.json"]),
    beside("bower_components", &["bower.json"]),
    Row { children: &["CACHEDIR.TAG"], ..beside("target", &["Cargo.toml", "pom.xml"]) },
    holding(".venv", &["pyvenv.cfg"]),
    holding("venv", &["pyvenv.cfg"]),
    holding("env", &["pyvenv.cfg"]),
    holding(".cache", &["CACHEDIR.TAG"]),
    beside("Pods", &["Podfile"]),
    by_name("__pycache__"),
    by_name(".tox"),
    by_name(".nox"),
    by_name(".eggs"),
    by_name(".mypy_cache"),
    by_name(".pytest_cache"),
    by_name(".ruff_cache"),
    by_name(".hypothesis"),
    by_name(".next"),
    by_name(".nuxt"),
    by_name(".svelte-kit"),
    by_name(".parcel-cache"),
    by_name(".turbo"),
    by_name(".gradle"),
    by_name(".dart_tool"),
    by_name(".zig-cache"),
    if_large("build"),
    if_large("dist"),
    if_large("out"),
];

pub(super) fn builtin() -> Vec<Regenerable> {
    let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    BUILTIN
        .iter()
        .map(|row| Regenerable {
            name: row.name.to_string(),
            siblings: texts(row.siblings),
            children: texts(row.children),
            large: row.large,
        })
        .collect()
}

impl Regenerable {
    /// Whether the evidence is there; `bytes_min` is what counts as large.
    pub(super) fn is_proven(&self, evidence: &dyn Evidence, bytes_min: u64) -> bool {
        let by_name_alone = self.siblings.is_empty() && self.children.is_empty() && !self.large;
        by_name_alone
            || self.siblings.iter().any(|name| evidence.sibling(name.as_bytes()))
            || self.children.iter().any(|name| evidence.child(name.as_bytes()))
            || self.large && evidence.exceeds(bytes_min)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.blob(self.name.as_bytes());
        encode_texts(&self.siblings, out);
        encode_texts(&self.children, out);
        out.byte(u8::from(self.large));
    }

    pub(super) fn decode(input: &mut Decoder<'_>) -> Result<Regenerable> {
        let name = input.text()?;
        let siblings = decode_texts(input)?;
        let children = decode_texts(input)?;
        let large = match input.byte()? {
            0 => false,
            1 => true,
            _ => return Err(input.bad("a flag is neither yes nor no")),
        };
        Ok(Regenerable { name, siblings, children, large })
    }
}
