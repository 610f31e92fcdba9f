//! The programs that belay-trace loads into the kernel: built from their source, or compared with it.
//!
//! The object is committed, so that whoever builds belay needs no clang.

use std::path::Path;
use std::process::{Command, ExitCode};

const FOLDER: &str = "crates/belay-trace/bpf";
const PROGRAMS: [&str; 2] = ["commands", "denials"];

/// The same bytes on every machine: no paths, and no debugging sections but the types that the loader reads.
const FLAGS: [&str; 9] =
    ["-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-fdebug-compilation-dir=.", "-c"];

/// The compiler that made the committed object; another one may choose other instructions.
const CLANG: &str = "clang version 14.";

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let check = match arguments {
        [] => false,
        [check] if check == "--check" => true,
        _ => return super::usage("bpf takes --check or nothing"),
    };
    match build(check) {
        Ok(said) => {
            println!("bpf: {said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("bpf: {why}");
            ExitCode::FAILURE
        }
    }
}

fn build(check: bool) -> Result<String, String> {
    let version = Command::new("clang").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if check && !version.contains(CLANG) {
        return Ok(format!("skipped: no {CLANG}"));
    }
    if check && Command::new("llvm-strip").arg("--version").output().is_err() {
        return Ok("skipped: no llvm-strip".to_owned());
    }
    let folder = super::project().join(FOLDER);
    let said = PROGRAMS.map(|name| build_one(&folder, name, check)).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(said.join("; "))
}

fn build_one(folder: &Path, name: &str, check: bool) -> Result<String, String> {
    let (source, object) = (format!("{name}.bpf.c"), format!("{name}.bpf.o"));
    let built = folder.join(format!("{object}.new"));
    let made = compile(folder, &source, &built);
    let result = made.and_then(|()| match check {
        true => compare(folder, &source, &object, &built),
        false => replace(folder, &object, &built),
    });
    // It is gone already if it became the object.
    let _ = std::fs::remove_file(&built);
    result
}

fn compile(folder: &Path, source: &str, built: &Path) -> Result<(), String> {
    let mut clang = Command::new("clang");
    clang.current_dir(folder).args(FLAGS).arg(source).arg("-o").arg(built);
    succeed(clang)?;
    let mut strip = Command::new("llvm-strip");
    strip.arg("-g").arg(built);
    succeed(strip)
}

fn succeed(mut command: Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

fn compare(folder: &Path, source: &str, object: &str, built: &Path) -> Result<String, String> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    if read(&folder.join(object))? == read(built)? {
        return Ok(format!("{object} is what {source} says"));
    }
    Err(format!("{object} is not what {source} says; run cargo xtask bpf and commit it"))
}

fn replace(folder: &Path, object: &str, built: &Path) -> Result<String, String> {
    std::fs::rename(built, folder.join(object)).map_err(|error| format!("{object}: {error}"))?;
    Ok(format!("{object} is new"))
}
