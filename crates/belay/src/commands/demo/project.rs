//! The project that the demo is about: small, but with everything that is easily lost.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// Creates the project; says whether it has a git history.
pub(super) fn create(project: &Path) -> io::Result<bool> {
    let file = |name: &str, bytes: &[u8], mode: u32| {
        let path = project.join(name);
        fs::write(&path, bytes)?;
        fs::set_permissions(path, Permissions::from_mode(mode))
    };
    fs::create_dir_all(project.join("assets/icons"))?;
    fs::create_dir(project.join("env.d"))?;
    file("prices.csv", b"apple,1.19\n", 0o644)?;
    file("deploy.sh", b"#!/bin/sh\nexec ./shop --port \"$PORT\"\n", 0o750)?;
    file(".env", b"API_KEY=4f1c77e0\n", 0o600)?;
    file(".gitignore", b".env\n", 0o644)?;
    file("env.d/production", b"PORT=443\n", 0o644)?;
    file("assets/logo.bin", &(0..=255).collect::<Vec<u8>>(), 0o644)?;
    fs::hard_link(project.join("assets/logo.bin"), project.join("assets/icons/favicon.bin"))?;
    symlink("env.d/production", project.join("config"))?;
    Ok(create_history(project))
}

/// Real git, if there is one, steered by nobody's configuration.
fn create_history(project: &Path) -> bool {
    let author = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid"];
    let steps: [&[&str]; 3] = [
        &["init", "-q", "-b", "main"],
        &["add", "-A"],
        &[author[0], author[1], author[2], author[3], "commit", "-qm", "first prices"],
    ];
    steps.iter().all(|step| git(project, step).status().is_ok_and(|status| status.success()))
}

/// Whether git finds its repository whole and its work tree clean.
pub(super) fn git_is_sound(project: &Path) -> bool {
    let whole = git(project, &["fsck", "--full"]).status().is_ok_and(|status| status.success());
    let changed = git(project, &["status", "--porcelain"]).stdout(Stdio::piped()).output();
    whole && changed.is_ok_and(|output| output.status.success() && output.stdout.is_empty())
}

fn git(project: &Path, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(project).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"].iter().for_each(|name| {
        git.env_remove(name);
    });
    // Without this git would rewrite its index behind the witness's back.
    git.env("GIT_OPTIONAL_LOCKS", "0");
    git
}
