//! The figures of one user: each thing in turn, round after round, printed as `name seconds seconds` lines.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::client::Client;
use crate::edits::Editor;
use crate::error::{Doing, Error, Result};

/// Calls of `snapshots_list`.
const LISTS: usize = 5000;
/// Checkpoints that are kept; one more and the oldest goes, as with an agent whose slots are nearly all taken.
const KEPT: usize = 8;
/// How long a helper may take to be there.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures as whoever runs it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    belay: PathBuf,
    #[arg(long)]
    workspace: PathBuf,
    #[arg(long)]
    rounds: usize,
}

/// belay in a workspace, with a home of its own.
struct Seat<'a> {
    args: &'a Args,
    home: PathBuf,
    told: u64,
}

impl Seat<'_> {
    fn belay(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.args.belay);
        command.args(words).env("BELAY_HOME", &self.home).current_dir(&self.args.workspace);
        command
    }

    /// Tells an event, and says how long that took.
    fn tell(&mut self, event: &str) -> Result<Duration> {
        self.told += 1;
        let (cwd, id) = (self.args.workspace.display(), self.told);
        let said = format!(
            r#"{{"session_id":"bench","cwd":"{cwd}","hook_event_name":"{event}","tool_name":"Bash","tool_use_id":"t{id}","tool_input":{{"command":"true"}},"prompt":"{id}","prompt_id":"p{id}"}}"#
        );
        let path = self.home.join("said");
        fs::write(&path, said).doing("write", &path)?;
        let input = File::open(&path).doing("open", &path)?;
        let mut hook = self.belay(&["hook", "claude"]);
        timed(hook.stdin(input))
    }
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let base = PathBuf::from(std::env::var_os("BELAY_HOME").unwrap_or_else(|| "belay-home".into()));
    let seat = |name: &str| -> Result<Seat<'_>> {
        let home = base.join(name);
        fs::create_dir_all(&home).doing("create", &home)?;
        Ok(Seat { args, home, told: 0 })
    };
    let (mut helped, mut alone) = (seat("helped")?, seat("alone")?);
    let config = alone.home.join("config.toml");
    fs::write(&config, "agents.helper_idle_seconds = 0\n").doing("write", &config)?;
    alone.tell("UserPromptSubmit")?;
    helped.tell("UserPromptSubmit")?;
    await_helper(&helped.home)?;
    for event in ["Stop", "UserPromptSubmit", "Stop"] {
        helped.tell(event)?;
        alone.tell(event)?;
    }
    hooks(&mut helped, &mut alone)?;
    tools(&helped)?;
    timed(helped.belay(&["stop", "--helper"]).stderr(Stdio::null())).map(drop)
}

fn await_helper(home: &Path) -> Result<()> {
    let begun = Instant::now();
    while fs::read_dir(home.join("helpers")).map_or(0, Iterator::count) == 0 {
        if begun.elapsed() > PATIENCE {
            return Err(Error::Wrong { tool: "belay".to_owned(), finding: "no helper came".to_owned() });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // Its first look at everything is not what is measured.
    std::thread::sleep(Duration::from_secs(2));
    Ok(())
}

fn hooks(helped: &mut Seat<'_>, alone: &mut Seat<'_>) -> Result<()> {
    let names = ["true", "hook", "statusline", "alone", "walk"];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    for round in 0..helped.args.rounds.max(1) {
        times[0].push(timed(&mut Command::new("/bin/true"))?);
        times[1].push(helped.tell("PreToolUse")?);
        times[2].push(timed(helped.belay(&["statusline"]).stdin(Stdio::null()))?);
        // These take long on a large workspace, and fewer of them tell as much.
        if round % 5 == 0 {
            times[3].push(alone.tell("PreToolUse")?);
            times[4].push(timed(&mut alone.belay(&["diff", "@latest", "--stat"]))?);
        }
    }
    names.iter().zip(times).for_each(|(name, times)| print(name, times));
    Ok(())
}

fn tools(seat: &Seat<'_>) -> Result<()> {
    let mut client = Client::start(seat.belay(&["mcp"]))?;
    let mut editor = Editor::of(&seat.args.workspace)?;
    let mut times = Vec::new();
    for round in 0..seat.args.rounds.clamp(1, 100) {
        editor.edit(round)?;
        let (name, begun) = (format!("n{round}"), Instant::now());
        client.call("snapshots_create", &format!(r#"{{"name":"{name}"}}"#))?;
        times.push(begun.elapsed());
        // Not the newest: what the next one would build upon would be gone, and it would be a first snapshot.
        if let Some(oldest) = round.checked_sub(KEPT) {
            client.call("snapshots_delete", &format!(r#"{{"checkpoint":"n{oldest}"}}"#))?;
        }
        if round == 0 {
            // Its eyes open beside the first of them.
            std::thread::sleep(Duration::from_secs(2));
        }
    }
    print("create", times.split_off(usize::from(times.len() > 1)));
    let begun = Instant::now();
    for _ in 0..LISTS {
        client.call("snapshots_list", "{}")?;
    }
    println!("list\t{:.1}", LISTS as f64 / begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    client.call_many("snapshots_list", LISTS, 16)?;
    println!("list-piped\t{:.1}", LISTS as f64 / begun.elapsed().as_secs_f64());
    Ok(())
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let (least, median) = (times[0].as_secs_f64(), times[times.len() / 2].as_secs_f64());
    println!("{name}\t{least:.6}\t{median:.6}");
}

fn timed(command: &mut Command) -> Result<Duration> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdout(Stdio::null());
    let begin = Instant::now();
    let status = command.status().map_err(|source| Error::Start { program: name.clone(), source })?;
    let time = begin.elapsed();
    if !status.success() {
        return Err(Error::Failed { command: format!("{command:?}"), status, said: String::new() });
    }
    Ok(time)
}
