//! `cargo xtask crash`: the machine ends, the disk fills or fails, processes are killed and race; all of it in bounded parts.
//!
//! The tests read `BELAY_CRASH`; without `full` they try a sample of the points at which something can end. A full run takes hours, so
//! each test is a process of its own, what passed is written down, and `--resume` goes on with the rest.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::{cargo, project, usage};

/// Whose integration tests are concerned, and which modules of them.
const SUITES: [(&str, &[&str]); 3] = [
    ("belay-store", &["crash", "restore::crash", "enospc", "faulty", "flips", "many", "model", "race"]),
    ("belay-session", &["crash", "crowd", "full", "power", "recover"]),
    ("belay", &["full_disk", "interrupted"]),
];

/// What was asked for.
struct Options {
    full: bool,
    resume: bool,
    /// No test begins later than this.
    minutes: Option<u64>,
    /// The tests whose number leaves this rest when divided by the second.
    part: (usize, usize),
    profile: String,
}

/// One test.
struct Test {
    package: &'static str,
    name: String,
}

/// Runs the tests, or that part of them which was asked for.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::read(arguments) {
        Ok(options) => options,
        Err(wrong) => return usage(&wrong),
    };
    let Some(tests) = options.tests() else { return ExitCode::FAILURE };
    let progress = Progress::open(&options);
    let end = options.minutes.map(|minutes| Instant::now() + Duration::from_secs(minutes * 60));
    let (mut passed, mut failed, mut left) = (0, Vec::new(), 0);
    for test in &tests {
        let line = format!("{} {}", test.package, test.name);
        if progress.passed.contains(&line) {
            passed += 1;
        } else if end.is_some_and(|end| Instant::now() > end) {
            left += 1;
        } else {
            let begun = Instant::now();
            let is_good = options.run(test);
            println!("{} {:7.1} s  {line}", if is_good { "ok    " } else { "FAILED" }, begun.elapsed().as_secs_f64());
            if is_good {
                progress.note(&line);
                passed += 1;
            } else {
                failed.push(line);
            }
        }
    }
    println!("{passed} of {} passed, {} failed, {left} not begun", tests.len(), failed.len());
    failed.iter().for_each(|line| println!("  failed: {line}"));
    if left > 0 {
        println!("The rest: the same command with --resume");
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Options {
    fn read(arguments: &[String]) -> Result<Options, String> {
        let mut options =
            Options { full: false, resume: false, minutes: None, part: (0, 1), profile: "release".to_owned() };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            match argument {
                "--full" => options.full = true,
                "--resume" => options.resume = true,
                "--minutes" => {
                    let minutes = rest.next().and_then(|text| text.parse().ok());
                    options.minutes = Some(minutes.ok_or("--minutes takes a number")?);
                }
                "--part" => {
                    let part = rest.next().and_then(|text| text.split_once('/'));
                    let part = part.and_then(|(at, of)| Some((at.parse::<usize>().ok()?, of.parse::<usize>().ok()?)));
                    let part = part.filter(|(at, of)| (1..=*of).contains(at)).ok_or("--part is I/N")?;
                    options.part = (part.0 - 1, part.1);
                }
                "--profile" => options.profile = rest.next().ok_or("--profile takes a name")?.to_owned(),
                unknown => return Err(format!("crash does not know {unknown}")),
            }
        }
        Ok(options)
    }

    /// The tests that are asked for; none if they cannot be built.
    fn tests(&self) -> Option<Vec<Test>> {
        let mut all = Vec::new();
        for (package, modules) in SUITES {
            let output = self.cargo(package).args(["--list", "--format", "terse"]).stderr(Stdio::inherit()).output();
            let output = output.ok().filter(|output| output.status.success())?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
            let is_meant = |name: &&str| {
                modules.iter().any(|module| name.strip_prefix(module).is_some_and(|rest| rest.starts_with("::")))
            };
            all.extend(names.filter(is_meant).map(|name| Test { package, name: name.to_owned() }));
        }
        let (at, of) = self.part;
        Some(all.into_iter().enumerate().filter(|(number, _)| number % of == at).map(|(_, test)| test).collect())
    }

    fn run(&self, test: &Test) -> bool {
        let mut command = self.cargo(test.package);
        command.args(["--exact", &test.name, "--nocapture"]).stdout(Stdio::null()).env("BELAY_CRASH", self.extent());
        command.status().is_ok_and(|status| status.success())
    }

    /// Cargo with all that comes before a test program's own arguments.
    fn cargo(&self, package: &str) -> std::process::Command {
        let mut command = cargo();
        command.args(["test", "--quiet", "--profile", &self.profile, "--package", package, "--test", "it", "--"]);
        command
    }

    fn extent(&self) -> &'static str {
        if self.full { "full" } else { "sample" }
    }
}

/// What passed before, on this very commit.
struct Progress {
    file: PathBuf,
    passed: HashSet<String>,
}

impl Progress {
    fn open(options: &Options) -> Progress {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project().join("target"), PathBuf::from);
        let file = target.join(format!("crash-{}-{}", options.extent(), commit()));
        if !options.resume {
            let _ = fs::remove_file(&file);
        }
        let passed = fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect();
        Progress { file, passed }
    }

    fn note(&self, line: &str) {
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.file);
        if let Err(error) = file.and_then(|mut file| writeln!(file, "{line}")) {
            eprintln!("xtask: {}: {error}", self.file.display());
        }
    }
}

/// Tells this state of the code from another; what is not committed counts as the commit it is based on.
fn commit() -> String {
    let output =
        std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(project()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
