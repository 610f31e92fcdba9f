//! Export and import, as a user types them.

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn a_snapshot_goes_out_and_comes_back() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").symlink("l", "a.txt");
    world.ok(&["snapshot", "--label", "first"]);
    assert_snapshot!(world.belay(&["export", "first", "../outside/shop.tar.zst"]), @"
    exit 0
    --- stderr
    Exporting snap_000001 to ../outside/shop.tar.zst... done (3 paths, [SIZE])
    hint: it holds everything that was captured, secrets too
    ");
    assert_snapshot!(world.belay(&["export", "first", "../outside/shop.tar.zst"]), @"
    exit 4
    --- stderr
    error: [WORKSPACE]/../outside/shop.tar.zst exists already
      nothing was changed
    hint: name another file, or add --force to overwrite it
    ");
    world.ok(&["export", "first", "--force", "../outside/shop.tar.zst"]);
    world.workspace.file("a.txt", "two\n");
    assert_snapshot!(world.belay(&["import", "../outside/shop.tar.zst", "--label", "back"]), @"
    exit 0
    --- stdout
    snap_000002 (back)
    --- stderr
    Its root hash is the one that was exported.
    hint: `belay rollback snap_000002 --dry-run` shows what going there would change
    ");
    assert_eq!(world.read("a.txt"), "two\n");
    world.ok(&["rollback", "-y", "back"]);
    assert_eq!(world.read("a.txt"), "one\n");
    assert!(world.ok(&["diff", "first", "back"]).is_empty());
    let imported = world.json(&["import", "../outside/shop.tar.zst"]);
    assert_eq!((&imported["verified"], &imported["imported"]), (&true.into(), &true.into()), "{imported}");
}

#[test]
fn a_directory_is_a_target_and_a_source() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    world.ok(&["snapshot"]);
    assert_snapshot!(world.belay(&["export", "@latest", "../outside/copy"]), @"
    exit 0
    --- stderr
    Extracting snap_000001 to ../outside/copy... done
    ");
    assert_snapshot!(world.belay(&["import", "../outside/copy"]), @"
    exit 0
    --- stdout
    snap_000002
    --- stderr
    hint: `belay rollback snap_000002 --dry-run` shows what going there would change
    ");
}

#[test]
fn a_directory_that_a_killed_export_began_is_written_by_the_next() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("dir/b.txt", "two\n");
    world.ok(&["snapshot", "--label", "first"]);
    let there = world.workspace.outside().join("there");
    std::fs::create_dir_all(there.join(".belay-extract-1/dir")).unwrap();
    std::fs::write(there.join(".belay-extract-0"), "half").unwrap();
    world.ok(&["export", "first", "../outside/there"]);
    belay_testkit::assert_same_tree(world.workspace.path(), &there, belay_testkit::Ignore::default());
    std::fs::write(there.join(".belay-extract-0"), "half").unwrap();
    let refused = world.belay(&["export", "first", "../outside/there"]);
    assert!(refused.to_string().contains("there is not empty"), "{refused}");
}

#[test]
fn what_cannot_be_imported_is_named() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("../outside/text", "no archive\n");
    world.ok(&["snapshot"]);
    assert_snapshot!(world.belay(&["import", "../outside/text"]), @"
    exit 4
    --- stderr
    error: [WORKSPACE]/../outside/text is not an archive that can be used: it is cut off
      nothing was changed
    ");
    assert_snapshot!(world.belay(&["import", "../outside/none.tar"]), @"
    exit 3
    --- stderr
    error: cannot open [WORKSPACE]/../outside/none.tar
      because: no such file or directory
      nothing was changed
    ");
    let mut command = world.command(&["import", "../outside/all.tar"]);
    command.env("BELAY_SNAPSHOTS__MAX_ENTRIES", "2");
    world.workspace.file("b", "").file("c", "");
    world.ok(&["snapshot"]);
    world.ok(&["export", "@latest", "../outside/all.tar"]);
    assert_snapshot!(world.ran(command), @"
    exit 4
    --- stderr
    error: [WORKSPACE]/../outside/all.tar is not an archive that can be used: it holds more than 2 entries
      nothing was changed
    hint: raise snapshots.max_entries or snapshots.max_bytes if you trust it
    ");
}
