//! Starting a confined program, with everything in force, and holding it before its first instruction.
//!
//! Invariants: either all of the policy is in force, or [`Held::degraded`] says what is not, or nothing was started.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use belay_sys::{
    HeldProgram, Limited, Namespaces, Recipe, Refusals, Root, RunningProgram, Stage, StartError, Step, hold_sandboxed,
};

use rustix::fs::FileType;

use crate::compose::{self, plain, text_of};
use crate::covers::Covers;
use crate::error::{Error, Result};
use crate::filter;
use crate::places::{self, Layout};
use crate::policy::{Access, Identity, Kept, Limits, Network, Policy, Shown};
use crate::rights::Rights;

/// Where a program without a path is looked for if its environment does not say.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// What to start.
#[derive(Debug)]
pub struct Launch {
    /// The program and its arguments; not empty.
    pub argv: Vec<Vec<u8>>,
    /// The whole environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// The directory to start in, as the program will see it.
    pub directory: PathBuf,
    /// Standard input, output and error; ours if there are none.
    pub stdio: Option<[OwnedFd; 3]>,
    /// Whether it leads a process group of its own, in the foreground of our terminal if we have one.
    pub foreground: bool,
    /// Whether it is killed when the thread that starts it ends.
    pub dies_with_parent: bool,
    /// The process that will trace it, if that is not ours.
    pub tracer: Option<u32>,
}

/// What keeps a program in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A root of its own, in namespaces of its own.
    Namespaces,
    /// Landlock: rules on paths.
    Landlock,
    /// A filter of system calls.
    Filter,
}

/// A confined program that waits to be released.
#[derive(Debug)]
pub struct Held {
    program: HeldProgram,
    layers: Vec<Layer>,
    degraded: Vec<String>,
    name: String,
    covers: Option<Covers>,
    layout: Layout,
}

/// A confined program that was released; dropping it ends it and everything that it started.
#[derive(Debug)]
pub struct Running {
    program: RunningProgram,
}

/// Starts a program under a policy and holds it; `place` may put it into a control group by its number.
pub fn hold(policy: &Policy, launch: Launch, place: impl Fn(u32) -> io::Result<()>) -> Result<Held> {
    refuse_directories(launch.stdio.as_ref())?;
    let layout = places::layout(policy)?;
    let rights = Rights::probe();
    let mut degraded: Vec<String> = match &rights {
        Some(rights) => rights.gaps().into_iter().map(String::from).collect(),
        None => vec!["this kernel has no Landlock".to_owned()],
    };
    degraded.extend(
        layout
            .absent
            .iter()
            .map(|path| format!("{} is not there, so it cannot be protected from being made", path.display())),
    );
    degraded.extend(layout.planted.iter().map(|planted| {
        let (path, link) = (planted.path.display(), planted.link.display());
        let made = format!("{link} is a link that a confined command could have made");
        match planted.narrows {
            true => format!("{path}: the rule counts for what it leads to and not for the link, because {made}"),
            false => format!("{path}: no rule counts there, because {made}; name what it leads to"),
        }
    }));
    let name = String::from_utf8_lossy(launch.argv.first().map_or(b"", Vec::as_slice)).into_owned();
    let mut recipe = prepare(launch)?;
    let env = std::mem::take(&mut recipe.env);
    let env_with = |shown_at: fn(&Shown) -> &Path| -> Result<_> {
        Ok(env.iter().cloned().chain(variables(policy, shown_at)?).collect::<Vec<CString>>())
    };
    let ruleset = |recipe: &mut Recipe| -> Result<()> {
        recipe.ruleset = rights.as_ref().map(Rights::ruleset).transpose()?.flatten();
        Ok(())
    };

    recipe.namespaces = match policy.network {
        Network::Shared => Namespaces::AllButNetwork,
        Network::None => Namespaces::All,
    };
    ruleset(&mut recipe)?;
    recipe.env = env_with(|shown| &shown.at)?;
    let ending = std::mem::take(&mut recipe.steps);
    let (become_it, maps) = compose::identity(&policy.identity)?;
    recipe.maps = maps;
    recipe.steps = become_it.clone();
    let composed = with_namespaces(policy, &layout, &recipe, rights.as_ref())?;
    recipe.steps.extend(composed);
    recipe.steps.extend(ending.iter().cloned());
    seal(&mut recipe.steps, policy, rights.is_some(), true)?;
    let failure = match hold_sandboxed(&recipe, &place) {
        Ok(program) => {
            let mut layers = vec![Layer::Namespaces, Layer::Filter];
            layers.extend(rights.map(|_| Layer::Landlock));
            let covers = Covers::of(&layout, &program)?;
            return Ok(Held { program, layers, degraded, name, covers, layout });
        }
        Err(failure) => failure,
    };
    if !policy.without_namespaces || !says_forbidden(&recipe, &failure) {
        return Err(explain(&recipe, failure, &name));
    }

    let why = explain(&recipe, failure, &name);
    let why = std::error::Error::source(&why).map_or_else(|| why.to_string(), |source| format!("{why}: {source}"));
    let why = belay_sys::plain(why);
    let Some(rights) = rights.as_ref() else {
        return Err(Error::Unavailable { why });
    };
    degraded.push(format!("namespaces cannot be had, rules on paths alone are in force ({why})"));
    degraded.extend(beyond_landlock(policy, &layout));
    ruleset(&mut recipe)?;
    (recipe.namespaces, recipe.maps) = (Namespaces::None, None);
    recipe.env = env_with(|shown| &shown.from)?;
    recipe.steps = limits(&policy.limits);
    recipe.steps.push(Step::NoNewPrivileges);
    recipe.steps.extend(rules_of_machine(&layout, policy, rights)?);
    if matches!(policy.identity, Identity::Other { .. }) {
        recipe.steps.extend(become_it);
    }
    recipe.steps.extend(ending);
    // Without a network of its own, a program that shall have none makes no sockets but those of this machine's files.
    seal(&mut recipe.steps, policy, true, policy.network == Network::Shared)?;
    let program = hold_sandboxed(&recipe, &place).map_err(|failure| explain(&recipe, failure, &name))?;
    Ok(Held { program, layers: vec![Layer::Landlock, Layer::Filter], degraded, name, covers: None, layout })
}

/// Variables that tell the program where it finds what is shown to it.
fn variables(policy: &Policy, shown_at: fn(&Shown) -> &Path) -> Result<Vec<CString>> {
    let variable = |shown: &Shown| {
        let name = shown.variable.as_ref()?;
        Some(text_of(&[name.as_bytes(), b"=", shown_at(shown).as_os_str().as_bytes()].concat()))
    };
    policy.shown.iter().filter_map(variable).collect()
}

/// The private directory with its kept changes, as its program sees it, to be read; the handle is all that there is of it.
pub fn merged(kept: &Kept) -> Result<OwnedFd> {
    hand_over(kept, false)
}

/// The same to be written, while no program runs in it: what one has open would not be seen to change.
pub fn merged_writable(kept: &Kept) -> Result<OwnedFd> {
    hand_over(kept, true)
}

fn hand_over(kept: &Kept, writable: bool) -> Result<OwnedFd> {
    let own = Identity::Own { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    let (mut steps, maps) = match belay_sys::is_root() {
        // What a program wrote as somebody else is read by a namespace that knows that user.
        true => (Vec::new(), Some(compose::everybody()?)),
        false => compose::identity(&own)?,
    };
    steps.extend(compose::merged(kept, writable)?);
    let recipe = Recipe {
        namespaces: Namespaces::AllButNetwork,
        steps,
        maps,
        hand_over: Some(plain(compose::MERGED)),
        ..Recipe::default()
    };
    let name = "nothing";
    let mut held = hold_sandboxed(&recipe, |_| Ok(())).map_err(|failure| explain(&recipe, failure, name))?;
    held.take_handed_over().ok_or_else(|| Error::Unavailable { why: "no directory was handed over".to_owned() })
}

/// The recipe but for its namespaces and rules; its only step is the last but the seal, the change of directory.
fn prepare(launch: Launch) -> Result<Recipe> {
    let path = launch.env.iter().find(|(name, _)| name == b"PATH").map_or(DEFAULT_PATH, |(_, value)| value);
    let program = launch.argv.first().ok_or(Error::ZeroByte { what: "an empty command" })?;
    let programs = match program.contains(&b'/') {
        true => vec![text_of(program)?],
        false => path
            .split(|byte| *byte == b':')
            .map(|directory| text_of(&[directory, b"/", program].concat()))
            .collect::<Result<_>>()?,
    };
    let directory = text_of(launch.directory.as_os_str().as_bytes())?;
    Ok(Recipe {
        namespaces: Namespaces::None,
        steps: vec![Step::ChangeDirectory(directory)],
        ruleset: None,
        programs,
        argv: launch.argv.iter().map(|argument| text_of(argument)).collect::<Result<_>>()?,
        env: launch
            .env
            .iter()
            .map(|(name, value)| text_of(&[name, &b"="[..], value].concat()))
            .collect::<Result<_>>()?,
        stdio: launch.stdio,
        foreground: launch.foreground,
        dies_with_parent: launch.dies_with_parent,
        tracer: launch.tracer,
        hand_over: None,
        maps: None,
        enter: None,
    })
}

fn with_namespaces(policy: &Policy, layout: &Layout, recipe: &Recipe, rights: Option<&Rights>) -> Result<Vec<Step>> {
    let terminal = recipe.stdio.as_ref().and_then(|stdio| terminal_of(stdio[0].as_fd()));
    let mut steps = compose::machine(&policy.host_name, policy.network);
    steps.extend(compose::root(layout, policy, terminal.as_deref())?);
    steps.extend(limits(&policy.limits));
    steps.push(Step::NoNewPrivileges);
    if let Some(rights) = rights {
        steps.extend(rules_of_root(layout, rights)?);
    }
    Ok(steps)
}

/// Whatever cannot be undone comes last.
fn seal(steps: &mut Vec<Step>, policy: &Policy, landlock: bool, network: bool) -> Result<()> {
    if landlock {
        steps.push(Step::Restrict);
    }
    steps.push(Step::DropCapabilities);
    // Outside of the namespaces root stays root, and a file that runs as its owner would outlive the jail.
    let allowed = filter::Allowed { set_uid_files: !belay_sys::is_root(), network };
    let is_told = |errno: i32| policy.tells_refusals && errno == filter::FORBIDDEN;
    let (told, silent): (Vec<_>, Vec<_>) =
        filter::programs(allowed)?.into_iter().partition(|(errno, _)| is_told(*errno));
    steps.extend(silent.into_iter().map(|(_, program)| Step::Filter(program)));
    for (errno, otherwise) in told {
        let program = if policy.tells_paths { filter::observing(allowed)? } else { filter::told(&otherwise, errno) };
        steps.push(Step::Notify { program, otherwise });
    }
    Ok(())
}

/// A directory would be a way out that no rule knows of, by all paths that begin at it.
fn refuse_directories(streams: Option<&[OwnedFd; 3]>) -> Result<()> {
    let own = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let streams = streams.map_or(own, |given| given.each_ref().map(AsFd::as_fd));
    let is_directory = |stream: BorrowedFd<'_>| {
        let found = rustix::fs::fstat(stream);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
    };
    let names = ["input", "output", "error"];
    match streams.into_iter().zip(names).find(|(stream, _)| is_directory(*stream)) {
        Some((_, name)) => Err(Error::DirectoryAsStream { name }),
        None => Ok(()),
    }
}

fn terminal_of(stream: BorrowedFd<'_>) -> Option<PathBuf> {
    let name = rustix::termios::ttyname(stream, Vec::new()).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes())))
}

/// Rules for the composed root: everything in it can be read, and written where the grant says so.
fn rules_of_root(layout: &Layout, rights: &Rights) -> Result<Vec<Step>> {
    let rule = |path: &str, access| Step::Allow { path: plain(path), access };
    let mut steps = vec![
        rule("/", rights.read()),
        rule("/proc", rights.use_files()),
        rule("/dev", rights.use_files()),
        rule("/dev/shm", rights.write()),
        streams(rights),
    ];
    for place in &layout.places {
        if matches!(place.access, Access::Write | Access::Private | Access::Empty) {
            let access = if place.directory { rights.write() } else { rights.write_file() };
            steps.push(Step::Allow { path: text_of(place.path.as_os_str().as_bytes())?, access });
        }
    }
    Ok(steps)
}

/// The standard streams by their names; a file that was given to be read must not be written through them.
fn streams(rights: &Rights) -> Step {
    let (read, write) = (rights.read_stream(), rights.write_stream());
    Step::AllowStreams { read, write, device: rights.write_file() }
}

/// Rules for the machine's own root, where nothing is private and nothing beneath a grant can be hidden.
fn rules_of_machine(layout: &Layout, policy: &Policy, rights: &Rights) -> Result<Vec<Step>> {
    let rule = |path: &Path, access| -> Result<Step> {
        Ok(Step::Allow { path: text_of(path.as_os_str().as_bytes())?, access })
    };
    let mut steps = vec![rule(Path::new("/proc"), rights.read())?, streams(rights)];
    for device in ["full", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"] {
        let path = Path::new("/dev").join(device);
        let access = if path.is_dir() { rights.write() } else { rights.write_file() };
        steps.push(rule(&path, access)?);
    }
    for place in &layout.places {
        let access = match (place.access, place.directory) {
            (Access::Hidden | Access::Empty, _) => continue,
            (Access::Read | Access::Private, true) => rights.read(),
            (Access::Read | Access::Private, false) => rights.read_file(),
            (Access::Write, true) => rights.write(),
            (Access::Write, false) => rights.write_file(),
        };
        steps.push(rule(&place.path, access)?);
    }
    for shown in &policy.shown {
        steps.push(rule(&shown.from, rights.read_file())?);
    }
    Ok(steps)
}

/// What the policy asks for and rules on paths cannot do.
fn beyond_landlock(policy: &Policy, layout: &Layout) -> Vec<String> {
    let mut missing = vec![
        "modes, owners, times and attributes of files elsewhere can be changed, and files be seen".to_owned(),
        // The kernel asks Landlock about no socket that has a path, and a filter cannot see where one leads.
        "whoever listens at a path can be talked to, wherever it is: your session's bus, Docker, ssh-agent".to_owned(),
    ];
    if policy.network == Network::None {
        missing.push("there is no loopback interface: no socket can be made but those with a path".to_owned());
    }
    if matches!(policy.identity, Identity::Other { .. }) && !policy.shown.is_empty() {
        missing.push("belay cannot be asked from inside: its socket lies in a directory of root's alone".to_owned());
    }
    for place in &layout.places {
        let path = place.path.display();
        match (place.access, place.beneath) {
            (Access::Hidden, Some(_)) => missing.push(format!("{path} is visible, although the policy hides it")),
            (Access::Read, Some(Access::Write)) => {
                missing.push(format!("{path} can be written, although the policy says read"));
            }
            (Access::Private, _) => missing.push(format!("{path} can only be read, there is no private copy")),
            (Access::Empty, _) => missing.push(format!("{path} is not there, there are no private directories")),
            _ => {}
        }
    }
    missing
}

fn limits(limits: &Limits) -> Vec<Step> {
    let wanted = [
        (Limited::CoreBytes, Some(0)),
        (Limited::Processes, limits.processes),
        (Limited::OpenFiles, limits.open_files),
        (Limited::FileBytes, limits.file_bytes),
        (Limited::AddressBytes, limits.address_bytes),
        (Limited::CpuSeconds, limits.cpu_seconds),
    ];
    let step = |(resource, maximum): (Limited, Option<u64>)| maximum.map(|maximum| Step::Limit { resource, maximum });
    wanted.into_iter().filter_map(step).collect()
}

/// Whether the kernel, or whoever configured it, does not let us have namespaces at all.
fn says_forbidden(recipe: &Recipe, failure: &StartError) -> bool {
    match failure.stage {
        Stage::Namespaces => true,
        Stage::Execute => false,
        Stage::Step(number) => matches!(
            recipe.steps.get(number),
            Some(Step::Write { .. } | Step::HostName(_) | Step::Loopback | Step::NewRoot | Step::Mount { .. })
        ),
    }
}

fn explain(recipe: &Recipe, failure: StartError, name: &str) -> Error {
    let step = match failure.stage {
        Stage::Execute => return Error::Execute { program: name.to_owned(), source: failure.source },
        Stage::Namespaces => "make namespaces".to_owned(),
        Stage::Step(number) => recipe.steps.get(number).map_or_else(|| "do a step".to_owned(), describe),
    };
    Error::Step { step, source: failure.source }
}

fn describe(step: &Step) -> String {
    let show = |path: &std::ffi::CString| path.to_string_lossy().into_owned();
    match step {
        Step::Write { path, .. } => format!("write {}", show(path)),
        Step::Become { uid, .. } => format!("become the user {uid}"),
        Step::HostName(_) => "name the machine".to_owned(),
        Step::Loopback => "start the loopback interface".to_owned(),
        Step::NewRoot => "make a root".to_owned(),
        Step::Directory { path, .. } | Step::File { path, .. } | Step::Link { path, .. } => {
            format!("make /{}", show(path))
        }
        Step::Bind { from, to, .. } => format!("show {} at /{}", show(from), show(to)),
        Step::BindWithin { from, to, .. } | Step::Cover { from, to, .. } => {
            format!("show /{} at /{}", show(from), show(to))
        }
        Step::Mount { kind, to, .. } => format!("mount {} at /{}", show(kind), show(to)),
        Step::Seal(path) | Step::Detach(path) | Step::Remove(path) => format!("finish /{}", show(path)),
        Step::EnterRoot | Step::OpenRoot => "enter the root".to_owned(),
        Step::ChangeDirectory(path) => format!("change to {}", show(path)),
        Step::Limit { resource, maximum } => format!("limit {resource:?} to {maximum}"),
        Step::DropCapabilities => "give up privileges".to_owned(),
        Step::NoNewPrivileges => "renounce new privileges".to_owned(),
        Step::Allow { path, .. } => format!("allow {}", show(path)),
        Step::AllowStreams { .. } => "allow the standard streams".to_owned(),
        Step::Restrict => "enforce the rules of Landlock".to_owned(),
        Step::Filter(_) | Step::Notify { .. } => "filter system calls".to_owned(),
    }
}

impl Held {
    /// The program's number, as we see it; it is its last before it executes, and a tracer may attach to it.
    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// Every process of the jail so far.
    pub fn pids(&self) -> Vec<u32> {
        self.program.pids()
    }

    /// Where its refused calls are told, if the policy says so and the kernel can.
    pub fn take_refusals(&mut self) -> Option<Refusals> {
        self.program.take_refusals()
    }

    /// What must be mended while it runs, if anything of a tree that others change is hidden or protected.
    pub fn take_covers(&mut self) -> Option<Covers> {
        self.covers.take()
    }

    /// The directories that were empty at first and are its own, by their paths in the jail; they can be looked at when
    /// the program has ended. One that cannot be opened is left out.
    pub fn private(&self) -> Vec<(PathBuf, Root)> {
        if !self.layers.contains(&Layer::Namespaces) {
            return Vec::new();
        }
        let inside = PathBuf::from(format!("/proc/{}/root", self.pid()));
        let own = self.layout.places.iter().filter(|place| place.access == Access::Empty && place.directory);
        let open = |place: &places::Place| {
            let path = inside.join(place.path.strip_prefix("/").unwrap_or(&place.path));
            Some((place.path.clone(), Root::open(&path).ok()?))
        };
        own.filter_map(open).collect()
    }

    /// Makes files and directories read-only, or hides files, that lie in trees which it may write; only a jail with a
    /// root of its own can.
    pub fn guard(&mut self, files: &[(PathBuf, Access)]) -> Result<()> {
        if !files.is_empty() && self.layers.contains(&Layer::Namespaces) {
            self.covers = Some(Covers::with(self.covers.take(), &self.layout, &self.program, files)?);
        }
        Ok(())
    }

    /// What keeps it in.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// What is weaker than the policy says, and why.
    pub fn degraded(&self) -> &[String] {
        &self.degraded
    }

    /// Lets it go.
    pub fn release(self) -> Result<Running> {
        let name = self.name;
        let program =
            self.program.release().map_err(|failure| Error::Execute { program: name, source: failure.source })?;
        Ok(Running { program })
    }
}

impl Running {
    /// The program's number, as we see it.
    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// A handle that is readable once the program has ended.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.program.pidfd().as_fd()
    }

    /// Kills the program and everything that it started.
    pub fn kill(&self) -> Result<()> {
        self.program.kill().map_err(|source| Error::Program { what: "kill", source })
    }

    /// Leaves it to somebody who reaps it; ending the second process, if there is one, ends all that it started.
    pub fn leave(self) -> Result<(belay_sys::Process, Option<belay_sys::Process>)> {
        self.program.leave().map_err(|source| Error::Program { what: "find", source })
    }

    /// Waits for its end; whatever it left behind in the jail is killed.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let status = self.program.wait().map_err(|source| Error::Program { what: "wait for", source })?;
        Ok(ExitStatus::from_raw(status))
    }
}
