//! Which directory is which workspace, on a real filesystem.

use std::fs;

use belay_session::{Arrival, Consent, Error, Sources, Trust};

use crate::bed::{Bed, work};

#[test]
fn commands_act_on_the_nearest_workspace_above() {
    let bed = Bed::new();
    bed.ws.dir("src/deep").dir("vendor/lib");
    assert!(bed.home.find(bed.ws.path(), &bed.sources).unwrap().is_none());
    let outer = bed.open().id().to_owned();
    assert_eq!(bed.open_at(&bed.ws.join("src/deep")).id(), outer);
    let inner = bed.home.create(&bed.ws.join("vendor"), Consent::default(), &bed.sources).unwrap().id().to_owned();
    assert_ne!(inner, outer);
    assert_eq!(bed.open_at(&bed.ws.join("vendor/lib")).id(), inner);
    assert!(outer.starts_with("ws_") && outer.len() == 13, "{outer}");
}

#[test]
fn a_moved_workspace_keeps_its_history_and_says_so_once() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let snapshot = bed.snap();
    let moved = bed.ws.base().join("moved");
    fs::rename(bed.ws.path(), &moved).unwrap();
    let workspace = bed.open_at(&moved);
    assert_eq!(*workspace.arrival(), Arrival::Moved { from: bed.ws.path().to_path_buf() });
    assert_eq!(workspace.timeline().unwrap().snapshots(), [snapshot]);
    assert_eq!(*bed.open_at(&moved).arrival(), Arrival::Known);
    let known = bed.home.workspaces().unwrap();
    assert_eq!(
        (known.len(), known[0].path.as_path(), known[0].exists, known[0].snapshots),
        (1, moved.as_path(), true, 1)
    );
    fs::rename(&moved, bed.ws.path()).unwrap();
}

#[test]
fn an_open_workspace_knows_whether_it_is_still_in_its_place() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let workspace = bed.open();
    assert!(workspace.is_in_place());
    let moved = bed.ws.base().join("moved");
    fs::rename(bed.ws.path(), &moved).unwrap();
    assert!(!workspace.is_in_place());
    fs::create_dir(bed.ws.path()).unwrap();
    assert!(!workspace.is_in_place());
    fs::remove_dir(bed.ws.path()).unwrap();
    fs::rename(&moved, bed.ws.path()).unwrap();
    assert!(workspace.is_in_place());
}

#[test]
fn a_copied_workspace_starts_its_own_history_and_says_so() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("src/b", "2").file("src/c", "3").file("d", "4");
    bed.snap();
    let copy = bed.ws.base().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(bed.ws.path()).arg(&copy).status().unwrap();
    assert!(copied.success());
    fs::write(copy.join("d"), "changed").unwrap();
    let workspace = bed.open_at(&copy);
    assert_eq!(*workspace.arrival(), Arrival::New);
    let taken = workspace.snapshot(&Default::default(), work()).unwrap();
    assert_eq!(taken.arrival, Arrival::CopiedFrom { path: bed.ws.path().to_path_buf() });
    assert_eq!(taken.snapshot.number, 1);
    let known = bed.home.workspaces().unwrap();
    assert_eq!(known[1].copied_from.as_ref(), Some(&known[0].id));
}

#[test]
fn a_strange_directory_is_no_copy() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("b", "2");
    bed.snap();
    let other = bed.ws.base().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a"), "1").unwrap();
    fs::write(other.join("z"), "9").unwrap();
    let taken = bed.open_at(&other).snapshot(&Default::default(), work()).unwrap();
    assert_eq!(taken.arrival, Arrival::New);
}

#[test]
fn a_directory_made_anew_is_offered_the_old_history() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let snapshot = bed.snap();
    // The old directory lives on, so that its inode is not free for the new one.
    fs::rename(bed.ws.path(), bed.ws.base().join("aside")).unwrap();
    fs::create_dir(bed.ws.path()).unwrap();
    let workspace = bed.open();
    assert_eq!(*workspace.arrival(), Arrival::Replaced);
    bed.rollback(&snapshot);
    assert_eq!(bed.text("a"), "1");
}

#[test]
fn a_moved_workspace_finds_its_history_after_another_directory_took_its_place() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let snapshot = bed.snap();
    let aside = bed.ws.base().join("aside");
    fs::rename(bed.ws.path(), &aside).unwrap();
    if fs::metadata(&aside).unwrap().created().is_err() {
        return belay_testkit::skip("no birth times on this disk");
    }
    fs::create_dir(bed.ws.path()).unwrap();
    assert_eq!(*bed.open().arrival(), Arrival::Replaced);
    bed.ws.file("b", "of the new one");
    let later = bed.snap();
    let workspace = bed.open_at(&aside);
    assert_eq!(*workspace.arrival(), Arrival::Moved { from: bed.ws.path().to_path_buf() });
    assert_eq!(workspace.timeline().unwrap().snapshots(), [snapshot.clone()]);
    assert_ne!(workspace.id(), bed.open().id());
    assert_eq!(bed.ids(), [snapshot.id.clone(), later.id]);
    // Each goes its own way from now on.
    fs::write(aside.join("a"), "2").unwrap();
    assert_eq!(bed.home.create(&aside, Consent::default(), &bed.sources).unwrap().id(), workspace.id());
    bed.open().delete(&[snapshot.id.clone()]).unwrap();
    bed.home.gc(false).unwrap();
    let goal = belay_session::Goal::To(Some(snapshot.id));
    bed.open_at(&aside).rewind(&crate::bed::request(goal, &[]), work(), &mut |_| {}).unwrap();
    assert_eq!(fs::read_to_string(aside.join("a")).unwrap(), "1");
    assert!(bed.home.verify(true, work()).unwrap().store.damage.is_empty());
}

#[test]
fn the_store_and_a_workspace_never_hold_each_other() {
    let bed = Bed::new();
    let find = |dir: &std::path::Path| bed.home.find_or_create(dir, Consent::default(), &bed.sources).map(drop);
    assert!(matches!(find(bed.ws.base()), Err(Error::HomeInWorkspace { .. })));
    assert!(matches!(find(bed.ws.home()), Err(Error::HomeInWorkspace { .. })));
    let inside = bed.ws.home().join("store");
    assert!(matches!(find(&inside), Err(Error::WorkspaceInHome { .. })));
    std::os::unix::fs::symlink(bed.ws.base(), bed.ws.join("up")).unwrap();
    assert!(matches!(find(&bed.ws.join("up")), Err(Error::HomeInWorkspace { .. })), "nor through a symlink");
    assert_eq!(bed.home.workspaces().unwrap(), []);
}

#[test]
fn a_home_directory_needs_consent() {
    let bed = Bed::new();
    bed.ws.dir("user/project");
    let home = bed.ws.join("user");
    let consent = Consent { yes_really: false, home: Some(&home) };
    for dir in [&home, &bed.ws.path().to_path_buf()] {
        assert!(matches!(bed.home.create(dir, consent, &bed.sources), Err(Error::NeedsConsent(_))));
    }
    assert!(bed.home.create(&home.join("project"), consent, &bed.sources).is_ok());
    let yes = Consent { yes_really: true, ..consent };
    assert!(bed.home.create(&home, yes, &bed.sources).is_ok());
    let root = bed.home.create("/".as_ref(), Consent::default(), &Sources::default());
    assert!(matches!(root, Err(Error::NeedsConsent(_))));
}

#[test]
fn paths_are_meant_beneath_the_workspace() {
    let bed = Bed::new();
    bed.ws.dir("src");
    let workspace = bed.open();
    let beneath = |cwd: &str, path: &str| workspace.beneath(&bed.ws.join(cwd), path.as_ref());
    assert_eq!(beneath("", "a/b").unwrap(), b"a/b");
    assert_eq!(beneath("src", "../x").unwrap(), b"x");
    assert_eq!(beneath("src", "./.").unwrap(), b"src");
    assert_eq!(beneath("src", bed.ws.join("y").to_str().unwrap()).unwrap(), b"y");
    assert!(matches!(beneath("", "../x"), Err(Error::OutsideWorkspace { .. })));
}

#[test]
fn the_workspaces_own_file_counts_once_it_is_trusted_and_until_it_changes() {
    let bed = Bed::new();
    let text = "snapshots.auto_max = 3\nsnapshots.exclude.gitignored = \"capture\"\n";
    bed.ws.file("belay.toml", text);
    let auto_max = |bed: &Bed| {
        let all = bed.open().settings().list();
        all.iter().find(|setting| setting.key == "snapshots.auto_max").unwrap().value.clone()
    };
    let ignored = vec!["snapshots.auto_max".to_owned()];
    assert_eq!(*bed.open().trust(), Trust::Untrusted { file: "belay.toml".into(), ignored });
    assert_eq!(auto_max(&bed), "10");
    assert!(!bed.open().grant_trust("something else").unwrap());
    assert!(bed.open().grant_trust(text).unwrap());
    assert_eq!((auto_max(&bed).as_str(), bed.open().trust()), ("3", &Trust::Trusted { file: "belay.toml".into() }));
    bed.ws.file("belay.toml", "snapshots.auto_max = 9\n");
    assert_eq!(auto_max(&bed), "10");
    bed.ws.file("belay.toml", text);
    assert_eq!(auto_max(&bed), "3");
    assert!(bed.open().revoke_trust().unwrap());
    assert_eq!(auto_max(&bed), "10");
}

#[test]
fn a_hostile_configuration_file_is_as_if_it_were_not_there() {
    let bed = Bed::new();
    bed.ws.symlink("belay.toml", "/etc/passwd").fifo("belay.yaml").file("belay.yml", vec![b'#'; 2 << 20]);
    assert_eq!(*bed.open().trust(), Trust::Absent);
}
