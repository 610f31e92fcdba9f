//! `cargo xtask reference`: man pages, completions and the command reference, as belay itself writes them.
//!
//! The pages in `docs/reference` are generated and committed; `--check` fails when they are not what belay says.

use crate::{cargo, project, usage};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];

/// Writes the pages, or with `--check` compares them.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => return usage("reference takes only --check"),
    };
    let directory = project().join("docs/reference");
    let outcome = generate().and_then(|pages| {
        if check { differences(&directory, &pages) } else { write(&directory, &pages).map(|()| Vec::new()) }
    });
    match outcome {
        Ok(different) if different.is_empty() => ExitCode::SUCCESS,
        Ok(different) => {
            eprintln!("docs/reference is not what belay says; run `cargo xtask reference` and commit:");
            different.iter().for_each(|page| eprintln!("  {}", page.display()));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: reference: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Relative path and content of every page.
type Pages = BTreeMap<PathBuf, Vec<u8>>;

fn generate() -> io::Result<Pages> {
    let belay =
        |arguments: &[&str]| output(cargo().args(["run", "--quiet", "--package", "belay", "--"]).args(arguments));
    let mut pages = Pages::new();
    pages.insert("commands.md".into(), belay(&["util", "markdown"])?);
    for shell in SHELLS {
        pages.insert(Path::new("completions").join(format!("belay.{shell}")), belay(&["util", "completions", shell])?);
    }
    let manuals = tempfile::tempdir()?;
    let into = manuals.path().to_str().ok_or_else(|| io::Error::other("the temporary directory is not UTF-8"))?;
    belay(&["util", "man", "--dir", into])?;
    for (name, content) in read(manuals.path())? {
        pages.insert(Path::new("man").join(name), content);
    }
    Ok(pages)
}

fn output(command: &mut Command) -> io::Result<Vec<u8>> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(format!("{command:?}: {}: {said}", output.status)))
}

/// Every file beneath `directory`, which may be missing.
fn read(directory: &Path) -> io::Result<Pages> {
    let mut pages = Pages::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(relative) = waiting.pop() {
        let entries = match std::fs::read_dir(directory.join(&relative)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                waiting.push(path);
            } else {
                pages.insert(path, std::fs::read(entry.path())?);
            }
        }
    }
    Ok(pages)
}

fn differences(directory: &Path, pages: &Pages) -> io::Result<Vec<PathBuf>> {
    let present = read(directory)?;
    let names = pages.keys().chain(present.keys().filter(|name| !pages.contains_key(*name)));
    Ok(names.filter(|name| pages.get(*name) != present.get(*name)).cloned().collect())
}

fn write(directory: &Path, pages: &Pages) -> io::Result<()> {
    for stale in read(directory)?.keys().filter(|name| !pages.contains_key(*name)) {
        std::fs::remove_file(directory.join(stale))?;
    }
    for (name, content) in pages {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(names: &[(&str, &str)]) -> Pages {
        names.iter().map(|(name, content)| (name.into(), content.as_bytes().to_vec())).collect()
    }

    #[test]
    fn missing_changed_and_stale_pages_are_named() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let old = pages(&[("same", "1"), ("man/changed", "1"), ("stale", "1")]);
        let new = pages(&[("same", "1"), ("man/changed", "2"), ("missing", "1")]);
        write(directory.path(), &old).expect("write");
        let different = differences(directory.path(), &new).expect("read");
        assert_eq!(different, ["man/changed", "missing", "stale"].map(PathBuf::from));
        write(directory.path(), &new).expect("write");
        assert_eq!(differences(directory.path(), &new).expect("read"), Vec::<PathBuf>::new());
    }
}
