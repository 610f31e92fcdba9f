//! A small real project, and the rogue agent that wrecks it.

use crate::git::{commit_all, unborn_repository};
use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Makes a project as people have them: a repository with history, ignored secrets, a script, a link, a database.
#[track_caller]
pub fn small_project(directory: &Path) {
    unborn_repository(directory);
    made(make_tracked(directory));
    commit_all(directory, "a small project");
    made(make_untracked(directory));
}

/// Does what an agent that lost its way does; [`small_project`] made what it destroys.
#[derive(Debug)]
pub struct RogueAgent;

impl RogueAgent {
    /// Wrecks the project and tells what it did, one sentence for each blow.
    #[track_caller]
    pub fn wreck(directory: &Path) -> Vec<&'static str> {
        let blows: [(&str, io::Result<()>); 8] = [
            ("deleted the whole .git", std::fs::remove_dir_all(directory.join(".git"))),
            ("overwrote .env", std::fs::write(directory.join(".env"), "API_KEY=changeme\n")),
            ("changed a number in src/price.py, same size, old time", edit_in_secret(&directory.join("src/price.py"))),
            ("made deploy.sh writable for everybody", chmod(&directory.join("deploy.sh"), 0o777)),
            ("pointed the link current somewhere else", relink(&directory.join("current"), "/etc")),
            ("deleted the customers' database", std::fs::remove_file(directory.join("data/customers.db"))),
            (
                "replaced the directory tests by a file",
                std::fs::remove_dir_all(directory.join("tests"))
                    .and_then(|()| std::fs::write(directory.join("tests"), "all green\n")),
            ),
            ("left a file behind", std::fs::write(directory.join("DONE.md"), "Refactored everything!\n")),
        ];
        blows
            .into_iter()
            .map(|(told, done)| {
                done.unwrap_or_else(|error| panic!("the rogue agent failed: {told}: {error}"));
                told
            })
            .collect()
    }
}

fn make_tracked(directory: &Path) -> io::Result<()> {
    for name in ["src", "tests", "releases/1"] {
        std::fs::create_dir_all(directory.join(name))?;
    }
    let files = [
        (".gitignore", ".env\ndata/\n"),
        ("README.md", "# Shop\n"),
        ("src/price.py", "VAT = 19\n\ndef gross(net):\n    return net * (100 + VAT) / 100\n"),
        ("tests/test_price.py", "from src.price import gross\n\nassert gross(100) == 119\n"),
        ("deploy.sh", "#!/bin/sh\nexec rsync -a releases/ host:shop/\n"),
        ("releases/1/index.html", "<h1>Shop</h1>\n"),
    ];
    for (name, content) in files {
        std::fs::write(directory.join(name), content)?;
    }
    chmod(&directory.join("deploy.sh"), 0o755)?;
    symlink("releases/1", directory.join("current"))
}

fn make_untracked(directory: &Path) -> io::Result<()> {
    std::fs::create_dir(directory.join("data"))?;
    std::fs::write(directory.join(".env"), "API_KEY=sk-live-0123456789\n")?;
    chmod(&directory.join(".env"), 0o600)?;
    let customers: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(directory.join("data/customers.db"), customers)
}

fn edit_in_secret(path: &Path) -> io::Result<()> {
    let before = std::fs::metadata(path)?.modified()?;
    let text = std::fs::read_to_string(path)?;
    std::fs::write(path, text.replace("VAT = 19", "VAT = 91"))?;
    File::options().write(true).open(path)?.set_times(FileTimes::new().set_modified(before))
}

fn chmod(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

fn relink(path: &Path, text: &str) -> io::Result<()> {
    std::fs::remove_file(path)?;
    symlink(text, path)
}

#[track_caller]
fn made(result: io::Result<()>) {
    if let Err(error) = result {
        panic!("make the small project: {error}");
    }
}
