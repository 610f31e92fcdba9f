//! The record of a rollback under way, durable before the first live path is changed.
//!
//! While it is there, the next command has something to finish; the content of both snapshots that it names is
//! kept whatever happens to them in the timeline. It is written once more apart from its workspace, for which nobody waits,
//! and only a repair that finds the workspace's directory gone reads that.

use std::io;

use belay_store::{Disk, Hash, MtimePolicy};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::log::Log;
use crate::maintenance::TimelineDamage;
use crate::record::{PathText, RewindKind, Snapshot, hex};

/// A rollback that has begun and is not known to have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// Names the operation, here and in the timeline.
    pub(crate) operation: String,
    pub(crate) kind: RewindKind,
    /// Begins the names of its temporary files.
    pub(crate) prefix: String,
    pub(crate) target: Named,
    pub(crate) safety: Named,
    pub(crate) paths: Vec<PathText>,
    /// What whoever asked for it is kept from; whoever finishes it may not be.
    #[serde(default, skip_serializing_if = "Guard::is_empty")]
    pub(crate) guard: Guard,
    /// Whether files get the modification times that they had.
    pub(crate) exact_times: bool,
    /// Whether files whose content is damaged are left as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) leaves_damaged: bool,
    pub(crate) begun_at: Timestamp,
}

/// A snapshot by its name and by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    pub(crate) id: String,
    #[serde(with = "hex")]
    pub(crate) manifest: Hash,
}

impl From<&Snapshot> for Named {
    fn from(snapshot: &Snapshot) -> Named {
        Named { id: snapshot.id.clone(), manifest: snapshot.manifest }
    }
}

/// The intents of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Those that can be read, oldest first.
    pub(crate) intents: Vec<Intent>,
    pub(crate) damage: Vec<TimelineDamage>,
}

const PREFIX: &str = "intent-";

/// Beside the timeline, so that the directory is there already and only one has to be made durable.
fn directory(workspace: &str) -> String {
    format!("workspaces/{workspace}")
}

fn file_name(workspace: &str, operation: &str) -> String {
    format!("{}/{PREFIX}{operation}", directory(workspace))
}

/// All intents once more.
const APART: &str = "intents";

fn apart(workspace: &str, operation: &str) -> String {
    format!("{APART}/{workspace}.{operation}")
}

impl Intent {
    pub(crate) fn mtime(&self) -> MtimePolicy {
        if self.exact_times { MtimePolicy::Exact } else { MtimePolicy::Fresh }
    }

    pub(crate) fn paths(&self) -> Vec<Vec<u8>> {
        self.paths.iter().map(|path| path.bytes().to_vec()).collect()
    }

    /// Makes the intent durable.
    pub(crate) fn write(&self, disk: &dyn Disk, workspace: &str) -> Result<()> {
        let payload = serde_json::to_vec(self).expect("an intent is plain data with text keys");
        let log = Log::rewrite(disk, &file_name(workspace, &self.operation), &[payload])?;
        let _ = disk.append(&apart(workspace, &self.operation), 0).and_then(|mut file| file.write(log.since(0)));
        Ok(())
    }

    /// Forgets the intent of something that was never begun; durably, or it would be begun after a crash.
    pub(crate) fn withdraw(&self, disk: &dyn Disk, workspace: &str) -> Result<()> {
        self.clear(disk, workspace)?;
        for dir in [APART.to_owned(), directory(workspace)] {
            match disk.sync_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                synced => synced.map_err(Error::disk("sync", &dir))?,
            }
        }
        Ok(())
    }

    /// Forgets the intent of something that the timeline tells has ended; if it is back after a crash, that will
    /// be seen.
    pub(crate) fn clear(&self, disk: &dyn Disk, workspace: &str) -> Result<()> {
        // First: what is left alone of it must not be the one that a repair would go by.
        let _ = disk.remove(&apart(workspace, &self.operation));
        let name = file_name(workspace, &self.operation);
        disk.remove(&name).map_err(Error::disk("remove", &name))
    }
}

impl Pending {
    /// Removes what dead processes left of intents that they were still writing; the caller holds the rollback lock.
    pub(crate) fn sweep(disk: &dyn Disk, workspace: &str) -> Result<()> {
        let dir = directory(workspace);
        let files = disk.list(&dir).map_err(Error::disk("list", &dir))?;
        for (name, _) in files.iter().filter(|(name, _)| name.starts_with(PREFIX) && name.ends_with(".new")) {
            let name = format!("{dir}/{name}");
            disk.remove(&name).map_err(Error::disk("remove", &name))?;
        }
        Ok(())
    }

    /// Brings back, from apart, the intents of a workspace whose directory was lost, but for those that `has_ended`; returns
    /// how many.
    pub(crate) fn bring_back(disk: &dyn Disk, workspace: &str, has_ended: impl Fn(&str) -> bool) -> Result<u64> {
        let mut brought = 0;
        for (name, _) in disk.list(APART).map_err(Error::disk("list", APART))? {
            let Some(operation) = name.strip_prefix(workspace).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            let log = Log::read(disk, &apart(workspace, operation))?;
            let intent = log.payloads().next().and_then(|(_, payload)| serde_json::from_slice::<Intent>(payload).ok());
            // One that a power cut took back was not waited for, and neither was its removal.
            if let Some(intent) = intent.filter(|intent| !has_ended(&intent.operation)) {
                intent.write(disk, workspace)?;
                brought += 1;
            }
        }
        Ok(brought)
    }

    pub(crate) fn read(disk: &dyn Disk, workspace: &str) -> Result<Pending> {
        let dir = directory(workspace);
        let mut pending = Pending::default();
        for (name, _) in disk.list(&dir).map_err(Error::disk("list", &dir))? {
            // One that was still being written announced nothing yet.
            if !name.starts_with(PREFIX) || name.ends_with(".new") {
                continue;
            }
            let name = format!("{dir}/{name}");
            let log = Log::read(disk, &name)?;
            let found = log.payloads().next().and_then(|(_, payload)| serde_json::from_slice(payload).ok());
            match found {
                Some(intent) => pending.intents.push(intent),
                // It ended between being listed and being read.
                None if !log.exists() => {}
                None => {
                    let detail = "the record of an interrupted rollback cannot be read".to_owned();
                    pending.damage.push(TimelineDamage { file: name, offset: 0, detail });
                }
            }
        }
        pending.intents.sort_by_key(|intent: &Intent| intent.begun_at);
        Ok(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(operation: &str, second: i64) -> Intent {
        let named = |id: &str| Named { id: id.into(), manifest: Hash([7; 32]) };
        Intent {
            operation: operation.into(),
            kind: RewindKind::Rollback,
            prefix: ".belay-x-".into(),
            target: named("snap_target"),
            safety: named("snap_safety"),
            paths: vec![PathText::from(&b"a\xff"[..])],
            guard: Guard::default(),
            exact_times: true,
            leaves_damaged: false,
            begun_at: Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn intents_are_found_in_order_until_they_are_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let disk = belay_store::RealDisk::open(dir.path()).unwrap();
        assert_eq!(Pending::read(&disk, "ws").unwrap().intents, []);
        let (first, second) = (intent("op_b", 1), intent("op_a", 2));
        second.write(&disk, "ws").unwrap();
        first.write(&disk, "ws").unwrap();
        assert_eq!(Pending::read(&disk, "ws").unwrap().intents, [first.clone(), second.clone()]);
        first.clear(&disk, "ws").unwrap();
        assert_eq!(Pending::read(&disk, "ws").unwrap().intents, [second]);
    }

    #[test]
    fn a_damaged_intent_is_reported_and_a_half_written_one_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let disk = belay_store::RealDisk::open(dir.path()).unwrap();
        intent("op", 1).write(&disk, "ws").unwrap();
        let path = dir.path().join("workspaces/ws/intent-op");
        let mut bytes = std::fs::read(&path).unwrap();
        std::fs::write(path.with_extension("new"), &bytes[..20]).unwrap();
        bytes[60] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        let pending = Pending::read(&disk, "ws").unwrap();
        assert_eq!((pending.intents.len(), pending.damage.len()), (0, 1));
        Pending::sweep(&disk, "ws").unwrap();
        assert_eq!(disk.list("workspaces/ws").unwrap().len(), 1);
    }
}
