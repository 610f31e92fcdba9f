//! How much of long argument lists the record of a run keeps.
//!
//! Invariants: short lists are always kept whole, and so are long ones until all of them together took [`LONG_BYTES_MAX`]; from
//! then on the beginning of each is kept, and the event says that it was cut. A command that executes others again and again
//! could otherwise fill the disk with the record of it, which counts to no budget.

use belay_event::{Event, Raw, What};

/// A list up to this length is short, and so much is kept of a long one once there were too many.
const SHORT_BYTES: usize = 1024;
/// Some five hundred lists of the greatest length that a single argument can have.
const LONG_BYTES_MAX: usize = 64 << 20;

/// What long argument lists took so far.
#[derive(Debug, Default)]
pub(super) struct Thrift {
    spent_bytes: usize,
}

impl Thrift {
    /// Cuts what is too much out of events that are about to be written down.
    pub(super) fn cut(&mut self, events: &mut [Event]) {
        for event in events {
            let What::Exec(exec) = &mut event.what else { continue };
            let bytes: usize = exec.argv.iter().map(|word| word.bytes().len() + 1).sum();
            if bytes <= SHORT_BYTES {
                continue;
            }
            if self.spent_bytes + bytes <= LONG_BYTES_MAX {
                self.spent_bytes += bytes;
                continue;
            }
            exec.argv = beginning(&exec.argv);
            exec.cut = true;
        }
    }
}

/// As many words as are kept, the last of them perhaps in part.
fn beginning(argv: &[Raw]) -> Vec<Raw> {
    let mut left = SHORT_BYTES;
    let mut kept = Vec::new();
    for word in argv {
        let take = word.bytes().len().min(left);
        kept.push(Raw::from(&word.bytes()[..take]));
        left = left.saturating_sub(take + 1);
        if left == 0 {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use belay_event::{At, Exec};

    use super::*;

    fn exec(argv: &[&[u8]]) -> Event {
        let exec = Exec {
            command: 1,
            parent: None,
            pid: 2,
            ppid: 1,
            uid: 0,
            argv: argv.iter().map(|word| Raw::from(*word)).collect(),
            exe: Raw::from("/bin/true"),
            cwd: Raw::from("/"),
            cut: false,
        };
        Event::new(At::from_unix_nanos(1), What::Exec(exec))
    }

    fn words(event: &Event) -> (Vec<usize>, bool) {
        let What::Exec(exec) = &event.what else { panic!("{event:?}") };
        (exec.argv.iter().map(|word| word.bytes().len()).collect(), exec.cut)
    }

    #[test]
    fn long_lists_are_whole_until_they_are_too_many_and_short_ones_for_ever() {
        let mut thrift = Thrift::default();
        let long = vec![b'x'; 1 << 20];
        let mut whole = 0;
        for _ in 0..100 {
            let mut events = [exec(&[b"true", &long, b"end"]), exec(&[b"true", b"short"])];
            thrift.cut(&mut events);
            assert_eq!(words(&events[1]), (vec![4, 5], false));
            match words(&events[0]) {
                (lengths, false) => {
                    assert_eq!(lengths, [4, 1 << 20, 3]);
                    whole += 1;
                }
                (lengths, true) => assert_eq!(lengths, [4, SHORT_BYTES - 5]),
            }
        }
        assert_eq!(whole, 63, "64 MiB, less what is around each");
    }

    #[test]
    fn many_words_are_cut_between_two_of_them() {
        let mut thrift = Thrift { spent_bytes: LONG_BYTES_MAX };
        let argv = vec![&b"123456789"[..]; 200];
        let mut events = [exec(&argv)];
        thrift.cut(&mut events);
        let (lengths, cut) = words(&events[0]);
        assert!(cut && lengths.iter().sum::<usize>() <= SHORT_BYTES && lengths.len() == 103, "{lengths:?}");
    }
}
