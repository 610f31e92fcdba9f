//! A workspace made by an enemy: nothing it is called or contains reaches the terminal raw, or is executed.

use belay_testkit::hostile;

use crate::world::World;

#[test]
fn nothing_from_a_hostile_workspace_is_executed_or_printed_raw() {
    let enemy = hostile();
    let world = World::new();
    let commands: [&[&str]; 9] = [
        &["snapshot"],
        &["status", "--all"],
        &["ls", "-R", "@latest"],
        &["ls", "-l", "@latest"],
        &["find", "*"],
        &["diff", "--stat"],
        &["rollback", "--dry-run"],
        &["rollback", "-y"],
        &["verify", "--deep"],
    ];
    for (at, words) in commands.into_iter().enumerate() {
        if at == 1 {
            enemy.workspace().odd_names("later");
        }
        let mut command = world.command(words);
        command.current_dir(enemy.path()).env("BELAY_HOME", enemy.workspace().home());
        let output = command.output().expect("belay starts");
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let raw = bytes.iter().find(|byte| byte.is_ascii_control() && !b"\n\t".contains(byte));
            assert_eq!(raw, None, "belay {words:?} printed a control character to {name}");
            assert!(std::str::from_utf8(bytes).is_ok(), "belay {words:?} printed raw bytes to {name}");
        }
        assert!(output.status.code().is_some_and(|code| code != 101), "belay {words:?} panicked");
    }
    enemy.canaries_untouched();
}
