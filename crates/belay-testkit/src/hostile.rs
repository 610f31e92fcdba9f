//! A workspace that an enemy made: everything in it wants to lead belay outside, run something or make it stop.
//!
//! Canaries lie outside of it. Whoever follows a link, opens a pipe, runs a filter or believes a file in here
//! touches one of them, or hangs.

use crate::{TempWorkspace, git, repository, show, walk};
use std::path::{Path, PathBuf};

const NAMES_IN_HUGE_DIRECTORY: usize = 5_000;
const LEVELS_OF_DEEP_DIRECTORY: usize = 300;

/// An enemy's workspace and the canaries outside of it.
#[derive(Debug)]
pub struct Hostile {
    workspace: TempWorkspace,
    before: crate::World,
}

/// Makes an enemy's workspace.
#[track_caller]
pub fn hostile() -> Hostile {
    let workspace = TempWorkspace::new();
    let outside = Outside::of(&workspace);
    outside.set_out();
    // First, because git itself would stumble over what follows.
    git_traps(&workspace, &outside);
    links(&workspace, &outside);
    names_and_modes(&workspace);
    sizes(&workspace);
    belay_traps(&workspace, &outside);
    let before = walk(workspace.outside());
    Hostile { workspace, before }
}

impl Hostile {
    /// The workspace.
    pub fn workspace(&self) -> &TempWorkspace {
        &self.workspace
    }

    /// The workspace's directory.
    pub fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// Panics when something outside changed or something inside was executed.
    #[track_caller]
    pub fn canaries_untouched(&self) {
        let now = walk(self.workspace.outside());
        // The canary that is hard-linked into the workspace loses a link, and so its ctime, when that is deleted.
        let ignore = crate::Ignore { ctime: true, hard_links: true, ..crate::Ignore::NOTHING };
        let lines = crate::diff_worlds(&self.before, &now, ignore);
        let home = std::fs::read_dir(self.workspace.base())
            .unwrap_or_else(|error| panic!("list {}: {error}", self.workspace.base().display()));
        assert_eq!(home.count(), 3, "something was made beside the workspace");
        assert!(lines.is_empty(), "the workspace reached outside:\n{}", lines.join("\n"));
    }
}

struct Outside {
    directory: PathBuf,
}

impl Outside {
    fn of(workspace: &TempWorkspace) -> Outside {
        Outside { directory: workspace.outside().to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn set_out(&self) {
        for name in ["secret", "linked", "vault/key"] {
            write(&self.path(name), "canary\n", 0o600);
        }
        for name in EXECUTED {
            let script = format!("#!/bin/sh\ntouch '{}'\nexec cat\n", self.text(&format!("ran-{name}")));
            write(&self.path(&format!("traps/{name}")), &script, 0o755);
        }
    }

    fn trap(&self, name: &'static str) -> String {
        assert!(EXECUTED.contains(&name), "no trap was laid for {name}");
        self.text(&format!("traps/{name}"))
    }
}

/// Each leaves a file `ran-<name>` outside when it is executed.
const EXECUTED: [&str; 11] =
    ["alias", "clean", "credential", "editor", "fsmonitor", "hook", "pager", "process", "smudge", "ssh", "textconv"];

const HOOKS: [&str; 5] = ["post-checkout", "post-index-change", "pre-auto-gc", "pre-commit", "reference-transaction"];

fn links(workspace: &TempWorkspace, outside: &Outside) {
    workspace
        .symlink("links/root", "/")
        .symlink("links/up", "../../../../..")
        .symlink("links/home", outside.text(""))
        .symlink("links/secret", outside.text("secret"))
        .symlink("links/vault", outside.text("vault"))
        .symlink("links/self", "self")
        .symlink("links/ping", "pong")
        .symlink("links/pong", "ping")
        .symlink("links/proc", "/proc/self/root")
        .symlink("links/descriptor", "/proc/self/fd/0")
        .symlink("links/longest", vec![b'x'; 4095])
        .symlink("links/control", "\x1b[2Jgone\n")
        .symlink(".env.local", outside.text("secret"));
    let linked = std::fs::hard_link(outside.path("linked"), workspace.join("links/hard"));
    linked.unwrap_or_else(|error| panic!("hard-link the canary: {error}"));
}

fn names_and_modes(workspace: &TempWorkspace) {
    workspace.odd_names("names");
    workspace
        .file("shut/inside", "inside\n")
        .file("shut/deeper/inside", "inside\n")
        .mode("shut/deeper", 0o555)
        .mode("shut", 0o555)
        .file_mode("unreadable", "nobody reads this\n", 0)
        .file("closed/inside", "inside\n")
        .mode("closed", 0)
        .fifo("pipe")
        .fifo(".gitignore-pipe/.gitignore")
        .socket("socket");
    if crate::is_root() {
        workspace.null_device("null");
    }
}

fn sizes(workspace: &TempWorkspace) {
    workspace.deep("deep", 10_000);
    workspace.file(vec!["l"; LEVELS_OF_DEEP_DIRECTORY].join("/"), "bottom\n");
    workspace.sparse("endless", 1 << 40, &[(0, b"start"), ((1 << 40) - 4, b"end\n")]);
    for number in 0..NAMES_IN_HUGE_DIRECTORY {
        workspace.file(format!("huge/{number:04}"), "");
    }
}

fn git_traps(workspace: &TempWorkspace, outside: &Outside) {
    repository(workspace.path());
    let settings = [
        ("core.fsmonitor", outside.trap("fsmonitor")),
        ("core.hooksPath", outside.text("hooks")),
        ("core.pager", outside.trap("pager")),
        ("core.editor", outside.trap("editor")),
        ("core.sshCommand", outside.trap("ssh")),
        ("alias.st", format!("!{}", outside.trap("alias"))),
        ("credential.helper", outside.trap("credential")),
        ("diff.evil.textconv", outside.trap("textconv")),
        ("diff.external", outside.trap("textconv")),
        ("filter.evil.clean", outside.trap("clean")),
        ("filter.evil.smudge", outside.trap("smudge")),
        ("filter.evil.process", outside.trap("process")),
        ("filter.evil.required", "true".into()),
    ];
    for (key, value) in settings {
        let status = git(workspace.path())
            .args(["config", "--file", ".git/config", key, &value])
            .status()
            .expect("git is installed by scripts/setup");
        assert!(status.success(), "set {key}");
    }
    for hook in HOOKS {
        let script = format!("#!/bin/sh\n'{}' < /dev/null\n", outside.trap("hook"));
        write(&outside.path(&format!("hooks/{hook}")), &script, 0o755);
        workspace.file_mode(format!(".git/hooks/{hook}"), script, 0o755);
    }
    let elsewhere =
        format!("[core]\n\tworktree = {}\n[include]\n\tpath = {}\n", outside.text("vault"), outside.text("secret"));
    workspace
        .file(".gitattributes", "* filter=evil diff=evil\n")
        .file("elsewhere/.git/config", elsewhere)
        .file("elsewhere/.git/HEAD", "ref: ../../../../outside/secret\n")
        .file("nested/.git", format!("gitdir: {}\n", outside.text("vault")))
        .symlink("linked-repository/.git", outside.text("vault"))
        .file("negated/.gitignore", "!../../../**\n/**\n\0\n")
        .file("negated/keep", "keep\n");
    std::fs::remove_file(workspace.join(".gitignore")).unwrap_or_else(|error| panic!("remove .gitignore: {error}"));
    workspace.symlink(".gitignore", outside.text("secret"));
}

/// Files that look as if belay might read them, and that want to weaken or redirect it.
fn belay_traps(workspace: &TempWorkspace, outside: &Outside) {
    let toml = "[snapshots]\ndisabled = true\n[snapshots.exclude]\ngitignored = \"skip\"\nadditional = [\"**\"]\n\
                [snapshots.retention]\nmax_count = 0\ndelete_initial = true\n";
    let yaml = "snapshots:\n  disabled: true\n  exclude:\n    additional: ['**']\n  retention:\n    max_count: 0\n    delete_initial: true\n";
    workspace
        .file("belay.toml", toml)
        .file("belay.yaml", yaml)
        .file(".belay/config.toml", toml)
        .file(".belay/store/format", "999\n")
        .file(".belayignore", "*\n")
        .symlink(".belay-store", outside.text("vault"))
        .file("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
}

fn write(path: &Path, content: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, content))
        .and_then(|()| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)));
    written.unwrap_or_else(|error| panic!("write {}: {error}", show(path.as_os_str().as_encoded_bytes())));
}
