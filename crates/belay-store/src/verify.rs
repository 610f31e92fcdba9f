//! Finds damage: every byte of the store, and every object that a snapshot needs.
//!
//! Nothing is changed, and one damage does not hide another: whatever cannot be read is noted and the check goes on.

mod packs;
mod rebuild;
mod repair;
mod strays;
mod trees;

pub use repair::{Repair, Witness, repair};
pub use strays::{Stray, strays};

use crate::capture::Progress;
use crate::disk::LockMode;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::native::Held;
use crate::objects::{KeyMap, LOCK, Store};

/// Of the snapshots and paths that one damage affects, this many are named; the rest is counted.
const AFFECTS_MAX: usize = 100_000;

/// What to check.
pub struct VerifyOptions<'a> {
    /// Read and hash every object, instead of only checking that each is listed.
    pub deep: bool,
    /// Who is told.
    pub progress: &'a dyn Progress,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The file of the store that is damaged.
    pub file: String,
    /// What is wrong with it.
    pub detail: String,
    /// The objects that cannot be read any more.
    pub objects: Vec<Hash>,
    /// Snapshots (by manifest key) and the paths in them that need what is damaged; the first hundred thousand of them.
    pub affects: Vec<(Hash, Vec<u8>)>,
    /// How many there are.
    pub affected: u64,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// The damage.
    pub damage: Vec<Damage>,
    /// Objects that were checked.
    pub objects: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// Checks the store and the snapshots.
pub fn verify(store: &Store, snapshots: &[Hash], options: &VerifyOptions<'_>) -> Result<VerifyReport> {
    // While this is held gc removes nothing, so that what is missing is really missing.
    let _lock = store.disk().lock(LOCK, LockMode::Shared, true).map_err(Error::disk("lock", LOCK))?;
    let mut findings = Findings::default();
    check_format(store, &mut findings);
    check_copies(store, snapshots, &mut findings)?;
    packs::check(store, options, &mut findings)?;
    store.reload()?;
    trees::check(store, snapshots, options, &mut findings);
    Ok(findings.report)
}

/// The damage so far, and by which of it an object is hit.
#[derive(Default)]
struct Findings {
    report: VerifyReport,
    bad: KeyMap<usize>,
}

impl Findings {
    /// Adds to the damage that is described so, and returns its place.
    fn note(&mut self, file: &str, detail: &str, objects: impl IntoIterator<Item = Hash>) -> usize {
        let damage = &mut self.report.damage;
        let at = damage.iter().position(|one| one.file == file && one.detail == detail).unwrap_or_else(|| {
            damage.push(Damage { file: file.to_string(), detail: detail.to_string(), ..Damage::default() });
            damage.len() - 1
        });
        for key in objects {
            if self.bad.insert(key, at).is_none() {
                damage[at].objects.push(key);
            }
        }
        at
    }

    /// Adds the damage that an operation on `file` ran into.
    fn note_error(&mut self, file: &str, error: &Error, objects: impl IntoIterator<Item = Hash>) -> usize {
        match error {
            Error::Corrupt { name, detail } if name.contains('/') => self.note(name, detail, objects),
            Error::Disk { source, .. } => {
                self.note(file, &format!("it cannot be read: {}", belay_sys::plain(source)), objects)
            }
            other => self.note(file, &other.to_string(), objects),
        }
    }

    fn affect(&mut self, damage: usize, snapshot: &Hash, path: &[u8]) {
        let damage = &mut self.report.damage[damage];
        damage.affected += 1;
        if damage.affects.len() < AFFECTS_MAX {
            damage.affects.push((*snapshot, path.to_vec()));
        }
    }
}

fn check_format(store: &Store, findings: &mut Findings) {
    let file = crate::objects::FORMAT_FILE;
    match store.disk().read(file) {
        Ok(text) if crate::mend::is_known_format(&text, store.algorithm()) => {}
        Ok(_) => drop(findings.note(file, "it is not what was written", [])),
        Err(error) => drop(findings.note(file, &format!("it cannot be read: {}", belay_sys::plain(error)), [])),
    }
}

/// Checks that the records of copies can be read, and that the copies of the snapshots are there.
fn check_copies(store: &Store, snapshots: &[Hash], findings: &mut Findings) -> Result<()> {
    store.copies.reload(store.disk().as_ref())?;
    for name in store.copies.damaged() {
        findings.note(&name, "it is not what was written", []);
    }
    let is_needed = |held: &Held| held.copy.manifest.is_some_and(|manifest| snapshots.contains(&manifest));
    for held in store.copies.all().iter().filter(|held| is_needed(held) && !held.exists()) {
        findings.note(&held.name_of(b""), "it is missing", []);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
