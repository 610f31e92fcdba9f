//! Who else had a hand in what a step changed, and what of it can only be whose.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use belay_event::{Action, At, Raw};
use belay_journal::Command;
use belay_store::{Clash, Conflict, Entry, Share};

use super::evidence::TICK_NANOS;
use super::touched::Deed;

/// Programs that change what is known of a file, and never what is in it.
const KEEP_CONTENT: [&[u8]; 6] = [b"chmod", b"chown", b"chgrp", b"setfacl", b"setfattr", b"chattr"];
/// What is said of a command where it is only named.
const SAID_CHARS_MAX: usize = 40;
/// Others who are named for one path.
const NAMED_MAX: usize = 2;

/// The commands of a run by their numbers.
#[derive(Default)]
pub(super) struct Doers(HashMap<u64, Doer>);

struct Doer {
    begun: At,
    keeps_content: bool,
    what: String,
}

impl Doers {
    pub(super) fn of(commands: &[Command]) -> Doers {
        let doer = |command: &Command| {
            let program = command.exec.exe.bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let said = crate::trigger::said(&command.exec.argv);
            let more = if said.chars().count() > SAID_CHARS_MAX { "…" } else { "" };
            let said: String = said.chars().take(SAID_CHARS_MAX).collect();
            let what = format!("#{} {said}{more}", command.exec.command);
            Doer { begun: command.at, keeps_content: KEEP_CONTENT.contains(&program), what }
        };
        Doers(commands.iter().map(|command| (command.exec.command, doer(command))).collect())
    }

    /// What of a file the step alone changed, of those who changed it: whoever came when it was last written to already,
    /// or never writes, did nothing to its content.
    pub(super) fn share(&self, deeds: &[Deed], path: &[u8], left: &Entry) -> Option<Share> {
        let written = i128::from(left.meta.mtime.sec) * 1_000_000_000 + i128::from(left.meta.mtime.nsec);
        let keeps = |doer: &Doer| doer.keeps_content || written + TICK_NANOS < doer.begun.unix_nanos();
        // Whether the step, and whether others, are known to have left the content alone.
        let mut kept: [Option<bool>; 2] = [None; 2];
        for deed in deeds.iter().filter(|deed| !deed.late && names(deed).any(|name| name == path)) {
            if deed.change.action != Action::Modified || deed.mine == deed.others {
                return None;
            }
            let keeps = deed.command().and_then(|number| self.0.get(&number)).is_some_and(keeps);
            let kept = &mut kept[usize::from(deed.others)];
            *kept = Some(kept.unwrap_or(true) && keeps);
        }
        match kept {
            [Some(true), Some(false)] => Some(Share::Metadata),
            [Some(false), Some(true)] => Some(Share::Content),
            _ => None,
        }
    }

    /// The commands that had a hand in what stays, as far as the record knows them.
    pub(super) fn rivals(&self, conflicts: &[Conflict], deeds: &[Deed]) -> BTreeMap<Vec<u8>, String> {
        let doubtful = conflicts.iter().filter(|conflict| conflict.clash == Clash::Doubtful);
        let named = doubtful.filter_map(|conflict| {
            let is_near = |deed: &&Deed| names(deed).any(|name| is_within(name, &conflict.path));
            let others = deeds.iter().filter(|deed| !deed.late && !deed.mine).filter(is_near);
            let numbers: BTreeSet<u64> = others.filter_map(Deed::command).collect();
            let mut words: Vec<&str> =
                numbers.iter().filter_map(|number| self.0.get(number)).map(|doer| &doer.what[..]).collect();
            let more = words.len().saturating_sub(NAMED_MAX);
            words.truncate(NAMED_MAX);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            (!words.is_empty()).then(|| (conflict.path.clone(), format!("{}{more}", words.join(", "))))
        });
        named.collect()
    }
}

fn names(deed: &Deed) -> impl Iterator<Item = &[u8]> {
    [Some(&deed.change.path), deed.change.to.as_ref()].into_iter().flatten().map(Raw::bytes)
}

fn is_within(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
