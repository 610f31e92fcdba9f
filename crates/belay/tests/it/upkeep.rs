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

#[test]
fn what_a_killed_snapshot_left_is_given_back_by_the_next() {
    let mut world = World::new();
    world.workspace.file("keep", "k");
    world.snapshot();
    let left = world.workspace.home().join("store/packs/tmp-4711-0");
    fs::write(&left, noise(100_000)).expect("a file");
    world.workspace.file("keep", "l");
    world.snapshot();
    assert!(!left.exists(), "nobody writes it any more");
}

#[test]
fn a_workspace_that_is_gone_is_forgotten_for_good_and_one_that_is_there_only_on_purpose() {
    let mut world = World::new();
    let gone = world.workspace.outside().join("gone");
    fs::create_dir_all(&gone).expect("a directory");
    fs::write(gone.join("large"), noise(300_000)).expect("a file");
    let path = gone.to_str().expect("text").to_owned();
    world.ok(&["-C", &path, "snapshot", "-q"]);
    world.ok(&["-C", &path, "run", "-q", "--isolation", "none", "--", "true"]);
    world.workspace.file("mine", "mine\n");
    world.snapshot();
    let ran = world.belay(&["workspaces", "rm", &path, "-y"]);
    assert!(ran.code != 0 && ran.stderr.contains("is still there"), "{ran}");
    assert_eq!(world.json(&["workspaces", "rm", "--gone", "--dry-run"])["forgets"], serde_json::json!([]));
    fs::remove_dir_all(&gone).expect("it goes");
    let ran = world.belay(&["workspaces", "rm", &path]);
    assert!(ran.code != 0 && ran.stderr.contains("consent"), "nobody was asked: {ran}");
    let plan = world.json(&["workspaces", "rm", "--gone", "--dry-run"]);
    assert_eq!(plan["forgets"][0]["path"], path, "{plan}");
    assert!(plan["forgets"][0]["freed_bytes"].as_u64() > Some(300_000), "{plan}");
    assert_eq!(plan["forgets"][0]["runs"].as_array().map(Vec::len), Some(1), "{plan}");
    let size = |world: &mut World| world.json(&["gc", "--dry-run"]);
    assert_eq!(world.json(&["workspaces"])["workspaces"].as_array().map(Vec::len), Some(2));
    world.ok(&["workspaces", "rm", "--gone", "-y"]);
    let left = world.json(&["workspaces"]);
    assert_eq!(left["workspaces"].as_array().map(Vec::len), Some(1), "{left}");
    assert!(
        largest(&world.workspace.home().join("store")).is_some_and(|file| fs::metadata(file).unwrap().len() < 200_000)
    );
    assert_eq!(size(&mut world)["freed_bytes"], 0);
    world.ok(&["verify", "--deep"]);
    assert_eq!(world.belay(&["workspaces", "rm", &path, "-y"]).code, 3, "nobody knows it any more");
    let own = world.workspace.path().to_str().expect("text").to_owned();
    world.ok(&["workspaces", "rm", &own, "--existing", "-y"]);
    assert_eq!(world.read("mine"), "mine\n", "the files stay");
    world.snapshot();
    world.ok(&["verify"]);
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

/// The timeline and its spare are gone, as a person would see it from inside the workspace.
fn world_without_timeline() -> World {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.snapshot();
    let id = world.json(&["workspaces"])["workspaces"][0]["id"].as_str().expect("an id").to_owned();
    let home = world.workspace.home();
    std::fs::remove_file(home.join("workspaces").join(&id).join("timeline")).expect("a timeline");
    std::fs::remove_file(home.join("spares").join(&id)).expect("a spare");
    world
}

#[test]
fn a_lost_timeline_is_told_by_doctor_and_by_run_and_repaired_from_inside_the_workspace() {
    let mut world = world_without_timeline();
    let doctor = world.belay(&["doctor"]);
    let line = doctor.stdout.lines().find(|line| line.starts_with("store")).expect("a line about the store");
    assert!(line.contains("there was a timeline, and it is missing or empty"), "{doctor}");
    assert!(doctor.code == 1 && doctor.stderr.contains("belay verify --repair"), "{doctor}");
    let run = world.belay(&["run", "--isolation", "none", "--", "true"]);
    assert!(run.code == 125 && run.stderr.contains("belay verify --repair"), "{run}");
    let watch = world.belay(&["watch"]);
    assert!(watch.code != 0 && watch.stderr.contains("belay verify --repair"), "{watch}");
    let repaired = world.belay(&["verify", "--repair"]);
    assert!(repaired.code == 0 && repaired.stdout.contains("Found again: 1 snapshot"), "{repaired}");
    assert_eq!(world.ok(&["cat", "@latest", "notes.txt"]), "one\n");
}

#[test]
fn what_is_found_and_belongs_to_no_workspace_for_certain_is_offered_by_its_id() {
    let mut world = world_without_timeline();
    world.workspace.remove("notes.txt").file("other.txt", "two\n");
    let repaired = world.belay(&["verify", "--repair"]);
    assert!(repaired.code == 0 && repaired.stdout.contains("Found, and not certain whose: 1 snapshot"), "{repaired}");
    let line = repaired.raw().lines().find(|line| line.contains("belay ls snap_")).expect("its id").to_owned();
    let id = line.split_whitespace().next().expect("its id").to_owned();
    assert!(!world.belay(&["snapshots"]).stdout.contains("snap_"), "it is filed nowhere");
    world.ok(&["gc"]);
    assert_eq!(world.ok(&["cat", &id, "notes.txt"]), "one\n");
    world.ok(&["rollback", &id, "--to", "../out"]);
    world.ok(&["snapshots", "delete", &id, "-y"]);
    assert_eq!(world.belay(&["cat", &id, "notes.txt"]).code, 3);
}

/// Two snapshots, the first with a label; a file that only the first one has.
fn world_with_two() -> World {
    let mut world = World::new();
    world.workspace.file("kept.bin", noise(60_000)).file("notes.txt", "one\n");
    world.ok(&["snapshot", "-q", "--label", "first"]);
    world.workspace.file("notes.txt", "two\n");
    world.ok(&["snapshot", "-q", "--label", "second"]);
    world
}

#[test]
fn a_damaged_format_file_is_named_by_every_command_and_made_again_by_a_repair() {
    for damage in ["", "belay", "bElay store\nformat 2\nhash blake3\n", "\0\0\0\0\0\0\0\0"] {
        let mut world = world_with_two();
        let format = world.workspace.home().join("store/format");
        let whole = fs::read_to_string(&format).expect("a text");
        fs::write(&format, damage).expect("a file");
        for command in [&["status"][..], &["snapshot"], &["snapshots"], &["rollback", "-y"], &["gc"], &["verify"]] {
            let ran = world.belay(command);
            assert!(ran.code == 6 && ran.stderr.contains("`belay verify --repair`"), "{damage:?}: {ran}");
        }
        let ran = world.belay(&["verify", "--repair"]);
        assert_eq!(ran.code, 0, "{damage:?}: {ran}");
        assert!(ran.stdout.contains("Made again: store/format (format 2, blake3)"), "{ran}");
        assert_eq!(fs::read_to_string(&format).expect("a text"), whole);
        world.ok(&["rollback", "-y", "first"]);
        assert_eq!(world.read("notes.txt"), "one\n");
    }
    let mut world = world_with_two();
    let (format, newer) = (world.workspace.home().join("store/format"), "belay store\nformat 9\nhash blake3\n");
    fs::write(&format, newer).expect("a file");
    let ran = world.belay(&["verify", "--repair"]);
    assert!(ran.code == 6 && ran.stderr.contains("use the newer belay"), "{ran}");
    assert_eq!(fs::read_to_string(&format).expect("a text"), newer, "it is not made an older one");
}

#[test]
fn packs_that_are_gone_are_named_and_a_repair_says_what_is_lost_and_how_to_give_it_up() {
    let mut world = world_with_two();
    fs::remove_dir_all(world.workspace.home().join("store/packs")).expect("they go");
    for command in [&["status"][..], &["snapshot"], &["rollback", "-y"], &["gc"], &["verify"]] {
        let ran = world.belay(command);
        assert!(ran.code == 6 && ran.stderr.contains("`belay verify --repair`"), "{ran}");
    }
    let ran = world.belay(&["verify", "--deep", "--repair"]);
    let first = world.json(&["snapshots"])["snapshots"][0]["id"].as_str().expect("an id").to_owned();
    assert!(ran.code == 1 && ran.stdout.contains("Made again: store/packs"), "{ran}");
    world.workspace.file("kept.bin", "wreck");
    world.ok(&["rollback", "-y", "second"]);
    assert_eq!(fs::read(world.workspace.path().join("kept.bin")).expect("bytes"), noise(60_000));
    let ran = world.command(&["gc"]).output().expect("it runs").stderr;
    let ran = String::from_utf8_lossy(&ran);
    let typed = format!("snapshots delete {first}`");
    assert!(ran.contains("nothing can be freed while") && ran.contains(&typed), "{ran}");
    let ran = world.belay(&["snapshots", "delete", "-y", "first"]);
    assert_eq!(ran.code, 0, "{ran}");
    world.ok(&["gc"]);
    world.ok(&["verify", "--deep"]);
}

#[test]
fn all_workspaces_that_are_gone_come_back_also_where_only_a_run_tells_where_they_are() {
    for only_runs in [false, true] {
        let mut world = world_with_two();
        world.ok(&["run", "-q", "--isolation", "none", "--", "true"]);
        fs::remove_dir_all(world.workspace.home().join("workspaces")).expect("they go");
        if only_runs {
            fs::remove_dir_all(world.workspace.home().join("identities")).expect("they go");
        }
        let ran = world.belay(&["snapshot"]);
        assert!(ran.code == 6 && ran.stderr.contains("`belay verify --repair`"), "{ran}");
        let ran = world.belay(&["verify", "--repair"]);
        assert_eq!(ran.code, 0, "{ran}");
        world.ok(&["rollback", "-y", "first"]);
        assert_eq!(world.read("notes.txt"), "one\n");
        world.ok(&["undo", "-y"]);
        assert_eq!(world.read("notes.txt"), "two\n");
        world.ok(&["verify", "--deep"]);
    }
}
