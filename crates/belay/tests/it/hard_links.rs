//! Hard links made before a run: none of them leads out of the workspace, however many names there are and whoever
//! made them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::jailed::has_namespaces;
use crate::world::{Ran, World};

/// A directory beside the workspace, whose files nothing in a jail may change.
struct Outside(PathBuf);

impl Outside {
    fn beside(world: &World) -> Outside {
        let path = world.workspace.base().join("elsewhere");
        fs::create_dir(&path).unwrap();
        Outside(path)
    }

    /// Gives a file out there a second name in the workspace.
    fn link(&self, world: &World, path: &str) {
        let outside = self.0.join(path.replace('/', "-"));
        fs::write(&outside, "outside").unwrap();
        let inside = world.workspace.join(path);
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::hard_link(&outside, inside).unwrap();
    }

    fn assert_unchanged(&self, ran: &Ran) {
        for entry in fs::read_dir(&self.0).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(fs::read_to_string(&path).unwrap(), "outside", "{}: {ran}", path.display());
        }
    }
}

fn jailed(world: &mut World, flags: &[&str], script: &str) -> Ran {
    world.belay(&[&["run", "--isolation", "jail"], flags, &["--", "sh", "-c", script]].concat())
}

/// What was said, without the ends of lines.
fn said(ran: &Ran) -> String {
    ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_packages(world: &World) {
    world.workspace.file("package.json", "{}").file(".gitignore", "node_modules\n").file("node_modules/dep", "d");
}

#[test]
fn a_hard_link_made_before_leads_nowhere() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let outside = world.workspace.base().join("elsewhere");
    fs::write(&outside, "outside").unwrap();
    world.workspace.file("dir/other", "other").file("twin", "twin");
    fs::hard_link(&outside, world.workspace.join("dir/linked")).unwrap();
    fs::hard_link(world.workspace.join("twin"), world.workspace.join("dir/twin")).unwrap();
    let script = "import os, errno\n\
                  def attempt(name, act):\n\
                  \x20   try: act(); print(name, 'done')\n\
                  \x20   except OSError as error: print(name, errno.errorcode[error.errno])\n\
                  attempt('write', lambda: open('dir/linked', 'a'))\n\
                  attempt('truncate', lambda: os.truncate('dir/linked', 0))\n\
                  attempt('chmod', lambda: os.chmod('dir/linked', 0o600))\n\
                  attempt('unlink', lambda: os.unlink('dir/linked'))\n\
                  attempt('rename', lambda: os.rename('dir/other', 'dir/linked'))\n\
                  attempt('link', lambda: os.link('dir/linked', 'again'))\n\
                  attempt('move', lambda: os.rename('dir', 'moved'))\n\
                  attempt('read', lambda: open('dir/linked').read())\n\
                  attempt('twin', lambda: open('dir/twin', 'a').write('!'))\n";
    world.workspace.file("try.py", script);
    if Command::new("python3").arg("--version").output().is_err() {
        return belay_testkit::skip("no python3");
    }
    let ran = world.belay(&["run", "--isolation", "jail", "--", "python3", "try.py"]);
    let said: Vec<&str> = ran.stdout.lines().collect();
    let expected = [
        "write EROFS",
        "truncate EROFS",
        "chmod EROFS",
        "unlink EBUSY",
        "rename EBUSY",
        "link EXDEV",
        "move EBUSY",
        "read done",
        "twin done",
    ];
    assert_eq!(said, expected, "{ran}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside");
    assert_eq!(world.read("twin"), "twin!");
    let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("1 file in the workspace has a name elsewhere too, and can only be read: dir/linked"),
        "{ran}"
    );
    assert!(world.ok(&["show"]).contains("has a name elsewhere too"));
    // Whoever means it says so.
    world.ok(&["run", "-q", "--rw", "dir/linked", "--", "sh", "-c", "echo meant > dir/linked"]);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "meant\n");
}

#[test]
fn however_many_hard_links_there_are_none_leads_out() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let outside = Outside::beside(&world);
    for number in 0..600 {
        outside.link(&world, &format!("copy/{}/{number:03}", number % 7));
    }
    let script = "for f in copy/*/*; do echo x 2>/dev/null >> $f && echo wrote $f; rm -f $f 2>/dev/null; done; \
                  mv copy moved 2>&1; echo x > copy/new; ls copy/*/* | wc -l; true";
    let ran = jailed(&mut world, &[], script);
    assert!(!ran.stdout.contains("wrote"), "{ran}");
    assert_eq!(ran.stdout.lines().last(), Some("600"), "{ran}");
    outside.assert_unchanged(&ran);
    assert_eq!(world.read("copy/new"), "x\n", "what leads nowhere can be written as ever");
    assert!(said(&ran).contains("600 files in the workspace have a name elsewhere too, and can only be read"), "{ran}");
}

#[test]
fn decoys_of_an_earlier_run_do_not_spend_the_guard() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    with_packages(&world);
    let outside = Outside::beside(&world);
    outside.link(&world, "zzz/linked");
    // Names that snapshots leave out: the files seem to have names elsewhere.
    let make = "import os\n\
                os.mkdir('aaa')\n\
                for n in range(6000):\n\
                \x20   open(f'aaa/{n}', 'w').close(); os.link(f'aaa/{n}', f'node_modules/{n}')\n";
    world.workspace.file("make.py", make);
    if Command::new("python3").arg("--version").output().is_err() {
        return belay_testkit::skip("no python3");
    }
    let ran = jailed(&mut world, &["-q"], "python3 make.py");
    assert_eq!(ran.code, 0, "{ran}");
    let ran = jailed(&mut world, &[], "echo x >> zzz/linked; echo mine >> aaa/5999; echo mine >> node_modules/1");
    assert!(ran.stderr.contains("Read-only file system"), "{ran}");
    outside.assert_unchanged(&ran);
    assert_eq!((world.read("aaa/5999").as_str(), world.read("aaa/1").as_str()), ("mine\n", "mine\n"), "{ran}");
    let told = "1 file in the workspace has a name elsewhere too, and can only be read: zzz/linked";
    assert!(said(&ran).contains(told), "{ran}");
}

#[test]
fn a_hard_link_in_what_snapshots_leave_out_leads_nowhere() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    with_packages(&world);
    let outside = Outside::beside(&world);
    outside.link(&world, "node_modules/lib/index.js");
    let script = "echo x >> node_modules/lib/index.js; echo own > node_modules/lib/own; echo x > node_modules/dep";
    let ran = jailed(&mut world, &[], script);
    assert!(ran.stderr.contains("Read-only file system"), "{ran}");
    outside.assert_unchanged(&ran);
    assert_eq!((world.read("node_modules/lib/own"), world.read("node_modules/dep")), ("own\n".into(), "x\n".into()));
    // With very many of them all of the directory is closed, and a flag opens it.
    (0..1_100).for_each(|number| outside.link(&world, &format!("node_modules/.store/{number}")));
    let ran = jailed(&mut world, &[], "echo x >> node_modules/.store/1099; touch node_modules/new; echo y > ok");
    assert_eq!(ran.stderr.matches("Read-only file system").count(), 2, "{ran}");
    outside.assert_unchanged(&ran);
    assert_eq!(world.read("ok"), "y\n");
    let told = "all of node_modules can only be read: 1101 files in there have a name elsewhere too";
    assert!(said(&ran).contains(told), "{ran}");
    let ran = jailed(&mut world, &["--rw", "node_modules"], "echo meant > node_modules/.store/7");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(fs::read_to_string(outside.0.join("node_modules-.store-7")).unwrap(), "meant\n");
}

#[test]
fn without_a_snapshot_or_with_half_of_one_a_hard_link_leads_nowhere_either() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let outside = Outside::beside(&world);
    outside.link(&world, "deep/in/linked");
    world.workspace.file("a/1", "").file("b/2", "").file("deep/in/3", "");
    let settings = world.workspace.home().join("config.toml");
    for text in ["snapshots.disabled = true\n", "snapshots.max_entries = 4\n"] {
        fs::write(&settings, text).unwrap();
        let ran = jailed(&mut world, &[], "echo x >> deep/in/linked; rm -rf deep; echo y > a/1");
        assert!(ran.stderr.contains("Read-only file system"), "{text}: {ran}");
        outside.assert_unchanged(&ran);
        assert!(world.has("deep/in/linked"), "{text}: {ran}");
    }
}

#[test]
fn a_directory_that_nobody_can_look_into_can_only_be_read() {
    use std::os::unix::fs::PermissionsExt;
    if !has_namespaces() {
        return;
    }
    if belay_testkit::is_root() {
        return belay_testkit::skip("root looks into every directory");
    }
    for mode in [0o300, 0o000, 0o600] {
        let mut world = World::new();
        let outside = Outside::beside(&world);
        outside.link(&world, "closed/linked");
        let closed = world.workspace.join("closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
        let script = "echo x >> closed/linked; chmod 700 closed; mv closed opened; echo x >> closed/linked; \
                      echo x >> opened/linked";
        let ran = jailed(&mut world, &[], script);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        outside.assert_unchanged(&ran);
        assert!(said(&ran).contains("all of closed can only be read: nobody can look into it"), "{mode:o}: {ran}");
    }
}

#[test]
fn more_hard_links_than_can_be_guarded_begin_no_run() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let outside = Outside::beside(&world);
    outside.link(&world, "copy/first");
    for number in 0..20_000 {
        fs::hard_link(world.workspace.join("copy/first"), world.workspace.join(format!("copy/{number}"))).unwrap();
    }
    let ran = jailed(&mut world, &[], "echo x > copy/first; echo ran");
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran}");
    let said = said(&ran);
    assert!(said.contains("20001 files of the workspace have a name elsewhere too"), "{ran}");
    assert!(said.contains("--ephemeral") && said.contains("--rw"), "{ran}");
    outside.assert_unchanged(&ran);
    let ran = world.belay(&["run", "--ephemeral", "--", "sh", "-c", "echo x > copy/first; echo ran"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ran\n"), "{ran}");
    outside.assert_unchanged(&ran);
    let ran = jailed(&mut world, &["--rw", "."], "echo meant > copy/first");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(fs::read_to_string(outside.0.join("copy-first")).unwrap(), "meant\n");
}
