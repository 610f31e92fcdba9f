//! Which users and groups a namespace knows, and by which numbers.

use std::fs::{self, File};
use std::io::{self, Write};

use rustix::process::Pid;

/// What a namespace of users is told once, by somebody who may; each is a list of lines as the kernel wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maps {
    users: String,
    groups: String,
}

impl Maps {
    /// Everybody whom we know, by the same numbers; only somebody with the right to become anybody may say so.
    pub fn everybody() -> io::Result<Maps> {
        let same = |path: &str| Ok::<_, io::Error>(same_numbers(&fs::read_to_string(path)?));
        Ok(Maps { users: same("/proc/self/uid_map")?, groups: same("/proc/self/gid_map")? })
    }

    /// Whether these numbers of a user and of groups are among them.
    pub fn know(&self, uid: u32, groups: &[u32]) -> bool {
        has(&self.users, uid) && groups.iter().all(|group| has(&self.groups, *group))
    }

    /// Tells the namespace of a child that waits.
    pub(super) fn write(&self, child: Pid) -> io::Result<()> {
        let child = child.as_raw_nonzero();
        for (name, map) in [("uid_map", &self.users), ("gid_map", &self.groups)] {
            // In one write, or not at all.
            File::options().write(true).open(format!("/proc/{child}/{name}"))?.write_all(map.as_bytes())?;
        }
        Ok(())
    }
}

/// The lines of a map: number inside, number outside, how many.
fn lines(map: &str) -> impl Iterator<Item = (u64, u64)> {
    map.lines().filter_map(|line| {
        let mut words = line.split_whitespace().map(|word| word.parse().ok());
        let (inside, _, count) = (words.next()??, words.next()??, words.next()??);
        Some((inside, count))
    })
}

fn same_numbers(map: &str) -> String {
    lines(map).map(|(inside, count)| format!("{inside} {inside} {count}\n")).collect()
}

fn has(map: &str, number: u32) -> bool {
    lines(map).any(|(first, count)| (first..first + count).contains(&u64::from(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_keeps_the_number_that_is_known_here() {
        let told = "         0     100000      65536\n     70000          0          1\n";
        assert_eq!(same_numbers(told), "0 0 65536\n70000 70000 1\n");
        let maps = Maps { users: same_numbers(told), groups: same_numbers("0 0 4294967295") };
        assert!(maps.know(1000, &[1000, 4_000_000_000]));
        assert!(maps.know(70_000, &[]));
        assert!(!maps.know(65_536, &[]), "nobody of that number is known");
    }
}
