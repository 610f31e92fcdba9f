//! A private workspace whose changes are kept apart, on every filesystem that people have.

use std::fs;
use std::path::{Path, PathBuf};

use belay_jail::{Access, Change, Grant, Kept, kept_changes};
use belay_testkit::SmallDisk;

use crate::world::{World, has_namespaces};

const DISK_BYTES: u64 = 320 << 20;

#[test]
fn the_workspace_stays_as_it_is_and_the_changes_are_listed() {
    if has_namespaces() {
        let directory = tempfile::tempdir().unwrap();
        keep_changes_on(directory.path());
    }
}

#[test]
fn so_it_is_on_ext4() {
    on(SmallDisk::ext4);
}

#[test]
fn so_it_is_on_btrfs() {
    on(SmallDisk::btrfs);
}

#[test]
fn so_it_is_on_xfs() {
    on(SmallDisk::xfs);
}

#[test]
fn so_it_is_on_tmpfs() {
    on(SmallDisk::tmpfs);
}

fn on(make: fn(u64) -> Option<SmallDisk>) {
    if !has_namespaces() {
        return;
    }
    // What cannot be made here is said aloud by the maker.
    if let Some(disk) = make(DISK_BYTES) {
        keep_changes_on(disk.path());
    }
}

fn keep_changes_on(disk: &Path) {
    let workspace = disk.join("workspace");
    for directory in ["workspace/dir/deep", "workspace/gone", "workspace/old/inner", "changes", "work"] {
        fs::create_dir_all(disk.join(directory)).unwrap();
    }
    for file in ["kept", "edited", "removed", "dir/deep/file", "gone/file", "old/inner/file", "a:b\\c"] {
        fs::write(workspace.join(file), file).unwrap();
    }
    let mut world = World::new();
    world.policy.grants.push(Grant::new(&workspace, Access::Private));
    let kept = Kept { path: workspace.clone(), changes: disk.join("changes"), work: disk.join("work") };
    world.policy.kept.push(kept.clone());
    let before = read(&workspace);
    let script = format!(
        "cd {} && echo more >> edited && rm removed && rm -r gone && mkdir -p new/dir && echo x > new/dir/file \
         && echo y > dir/deep/file && rm -r old && mkdir old && echo z > old/fresh && mv kept moved && ls && cat edited",
        workspace.display()
    );
    assert_eq!(world.says(&script), "a:b\\c\ndir\nedited\nmoved\nnew\nold\neditedmore");
    assert_eq!(read(&workspace), before, "nothing of it reached the workspace");

    let path = PathBuf::from;
    let expected = [
        Change::Changed(path("dir/deep/file")),
        Change::Changed(path("edited")),
        Change::Removed(path("gone")),
        Change::Removed(path("kept")),
        Change::Added(path("moved")),
        Change::Added(path("new")),
        Change::Added(path("new/dir")),
        Change::Added(path("new/dir/file")),
        Change::Replaced(path("old")),
        Change::Added(path("old/fresh")),
        Change::Removed(path("removed")),
    ];
    assert_eq!(kept_changes(&kept).unwrap(), expected);

    // The whole can be looked at from outside, and only through the handle.
    let merged = belay_sys::Root::from_fd(belay_jail::merged(&kept).unwrap());
    let top = merged.dir(b"").unwrap();
    assert_eq!(top.read_file("moved"), "kept");
    assert!(top.stat(b"gone").is_err());
    assert_eq!(merged.dir(b"old").unwrap().read_file("fresh"), "z\n");

    // Another program goes on where the first one ended.
    assert_eq!(world.says(&format!("cat {}/moved", workspace.display())), "kept");
}

trait ReadFile {
    fn read_file(&self, name: &str) -> String;
}

impl ReadFile for belay_sys::Dir {
    fn read_file(&self, name: &str) -> String {
        std::io::read_to_string(self.open_read(name.as_bytes()).unwrap()).unwrap()
    }
}

fn read(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => todo.push(path),
                false => found.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}
