//! What a confined command writes outside of the workspace: gone with the jail, or kept and never to be taken back, and
//! said either way.

use crate::jailed::has_namespaces;
use crate::world::World;

fn said(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_ends_with_the_jail_is_named_and_what_toolchains_leave_is_not() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("cart.py", "cart\n");
    let jail = ["run", "--isolation", "jail", "--", "sh", "-c"];
    let script = "echo report > ~/notes.txt && echo r > /tmp/report.txt && cp cart.py ../copy.py; mkdir -p ~/.cache/x \
                  ~/out ~/empty; echo c > ~/.cache/x/c; echo 1 > ~/out/1; echo 2 > ~/out/2; : > ~/nothing; \
                  echo x > /tmp/tmp.ab12cd34";
    let ran = world.belay(&[&jail[..], &[script]].concat());
    assert_eq!(ran.code, 0, "{ran}");
    let gone = "Written to the run's own home and temporary directories, and gone with it: ~/copy.py, ~/notes.txt, \
                ~/out (2 files), /tmp/report.txt (--rw DIR keeps what is written to DIR)";
    assert!(said(&ran.stderr).contains(gone), "{ran}");
    assert!(said(&world.ok(&["show"])).contains("~/notes.txt"), "show says it later");
    assert_eq!(world.json(&["show"])["run"]["discarded"]["files"], 5);
    // A run that leaves nothing says nothing.
    let ran = world.belay(&[&jail[..], &["echo x > ~/x; rm ~/x; echo more >> cart.py"]].concat());
    assert!(ran.code == 0 && !ran.stderr.contains("gone with it"), "{ran}");
}

#[test]
fn what_is_made_in_the_jails_own_home_was_not_refused() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("cart.py", "cart\n");
    let ran = world.belay(&["run", "--isolation", "jail", "--denials", "--", "mv", "cart.py", "../"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stderr.contains("Refused"), "{ran}");
    assert!(said(&ran.stderr).contains("gone with it: ~/cart.py"), "{ran}");
}

#[test]
fn a_run_that_may_write_elsewhere_says_that_it_cannot_be_taken_back() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let out = world.workspace.base().join("out");
    std::fs::create_dir(&out).expect("a directory");
    let path = out.to_str().expect("a plain path").to_owned();
    let script = format!("echo x > {path}/x");
    let ran = world.belay(&["run", "--isolation", "jail", "--rw", &path, "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 0, "{ran}");
    let told = "not protected: what is changed in [BASE]/out, outside of the workspace, cannot be taken back";
    assert!(said(&ran.stderr).contains(told), "{ran}");
    assert!(!ran.stderr.contains("gone with it"), "{ran}");
    assert!(world.belay(&["show"]).stdout.contains("outside of the workspace, cannot be taken back"));
}
