//! A program that deletes everything it can see.
//!
//! It sees only a root that this test composed, and the test refuses to start it if that root shows anything else.

use std::fs;

use belay_jail::{Access, Grant};

use crate::world::{World, has_namespaces};

#[test]
fn deleting_everything_deletes_the_workspace_alone() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    // The only writable tree of the machine is the sacrificial workspace; system directories are read-only copies
    // of nothing but what a shell needs.
    fs::create_dir_all(world.path("system")).unwrap();
    fs::write(world.path("system/canary"), "alive").unwrap();
    world.policy.grants.push(Grant::new(world.path("system"), Access::Read));
    let writable: Vec<_> = world.policy.grants.iter().filter(|grant| grant.access == Access::Write).collect();
    assert_eq!(writable.len(), 1);
    assert_eq!(writable[0].path, world.workspace());
    assert_eq!(world.says("hostname; echo $$"), "jail\n2", "only ever inside of a jail");
    let before = world.outside();

    let said = world.shell(
        "test \"$(hostname)\" = jail && test $$ -le 2 || exit 99; \
         exec rm -rf \"$ROOT\" 2>/dev/null",
    );
    assert_ne!(said.status.code(), Some(99));
    assert_eq!(world.outside(), before, "home, store and the rest are as they were");
    assert_eq!(fs::read_to_string(world.path("system/canary")).unwrap(), "alive");
    assert!(!world.path("workspace/code").exists(), "what could be deleted was");
    assert_eq!(
        fs::read_to_string(world.path("workspace/.git/hooks/pre-commit")).unwrap(),
        "workspace/.git/hooks/pre-commit"
    );
}
