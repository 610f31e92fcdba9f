//! Real tools give the same results inside as outside.

use std::fs;
use std::process::Command;

use belay_jail::{Access, Grant, Network};

use crate::world::{World, has_namespaces};

/// Whether a tool is installed; said aloud if not.
fn has(tool: &str) -> bool {
    let found = ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|path| fs::exists(format!("{path}/{tool}")).unwrap());
    if !found {
        belay_testkit::skip(&format!("no {tool}"));
    }
    found && has_namespaces()
}

/// Runs a script inside and outside in twin workspaces, and compares what it says.
#[track_caller]
fn same(script: &str) {
    let (inside, outside) = (World::new(), World::new());
    let said = inside.says(script);
    let output = Command::new("/bin/sh")
        .args(["-c", script])
        .current_dir(outside.workspace())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", outside.path("home"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, String::from_utf8(output.stdout).unwrap().trim_end());
}

#[test]
fn git_works() {
    if !has("git") {
        return;
    }
    same(
        "rm -rf .git/hooks 2>/dev/null; mkdir r && cd r && git init -q -b main . && git config user.email a@b && git config user.name n \
         && echo 1 > f && git add f && GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' git commit -q -m one \
         && git status --porcelain && git rev-parse HEAD && git stash list && git gc -q && git fsck",
    );
}

#[test]
fn make_and_a_compiler_work() {
    if !has("make") || !has("gcc") {
        return;
    }
    same(
        "printf 'int puts(const char*);int main(){return puts(\"built\")<0;}' > a.c && printf 'a: a.c\\n\\tgcc -o a a.c\\n' > Makefile \
         && make -s && ./a && make",
    );
}

#[test]
fn python_makes_an_environment() {
    if !has("python3") {
        return;
    }
    same(
        "/usr/bin/python3 -m venv --without-pip .venv && .venv/bin/python -c 'import sys, ssl, sqlite3, multiprocessing as m; \
         print(sys.prefix != sys.base_prefix, m.Pool(2).map(abs, [-1, -2]))'",
    );
}

#[test]
fn node_works() {
    if !has("node") {
        return;
    }
    same(
        "node -e 'require(\"fs\").writeFileSync(\"n\", \"x\"); console.log(require(\"child_process\").execSync(\"cat n\").toString())'",
    );
}

#[test]
fn tmux_works() {
    if !has("tmux") {
        return;
    }
    let world = World::new();
    let script = "export TERM=screen; tmux -f /dev/null new-session -d 'echo in-tmux > seen; sleep 5' && sleep 1 && cat seen && tmux kill-server";
    assert_eq!(world.says(script), "in-tmux");
}

#[test]
fn npm_installs_a_package_from_a_directory() {
    if !has("npm") {
        return;
    }
    let mut world = World::new();
    world.policy.network = Network::Shared;
    fs::create_dir(world.path("package")).unwrap();
    fs::write(world.path("package/package.json"), r#"{"name":"local","version":"1.0.0"}"#).unwrap();
    world.policy.grants.push(Grant::new(world.path("package"), Access::Read));
    fs::write(world.path("workspace/package.json"), r#"{"name":"w","version":"1.0.0"}"#).unwrap();
    world.says("npm install --offline --no-audit --no-fund --install-links \"$ROOT/package\"");
    assert!(world.path("workspace/node_modules/local/package.json").is_file());
}
