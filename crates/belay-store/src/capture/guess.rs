//! Counts what a long first capture will come upon, so that somebody who watches it can be told when it ends.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use belay_sys::FileType;

use super::hand::{Job, join};
use super::judge::Decision;
use crate::error::Result;

/// A capture that ends before is not worth counting for.
const PATIENCE: Duration = Duration::from_millis(700);

/// Does `work`, and beside it counts what it will cover if it takes long and somebody watches.
pub(super) fn beside<T>(job: &Job<'_>, work: impl FnOnce() -> T) -> T {
    // A filesystem that is mounted inside may not answer, and only the capture knows how to deal with that.
    if !job.options.progress.wants_guess() || job.options.cross_mounts {
        return work();
    }
    std::thread::scope(|scope| {
        let (working, ended) = channel();
        scope.spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout)
                && let Ok(Some((entries, bytes))) = count(job, &ended)
            {
                job.options.progress.guess(entries, bytes);
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// Entries and bytes of the workspace as the filter sees it; nothing once the work has ended.
fn count(job: &Job<'_>, ended: &Receiver<()>) -> Result<Option<(u64, u64)>> {
    let (mut entries, mut bytes) = (0, 0);
    let (mut buffer, mut names) = (Vec::new(), Vec::new());
    let mut ahead = vec![(Vec::new(), job.judge.rules())];
    while let Some((path, outside)) = ahead.pop() {
        if ended.try_recv() == Err(TryRecvError::Disconnected) || job.check_stop().is_err() {
            return Ok(None);
        }
        // What cannot be opened or listed will not be read either.
        let Ok(dir) = job.root.dir(&path) else { continue };
        names.clear();
        if dir.list(&mut buffer, &mut |name, file_type, _| names.push((name.to_vec(), file_type))).is_err() {
            continue;
        }
        let (rules, _) = job.rules_inside(&outside, &dir, &path);
        for (name, file_type) in &names {
            let inner = join(&path, name);
            let is_dir = *file_type == FileType::Dir;
            match job.decide(&rules, &dir, &inner, name, is_dir)? {
                Decision::Take { rules: inside, .. } if is_dir => {
                    ahead.push((inner, inside.unwrap_or_else(|| std::sync::Arc::clone(&rules))));
                }
                Decision::Take { .. } => {
                    entries += 1;
                    bytes += dir.stat(name).map_or(0, |stat| stat.size);
                }
                Decision::Leave(_) => {}
            }
        }
    }
    Ok(Some((entries, bytes)))
}
