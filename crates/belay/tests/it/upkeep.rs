//! gc, verify and repair.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::world::{World, noise};

#[test]
fn gc_gives_back_what_no_snapshot_needs() {
    let mut world = World::new();
    world.workspace.file("keep", "k".repeat(1000));
    world.snapshot();
    assert_snapshot!(world.belay(&["gc"]), @"
    exit 0
    --- stdout
    Nothing to free: all that is there belongs to 1 snapshot.
    ");
    assert_eq!(world.json(&["gc", "--dry-run"])["dry_run"], true);
}

#[test]
fn verify_finds_a_flipped_bit_names_what_it_concerns_and_repair_heals_it() {
    let mut world = World::new();
    let noise = noise(200_000);
    world.workspace.file("noise.bin", &noise).file("other.txt", "other\n");
    world.snapshot();
    assert_snapshot!(world.belay(&["verify"]), @"
    exit 0
    --- stdout
    Sound: 1 snapshot, 6 objects checked.
    Everything that they need is there; --deep checks every byte, too.
    ");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);

    flip_a_bit_of_the_largest_file(&world.workspace.home().join("store"));
    let ran = world.belay(&["verify", "--deep"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("noise.bin"), "the damage is not named:\n{ran}");
    world.workspace.remove("noise.bin");
    let ran = world.belay(&["rollback", "-y"]);
    assert_eq!(ran.code, 6, "something was restored from damage\n{ran}");
    assert!(!world.has("noise.bin"));

    world.workspace.file("noise.bin", &noise);
    let ran = world.belay(&["verify", "--deep", "--repair"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn one_damaged_block_is_named_once_however_many_paths_need_it() {
    let mut world = World::new();
    for (at, part) in noise(240_000).chunks(4000).enumerate() {
        world.workspace.file(format!("d/file-{at:02}"), part);
    }
    for round in 0..12 {
        world.workspace.file("counter", round.to_string());
        world.snapshot();
    }
    flip_a_bit_of_the_largest_file(&world.workspace.home().join("store"));
    let ran = world.belay(&["verify", "--deep"]);
    assert_eq!(ran.code, 1, "{ran}");
    let lines = ran.stdout.lines().count();
    assert!(lines <= 12 && ran.stdout.contains("12 snapshots"), "{lines} lines:\n{ran}");
    assert!(ran.stdout.contains("more; --json names all"), "{ran}");
    let mut command = world.command(&["--json", "verify", "--deep"]);
    let report: serde_json::Value = serde_json::from_slice(&command.output().expect("it runs").stdout).expect("JSON");
    let affected = report["affected"].as_array().expect("a list").len();
    assert!(affected >= 12 * 20, "{affected} of all places are named");
    assert_eq!(report["damage"][0]["affected"], affected, "{report}");
}

fn flip_a_bit_of_the_largest_file(directory: &Path) {
    let file = largest(directory).expect("the store has files");
    let size = fs::metadata(&file).expect("a size").len();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let open = fs::File::options().read(true).write(true).open(&file).expect("it can be opened");
    let mut byte = [0];
    open.read_exact_at(&mut byte, size / 2).expect("a byte");
    open.write_all_at(&[byte[0] ^ 4], size / 2).expect("a flipped bit");
}

fn largest(directory: &Path) -> Option<PathBuf> {
    let inside = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    inside
        .filter_map(|path| if path.is_dir() { largest(&path) } else { Some(path) })
        .max_by_key(|path| fs::metadata(path).map(|meta| meta.len()).unwrap_or(0))
}
