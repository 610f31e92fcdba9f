//! The demo: wrecks a real project and proves that it came back.

use belay_testkit::OrdinaryUser;

use crate::world::World;

#[test]
fn the_demo_proves_that_every_bit_came_back() {
    let mut world = World::new();
    let proof = world.json(&["demo"]);
    assert_eq!(proof["identical"], true, "{proof}");
    assert_eq!(proof["before"], proof["after"]);
    assert_ne!(proof["before"], proof["wrecked"]);
    assert!(!world.workspace.home().join("store").exists(), "the demo used the user's store");
}

#[test]
fn the_demo_tells_its_story() {
    let mut world = World::new();
    let ran = world.belay(&["demo"]);
    assert_eq!(ran.code, 0, "{ran}");
    for part in [
        "$ belay snapshot",
        "$ rm -rf .git",
        "$ belay status",
        "$ belay rollback",
        "Every byte and every bit is as before.",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} is missing:\n{ran}");
    }
}

#[test]
fn the_demo_works_for_an_ordinary_user() {
    let Some(user) = OrdinaryUser::find() else { return };
    let home = user.directory();
    let program = user.copy_of(std::path::Path::new(env!("CARGO_BIN_EXE_belay")), home.path());
    let output = user.command(program, home.path()).args(["demo", "--json"]).output().expect("belay starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("\"identical\":true"), "{text}");
}
