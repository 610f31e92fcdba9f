//! Cases about file changes.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use belay_event::Action;
use belay_trace::Engine;

use crate::mirror::Mirror;
use crate::world::{World, python};

/// An archive of thousands of files: each is told as new.
pub(crate) fn an_archive(engine: Engine) {
    const COUNT: usize = 6000;
    let mut world = World::new(engine, |_| {});
    let source = tempfile::tempdir().unwrap();
    for number in 0..COUNT {
        let directory = source.path().join(format!("d{}/e{}", number % 40, number % 7));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("f{number}")), "x").unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    let archive = out.path().join("all.tar");
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(source.path()).arg("-cf").arg(&archive).arg(".");
    assert!(tar.status().unwrap().success());
    assert!(world.run(&["tar".as_ref(), "-xf".as_ref(), archive.as_os_str()]).success());
    let there: BTreeSet<_> = Mirror::of(&world.at("")).paths();
    let dirty = world.tracer.dirty();
    let story = world.end();
    story.assert_whole();
    let created = story.paths(Action::Created);
    let told: BTreeSet<_> = created.iter().filter(|path| !path.is_empty()).cloned().collect();
    assert!(there.len() > COUNT);
    assert_eq!(told, there);
    assert_eq!(created.len(), told.len(), "something was told twice");
    assert!(dirty.complete);
}

/// A file without a name is no path, and what is written to it once it has one is not missed as root.
pub(crate) fn a_file_without_a_name(engine: Engine) {
    let Some(python) = python() else { return };
    let mut world = World::new(engine, |root| fs::write(root.join("#1"), "a file that is called so").unwrap());
    let mut mirror = Mirror::of(&world.at(""));
    let program = r#"
import os, time
def open_nameless(): return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
try: gone = open_nameless()
except OSError: raise SystemExit(77)
os.write(gone, b"x"); os.close(gone)
# Only with a directory does Python follow the link.
here = os.open(".", os.O_RDONLY)
kept = open_nameless(); os.write(kept, b"x"); os.link(f"/proc/self/fd/{kept}", "kept", src_dir_fd=here, follow_symlinks=True)
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(.005)
os.write(kept, b"more"); os.close(kept)
open('#1', 'a').write('x')
"#;
    let mut child = world.start(&[python, "-c", program]);
    while !world.at("ready").exists() {
        if let Some(ended) = child.try_wait().unwrap() {
            assert_eq!(ended.code(), Some(77), "it failed before it was ready");
            return belay_testkit::skip("this filesystem has no files without a name");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    mirror.refresh(&world.tracer.dirty().paths);
    fs::write(world.at("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
    mirror.refresh(&world.tracer.dirty().paths);
    mirror.assert_equals(&Mirror::of(&world.at("")));
    let story = world.end();
    let told: BTreeSet<_> =
        [Action::Created, Action::Modified].iter().flat_map(|action| story.paths(*action)).collect();
    assert!(!told.iter().any(|path| path.starts_with('#') && path != "#1"), "{told:?}");
    assert!(told.contains("kept") && told.contains("#1"), "{told:?}");
}

/// A file is written to through a name that was removed, and has another.
pub(crate) fn a_name_that_is_gone(engine: Engine) {
    let Some(python) = python() else { return };
    let mut world = World::new(engine, |root| {
        fs::create_dir(root.join("deep")).unwrap();
        fs::write(root.join("one"), "x").unwrap();
        fs::hard_link(root.join("one"), root.join("deep/two")).unwrap();
    });
    let mut mirror = Mirror::of(&world.at(""));
    let program = r#"
import os, time
file = os.open("one", os.O_WRONLY | os.O_APPEND); os.unlink("one")
lone = os.open("lone", os.O_CREAT | os.O_WRONLY); os.unlink("lone")
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(.005)
os.write(file, b"more"); os.close(file)
os.write(lone, b"more"); os.close(lone)
"#;
    let mut child = world.start(&[python, "-c", program]);
    while !world.at("ready").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it failed before it was ready");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    mirror.refresh(&world.tracer.dirty().paths);
    fs::write(world.at("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
    let dirty = world.tracer.dirty();
    mirror.refresh(&dirty.paths);
    if dirty.complete {
        mirror.assert_equals(&Mirror::of(&world.at("")));
    }
    let modified = world.end().paths(Action::Modified);
    assert!(!modified.iter().any(|path| path == "lone"), "nobody can see what is written to it: {modified:?}");
}

/// While directories are made, filled, moved and removed, a copy that follows the dirty set alone stays right.
pub(crate) fn a_storm(engine: Engine) {
    let Some(python) = python() else { return };
    let mut world = World::new(engine, |root| {
        for number in 0..20 {
            fs::create_dir_all(root.join(format!("old{number}/in"))).unwrap();
            fs::write(root.join(format!("old{number}/in/f")), "old").unwrap();
        }
    });
    let mut mirror = Mirror::of(&world.at(""));
    let program = r#"
import os, random, shutil, time
random.seed(os.getpid())
end = time.time() + 3
dirs = lambda: [d for d, _, _ in os.walk(".")]
while time.time() < end:
    try:
        here = random.choice(dirs())
        name = os.path.join(here, random.choice("abcdefgh"))
        what = random.random()
        if what < .25: os.makedirs(os.path.join(name, "x", "y"), exist_ok=True)
        elif what < .6: open(name + ".txt", "a").write(str(what))
        elif what < .75: os.rename(random.choice(dirs()), name)
        elif what < .85: os.rename(name + ".txt", os.path.join(random.choice(dirs()), "moved.txt"))
        elif what < .9: shutil.rmtree(name)
        elif what < .95: os.chmod(name + ".txt", random.choice([0o600, 0o644]))
        else: os.rename(name, "../storm-out"); os.rename("../storm-out", os.path.join(random.choice(dirs()), "back"))
    except OSError:
        shutil.rmtree("../storm-out", ignore_errors=True)
"#;
    let program = program.replace("../storm-out", world.at("").with_extension("out").to_str().unwrap());
    let mut child = world.start(&[python, "-c", program.as_str()]);
    let mut asked = 0;
    while child.try_wait().unwrap().is_none() {
        let dirty = world.tracer.dirty();
        assert!(dirty.complete);
        mirror.refresh(&dirty.paths);
        asked += 1;
        std::thread::sleep(std::time::Duration::from_millis(7));
    }
    assert!(asked > 20);
    mirror.refresh(&world.tracer.dirty().paths);
    mirror.assert_equals(&Mirror::of(&world.at("")));
    world.end().assert_whole();
}

/// A change is ascribed to the command that made it or, where the kernel does not name anybody, now and then to nobody.
pub(crate) fn commands_in_turn(engine: Engine) {
    let mut right = 0;
    for _ in 0..5 {
        let mut world = World::new(engine, |_| {});
        let script = "sh -c 'echo 1 > one'; mkdir d; cp one d/two; rm one";
        assert!(world.shell(script).success());
        let story = world.end();
        story.assert_whole();
        for (action, path, name) in
            [(Action::Created, "d", "mkdir"), (Action::Created, "d/two", "cp"), (Action::Deleted, "one", "rm")]
        {
            let change =
                story.files().into_iter().find(|file| file.action == action && file.path.lossy() == path).unwrap();
            match change.by.and_then(|by| by.command) {
                Some(command) => assert_eq!(command, story.named(name)[0].command, "{change:?}"),
                None => continue,
            }
            right += 1;
        }
    }
    assert!(right >= 3, "only {right} of 15 changes were ascribed");
}

/// A change by somebody outside the run has no command.
pub(crate) fn somebody_else(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let mut child = world.start(&["sleep", "0.4"]);
    std::thread::sleep(std::time::Duration::from_millis(150));
    fs::write(world.at("theirs"), "x").unwrap();
    child.wait().unwrap();
    let story = world.end();
    let change = story.files()[0];
    assert_eq!((change.action, change.path.lossy().as_ref()), (Action::Created, "theirs"));
    assert_eq!(change.by.and_then(|by| by.command), None);
}

const FEW_WATCHES: &str = "BELAY_TEST_FEW_WATCHES";

/// Not a test by itself: what [`the_limit_of_watches`] starts where the kernel gives only a few.
pub(crate) fn with_few_watches(engine: Engine) {
    if std::env::var_os(FEW_WATCHES).is_none() {
        return;
    }
    let world = World::new(engine, |root| (0..40).for_each(|n| fs::create_dir(root.join(format!("d{n}"))).unwrap()));
    let told = world.tracer.degraded().iter().any(|degraded| degraded.why.contains("max_user_watches"));
    assert!(told, "{:?}", world.tracer.degraded());
    fs::write(world.at("d0/f"), "").unwrap();
    assert!(!world.tracer.dirty().complete);
    assert!(!world.tracer.dirty().complete);
    println!("it was told");
}

/// If the kernel refuses more watches that is told, and no dirty set is complete.
pub(crate) fn the_limit_of_watches(test: &str) {
    let script = "echo 10 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(FEW_WATCHES, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unshare:") || said.contains("max_inotify_watches") {
        return belay_testkit::skip("no user namespace in which watches can be limited");
    }
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("it was told"));
}
