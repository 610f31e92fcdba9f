//! An ordinary user: what cannot be read is named at once, marked in the list, and never touched later.

use std::process::Command;

use belay_testkit::{OrdinaryUser, TempWorkspace};

struct Person {
    user: OrdinaryUser,
    world: TempWorkspace,
    program: std::path::PathBuf,
}

impl Person {
    fn new() -> Option<Person> {
        let user = OrdinaryUser::find()?;
        let world = TempWorkspace::new_in(std::path::Path::new("/tmp"));
        let program = user.copy_of(std::path::Path::new(env!("CARGO_BIN_EXE_belay")), world.outside());
        std::fs::set_permissions(world.base(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        [world.path(), world.home(), world.outside()].into_iter().for_each(|path| user.own(path));
        Some(Person { user, world, program })
    }

    fn file(&self, path: &str, text: &str, mode: u32) {
        self.world.file_mode(path, text, mode);
        self.user.own(&self.world.join(path));
    }

    fn belay(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command: Command = self.user.command(&self.program, self.world.outside());
        command.args(words).current_dir(self.world.path()).env("BELAY_HOME", self.world.home());
        let output = command.output().expect("belay starts");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }
}

#[test]
fn what_cannot_be_read_is_named_marked_and_left_alone() {
    let Some(person) = Person::new() else { return };
    person.file("open.txt", "one\n", 0o644);
    person.file("closed.txt", "secret\n", 0o000);
    let (code, text) = person.belay(&["snapshot"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("lacks 1 path") && text.contains("closed.txt (unreadable"), "{text}");
    let (_, text) = person.belay(&["snapshots"]);
    assert!(text.lines().any(|line| line.starts_with("snap_") && line.contains('*')), "{text}");
    let (_, text) = person.belay(&["status"]);
    assert!(text.contains("closed.txt (unreadable"), "{text}");

    person.file("open.txt", "two\n", 0o644);
    let (code, text) = person.belay(&["rollback", "-y"]);
    assert_eq!(code, Some(0), "{text}");
    let read = |path| std::fs::read_to_string(person.world.join(path)).unwrap_or_default();
    assert_eq!(read("open.txt"), "one\n");
    std::fs::set_permissions(person.world.join("closed.txt"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .expect("a mode");
    assert_eq!(read("closed.txt"), "secret\n");
}

#[test]
fn read_only_directories_are_no_obstacle() {
    let Some(person) = Person::new() else { return };
    person.world.dir("shut");
    person.file("shut/inside.txt", "one\n", 0o444);
    person.user.own(&person.world.join("shut"));
    person.world.mode("shut", 0o555);
    assert_eq!(person.belay(&["snapshot"]).0, Some(0));
    person.world.mode("shut", 0o755).remove("shut/inside.txt").mode("shut", 0o555);
    let (code, text) = person.belay(&["rollback", "-y"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(std::fs::read_to_string(person.world.join("shut/inside.txt")).unwrap_or_default(), "one\n", "{text}");
    let mode =
        std::fs::metadata(person.world.join("shut")).map(|meta| std::os::unix::fs::MetadataExt::mode(&meta) & 0o777);
    assert_eq!(mode.ok(), Some(0o555));
}
