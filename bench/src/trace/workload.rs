//! The workloads: what an agent does all day, each made of a real tool.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::Kind;
use super::lane::{Lane, Who};
use crate::error::{Doing, Error, Result};
use crate::measure;

/// How a workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Bare,
    Belay,
    Strace,
}

impl Setting {
    pub(crate) const ALL: [Setting; 3] = [Setting::Bare, Setting::Belay, Setting::Strace];
}

/// A command line in a workspace, and what undoes it for the next round.
pub(crate) struct Workload {
    pub(crate) title: &'static str,
    pub(crate) beside_strace: bool,
    limits: (f64, f64),
    workspace: PathBuf,
    script: String,
    undo: String,
}

const FILES: usize = 30_000;

impl Workload {
    /// Prepares a workload.
    pub(crate) fn new(kind: Kind, lane: &Lane, processes: u64) -> Result<Workload> {
        let workspace = fresh(lane, &format!("{kind:?}").to_lowercase())?;
        let work = |title, limits, script: String, undo: &str| Workload {
            title,
            beside_strace: kind == Kind::Processes,
            limits,
            workspace: workspace.clone(),
            script,
            undo: undo.to_owned(),
        };
        let made = match kind {
            Kind::Tar => {
                let archive = lane.path("files.tar");
                shell(lane, &workspace, &archive_of(&lane.workspace("M")?, &archive))?;
                work(
                    "tar x of 30,000 files",
                    (1.05, 1.15),
                    format!("mkdir x && tar xf {} -C x", quoted(&archive)),
                    "rm -rf x",
                )
            }
            Kind::Cargo => {
                shell(lane, &workspace, &format!("cp -a {}/. .", quoted(&lane.workspace("S")?)))?;
                let script = format!("{} cargo build -q --offline -j2", toolchain());
                work("cargo build", (1.03, 1.10), script, "rm -rf target")
            }
            Kind::Make => {
                shell(lane, &workspace, C_LIBRARY)?;
                work("make -j2", (1.03, 1.10), "make -s -j2".to_owned(), "make -s clean")
            }
            Kind::Npm => {
                let web = lane.workspace("M")?.join("web");
                let cache = lane.path("home/npm");
                let copy = format!("cp {0}/package.json {0}/package-lock.json .", quoted(&web));
                let install =
                    format!("npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --cache {}", quoted(&cache));
                shell(lane, &workspace, &format!("{copy} && {install} && rm -rf node_modules"))?;
                work("npm ci", (1.05, 1.15), format!("{install} --offline"), "rm -rf node_modules")
            }
            _ => {
                let script = format!("i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done");
                work("20,000 × /bin/true", (1.10, 2.5), script, ":")
            }
        };
        Ok(made)
    }

    /// The promised ratio.
    pub(crate) fn limit(&self, who: Who) -> f64 {
        match who {
            Who::Root => self.limits.0,
            Who::User => self.limits.1,
        }
    }

    /// Makes the workspace as it was before the first round.
    pub(crate) fn reset(&self, lane: &Lane) -> Result<()> {
        shell(lane, &self.workspace, &self.undo)?;
        lane.settle()
    }

    /// Runs once and returns what the workload itself took.
    pub(crate) fn run(&self, lane: &Lane, setting: Setting) -> Result<Duration> {
        let told = lane.path("home/took");
        let mut command = match setting {
            Setting::Bare => lane.command(lane.path("bench")),
            Setting::Belay => {
                let mut command = lane.belay(&self.workspace);
                command.args(["run", "--quiet", "--isolation", "none", "--"]).arg(lane.path("bench"));
                command
            }
            Setting::Strace => {
                let mut command = lane.command("strace");
                command.args(["-f", "-qq", "-e", "trace=process", "-o", "/dev/null"]).arg(lane.path("bench"));
                command
            }
        };
        command.arg("timed").arg(&told).args(["sh", "-c", &self.script]).current_dir(&self.workspace);
        measure::run(vec![command])?;
        read_nanos(&told).map(Duration::from_nanos)
    }
}

/// Runs the command and writes into the file how long it took; the child between belay and a workload.
pub(crate) fn timed(file: &Path, words: &[String]) -> Result<()> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| Error::Output { program: "timed".to_owned(), text: "no command".to_owned() })?;
    let mut command = Command::new(program);
    command.args(arguments);
    let begun = Instant::now();
    let status = command.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    let took = begun.elapsed();
    if !status.success() {
        return Err(Error::Failed { command: program.clone(), status, said: String::new() });
    }
    std::fs::write(file, took.as_nanos().to_string()).doing("write", file)
}

/// The number of nanoseconds that somebody wrote into a file.
pub(crate) fn read_nanos(file: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(file).doing("read", file)?;
    text.trim().parse().map_err(|_| Error::Output { program: file.display().to_string(), text })
}

/// An empty workspace of the lane.
pub(crate) fn fresh(lane: &Lane, name: &str) -> Result<PathBuf> {
    let path = lane.path(&format!("work-{name}"));
    std::fs::create_dir(&path).doing("create", &path)?;
    lane.own(Path::new(path.file_name().unwrap_or_default()))?;
    Ok(path)
}

/// Runs a script in a directory as the lane's user.
pub(crate) fn shell(lane: &Lane, directory: &Path, script: &str) -> Result<()> {
    let mut command = lane.command("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(directory);
    measure::run(vec![command]).map(drop)
}

fn archive_of(root: &Path, archive: &Path) -> String {
    format!(
        "cd {}; find . -type f -print0 | head -z -n {FILES} | tar cf {} --null -T - 2>/dev/null || [ -s {} ]",
        quoted(root),
        quoted(archive),
        quoted(archive)
    )
}

pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Cargo of whoever runs the bench, for a user who has none.
fn toolchain() -> String {
    let of = |tool: &str| Command::new("rustup").args(["which", tool]).output().ok().filter(|out| out.status.success());
    let path = of("cargo").and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    match Path::new(path.trim()).parent() {
        Some(bin) if !path.is_empty() => format!("PATH={}:$PATH", quoted(bin)),
        _ => String::new(),
    }
}

/// Sixty translation units that include the C library's headers, as a small real library has them.
const C_LIBRARY: &str = r#"
for i in $(seq 1 60); do
  { printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <pthread.h>\n'
    for j in $(seq 1 120); do printf 'double f%d_%d(double x){double y[8];for(int i=0;i<8;i++)y[i]=sin(x+i*%d)+strlen("%d");return y[(int)x&7];}\n' $i $j $j $j; done
  } > m$i.c
done
printf 'O=$(patsubst %%.c,%%.o,$(wildcard *.c))\nlibm.a: $(O)\n\tar cr $@ $(O)\n%%.o: %%.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f *.o libm.a\n' > Makefile
"#;
