//! A place to try snapshots in, which is gone when it is dropped.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use belay_store::{ApplyOptions, Change, Manifest, MtimePolicy, OnDamage, OnStop, Scope, View, apply, plan};

use crate::config::Sources;
use crate::error::{Error, Result, chain_of};
use crate::home::Home;
use crate::identity::Place;
use crate::overlay::{Overlay, remove_all};
use crate::record::Snapshot;
use crate::run::{Confinement, Den, ProcessName, policy_at};
use crate::snapshot::Look;
use crate::workspace::{Work, Workspace};

/// How the directories of checkouts begin, in belay's home and among temporary files.
const PREFIX: &str = "bisect-";
const EXTRACTED: &str = "belay-bisect-";
/// Where an extracted checkout is told, so that whoever finds its owner dead finds it too.
const WHERE: &str = "extracted";

/// What is tried in a checkout.
pub struct Program<'a> {
    /// The command and its arguments.
    pub argv: &'a [Vec<u8>],
    /// The environment, `NAME=value`.
    pub env: &'a [Vec<u8>],
    /// Where to start it, beneath the workspace.
    pub directory: &'a [u8],
    /// What it writes goes there; nowhere if there is nobody to read it.
    pub output: Option<OwnedFd>,
    /// What it may reach.
    pub confinement: &'a Confinement,
    /// What a jail is made from.
    pub den: &'a Den,
}

/// A place to try snapshots in.
pub struct Checkout<'w, 'h> {
    origin: &'w Workspace<'h>,
    /// Belay's own directory for it.
    own: PathBuf,
    kind: CheckoutKind<'h>,
    /// What had changed beneath the layer when it was last made as a snapshot.
    beneath: RefCell<Vec<Change>>,
}

enum CheckoutKind<'h> {
    /// A layer above the workspace, and the snapshot of the workspace that it lies above.
    Layered { workspace: Box<Workspace<'h>>, ground: Box<Manifest> },
    /// A copy, and why it is not a layer.
    Extracted { at: PathBuf, why: String },
}

impl<'w, 'h> Checkout<'w, 'h> {
    /// A checkout of the workspace, of which `ground` is the newest snapshot; copies go beneath `temporary`.
    pub fn new(
        origin: &'w Workspace<'h>,
        ground: &Snapshot,
        temporary: &Path,
        sources: &Sources,
    ) -> Result<Checkout<'w, 'h>> {
        let name = own_name()?;
        let own = origin.home().path().join("forks").join(format!("{PREFIX}{name}"));
        let layer = Overlay::new(origin.path(), &own);
        let ground = Manifest::read(origin.home().store(), &ground.manifest)?;
        let opened = layer.prepare().and_then(|()| {
            let place = Place::look(origin.path()).ok_or_else(|| Error::NoWorkspace(origin.path().to_owned()))?;
            let id = origin.id().to_owned();
            Workspace::open_layered(origin.home(), id, place, layer, origin.id(), sources)
        });
        let kind = match opened {
            Ok(workspace) => {
                let workspace = Box::new(workspace.above(ground.clone()));
                CheckoutKind::Layered { workspace, ground: Box::new(ground) }
            }
            Err(error @ Error::NoOverlay { .. }) => {
                let at = temporary.join(format!("{EXTRACTED}{name}"));
                fs::write(own.join(WHERE), at.as_os_str().as_bytes()).map_err(Error::path("write", &own))?;
                CheckoutKind::Extracted { at, why: chain_of(&error) }
            }
            Err(error) => {
                let _ = remove_all(&own);
                return Err(error);
            }
        };
        Ok(Checkout { origin, own, kind, beneath: RefCell::default() })
    }

    /// Why it is a copy, and slower; none if it is a layer.
    pub fn why_copied(&self) -> Option<&str> {
        match &self.kind {
            CheckoutKind::Layered { .. } => None,
            CheckoutKind::Extracted { why, .. } => Some(why),
        }
    }

    /// Makes the checkout as the snapshot has it, whatever was done in it before.
    pub fn go_to(&self, snapshot: &Snapshot, work: Work<'_>) -> Result<()> {
        match &self.kind {
            CheckoutKind::Extracted { at, .. } => {
                if at.exists() {
                    remove_all(at).map_err(Error::path("remove", at))?;
                }
                self.origin.extract(snapshot, &[], at, work).map(drop)
            }
            CheckoutKind::Layered { workspace, ground } => {
                let store = self.origin.home().store();
                let target = Manifest::read(store, &snapshot.manifest)?;
                let beneath = self.changed_beneath(ground, work)?;
                let changed: Vec<Vec<u8>> = beneath.iter().map(|change| change.path.clone()).collect();
                self.beneath.replace(beneath);
                let look = Look { keep: Some(&target), dirty: Some((ground, &changed)), ..Look::default() };
                let now = workspace.capture(look, work)?;
                let (view, links) = (View::stored(store), now.manifest.links(store)?);
                let plan = plan(view, &now.manifest, &links, &target, &Scope::default(), belay_sys::is_root())?;
                let options = ApplyOptions {
                    // What was built for one snapshot must not seem up to date for another.
                    mtime: MtimePolicy::Fresh,
                    prefix: b".belay-bisect-",
                    progress: work.progress,
                    stop: work.stop,
                    on_stop: OnStop::OldOrHalf,
                    on_damage: OnDamage::Refuse,
                    faults: None,
                };
                apply(store, &workspace.writable()?, &plan, &options)?;
                Ok(())
            }
        }
    }

    /// What somebody changed in the workspace since the bisection began; the layer would show it.
    fn changed_beneath(&self, ground: &Manifest, work: Work<'_>) -> Result<Vec<Change>> {
        let then = crate::present::Tree::stored(ground.clone());
        let now = self.origin.look(Look { keep: Some(ground), ..Look::default() }, work)?;
        self.origin.changes(&then, &now, &Scope::default())
    }

    /// Whether nothing changed beneath the layer since it was made as a snapshot, so that what was tried was just that.
    pub fn is_undisturbed(&self, work: Work<'_>) -> Result<bool> {
        match &self.kind {
            CheckoutKind::Layered { ground, .. } => Ok(*self.beneath.borrow() == self.changed_beneath(ground, work)?),
            CheckoutKind::Extracted { .. } => Ok(true),
        }
    }

    /// Tries the program in the checkout; in a jail if there is one.
    pub fn run(&self, program: &Program<'_>) -> Result<ExitStatus> {
        let (at, layer) = match &self.kind {
            CheckoutKind::Layered { workspace, .. } => (self.origin.path(), workspace.layer()),
            CheckoutKind::Extracted { at, .. } => (at.as_path(), None),
        };
        let directory = at.join(std::ffi::OsStr::from_bytes(program.directory));
        match self.run_confined(program, at, layer, &directory) {
            Ok(status) => Ok(status),
            Err(belay_jail::Error::Execute { source, program }) => {
                Err(Error::Path { operation: "execute", path: program.into(), source })
            }
            // Without a layer the checkout is the only thing that matters, and it is thrown away.
            Err(_) if layer.is_none() => run_free(program, &directory),
            Err(error) => Err(Error::Confinement { why: chain_of(&error) }),
        }
    }

    fn run_confined(
        &self,
        program: &Program<'_>,
        at: &Path,
        layer: Option<&Overlay>,
        directory: &Path,
    ) -> belay_jail::Result<ExitStatus> {
        let unavailable = |error: Error| belay_jail::Error::Unavailable { why: chain_of(&error) };
        let home = self.origin.home().path();
        let den = program.den.clone().at(self.origin.path());
        let (policy, patterns) = policy_at(program.confinement, &den, home, at, layer).map_err(unavailable)?;
        let null = || fs::File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
        let output = |to: &Option<OwnedFd>| match to {
            Some(fd) => fd.as_fd().try_clone_to_owned(),
            None => null(),
        };
        let streams = || Ok([null()?, output(&program.output)?, output(&program.output)?]);
        let stdio = streams().map_err(|source| belay_jail::Error::Program { what: "open streams for", source })?;
        let dressed = den.owner.as_ref().map(|owner| owner.dress(program.env));
        let variables = dressed.as_deref().unwrap_or(program.env).iter().filter_map(|variable| {
            let at = variable.iter().position(|byte| *byte == b'=')?;
            Some((&variable[..at], &variable[at + 1..]))
        });
        let launch = belay_jail::Launch {
            argv: program.argv.to_vec(),
            env: belay_jail::scrub(variables, &patterns),
            directory: directory.to_owned(),
            stdio: Some(stdio),
            foreground: false,
            dies_with_parent: true,
            tracer: None,
        };
        belay_jail::hold(&policy, launch, |_| Ok(()))?.release()?.wait()
    }
}

fn run_free(program: &Program<'_>, directory: &Path) -> Result<ExitStatus> {
    let stream = || -> std::io::Result<Stdio> {
        Ok(match &program.output {
            Some(fd) => Stdio::from(fd.as_fd().try_clone_to_owned()?),
            None => Stdio::null(),
        })
    };
    let run = || -> std::io::Result<ExitStatus> {
        let word = |word: &Vec<u8>| std::ffi::OsStr::from_bytes(word).to_owned();
        let mut command = Command::new(word(&program.argv[0]));
        command.args(program.argv[1..].iter().map(word)).arg0(word(&program.argv[0])).current_dir(directory);
        command.stdin(Stdio::null()).stdout(stream()?).stderr(stream()?).status()
    };
    run().map_err(Error::run("try the command"))
}

impl Drop for Checkout<'_, '_> {
    fn drop(&mut self) {
        // What cannot be removed now is collected by the next command.
        let _ = discard(&self.own);
    }
}

/// This process, so that nobody takes its checkout for one that was left.
fn own_name() -> Result<String> {
    let pid = std::process::id();
    let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let own = ProcessName::of(pid).ok_or_else(gone).map_err(Error::run("name this process"))?;
    Ok(format!("{}-{}", own.pid, own.start_ticks))
}

fn discard(own: &Path) -> std::io::Result<()> {
    if let Ok(bytes) = fs::read(own.join(WHERE)) {
        let at = PathBuf::from(std::ffi::OsStr::from_bytes(&bytes));
        let is_ours = at.file_name().is_some_and(|name| name.as_bytes().starts_with(EXTRACTED.as_bytes()));
        if is_ours && at.is_dir() {
            remove_all(&at)?;
        }
    }
    remove_all(own)
}

impl Home {
    /// Removes the checkouts of bisections that were killed; returns how many.
    pub fn collect_checkouts(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.path().join("forks")) else { return 0 };
        let is_left = |name: &str| {
            let mut parts = name.strip_prefix(PREFIX)?.splitn(2, '-');
            let (pid, ticks) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(!belay_sys::process_alive(pid, ticks))
        };
        let left = entries.flatten().filter(|entry| entry.file_name().to_str().and_then(is_left).unwrap_or(false));
        left.filter(|entry| discard(&entry.path()).is_ok()).count()
    }
}
