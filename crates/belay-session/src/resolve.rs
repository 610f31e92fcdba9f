//! Which snapshot a name means, and which names a label may have.

use jiff::{Timestamp, Zoned};

use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::record::{Kind, Snapshot};
use crate::timeline::Timeline;
use crate::times::parse_instant;

const CANDIDATES_SHOWN_MAX: usize = 8;
const LABEL_CHARS_MAX: usize = 100;
/// How much of an id must be typed where nothing else says that it is one: a word such as `b` or `fix` is a mistake more
/// often than it is the beginning of an id, and what it is taken for is rolled back to.
const BARE_CHARS_MIN: usize = 4;

impl Timeline {
    /// The snapshot that `name` names: an id or its unique beginning, a label, `cp-3`, a number, `@latest`,
    /// `@pre-run` (or another kind), `@-2` (two before the latest), `@turn-7`, or a time (the newest at or before it).
    pub fn resolve(&self, name: &str, now: &Zoned) -> Result<&Snapshot> {
        let name = name.trim();
        if self.snapshots().is_empty() {
            return Err(Error::NoSnapshots);
        }
        let found = match name.strip_prefix('@') {
            Some(reference) => self.by_reference(reference),
            None => match self.by_name(name) {
                Some(snapshot) => Some(snapshot),
                None => match parse_instant(name, now) {
                    Some(instant) => Some(self.at(instant, name)?),
                    None => self.by_beginning(name)?,
                },
            },
        };
        found.ok_or_else(|| self.unknown(name))
    }

    /// The base, or why there is none.
    pub fn resolve_base(&self) -> Result<&Snapshot> {
        let why = if self.snapshots().is_empty() { Error::NoSnapshots } else { Error::OnlySafety };
        self.base().ok_or(why)
    }

    /// The newest that is not younger than `instant`, which the user calls `name`.
    fn at(&self, instant: Timestamp, name: &str) -> Result<&Snapshot> {
        let fits = self.snapshots().iter().rev().find(|snapshot| snapshot.created_at <= instant);
        let oldest = self.snapshots().first().map(|snapshot| snapshot.id.clone()).unwrap_or_default();
        fits.ok_or_else(|| Error::NoneSoOld { name: name.to_owned(), oldest })
    }

    fn by_reference(&self, reference: &str) -> Option<&Snapshot> {
        let mut newest = self.snapshots().iter().rev();
        // What belay took before it changed something, or from elsewhere, is no state that anybody meant, unless there is
        // nothing else.
        let is_meant = |snapshot: &Snapshot| snapshot.kind != Kind::Safety && !snapshot.imported;
        let has_meant = self.snapshots().iter().any(is_meant);
        let mut meant = newest.clone().filter(|snapshot| !has_meant || is_meant(snapshot));
        if reference == "latest" {
            return meant.next();
        }
        if let Some(back) = reference.strip_prefix('-') {
            return meant.nth(back.parse().ok()?);
        }
        if let Some(turn) = reference.strip_prefix("turn-") {
            let turn = Some(turn.parse().ok()?);
            return newest.find(|snapshot| snapshot.kind == Kind::Turn && snapshot.cause.turn == turn);
        }
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == reference)?;
        newest.find(|snapshot| snapshot.kind == kind)
    }

    fn by_name(&self, name: &str) -> Option<&Snapshot> {
        let all = self.snapshots();
        let exact = |snapshot: &&Snapshot| snapshot.label.as_deref() == Some(name) || snapshot.id == name;
        if let Some(snapshot) = all.iter().find(exact) {
            return Some(snapshot);
        }
        if let Some(slot) = name.strip_prefix("cp-").and_then(|slot| slot.parse().ok()) {
            return all.iter().find(|snapshot| snapshot.slot == Some(slot));
        }
        name.parse().ok().and_then(|n: u64| all.iter().find(|snapshot| snapshot.number == n))
    }

    fn by_beginning(&self, name: &str) -> Result<Option<&Snapshot>> {
        let begins = |snapshot: &&Snapshot| is_beginning(name, "snap_", &snapshot.id);
        let fits: Vec<&Snapshot> = self.snapshots().iter().filter(begins).collect();
        match fits[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(Error::AmbiguousSnapshot {
                name: name.to_owned(),
                candidates: fits.iter().rev().take(CANDIDATES_SHOWN_MAX).map(|s| s.id.clone()).collect(),
            }),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let ids = self.snapshots().iter().flat_map(|snapshot| [snapshot.id.as_str(), short(&snapshot.id)]);
        let labels = self.snapshots().iter().filter_map(|snapshot| snapshot.label.as_deref());
        let slots: Vec<String> = self.snapshots().iter().filter_map(Snapshot::checkpoint).collect();
        let references = ["@latest", "@pre-run", "@safety", "@-1"];
        let names = ids.chain(labels).chain(slots.iter().map(String::as_str)).chain(references);
        let mut close = nearest(name, names);
        if close.is_empty() && !name.is_empty() {
            let begun = self.snapshots().iter().rev().filter(|snapshot| short(&snapshot.id).starts_with(name));
            close.extend(begun.take(CANDIDATES_SHOWN_MAX).map(|snapshot| snapshot.id.clone()));
        }
        Error::UnknownSnapshot { name: name.to_owned(), nearest: close }
    }

    /// Refuses a label that another snapshot has or that could be taken for another way to name one.
    pub(crate) fn check_label(&self, label: &str) -> Result<()> {
        if let Some(reason) = label_fault(label) {
            return Err(Error::BadLabel { label: label.to_owned(), reason });
        }
        match self.snapshots().iter().find(|snapshot| snapshot.label.as_deref() == Some(label)) {
            Some(other) => Err(Error::LabelInUse { label: label.to_owned(), id: other.id.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether somebody who typed this began to type an id, which is `kind` and more: `snap_k8` or `k8m2`, but neither a
/// shorter word nor a number.
pub(crate) fn is_beginning(typed: &str, kind: &str, id: &str) -> bool {
    let own = id.strip_prefix(kind).unwrap_or(id);
    match typed.strip_prefix(kind) {
        Some(rest) => !rest.is_empty() && own.starts_with(rest),
        None => {
            let is_number = typed.bytes().all(|byte| byte.is_ascii_digit());
            typed.len() >= BARE_CHARS_MIN && !is_number && own.starts_with(typed)
        }
    }
}

/// The id without `snap_`.
fn short(id: &str) -> &str {
    id.strip_prefix("snap_").unwrap_or(id)
}

fn label_fault(label: &str) -> Option<&'static str> {
    if label.is_empty() || label != label.trim() {
        Some("it is empty, or begins or ends with a space")
    } else if label.chars().count() > LABEL_CHARS_MAX {
        Some("it has more than 100 characters")
    } else if label.chars().any(char::is_control) {
        Some("it has a control character")
    } else if label.starts_with(['@', '-']) {
        Some("it begins with @ or -")
    } else if label.starts_with("snap_") || label.strip_prefix("cp-").is_some_and(|slot| slot.parse::<u32>().is_ok()) {
        Some("it looks like an id or a slot")
    } else if label.bytes().all(|b| b.is_ascii_digit()) {
        Some("it looks like a number")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
