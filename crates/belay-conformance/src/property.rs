//! The properties, one small workspace each: how it is made, how it is wrecked, and what must be as before.
//!
//! Each is judged by itself: whether a tool keeps times says nothing about whether it keeps names.

mod calm;
mod claims;
mod content;
mod kinds;
mod metadata;
mod names;
mod repositories;

use std::io;

use crate::compare::Ignore;
use crate::stage::{Made, Stage};
use crate::trial::Looks;

/// What snapshots owe to whoever relies on them, as belay numbers it.
pub const LAWS: &[(&str, &str)] = &[
    ("L2", "only what differs is touched"),
    ("L3", "nothing is taken away that was not captured"),
    ("L4", "everything is captured and comes back"),
    ("L5", "content and metadata decide what changed, not size or time"),
    ("L8", "nothing in a workspace is executed, and nothing leads outside"),
];

/// Something that a snapshot tool keeps or loses.
#[derive(Debug)]
pub struct Property {
    /// In a few words.
    pub name: &'static str,
    /// Which of the [`LAWS`] asks for it.
    pub law: &'static str,
    pub(crate) make: fn(&Stage) -> Made,
    pub(crate) wreck: fn(&Stage) -> io::Result<()>,
    pub(crate) judge: Judge,
}

/// Who says what was lost.
pub(crate) enum Judge {
    /// Everything must be as it was before, but for what is overlooked.
    Same(Ignore),
    /// The same, whatever became of `.git`: a tool may well keep its things in there.
    Beside(Ignore),
    /// Restoring once more must change nothing at all.
    Again,
    /// Somebody of its own.
    Own(fn(&Looks<'_>) -> Vec<String>),
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Judge::Same(_) => "Same",
            Judge::Beside(_) => "Beside",
            Judge::Again => "Again",
            Judge::Own(_) => "Own",
        })
    }
}

/// Every property, by what it is about.
pub static GROUPS: &[(&str, &[Property])] = &[
    ("content", content::ALL),
    ("metadata", metadata::ALL),
    ("kinds", kinds::ALL),
    ("names", names::ALL),
    ("git", repositories::ALL),
    ("claims", claims::ALL),
    ("calm", calm::ALL),
];

/// Every property.
pub fn properties() -> impl Iterator<Item = &'static Property> {
    GROUPS.iter().flat_map(|(_, properties)| properties.iter())
}

/// A property that is kept when everything beside `.git` is as before, but for what is overlooked.
const fn same(
    law: &'static str,
    name: &'static str,
    ignore: Ignore,
    make: fn(&Stage) -> Made,
    wreck: fn(&Stage) -> io::Result<()>,
) -> Property {
    Property { name, law, make, wreck, judge: Judge::Beside(ignore) }
}

/// The same for content alone.
const fn content(
    law: &'static str,
    name: &'static str,
    make: fn(&Stage) -> Made,
    wreck: fn(&Stage) -> io::Result<()>,
) -> Property {
    same(law, name, Ignore::BUT_CONTENT, make, wreck)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_has_a_name_of_its_own_and_a_law() {
        let all: Vec<&Property> = properties().collect();
        for (at, property) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.name != property.name), "{} twice", property.name);
            assert!(LAWS.iter().any(|(law, _)| *law == property.law), "{} has no law", property.name);
        }
        assert!(LAWS.iter().all(|(law, _)| all.iter().any(|property| property.law == *law)));
    }
}
