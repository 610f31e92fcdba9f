//! `belay conformance`: what a snapshot tool keeps and what it loses, belay itself or any other.

mod shown;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use belay_conformance::{
    Call, GROUPS, LAWS, MadeAs, Outcome, PRESETS, Preset, Property, Tool, Trials, Verdict, at, try_all,
};
use belay_session::BackendChoice;
use belay_session::store::Progress;

use crate::context::Context;
use crate::environment::{in_path, own_variables};
use crate::error::{Failure, Kind, Result};
use crate::ui::escape::printable;
use crate::ui::quantity;

/// Find out what a snapshot tool keeps and what it loses
///
/// Makes small workspaces, one for each property that a snapshot should keep, has the tool capture each, wrecks it, has the
/// tool bring it back, and looks at what is there with plain system calls. Without a tool belay itself is tried. Everything
/// happens in a temporary directory that goes afterwards; the tool's commands are started there. Exits with 1 when
/// something is lost.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples())]
pub(crate) struct Args {
    /// The shell command that captures; {workspace} and {store} stand for directories, and it starts in the workspace
    #[arg(long, value_name = "COMMAND", requires = "restore", conflicts_with = "tools")]
    snapshot: Option<String>,

    /// The shell command that brings everything back
    #[arg(long, value_name = "COMMAND", requires = "snapshot")]
    restore: Option<String>,

    /// Only properties or groups of them whose name holds this text
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,

    /// Make the workspaces beneath DIR, for instance on another filesystem
    #[arg(long, value_name = "DIR")]
    place: Option<PathBuf>,

    /// Try belay itself with this backend; with btrfs and zfs each workspace is made a subvolume or a data set
    #[arg(long, value_name = "NAME", value_parser = crate::commands::snapshot::backend, conflicts_with_all = ["tools", "snapshot"])]
    backend: Option<BackendChoice>,

    /// How long each command of the tool may take
    #[arg(long, value_name = "SECONDS", default_value = "60", hide_short_help = true)]
    timeout: u64,

    /// Names of known tools, or a program that is called with `snapshot` or `restore`, the workspace and the store
    #[arg(last = true, value_name = "TOOL")]
    tools: Vec<OsString>,
}

fn examples() -> String {
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!(
        "\
Known tools: belay, {}

Laws:
{}
Examples:
  belay conformance
  belay conformance -- belay git-stash tar
  belay conformance --backend btrfs --place /srv/work
  belay conformance --only git -- git-ref
  belay conformance --snapshot 'tar cf {{store}}/s.tar .' --restore 'tar xf {{store}}/s.tar'
  belay conformance -- ./my-tool --verbose     calls ./my-tool --verbose snapshot WORKSPACE STORE",
        known.join(", "),
        LAWS.iter().map(|(law, text)| format!("  {law}  {text}\n")).collect::<String>()
    )
}

/// How long one is left in the dark where there is no terminal for a meter.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Tries the tools, and prints what was kept.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let tools = args.tools()?;
    let properties = args.properties()?;
    let cannot = |error: std::io::Error| Failure::system("cannot make workspaces to try in", &error);
    let place = Place::new(args.place.as_deref()).map_err(cannot)?;
    let meter = context.ui.meter("Trying").counting("property");
    meter.expect((tools.len() * properties.len()) as u64, 0);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let made_as = args.made_as(&place.0).map_err(cannot)?;
    let (limit, stop) = (Duration::from_secs(args.timeout), context.work(&meter).stop);
    let trials = Trials { place: &place.0, made_as: &made_as, limit, threads, stop };
    let mut results = Vec::new();
    let (all, mut tried, mut said) = (tools.len() * properties.len(), 0, None::<Instant>);
    let mut advance = || {
        meter.advance(1, 0);
        tried += 1;
        // Where no meter moves it would look as if nothing happened.
        if !std::io::stderr().is_terminal() && said.is_none_or(|said| said.elapsed() > SIGN_OF_LIFE) {
            context.ui.say(format_args!("Tried {tried} of {}", quantity::count(all as u64, "property")));
            said = Some(Instant::now());
        }
    };
    for tool in &tools {
        let verdicts =
            try_all(tool, &properties, trials, &mut |_| advance()).map_err(|error| match context.is_stopped() {
                true => Failure::new(Kind::Interrupted, "interrupted"),
                false => Failure::system(format!("cannot try {}", printable(tool.name.as_bytes())), &error),
            })?;
        results.push((tool.name.as_str(), verdicts));
    }
    drop(meter);
    shown::show(context, &results)?;
    let is_lost = |verdict: &Verdict| matches!(verdict.outcome, Outcome::Lost(_));
    let lost = results.iter().any(|(_, verdicts)| verdicts.iter().any(is_lost));
    Ok(if lost { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Args {
    fn tools(&self) -> Result<Vec<Tool>> {
        if let (Some(snapshot), Some(restore)) = (&self.snapshot, &self.restore) {
            return Ok(vec![Tool::of_lines("the tool", snapshot, restore)]);
        }
        let names: Vec<Option<&str>> =
            self.tools.iter().map(|word| word.to_str().filter(|word| is_known(word))).collect();
        if self.tools.is_empty() {
            return Ok(vec![belay(self.backend)?]);
        }
        if names.iter().all(Option::is_some) {
            return names.into_iter().flatten().map(known).collect();
        }
        let program = &self.tools[0];
        let is_there = in_path(&program.to_string_lossy()).is_some() || Path::new(program).is_file();
        if !is_there {
            let name = printable(program.as_encoded_bytes());
            return Err(Failure::not_found(format!("{name} is neither a known tool nor a program"))
                .hint("`belay conformance --help` names the known ones"));
        }
        let mut words = self.tools.clone();
        if program.as_encoded_bytes().contains(&b'/') {
            // It is started in workspaces, from where a relative path leads elsewhere.
            let absolute = std::path::absolute(program);
            words[0] = absolute.map_err(|error| Failure::system("cannot find the current directory", &error))?.into();
        }
        let name = self.tools.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Ok(vec![Tool { name, ..Tool::of_program(&words) }])
    }

    /// What the backend needs workspaces to be.
    fn made_as(&self, place: &Path) -> std::io::Result<MadeAs> {
        match self.backend.map(BackendChoice::name) {
            Some("btrfs") => Ok(MadeAs::Subvolume),
            Some("zfs") => MadeAs::data_set_at(place),
            _ => Ok(MadeAs::Directory),
        }
    }

    fn properties(&self) -> Result<Vec<&'static Property>> {
        let is_wanted = |group: &str, property: &Property| {
            let holds = |text: &String| group == text || property.law == text || property.name.contains(text.as_str());
            self.only.is_empty() || self.only.iter().any(holds)
        };
        let wanted = GROUPS.iter().flat_map(|(group, all)| all.iter().filter(move |one| is_wanted(group, one)));
        let wanted: Vec<&Property> = wanted.collect();
        if wanted.is_empty() {
            let groups: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
            return Err(
                Failure::not_found("no property is called so").hint(format!("the groups: {}", groups.join(", ")))
            );
        }
        Ok(wanted)
    }
}

fn is_known(name: &str) -> bool {
    name == "belay" || Preset::find(name).is_some()
}

fn known(name: &str) -> Result<Tool> {
    match Preset::find(name) {
        None => belay(None),
        Some(preset) if in_path(preset.program).is_none() => {
            Err(Failure::not_found(format!("{} is not installed", preset.program)))
        }
        Some(preset) => Ok(preset.tool()),
    }
}

/// This very program, with a store of its own, and unaware of any run that it may be in.
fn belay(backend: Option<BackendChoice>) -> Result<Tool> {
    let own = std::env::current_exe().map_err(|error| Failure::system("cannot find belay itself", &error))?;
    let call = |words: &[&str]| {
        Call::Words(std::iter::once(own.clone().into_os_string()).chain(words.iter().map(OsString::from)).collect())
    };
    Ok(Tool {
        name: "belay".to_owned(),
        snapshot: match backend {
            Some(backend) => call(&["snapshot", "-q", "--label", "conformance", "--backend", backend.name()]),
            None => call(&["snapshot", "-q", "--label", "conformance"]),
        },
        restore: call(&["rollback", "conformance", "-y", "-q"]),
        set: vec![("BELAY_HOME".to_owned(), "{store}/belay".to_owned())],
        unset: own_variables(),
    })
}

/// A temporary directory that goes whatever is left in it.
struct Place(PathBuf);

impl Place {
    fn new(parent: Option<&Path>) -> std::io::Result<Place> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("belay-conformance-").disable_cleanup(true);
        let made = match parent {
            Some(parent) => builder.tempdir_in(std::path::absolute(parent)?),
            None => builder.tempdir(),
        };
        // Tools are told the real path, since some of them resolve links and would not know it again.
        Ok(Place(made?.path().canonicalize()?))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some(parent), Some(name)) = (self.0.parent(), self.0.file_name())
            && let Ok(parent) = at::open_top(parent)
        {
            // What cannot be removed is in a directory for temporary files.
            let _ = at::remove_all(&parent, name.as_encoded_bytes());
        }
    }
}
