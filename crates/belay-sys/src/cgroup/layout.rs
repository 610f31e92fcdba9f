//! Where the hierarchies of control groups are mounted, and where in them this process is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The inode that the kernel gives to the first cgroup namespace.
const INITIAL_NAMESPACE: &str = "cgroup:[4026531835]";

/// Our place in each hierarchy.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) unified: Option<Place>,
    older: Vec<(String, PathBuf)>,
}

/// A directory in the version 2 hierarchy, and its depth where that can be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) level: Option<u32>,
}

impl Layout {
    pub(super) fn of_this_process() -> io::Result<Layout> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let namespace = fs::read_link("/proc/self/ns/cgroup").unwrap_or_default();
        Ok(Layout::parse(&mounts, &groups, namespace == Path::new(INITIAL_NAMESPACE)))
    }

    /// The directory in the version 1 hierarchy of this controller beneath which we may make groups.
    pub(super) fn older_parent(&self, controller: &str) -> Option<PathBuf> {
        self.older.iter().find(|(name, _)| name == controller).map(|(_, directory)| directory.clone())
    }

    /// Groups of this name that are beneath ours in the version 1 hierarchies.
    pub(super) fn older_groups(&self, name: &str) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.older.iter().map(|(_, directory)| directory.join(name)).collect();
        found.retain(|directory| directory.is_dir());
        found.sort();
        found.dedup();
        found
    }

    fn parse(mounts: &str, groups: &str, whole: bool) -> Layout {
        let mut layout = Layout::default();
        for mount in mounts.lines().filter_map(Mount::parse) {
            if mount.kind == "cgroup2" && layout.unified.is_none() {
                layout.unified = own_path(groups, "").and_then(|own| {
                    let level = Path::new(own).components().count().saturating_sub(1) as u32;
                    Some(Place { directory: mount.directory_of(own)?, level: whole.then_some(level) })
                });
            } else if mount.kind == "cgroup" {
                for controller in mount.options.split(',').filter(|option| matches!(*option, "memory" | "pids")) {
                    let directory = own_path(groups, controller).and_then(|own| mount.directory_of(own));
                    layout.older.extend(directory.map(|directory| (controller.to_owned(), directory)));
                }
            }
        }
        layout
    }
}

/// A line of `/proc/self/mountinfo`.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mut right = right.split(' ');
        let (root, point) = (left.next()?, left.next()?);
        let kind = right.next()?;
        Some(Mount { root, point, kind, options: right.nth(1)? })
    }

    /// Where a group that the kernel calls `own` is seen through this mount.
    fn directory_of(&self, own: &str) -> Option<PathBuf> {
        let beneath = Path::new(own).strip_prefix(self.root).ok()?;
        Some(Path::new(self.point).join(beneath))
    }
}

/// The path after the controllers in the line of `/proc/self/cgroup` that lists this one; none of them is version 2.
fn own_path<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hybrid_machine_has_both() {
        let mounts = "24 1 0:20 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      25 1 0:21 / /sys/fs/cgroup/unified rw shared:3 - cgroup2 cgroup2 rw\n";
        let layout = Layout::parse(mounts, "4:memory:/jobs/a\n0::/\n", true);
        let unified = layout.unified.as_ref().unwrap();
        assert_eq!(*unified, Place { directory: "/sys/fs/cgroup/unified".into(), level: Some(0) });
        assert_eq!(layout.older_parent("memory"), Some("/sys/fs/cgroup/memory/jobs/a".into()));
        assert_eq!(layout.older_parent("pids"), None);
    }

    #[test]
    fn a_pure_machine_knows_how_deep_we_are() {
        let mounts = "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let layout = Layout::parse(mounts, "0::/user.slice/user-1000.slice/a.scope\n", true);
        let unified = layout.unified.unwrap();
        assert_eq!(unified.directory, Path::new("/sys/fs/cgroup/user.slice/user-1000.slice/a.scope"));
        assert_eq!(unified.level, Some(3));
    }

    #[test]
    fn a_container_sees_only_its_part() {
        let mounts = "30 1 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let layout = Layout::parse(mounts, "0::/docker/x/y\n", false);
        assert_eq!(layout.unified, Some(Place { directory: "/sys/fs/cgroup/y".into(), level: None }));
        assert_eq!(Layout::parse(mounts, "0::/elsewhere\n", true).unified, None);
    }
}
