//! What a command stands on: belay's home, the workspace that is meant, and the news that comes with opening it.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_session::store::Algorithm;
use belay_session::{
    Arrival, Clock, Consent, Error, Finished, Fork, Format, Guard, Home, HomeOptions, Ids, Interrupted, LostRun,
    Mended, Override, Recovered, Settings, Sources, Text, Work, Workspace, WorkspaceInfo, shell_word,
};

use crate::args::Global;
use crate::environment::{self, Environment};
use crate::error::{Failure, Kind, Result};
use crate::ui::{Meter, Ui, escape, quantity};
use crate::{summary, view};

/// Set when the user presses Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Larger configuration files are a mistake, and not worth the memory.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Everything that a command is given.
pub(crate) struct Context<'u> {
    /// How to speak.
    pub(crate) ui: &'u Ui,
    /// Where things are.
    pub(crate) environment: Environment,
    global: Global,
    /// The workspace that is meant wherever the directory is; for whoever must not choose another.
    pinned: Option<PathBuf>,
    /// What whoever asks is kept from.
    guard: Option<Arc<Guard>>,
}

impl<'u> Context<'u> {
    /// Puts together what a command is given.
    pub(crate) fn new(ui: &'u Ui, environment: Environment, global: Global) -> Context<'u> {
        Context { ui, environment, global, pinned: None, guard: None }
    }

    /// The same for an agent, which is given this workspace and no other, and not what its run keeps it from.
    pub(crate) fn pinned<'a>(&self, ui: &'a Ui, workspace: PathBuf, directory: PathBuf, guard: Guard) -> Context<'a> {
        let global = Global { directory: Some(directory), yes_really: false, ..self.global.clone() };
        let (pinned, guard) = (Some(workspace), Some(Arc::new(guard)));
        Context { ui, environment: self.environment.clone(), global, pinned, guard }
    }

    /// What whoever asks is kept from.
    pub(crate) fn guard(&self) -> Option<Arc<Guard>> {
        self.guard.clone()
    }

    /// The same as if it were called in that directory.
    pub(crate) fn at(&self, directory: PathBuf) -> Context<'u> {
        let global = Global { directory: Some(directory), ..self.global.clone() };
        let (pinned, guard) = (self.pinned.clone(), self.guard.clone());
        Context { ui: self.ui, environment: self.environment.clone(), global, pinned, guard }
    }

    /// Opens belay's home.
    pub(crate) fn home(&self) -> Result<Home> {
        self.home_with(Algorithm::Blake3)
    }

    /// Opens belay's home; a store that does not exist yet will use `algorithm`.
    pub(crate) fn home_with(&self, algorithm: Algorithm) -> Result<Home> {
        Home::open(&self.environment.home, self.home_options(algorithm)).map_err(|error| {
            let is_itself = matches!(&error, Error::Path { path, .. } if *path == self.environment.home);
            let failure = Failure::from(error);
            match is_itself {
                true => failure.hint("that is where belay keeps everything; BELAY_HOME names the directory for it"),
                false => failure,
            }
        })
    }

    fn home_options(&self, algorithm: Algorithm) -> HomeOptions {
        let git_ignore = self.environment.git_ignore();
        let (clock, ids, zone) = (Clock::system(), Ids::random(), environment::zone());
        HomeOptions { algorithm, clock, ids, zone, git_ignore, ..HomeOptions::default() }
    }

    /// Opens belay's home for a repair, which first puts right what keeps others from opening it.
    pub(crate) fn mended_home(&self) -> Result<(Home, Vec<Mended>)> {
        let (home, mended) = Home::open_mended(&self.environment.home, self.home_options(Algorithm::Blake3))?;
        self.settle(&home)?;
        Ok((home, mended))
    }

    /// Opens belay's home for a command that is about all of it; an interrupted rollback here is dealt with first.
    pub(crate) fn settled_home(&self) -> Result<Home> {
        let home = self.home()?;
        self.settle(&home)?;
        Ok(home)
    }

    fn settle(&self, home: &Home) -> Result<()> {
        // Whether this directory can be a workspace is nothing that such a command depends on, nor whether its timeline is lost.
        let sources = self.lenient_sources().unwrap_or_default();
        match self.anchor().ok().map(|directory| home.find(&directory, &sources)) {
            Some(Ok(Some(workspace))) if workspace.timeline().is_ok() => self.welcome(&workspace)?,
            _ => self.finish_forgetting(home),
        }
        Ok(())
    }

    /// The name by which a snapshot is found; a git ref (`refs/…`) becomes a snapshot first.
    pub(crate) fn snapshot_name(&self, workspace: &Workspace<'_>, name: String) -> Result<String> {
        if !name.starts_with("refs/") {
            return Ok(name);
        }
        let meter = self.ui.meter("Looking");
        let from = workspace.read_git_ref(&name, self.work(&meter))?;
        Ok(workspace.adopt(&from, None, None)?.id)
    }

    /// The directory that the command is about: `-C DIR`, or the current one.
    pub(crate) fn directory(&self) -> Result<PathBuf> {
        match &self.global.directory {
            // Looked at by nobody: paths are named beneath it, and the workspace is known.
            Some(directory) if self.pinned.is_some() => Ok(directory.clone()),
            Some(directory) => directory.canonicalize().map_err(|error| {
                let failure = Failure::named(format!("cannot open {}", view::path(directory)), &error).untouched();
                self.hint_at_lost(failure, &std::path::absolute(directory).unwrap_or_default())
            }),
            None => std::env::current_dir().map_err(|error| {
                Failure::system("cannot find the current directory", &error)
                    .hint("if it was removed: `mkdir -p \"$PWD\" && cd \"$PWD\" && belay rollback` brings a workspace back")
                    .hint("use -C DIR for another")
            }),
        }
    }

    /// Adds how to bring back a workspace that was at, or in, a directory and is gone.
    fn hint_at_lost(&self, failure: Failure, near: &Path) -> Failure {
        // Who cannot be told that there was one is told the rest.
        let known = self.home().and_then(|home| Ok(home.workspaces()?)).unwrap_or_default();
        let is_lost = |one: &&WorkspaceInfo| !one.exists && one.snapshots > 0 && one.fork.is_none();
        let is_near = |one: &&WorkspaceInfo| one.path == near || one.path.parent() == Some(near);
        match known.iter().filter(is_lost).find(is_near) {
            Some(one) => {
                let path = shell_word(one.path.as_os_str().as_bytes());
                failure
                    .hint(format!("a workspace was there: `mkdir {path} && belay -C {path} rollback` brings it back"))
            }
            None => failure,
        }
    }

    /// Whether a home directory or `/` may be a workspace.
    pub(crate) fn yes_really(&self) -> bool {
        self.global.yes_really
    }

    /// Where to look for the workspace.
    pub(crate) fn anchor(&self) -> Result<PathBuf> {
        self.pinned.clone().map_or_else(|| self.directory(), Ok)
    }

    /// Whether somebody who typed this may have meant a path; an agent is not told what there is outside.
    pub(crate) fn has_path(&self, typed: &str) -> Result<bool> {
        Ok(self.pinned.is_none() && self.directory()?.join(typed).symlink_metadata().is_ok())
    }

    /// The known workspace that holds the directory, or the fork of it that is meant; an interrupted rollback in it is
    /// dealt with first.
    pub(crate) fn workspace<'h>(&self, home: &'h Home) -> Result<Workspace<'h>> {
        self.workspace_with(home, &self.sources()?)
    }

    /// The same for a way back and whatever leads to one: a mistake in the configuration is told, and does not stand in its way.
    pub(crate) fn workspace_despite<'h>(&self, home: &'h Home) -> Result<Workspace<'h>> {
        let workspace = self.workspace_with(home, &self.lenient_sources()?)?;
        let faults = workspace.settings().faults();
        for fault in faults {
            self.ui.warn(format_args!("{}; it does not count", escape::printable(fault.as_bytes())));
        }
        if !faults.is_empty() {
            self.ui
                .hint("`belay config list` shows every key; `belay run` and `belay snapshot` wait until it is mended");
        }
        // What an agent told a moment ago belongs to what is looked at; where it cannot be read, the status line says so.
        let _ = workspace.settle();
        Ok(workspace)
    }

    fn workspace_with<'h>(&self, home: &'h Home, sources: &Sources) -> Result<Workspace<'h>> {
        let origin = self.origin_with(home, sources)?;
        match &self.global.fork {
            Some(name) => Ok(self.open_fork(&origin, name)?.0),
            None => Ok(origin),
        }
    }

    /// The known workspace that holds the directory, whichever fork is meant.
    fn origin_with<'h>(&self, home: &'h Home, sources: &Sources) -> Result<Workspace<'h>> {
        let directory = self.anchor()?;
        let workspace = home.find(&directory, sources)?;
        let workspace = workspace.ok_or_else(|| self.hint_at_lost(not_a_workspace(&directory), &directory))?;
        let workspace = workspace.guarded_by(self.guard());
        home.collect_checkouts();
        self.welcome(&workspace)?;
        Ok(workspace)
    }

    /// A fork of the workspace, with a word on what its origin changed since.
    pub(crate) fn open_fork<'h>(&self, origin: &Workspace<'h>, name: &str) -> Result<(Workspace<'h>, Fork)> {
        let meter = self.ui.meter("Looking");
        let (opened, fork, pinned) = origin.open_fork(name, &self.sources()?, self.work(&meter))?;
        drop(meter);
        if pinned.seen > 0 {
            self.ui.warn(format_args!(
                "{} changed in the workspace since, and may be seen in {} as well",
                quantity::count(pinned.seen, "path"),
                fork.name
            ));
        }
        self.welcome(&opened)?;
        Ok((opened, fork))
    }

    /// The fork that the command is about, if it is about one.
    pub(crate) fn fork(&self) -> Option<&str> {
        self.global.fork.as_deref()
    }

    /// How whoever reads a hint is to begin the command that it names.
    pub(crate) fn itself(&self) -> String {
        self.global.fork.as_ref().map_or_else(|| "belay".to_owned(), |fork| format!("belay --fork {fork}"))
    }

    /// Whether a command that cannot be about a fork was told to be.
    pub(crate) fn refuse_fork(&self, command: &str) -> Result<()> {
        match &self.global.fork {
            Some(_) => Err(Failure::new(Kind::Usage, format!("`belay {command}` is about all forks")).untouched()),
            None => Ok(()),
        }
    }

    /// The workspace that holds `directory`, which becomes one if none does, or in any case with `here`.
    pub(crate) fn workspace_or_new<'h>(&self, home: &'h Home, directory: &Path, here: bool) -> Result<Workspace<'h>> {
        let consent = self.consent();
        let sources = self.sources()?;
        let workspace = match here {
            true => home.create(directory, consent, &sources),
            false => home.find_or_create(directory, consent, &sources),
        };
        let workspace = workspace.inspect_err(|error| {
            if matches!(error, Error::HomeInWorkspace { .. }) {
                give_back(home.path());
            }
        })?;
        let workspace = workspace.guarded_by(self.guard());
        self.welcome(&workspace)?;
        match &self.global.fork {
            Some(name) => Ok(self.open_fork(&workspace, name)?.0),
            None => Ok(workspace),
        }
    }

    /// How whoever makes a workspace is asked about their own home.
    pub(crate) fn consent(&self) -> Consent<'_> {
        Consent { yes_really: self.global.yes_really, home: self.environment.user_home.as_deref() }
    }

    /// The path beneath the workspace that the user calls `path`, perhaps through a link outside of it.
    pub(crate) fn beneath(&self, workspace: &Workspace<'_>, path: &Path) -> Result<Vec<u8>> {
        let directory = self.directory()?;
        let as_typed = workspace.beneath(&directory, path);
        let parent = directory.join(path).parent().and_then(|parent| parent.canonicalize().ok());
        match (as_typed, parent, path.file_name()) {
            (Err(error @ Error::OutsideWorkspace { .. }), Some(parent), Some(name)) => {
                workspace.beneath(&parent, Path::new(name)).map_err(|_| error.into())
            }
            (other, ..) => Ok(other?),
        }
    }

    /// The paths beneath the workspace that the user calls `paths`.
    pub(crate) fn all_beneath(&self, workspace: &Workspace<'_>, paths: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
        paths.iter().map(|path| self.beneath(workspace, path)).collect()
    }

    /// Work that `meter` watches and Ctrl-C stops.
    pub(crate) fn work<'a>(&self, meter: &'a Meter) -> Work<'a> {
        // Without the handler Ctrl-C kills the process, which the store survives as well.
        let _ = belay_session::on_interrupt(&STOP);
        Work { progress: meter, stop: &STOP }
    }

    /// Work that `meter` watches and that Ctrl-C ends at once, because nothing has to be put in order then.
    pub(crate) fn watched(meter: &Meter) -> Work<'_> {
        Work { progress: meter, stop: &STOP }
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_stopped(&self) -> bool {
        STOP.load(Ordering::Relaxed)
    }

    /// The configuration files and variables.
    pub(crate) fn sources(&self) -> Result<Sources> {
        let overrides = self.environment.overrides.iter();
        Ok(Sources {
            user: read_config(&self.environment.user_config)?,
            corporate: read_config(&self.environment.corp_config)?,
            env: overrides.map(|(name, value)| override_of(name, value)).collect(),
            flags: Vec::new(),
            lenient: false,
        })
    }

    /// The user's own configuration file: what it says, or where it will be.
    pub(crate) fn user_config(&self) -> Result<(PathBuf, Text)> {
        let fresh = self.environment.user_config.with_extension("toml");
        let none = || Text { name: fresh.display().to_string(), format: Format::Toml, text: String::new() };
        let found = read_config(&self.environment.user_config)?.unwrap_or_else(none);
        Ok((PathBuf::from(&found.name), found))
    }

    /// The configuration for whoever must not be stopped by a mistake in it.
    pub(crate) fn lenient_sources(&self) -> Result<Sources> {
        Ok(Sources { lenient: true, ..self.sources()? })
    }

    fn welcome(&self, workspace: &Workspace<'_>) -> Result<()> {
        if let Some(news) = arrival_news(workspace.arrival()) {
            self.ui.say(news);
        }
        self.finish_forgetting(workspace.home());
        let meter = self.ui.meter("Recovering");
        let interrupted = workspace.interrupted()?;
        for Interrupted { kind, at, target } in &interrupted {
            let (kind, when) = (kind.name(), quantity::moment(*at));
            self.ui.warn(format_args!("an interrupted {kind} to {target}, of {when}, is being finished"));
        }
        if !interrupted.is_empty() {
            for recovered in workspace.recover(self.work(&meter))? {
                meter.phase("Recovering");
                self.report_recovery(&recovered);
            }
        }
        for lost in workspace.recover_runs(Self::watched(&meter))? {
            meter.phase("Recovering");
            self.report_lost(&lost);
        }
        Ok(())
    }

    /// Finishes what `belay forget` was kept from finishing; what keeps it from that again keeps nobody from anything else.
    fn finish_forgetting(&self, home: &Home) {
        match home.finish_forgetting() {
            Ok(finished) => finished.iter().for_each(|one| self.ui.warn(forgetting(one))),
            Err(error) => {
                let why = Failure::from(error).line();
                self.ui.warn(format_args!("what `belay forget` was kept from finishing cannot be finished yet: {why}"));
            }
        }
    }

    fn report_lost(&self, lost: &LostRun) {
        let id = &lost.run.id;
        match (&lost.failed, &lost.run.final_snapshot) {
            (Some(why), _) => self.ui.warn(format_args!(
                "the controller of {id} died, and what it left cannot be put in order: {}",
                escape::printable(why.as_bytes())
            )),
            (None, Some(snapshot)) => self.ui.warn(format_args!(
                "the controller of {id} died: what the run did after that is not recorded; it is captured now as {snapshot}"
            )),
            (None, None) => self.ui.warn(format_args!("the controller of {id} died before its command began")),
        }
        for why in &lost.put_aside {
            self.ui.warn(escape::printable(why.as_bytes()));
        }
        summary::say_left(self, &lost.run, &lost.left);
    }

    fn report_recovery(&self, recovered: &Recovered) {
        self.ui.warn(recovery(recovered));
        if recovered.failed.is_some() {
            self.ui.hint(format_args!("what was there before it is in {}", recovered.safety));
        }
        view::say_left(self.ui, &recovered.left);
    }
}

/// What became of a forgetting that was interrupted.
fn forgetting(finished: &Finished) -> String {
    let Finished { at, forget, report } = finished;
    let paths: Vec<String> = forget.paths.iter().map(|path| view::relative(path)).collect();
    let gone = quantity::count(report.gone.len() as u64, "object");
    let shared = match report.shared.len() {
        0 => String::new(),
        still => format!("; {} still in the store, held by another path", quantity::count(still as u64, "object")),
    };
    let (paths, when) = (paths.join(", "), quantity::moment(*at));
    format!(
        "the forgetting of {paths}, of {when}, was interrupted, and is now finished: {gone} gone from the store{shared}"
    )
}

/// What became of a rollback that was interrupted.
pub(crate) fn recovery(recovered: &Recovered) -> String {
    let (kind, target, safety) = (recovered.kind.name(), &recovered.target, &recovered.safety);
    let begun = format!("the {kind} to {target} of {} was interrupted", quantity::moment(recovered.at));
    match (&recovered.failed, recovered.reversed) {
        (Some(why), _) => format!("{begun} and cannot be finished: {why}"),
        (None, true) => format!("{begun}; {target} is damaged, so everything is back as in {safety}"),
        (None, false) => {
            format!("{begun}, and is now finished ({} changed)", quantity::count(recovered.changed, "path"))
        }
    }
}

fn arrival_news(arrival: &Arrival) -> Option<String> {
    match arrival {
        Arrival::Known | Arrival::New => None,
        Arrival::Moved { from } => {
            Some(format!("This workspace was at {} before; its history came along.", view::path(from)))
        }
        Arrival::Replaced => Some("Another directory was here before; this one continues its history.".to_owned()),
        Arrival::CopiedFrom { path } => {
            Some(format!("This looks like a copy of {}; it has a history of its own from now on.", view::path(path)))
        }
    }
}

/// The same for a copy that was noticed only while capturing.
pub(crate) fn news_of(arrival: &Arrival) -> Option<String> {
    matches!(arrival, Arrival::CopiedFrom { .. }).then(|| arrival_news(arrival)).flatten()
}

fn not_a_workspace(directory: &Path) -> Failure {
    Failure::not_found(format!("{} is not protected yet: no workspace holds it", view::path(directory)))
        .hint("`belay snapshot` makes it a workspace; `belay workspaces` lists those that belay knows")
}

/// A variable that stands for no key is handed on all the same: a misspelt one must be an error, not silence.
fn override_of(name: &str, value: &str) -> Override {
    let key = Settings::key_of_variable(name).unwrap_or_else(|| name.to_ascii_lowercase().replace("__", "."));
    Override { name: format!("BELAY_{name}"), key, value: value.to_owned() }
}

/// Reads `base.toml`, or else `base.yaml` or `base.yml`; none of them is an ordinary state.
fn read_config(base: &Path) -> Result<Option<Text>> {
    let endings = [("toml", Format::Toml), ("yaml", Format::Yaml), ("yml", Format::Yaml)];
    for (ending, format) in endings {
        let path = base.with_extension(ending);
        let cannot = |error: &io::Error| {
            Failure::named(format!("cannot read the configuration {}", view::path(&path)), error).untouched()
        };
        match fs::metadata(&path) {
            Ok(meta) if meta.len() > CONFIG_BYTES_MAX => {
                return Err(cannot(&io::Error::other("it is larger than any configuration")));
            }
            Ok(meta) if !meta.is_file() => return Err(cannot(&io::Error::other("it is not a plain file"))),
            Ok(_) => {
                let text = fs::read_to_string(&path).map_err(|error| cannot(&error))?;
                return Ok(Some(Text { name: path.display().to_string(), format, text }));
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(cannot(&error)),
        }
    }
    Ok(None)
}

/// Takes away a home that was just begun where none may be; one that holds anything stays.
fn give_back(home: &Path) {
    let store = home.join("store");
    let holds = |name: &str| store.join(name).read_dir().is_ok_and(|mut all| all.next().is_some());
    if home.join("workspaces").exists() || holds("packs") {
        return;
    }
    // Whatever cannot be removed is in nobody's way, and a directory goes only if it is empty.
    let _ = std::fs::remove_file(store.join("format"));
    let _ = std::fs::remove_file(store.join("create.lock"));
    let _ = std::fs::remove_dir(store.join("packs"));
    let _ = std::fs::remove_dir(&store);
    let _ = std::fs::remove_dir(home);
}
