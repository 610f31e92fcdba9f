//! Real tools make the same bytes in a confined run as outside of one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::jailed::has_namespaces;
use crate::world::World;

/// Prints the hash of every file that was made, by its name.
const HASHES: &str = "find out -type f | LC_ALL=C sort | xargs -d '\\n' sha256sum";

/// Whether a tool answers here; said aloud if not.
fn has(tool: &str, arguments: &[&str]) -> bool {
    let answers =
        Command::new(tool).args(arguments).stdin(Stdio::null()).output().is_ok_and(|out| out.status.success());
    if !answers {
        belay_testkit::skip(&format!("no {tool} {}", arguments.join(" ")));
    }
    answers && has_namespaces()
}

/// Runs a script in a confined run and then outside, at the same place, and compares what it made and said.
#[track_caller]
fn same(world: &mut World, flags: &[&str], script: &str) {
    let script = format!("set -e; export LC_ALL=C; rm -rf out; mkdir out; {script}; {HASHES}");
    let inside = world.belay(&[&["run", "-q"], flags, &["--", "sh", "-c", &script]].concat());
    assert_eq!(inside.code, 0, "{inside}");
    let template = world.command(&[]);
    let mut outside = Command::new("sh");
    outside.args(["-c", &script]).current_dir(world.workspace.path()).stdin(Stdio::null());
    for (name, value) in template.get_envs() {
        value.map(|value| outside.env(name, value));
    }
    let outside = outside.output().expect("a shell starts");
    assert!(outside.status.success(), "{}", String::from_utf8_lossy(&outside.stderr));
    assert!(inside.raw().lines().count() > 0, "{inside}");
    assert_eq!(inside.raw(), String::from_utf8_lossy(&outside.stdout));
}

#[test]
fn git_and_make() {
    if !has("git", &["--version"]) || !has("make", &["--version"]) || !has("gcc", &["--version"]) {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a.c", "#include <stdio.h>\nint main(void) { return puts(__FILE__) < 0; }\n");
    world.workspace.file("Makefile", "out/a: a.c\n\tgcc -g -o $@ $<\n");
    let script = "make -s && ./out/a && export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' \
                  && git init -q -b main out/r && cd out/r && git config user.email a@b && git config user.name n && cp ../../a.c . \
                  && git add . && git commit -q -m one && git rev-parse HEAD && git stash list && git gc -q && git fsck 2>&1 && cd ../.. && rm -rf out/r";
    same(&mut world, &[], script);
}

#[test]
fn python_and_pip() {
    if !has("/usr/bin/python3", &["-m", "pip", "--version"]) {
        return;
    }
    let mut world = World::new();
    let wheel = "import zipfile; w = zipfile.ZipFile('local-1.0-py3-none-any.whl', 'w'); \
                 put = lambda n, t: w.writestr(zipfile.ZipInfo(n, (2020, 1, 1, 0, 0, 0)), t); put('local.py', 'x = 1\\n'); \
                 put('local-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: local\\nVersion: 1.0\\n'); \
                 put('local-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'); \
                 put('local-1.0.dist-info/RECORD', ''); w.close()";
    world.workspace.file("wheel.py", wheel);
    // The system's: one in a home of the tester's is not there inside, and two of them differ in what they write.
    let script = "export PATH=/usr/bin:/bin; python3 wheel.py && python3 -m pip install -q --no-index --no-deps --no-compile --disable-pip-version-check \
                  --root-user-action=ignore --target out ./local-1.0-py3-none-any.whl && sort -o out/local-1.0.dist-info/RECORD out/local-1.0.dist-info/RECORD && python3 -m venv --without-pip out/venv \
                  && out/venv/bin/python -B -c 'import sys, ssl, sqlite3; print(sys.prefix)' && rm -rf out/venv";
    same(&mut world, &["--profile", "python"], script);
}

#[test]
fn npm() {
    if !has("npm", &["--version"]) {
        return;
    }
    let mut world = World::new();
    world.workspace.file("package/package.json", r#"{"name":"local","version":"1.0.0","bin":{"local":"cli.js"}}"#);
    world.workspace.file("package/cli.js", "#!/usr/bin/env node\nconsole.log(require('os').cpus().length > 0)\n");
    let script = "tar --sort=name --mtime=@0 --owner=0 --group=0 -czf local.tgz package && cp local.tgz out && cd out \
                  && echo '{\"name\":\"w\",\"version\":\"1.0.0\"}' > package.json \
                  && npm install --offline --no-audit --no-fund --silent ./local.tgz && ./node_modules/.bin/local && cd ..";
    same(&mut world, &["--profile", "node"], script);
}

#[test]
fn cargo() {
    let cargo = PathBuf::from(env!("CARGO"));
    if !has(&cargo.to_string_lossy(), &["--version"]) {
        return;
    }
    let toolchain =
        cargo.parent().and_then(Path::parent).expect("cargo lies in a directory of its toolchain").to_owned();
    let mut world = World::new();
    world
        .workspace
        .file("Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    world.workspace.file("src/main.rs", "fn main() { println!(\"built by {}\", file!()); }\n");
    let bin = toolchain.join("bin");
    let script = format!(
        "export PATH={}:$PATH CARGO_HOME=$PWD/out/home RUSTUP_TOOLCHAIN=; cargo build -q --offline --target-dir out/target && out/target/debug/app \
         && cp out/target/debug/app app && rm -rf out/home out/target && mv app out/app",
        bin.display()
    );
    same(&mut world, &["--ro", &toolchain.to_string_lossy()], &script);
}

#[test]
fn tmux() {
    if !has("tmux", &["-V"]) {
        return;
    }
    let mut world = World::new();
    let script = "export TMUX_TMPDIR=/tmp; t() { tmux -f /dev/null -L belay-test-$$ \"$@\"; }; \
                  t new-session -d -x 80 -y 24 cat && t send-keys hello Enter \
                  && until t capture-pane -p | grep -c hello | grep -q 2; do sleep 0.05; done \
                  && t capture-pane -p > out/screen && t display -p '#{window_width}x#{window_height}' && t kill-server";
    same(&mut world, &[], script);
}

#[test]
fn tests_without_a_screen() {
    if !has("node", &["--version"]) || !has("python3", &["--version"]) {
        return;
    }
    let mut world = World::new();
    world.workspace.file(
        "server.test.js",
        "const { test } = require('node:test'), http = require('http'), assert = require('assert'), fs = require('fs');\n\
         test('serves itself', async () => {\n\
           const server = http.createServer((_, answer) => answer.end('hello')).listen(0, '127.0.0.1');\n\
           await new Promise(done => server.once('listening', done));\n\
           const said = await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text();\n\
           server.close(); server.closeAllConnections(); assert.equal(said, 'hello'); fs.writeFileSync('out/node', said);\n\
         });\n",
    );
    world.workspace.file(
        "test_it.py",
        "import multiprocessing, os, pty, tempfile, unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        \
         with multiprocessing.get_context('fork').Pool(2) as pool: self.assertEqual(sum(pool.map(abs, [-1, 2])), 3)\n        \
         self.assertTrue(os.isatty(pty.openpty()[1]))\n        tempfile.mkdtemp()\n        open('out/python', 'w').write('done')\n",
    );
    let script = "node --test server.test.js > log && python3 -B -m unittest -q test_it 2> log && rm log";
    same(&mut world, &[], script);
    same(&mut world, &["--profile", "strict"], script);
}
