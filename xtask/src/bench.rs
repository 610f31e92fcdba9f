//! `cargo xtask bench`: the comparisons, with the data, the peers and the release build that they need.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Passes `arguments` to the crate `bench`; before `store`, `backends`, `trace`, `jail` and `agents` it makes what a comparison needs and is missing.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut arguments = arguments.to_vec();
    if arguments
        .first()
        .is_some_and(|command| ["store", "backends", "trace", "jail", "agents"].contains(&command.as_str()))
        && let Err(failed) = prepare(&mut arguments)
    {
        return failed;
    }
    crate::finish(crate::cargo().args(["run", "--release", "--quiet", "--package", "bench", "--"]).args(arguments))
}

fn prepare(arguments: &mut Vec<String>) -> Result<(), ExitCode> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(());
    }
    step(Command::new(crate::project().join("bench/setup")))?;
    if !names(arguments, "--data") {
        let data = target().join("bench-data");
        let mut make = Command::new(crate::project().join("bench/workspaces.sh"));
        make.arg(&data).args(workspaces(arguments));
        step(make)?;
        arguments.extend(["--data".to_owned(), data.display().to_string()]);
    }
    if !names(arguments, "--belay") {
        let mut build = crate::cargo();
        build.args(["build", "--release", "--package", "belay"]);
        step(build)?;
        arguments.extend(["--belay".to_owned(), target().join("release/belay").display().to_string()]);
    }
    if arguments[0] == "backends" && !names(arguments, "--python") {
        let place = target().join("bench-python");
        let mut make = Command::new(crate::project().join("bench/python-setup"));
        make.arg(&place);
        step(make)?;
        arguments.extend(["--python".to_owned(), place.join("env/bin/python").display().to_string()]);
    }
    Ok(())
}

/// The workspaces that the arguments ask for: `store` says which, the others work on M and S.
fn workspaces(arguments: &[String]) -> Vec<String> {
    let mut named = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let value = if word == "--workspace" { words.next() } else { word.strip_prefix("--workspace=") };
        named.extend(value.into_iter().flat_map(|value| value.split(',')).map(str::to_owned));
    }
    let is_store = arguments.first().is_some_and(|command| command == "store");
    match named.as_slice() {
        _ if !is_store => vec!["S".to_owned(), "M".to_owned()],
        [] => vec!["M".to_owned()],
        all if all.iter().any(|one| one == "all") => ["S", "M", "L"].map(str::to_owned).to_vec(),
        _ => named,
    }
}

fn names(arguments: &[String], flag: &str) -> bool {
    let joined = format!("{flag}=");
    arguments.iter().any(|argument| argument == flag || argument.starts_with(&joined))
}

fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    crate::project().join(named)
}

fn step(mut command: Command) -> Result<(), ExitCode> {
    match crate::finish(&mut command) {
        ExitCode::SUCCESS => Ok(()),
        failed => Err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_workspaces_that_are_measured_are_made() {
        let made = |line: &str| workspaces(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).join(" ");
        assert_eq!(made("store"), "M");
        assert_eq!(made("store --workspace S --fs ext4"), "S");
        assert_eq!(made("store --rounds 2 --workspace=S,L"), "S L");
        assert_eq!(made("store --workspace all"), "S M L");
        assert_eq!(made("trace --rows tar"), "S M");
    }
}
