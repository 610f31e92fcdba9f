//! The workloads: what an agent does all day, each made of a real tool.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Kind;
use super::lane::{Lane, Who};
use crate::error::{Doing, Error, Result};
use crate::measure;

/// How a workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Bare,
    Belay,
    /// As one would type it to see what a command does.
    Strace,
    /// Told to look at nothing but commands, and to let the kernel leave out the rest.
    StraceCommands,
}

impl Setting {
    pub(crate) const ALL: [Setting; 4] = [Setting::Bare, Setting::Belay, Setting::Strace, Setting::StraceCommands];

    /// Whether belay is held against it.
    pub(crate) fn is_peer(self) -> bool {
        matches!(self, Setting::Strace | Setting::StraceCommands)
    }

    /// The name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Setting::Bare => "nothing",
            Setting::Belay => "belay",
            Setting::Strace => "`strace -f`",
            Setting::StraceCommands => "`strace -f --seccomp-bpf -e execve,execveat`",
        }
    }
}

/// A command line in a workspace, and what undoes it for the next round.
pub(crate) struct Workload {
    pub(crate) title: String,
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
        let work = |title: &str, limits, script: String, undo: &str| Workload {
            title: title.to_owned(),
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
                    // A name of its own each time: where a directory lay before, the file system may put it again.
                    format!("d=$(mktemp -d x.XXXXXX) && tar xf {} -C $d", quoted(&archive)),
                    "rm -rf x.*",
                )
            }
            Kind::Cargo => {
                let sources = quoted(&lane.workspace("S")?);
                let cargo = format!("{} cargo", toolchain(lane)?);
                // As it was committed: another comparison may have edited what lies there.
                let git = format!("git -c safe.directory='*' -C {sources}");
                let copy = format!("{git} archive HEAD src Cargo.toml Cargo.lock | tar x");
                shell(lane, &workspace, &format!("{copy} && {cargo} fetch -q --locked"))?;
                work("cargo build", (1.03, 1.10), format!("{cargo} build -q --offline -j2"), "rm -rf target")
            }
            Kind::Make => {
                shell(lane, &workspace, C_LIBRARY)?;
                work("make -j2 of 60 C files", (1.03, 1.10), "make -s -j2".to_owned(), "make -s clean")
            }
            Kind::Npm => {
                let packages = lane.path("packages");
                let from = lane.workspace("M")?.join("web/node_modules");
                shell(lane, &workspace, &format!("node -e '{PACK}' {} {}", quoted(&from), quoted(&packages)))?;
                let cache = quoted(&lane.path("home/npm"));
                let install =
                    format!("npm install --offline --ignore-scripts --no-audit --no-fund --silent --cache {cache}");
                work("npm install of local packages", (1.05, 1.15), install, "rm -rf node_modules package-lock.json")
            }
            _ => {
                let script = format!("i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done");
                work(&format!("{processes} × /bin/true"), (1.10, 2.5), script, ":")
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
            Setting::Strace | Setting::StraceCommands => {
                let mut command = lane.command("strace");
                command.args(["-f", "-qq", "-o", "/dev/null"]);
                if setting == Setting::StraceCommands {
                    command.args(["--seccomp-bpf", "-e", "trace=execve,execveat"]);
                }
                command.arg(lane.path("bench"));
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

/// Writes a moment into the file, in nanoseconds since 1970.
pub(crate) fn stamp(file: &Path, at: SystemTime) -> Result<()> {
    let nanos = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    std::fs::write(file, nanos.to_string()).doing("write", file)
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

/// Puts cargo of whoever runs the bench on the path; a user who cannot reach it gets a copy.
fn toolchain(lane: &Lane) -> Result<String> {
    let said = Command::new("rustup").args(["which", "cargo"]).output().ok().filter(|out| out.status.success());
    let cargo =
        PathBuf::from(said.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default());
    let Some(root) = cargo.parent().and_then(Path::parent) else { return Ok(String::new()) };
    if lane.who == Who::Root {
        return Ok(format!("PATH={}:$PATH", quoted(&root.join("bin"))));
    }
    let copy = lane.path("toolchain");
    let mut copying = Command::new("cp");
    std::fs::create_dir(&copy).doing("create", &copy)?;
    copying.arg("-a").args([root.join("bin"), root.join("lib")]).arg(&copy);
    measure::run(vec![copying])?;
    lane.own(Path::new("toolchain"))?;
    Ok(format!("PATH={}:$PATH CARGO_HOME={}", quoted(&copy.join("bin")), quoted(&lane.path("home/cargo"))))
}

/// Makes an archive of each package in a directory, without what it depends on, and a package that depends on them all.
///
/// So that what is measured is npm and the disk: a registry need not let its answers be cached.
const PACK: &str = r#"
const fs = require("fs"), path = require("path"), { execFileSync } = require("child_process");
const [from, to] = process.argv.slice(1);
const dependencies = {};
for (const name of fs.readdirSync(from)) {
  const dir = path.join(from, name), file = path.join(dir, "package.json"), stage = path.join(to, "package");
  if (name[0] === "." || name[0] === "@" || !fs.existsSync(file)) continue;
  const { version } = JSON.parse(fs.readFileSync(file));
  fs.cpSync(dir, stage, { recursive: true, filter: (at) => !at.slice(dir.length).includes("/node_modules") });
  fs.writeFileSync(path.join(stage, "package.json"), JSON.stringify({ name, version }));
  execFileSync("tar", ["cf", name + ".tgz", "-I", "gzip -1", "package"], { cwd: to });
  fs.rmSync(stage, { recursive: true });
  dependencies[name] = "file:" + path.join(to, name + ".tgz");
}
fs.writeFileSync("package.json", JSON.stringify({ name: "web", version: "1.0.0", private: true, dependencies }));
"#;

/// Sixty translation units that include the C library's headers, as a small real library has them.
const C_LIBRARY: &str = r#"
for i in $(seq 1 60); do
  { printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <pthread.h>\n'
    for j in $(seq 1 120); do printf 'double f%d_%d(double x){double y[8];for(int i=0;i<8;i++)y[i]=sin(x+i*%d)+strlen("%d");return y[(int)x&7];}\n' $i $j $j $j; done
  } > m$i.c
done
printf 'O=$(patsubst %%.c,%%.o,$(wildcard *.c))\nlibm.a: $(O)\n\tar cr $@ $(O)\n%%.o: %%.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f *.o libm.a\n' > Makefile
"#;
