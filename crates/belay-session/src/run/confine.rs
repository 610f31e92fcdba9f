//! What keeps the command of a run in, and the command held under it.
//!
//! Invariants: a run whose jail was asked for outright does not begin without one; what is weaker than asked for is
//! told; a confined command ends with its supervisor, since nobody would guard what it does.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belay_event::{Degraded, Isolation, Raw};
use belay_jail::{Access, Grant, Identity, Layer, Network, Policy, Replaced, Shown};
use belay_sys::Process;
use serde::{Deserialize, Serialize};

use super::agent;
use super::person::Owner;
use super::record::RunRecord;
use super::sockets::open_sockets;
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::profile::{Ground, Profiles};
use crate::workspace::Workspace;

/// Who root believes to be in a jail.
const ROOT_INSIDE: Identity = Identity::Own { uid: 1000, gid: 1000 };
/// What root is called there.
const ROOT_NAME: &str = "agent";
/// Where a jail shows what is belay's.
const SHOWN_SOCKET: &str = "/run/belay/agent.sock";
const SHOWN_PROGRAMS: &str = "/run/belay/bin";
/// How a command inside finds the socket.
const SOCKET_VARIABLE: &str = "BELAY_AGENT_SOCK";

/// What shall keep a command in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Nothing.
    #[default]
    None,
    /// The strongest that works.
    Auto,
    /// A jail, or the run does not begin.
    Jail,
}

/// What a run's command shall be confined to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// What shall keep it in.
    pub engine: Engine,
    /// The name of the profile.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Paths that can be read, written or not reached in this run alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<(Raw, Reach)>,
    /// Whether what it writes to the workspace is kept apart.
    #[serde(default)]
    pub ephemeral: bool,
    /// Whether paths that it is refused are watched for even where each call must wait for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denials: bool,
}

/// How a path of one run can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// It can be read.
    Read,
    /// It can be written.
    Write,
    /// It is not there.
    Hide,
}

/// Profiles and places that a jail is made from.
#[derive(Clone, Debug, Default)]
pub struct Den {
    /// The profiles that this person has.
    pub profiles: Profiles,
    /// The person's home.
    pub home: PathBuf,
    /// The program belay, which a jail shows.
    pub program: Option<PathBuf>,
    /// The directory of the person's settings and profiles, which nothing confined may change.
    pub settings: PathBuf,
    /// The files of the person's and the machine's settings of git.
    pub git: Vec<PathBuf>,
    /// Whose workspace it is, if root works in somebody else's; found out once that is known.
    pub owner: Option<Owner>,
    /// The number of that user, if it is one whom root cannot become here.
    pub stranger: Option<u32>,
}

impl Den {
    /// Where git's settings lie that are no repository's.
    pub(super) fn own(&self) -> super::repository::Own<'_> {
        super::repository::Own { home: &self.home, files: &self.git }
    }
}

/// What to start under which confinement.
pub(super) struct Command<'a> {
    pub(super) argv: &'a [Vec<u8>],
    pub(super) env: &'a [Vec<u8>],
    pub(super) cwd: &'a Path,
    pub(super) stdio: [OwnedFd; 3],
    pub(super) tracer: Option<u32>,
    pub(super) owner: Option<&'a Owner>,
}

/// A command that waits to be released.
pub(super) enum HeldCommand {
    /// Nothing keeps it in.
    Free(belay_sys::Held),
    /// It is in a jail.
    Confined(Box<belay_jail::Held>),
}

impl HeldCommand {
    pub(super) fn pid(&self) -> u32 {
        match self {
            HeldCommand::Free(held) => held.process().pid(),
            HeldCommand::Confined(held) => held.pid(),
        }
    }

    /// Whether it was born in the run's group.
    pub(super) fn is_in_group(&self) -> bool {
        matches!(self, HeldCommand::Free(held) if held.is_in_group())
    }

    /// Where the calls that its jail refuses are told.
    pub(super) fn take_refusals(&mut self) -> Option<belay_jail::Refusals> {
        match self {
            HeldCommand::Free(_) => None,
            HeldCommand::Confined(held) => held.take_refusals(),
        }
    }

    /// Makes these files read-only for it, or hides them, in a tree that it may write.
    pub(super) fn guard(&mut self, files: &[(PathBuf, Access)]) -> Result<(), belay_jail::Error> {
        match self {
            HeldCommand::Free(_) => Ok(()),
            HeldCommand::Confined(held) => held.guard(files),
        }
    }

    /// What of its jail must be mended while it runs.
    pub(super) fn take_covers(&mut self) -> Option<belay_jail::Covers> {
        match self {
            HeldCommand::Free(_) => None,
            HeldCommand::Confined(held) => held.take_covers(),
        }
    }

    /// The directories that are its own and end with it.
    pub(super) fn private(&self) -> Vec<(PathBuf, belay_sys::Root)> {
        match self {
            HeldCommand::Free(_) => Vec::new(),
            HeldCommand::Confined(held) => held.private(),
        }
    }

    /// Every process that is to be put into the run's group.
    pub(super) fn pids(&self) -> Vec<u32> {
        match self {
            HeldCommand::Free(held) => vec![held.process().pid()],
            HeldCommand::Confined(held) => held.pids(),
        }
    }

    /// Lets it go, with the process whose end ends its jail; the kernel's answer if it cannot be executed.
    pub(super) fn release(self) -> std::io::Result<(Process, Option<Process>)> {
        match self {
            HeldCommand::Free(held) => Ok((held.release()?, None)),
            HeldCommand::Confined(held) => {
                let running = held.release().and_then(belay_jail::Running::leave);
                running.map_err(|error| match error {
                    belay_jail::Error::Execute { source, .. } | belay_jail::Error::Program { source, .. } => source,
                    other => std::io::Error::other(other),
                })
            }
        }
    }
}

impl Workspace<'_> {
    /// What the settings say shall keep a run's command in.
    pub fn confinement_engine(&self) -> Engine {
        match self.settings().choice("isolation.engine") {
            "jail" => Engine::Jail,
            "auto" => Engine::Auto,
            _ => Engine::None,
        }
    }
}

/// Makes a control group and removes it again, as a run would.
pub fn try_cgroup() -> std::io::Result<()> {
    belay_sys::Cgroup::create(&format!("belay-try-{}", std::process::id()))?.remove()
}

/// What is said of a run that nothing keeps in.
pub(super) fn unconfined(why: Option<String>) -> Degraded {
    let free = "nothing keeps the command in: it can reach whatever you can";
    let why = why.map_or_else(|| free.to_owned(), |why| format!("{free} ({why})"));
    Degraded { layer: "jail".into(), why }
}

/// The policy of a run, and the patterns of the variables that it is given.
pub(super) fn policy(record: &RunRecord, den: &Den, workspace: &Workspace<'_>) -> Result<(Policy, Vec<String>)> {
    let own = match record.confinement.ephemeral && workspace.layer().is_none() {
        true => {
            let layer = workspace.home().layer_of(&record.id, workspace.path());
            layer.prepare()?;
            Some(layer)
        }
        false => None,
    };
    let layer = own.as_ref().or(workspace.layer());
    let (mut policy, patterns) = policy_at(&record.confinement, den, workspace.home().path(), workspace.path(), layer)?;
    policy.tells_refusals = true;
    policy.shown = shown(record, den, workspace);
    Ok((policy, patterns))
}

/// The same for whoever works at that path, perhaps in a layer above it.
pub(crate) fn policy_at(
    wanted: &Confinement,
    den: &Den,
    belay: &Path,
    at: &Path,
    layer: Option<&Overlay>,
) -> Result<(Policy, Vec<String>)> {
    let profile = den.profiles.get(&wanted.profile);
    let profile = profile.map_err(|error| Error::Confinement { why: error.to_string() })?;
    let ground = Ground { workspace: at, home: &den.home, belay };
    let identity = match &den.owner {
        Some(owner) => owner.identity(),
        None if belay_sys::is_root() => ROOT_INSIDE,
        None => own_identity(),
    };
    let mut policy = profile.policy(&ground, identity);
    let last = policy.grants.pop();
    if belay_sys::is_root() {
        // First, so that a rule which names one of them wins.
        let hidden = roots_own(Path::new("/etc")).into_iter().filter(|grant| !grant.path.starts_with(at));
        policy.grants.splice(0..0, hidden.collect::<Vec<_>>());
    }
    let extra = wanted.paths.iter().map(|(path, reach)| {
        let access = match reach {
            Reach::Read => Access::Read,
            Reach::Write => Access::Write,
            Reach::Hide => Access::Hidden,
        };
        Grant::new(PathBuf::from(OsStr::from_bytes(path.bytes())), access)
    });
    // The last grant hides belay's own directory; nothing that is given comes after it or beneath it.
    policy.grants.extend(extra.filter(|grant| !grant.path.starts_with(belay)));
    // A command that could write the settings would choose the jail of the next one.
    if policy.decides(&den.settings).is_some_and(|grant| grant.access == Access::Write) {
        policy.grants.push(Grant::new(&den.settings, Access::Read));
    }
    if let Some(owner) = &den.owner {
        owner.protect_own(&mut policy);
    }
    // Hooks and servers that an agent starts name the program by its own path.
    if let Some(program) = den.program.as_ref().filter(|program| !program.starts_with(belay))
        && policy.decides(program).is_none_or(|grant| !matches!(grant.access, Access::Read | Access::Write))
        && program.is_file()
    {
        policy.grants.push(Grant::new(program, Access::Read));
    }
    if policy.network == Network::None {
        hide_sockets(&mut policy, at);
    }
    policy.grants.extend(last);
    policy.grants.extend(super::repository::Ways::of(&policy, at, den.own())?.grants);
    // What a filesystem keeps of the workspace lies beside it, and is as private as belay's own directory.
    if let Some(snapshots) = crate::backend::beside(at).filter(|snapshots| snapshots.is_dir()) {
        policy.grants.retain(|grant| !grant.path.starts_with(&snapshots));
        policy.grants.push(belay_jail::Grant::new(snapshots.clone(), Access::Hidden));
        policy.sealed.push(snapshots);
    }
    policy.replaced = match &den.owner {
        Some(owner) => owner.listed().map_or_else(Vec::new, |(name, home)| accounts(name, &policy.identity, home)),
        None if belay_sys::is_root() => accounts(ROOT_NAME, &policy.identity, &den.home),
        None => Vec::new(),
    };
    if let Some(layer) = layer {
        keep_apart(&mut policy, layer);
    }
    let patterns = profile.variables.into_iter().map(|(pattern, _)| pattern).collect();
    Ok((policy, patterns))
}

/// Hides whoever listens at a path that could be reached, unless a rule or a flag names exactly it.
fn hide_sockets(policy: &mut Policy, workspace: &Path) {
    let is_shown = |path: &PathBuf| {
        let decides = policy.decides(path).filter(|grant| grant.path != *path);
        decides.is_some_and(|grant| matches!(grant.access, Access::Read | Access::Write | Access::Private))
    };
    let shown: Vec<PathBuf> = open_sockets(workspace).into_iter().filter(is_shown).collect();
    policy.grants.extend(shown.into_iter().map(|path| Grant::new(path, Access::Hidden)));
}

/// The way to ask this run, and the program that does; unless a grant stands where they would be shown.
fn shown(record: &RunRecord, den: &Den, workspace: &Workspace<'_>) -> Vec<Shown> {
    let socket = workspace.home().run_dir(&record.id).join(agent::SOCKET);
    let variable = Some(SOCKET_VARIABLE.to_owned());
    let mut shown = vec![Shown { from: socket, at: SHOWN_SOCKET.into(), variable }];
    shown.extend(den.program.clone().map(|from| {
        let at = Path::new(SHOWN_PROGRAMS).join("belay");
        Shown { from, at, variable: None }
    }));
    shown.retain(|one| one.from.exists());
    shown
}

/// What every run is shown of belay, whichever run it is.
pub(crate) fn shown_in_general() -> Vec<Shown> {
    let at = [PathBuf::from(SHOWN_SOCKET), Path::new(SHOWN_PROGRAMS).join("belay")];
    at.map(|at| Shown { from: PathBuf::new(), at, variable: None }).into()
}

/// The lists of users and groups with whoever the command is inside: programs look up their own name and home.
fn accounts(name: &str, identity: &Identity, home: &Path) -> Vec<Replaced> {
    let (uid, gid) = identity.numbers();
    let home = home.to_string_lossy();
    let entries = [
        ("/etc/passwd", format!("{name}:x:{uid}:{gid}::{home}:/bin/sh\n"), uid.to_string()),
        ("/etc/group", format!("{name}:x:{gid}:\n"), gid.to_string()),
    ];
    let replaced = |(path, entry, number): (&str, String, String)| {
        let text = std::fs::read_to_string(path).ok()?;
        let is_other = |line: &&str| line.split(':').nth(2) != Some(&number) && !line.starts_with(&format!("{name}:"));
        let kept: Vec<&str> = text.lines().filter(is_other).collect();
        Some(Replaced { path: path.into(), bytes: format!("{entry}{}\n", kept.join("\n")).into_bytes() })
    };
    entries.into_iter().filter_map(replaced).collect()
}

/// What of the machine's settings only root may read: inside nobody is root, but all of root's files are still its own.
fn roots_own(directory: &Path) -> Vec<Grant> {
    let mut hidden = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let others_may = if found.is_dir() { 0o005 } else { 0o004 };
        if !found.is_symlink() && found.mode() & others_may != others_may {
            hidden.push(Grant::new(entry.path(), Access::Hidden));
        } else if found.is_dir() {
            hidden.extend(roots_own(&entry.path()));
        }
    }
    hidden
}

/// The workspace becomes a private directory whose changes are kept; a jail without namespaces has none.
fn keep_apart(policy: &mut Policy, layer: &Overlay) {
    let kept = layer.kept().clone();
    // What is beneath it too: a path that may be written is written apart like all others.
    let is_written = |grant: &&mut Grant| grant.path.starts_with(&kept.path) && grant.access == Access::Write;
    policy.grants.iter_mut().filter(is_written).for_each(|grant| grant.access = Access::Private);
    policy.kept.push(kept);
    policy.without_namespaces = false;
}

fn own_identity() -> Identity {
    Identity::Own { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
}

/// Holds a command in a jail.
pub(super) fn hold(
    policy: &Policy,
    patterns: &[String],
    command: Command<'_>,
    degraded: &mut Vec<Degraded>,
) -> Result<(HeldCommand, Isolation), belay_jail::Error> {
    let dressed = command.owner.map(|owner| owner.dress(command.env));
    let variables = dressed.as_deref().unwrap_or(command.env).iter().filter_map(|variable| {
        let at = variable.iter().position(|byte| *byte == b'=')?;
        Some((&variable[..at], &variable[at + 1..]))
    });
    let mut env = belay_jail::scrub(variables, patterns);
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == b"PATH") {
        // Last, so that somebody who has installed belay is given that one; its own place counts where nothing is shown.
        let own = policy.shown.iter().filter(|shown| shown.variable.is_none()).filter_map(|shown| shown.from.parent());
        for place in own.chain([Path::new(SHOWN_PROGRAMS)]) {
            path.push(b':');
            path.extend_from_slice(place.as_os_str().as_bytes());
        }
    }
    let launch = belay_jail::Launch {
        argv: command.argv.to_vec(),
        env,
        directory: command.cwd.to_owned(),
        stdio: Some(command.stdio),
        foreground: true,
        dies_with_parent: true,
        tracer: command.tracer,
    };
    let held = belay_jail::hold(policy, launch, |_| Ok(()))?;
    let note = |why: &String| Degraded { layer: "jail".into(), why: why.clone() };
    degraded.extend(held.degraded().iter().map(note));
    if policy.network == Network::Shared {
        let why = "the command has the machine's network; the profile strict has none".to_owned();
        degraded.push(Degraded { layer: "network".into(), why });
    }
    let isolation = match held.layers().contains(&Layer::Namespaces) {
        true => Isolation::Jail,
        false => Isolation::Landlock,
    };
    Ok((HeldCommand::Confined(Box::new(held)), isolation))
}
