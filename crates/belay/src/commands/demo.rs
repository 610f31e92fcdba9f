//! `belay demo`: a scripted rogue agent wrecks a small project, and belay takes it back, bit by bit.
//!
//! Nothing in it is staged: the project is real, the wreckage is made by a shell, belay is this very program run
//! as a user would run it, and the proof comes from a walk that shares no code with the store.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::ui::{quantity, style};
use crate::view;

mod project;
mod witness;

/// Watch a rogue agent wreck a small project, and belay take it back
///
/// Everything happens in a temporary directory with a store of its own; nothing of yours is touched.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep the temporary directory, to look around in it
    #[arg(long)]
    keep: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay demo
  belay demo --keep";

/// What the agent does, as a shell runs it.
const ROGUE: &[(&str, &str)] = &[
    ("rm -rf .git", "the history, gone"),
    ("echo 'API_KEY=lol' > .env", "the only copy of a secret, overwritten; git never had it"),
    (
        "touch -r prices.csv ../t; echo 'apple,9.99' > prices.csv; touch -r ../t prices.csv",
        "same size, same time: tools that compare those see nothing",
    ),
    ("chmod 777 deploy.sh", "a permission bit"),
    ("ln -sfn /etc/passwd config", "a link, pointed elsewhere"),
    ("rm -r assets; echo junk > assets", "a directory, replaced by a file"),
];

/// Runs the demo.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let started = Instant::now();
    let cannot = |error: std::io::Error| Failure::system("cannot set up the demo", &error);
    let mut world = tempfile::Builder::new().prefix("belay-demo-").tempdir().map_err(cannot)?;
    world.disable_cleanup(args.keep);
    let stage = Stage { context, home: world.path().join("home"), project: world.path().join("shop") };
    let has_git = project::create(&stage.project).map_err(cannot)?;

    let before = witness::walk(&stage.project).map_err(cannot)?;
    stage.introduce(has_git)?;
    stage.belay(&["snapshot", "--label", "before-the-agent"])?;

    stage.narrate("\nAn agent goes to work:")?;
    ROGUE.iter().try_for_each(|(command, why)| stage.rogue(command, why))?;
    let wrecked = witness::walk(&stage.project).map_err(cannot)?;

    stage.narrate("\nWhat it did:")?;
    stage.belay(&["status"])?;
    stage.belay(&["diff", "--stat", "@latest", "--", ".env", "prices.csv", "deploy.sh", "config", "assets"])?;

    stage.narrate("\nAnd back:")?;
    stage.belay(&["rollback", "before-the-agent", "-y"])?;
    let after = witness::walk(&stage.project).map_err(cannot)?;

    let proof = Proof { before, wrecked, after };
    proof.show(&stage, has_git)?;
    if args.keep {
        stage.narrate(&format!("\nIt is all in {}", view::path(world.path())))?;
    }
    if !context.ui.json {
        stage
            .narrate(&format!("\nDone in {}. Try it on your own: belay snapshot", quantity::took(started.elapsed())))?;
    }
    proof.verdict()
}

/// Where the demo happens, and who tells it.
struct Stage<'a> {
    context: &'a Context<'a>,
    home: PathBuf,
    project: PathBuf,
}

impl Stage<'_> {
    fn narrate(&self, text: &str) -> Result<()> {
        if self.context.ui.json {
            return Ok(());
        }
        let mut out = self.context.ui.out();
        writeln!(out, "{text}")?;
        out.finish()
    }

    fn introduce(&self, has_git: bool) -> Result<()> {
        let git = if has_git { "a git history, " } else { "(git is not installed, so no history,) " };
        self.narrate(&format!(
            "A small project in {}: {git}an ignored .env, a script, a link,\na hard link, a binary. One command protects it:",
            view::path(&self.project)
        ))
    }

    /// Runs this very program on the project, with a store of its own.
    fn belay(&self, arguments: &[&str]) -> Result<()> {
        let bold = style::HEADING;
        self.narrate(&format!("{bold}$ belay {}{bold:#}", arguments.join(" ")))?;
        let quiet = self.context.ui.json;
        // One stream, so that the story stays in order wherever it is sent.
        let output = || if quiet { Stdio::null() } else { Stdio::from(std::io::stdout()) };
        let program = std::env::current_exe().map_err(|error| Failure::system("cannot find belay itself", &error))?;
        let mut belay = Command::new(program);
        belay.args(arguments).current_dir(&self.project).stdin(Stdio::null()).stdout(output()).stderr(output());
        belay.env("BELAY_HOME", &self.home).env("BELAY_PAGER", "");
        self.context.environment.overrides.keys().for_each(|name| {
            belay.env_remove(format!("BELAY_{name}"));
        });
        let status = belay.status().map_err(|error| Failure::system("cannot start belay itself", &error))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(Kind::Damaged, format!("`belay {}` failed", arguments.join(" "))))
        }
    }

    fn rogue(&self, command: &str, why: &str) -> Result<()> {
        let (bad, dim) = (style::BAD, style::DIM);
        self.narrate(&format!("{bad}$ {command}{bad:#}\n    {dim}{why}{dim:#}"))?;
        let status =
            Command::new("sh").args(["-euc", command]).current_dir(&self.project).stdin(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(Failure::new(Kind::System, format!("the agent could not do its work: {command}"))),
            Err(error) => Err(Failure::system("cannot start sh", &error)),
        }
    }
}

/// Three looks at the project by an independent witness.
struct Proof {
    before: witness::Seen,
    wrecked: witness::Seen,
    after: witness::Seen,
}

impl Proof {
    fn show(&self, stage: &Stage<'_>, has_git: bool) -> Result<()> {
        if stage.context.ui.json {
            return stage.context.ui.print_json(&json!({
                "paths": self.before.lines.len(),
                "before": self.before.hash(),
                "wrecked": self.wrecked.hash(),
                "after": self.after.hash(),
                "identical": self.before == self.after,
            }));
        }
        stage.narrate(
            "\nProof: BLAKE3 over type, mode, owner, time, size, bytes, link text and hard links of every path,",
        )?;
        stage.narrate("by a walk that knows nothing of belay's store:")?;
        for (name, seen) in [("before", &self.before), ("wrecked", &self.wrecked), ("after", &self.after)] {
            stage.narrate(&format!(
                "  {name:<8} {}  {}",
                seen.hash(),
                quantity::count(seen.lines.len() as u64, "path")
            ))?;
        }
        let (good, bad) = (style::GOOD, style::BAD);
        if self.before == self.after {
            stage.narrate(&format!("{good}Every byte and every bit is as before.{good:#}"))?;
        } else {
            stage
                .narrate(&format!("{bad}These differ:{bad:#}\n{}", self.after.differences(&self.before).join("\n")))?;
        }
        if has_git && project::git_is_sound(&stage.project) {
            stage.narrate("git fsck --full finds nothing wrong, and git status is clean.")?;
        }
        Ok(())
    }

    fn verdict(&self) -> Result<ExitCode> {
        if self.before == self.wrecked {
            return Err(Failure::new(Kind::System, "the agent wrecked nothing, so nothing is proven"));
        }
        if self.before != self.after {
            return Err(Failure::new(Kind::Incomplete, "the project is not as it was before"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
