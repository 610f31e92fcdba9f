//! What a confined command can reach here, why, and what would change that: one answer for `belay why` and for what a
//! run was refused.
//!
//! Invariants: what is said of a path is read from the layout that the jail is composed of; no rule is proposed that would
//! open what stays closed, or that would change nothing.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use belay_event::Raw;
use belay_jail::{Access, Policy, Seen, Sight, Wanted};
use rustix::fs::Access as Permission;

use crate::error::{Error, Result, chain_of};
use crate::profile::{Ground, Profile, Rule, Why};
use crate::run::{Confinement, Den, Reach, policy_at, shown_in_general};
use crate::secrets;
use crate::shell::shell_word;

const NOENT: i32 = rustix::io::Errno::NOENT.raw_os_error();
const ACCES: i32 = rustix::io::Errno::ACCESS.raw_os_error();
const ROFS: i32 = rustix::io::Errno::ROFS.raw_os_error();

const BELAYS_OWN: &str = "belay's own directory is out of reach for every command";
const JAILS_OWN: &str = "/proc and /dev are made for each jail";

/// Everything that decides about paths in one jail.
#[derive(Debug)]
pub struct Reasons {
    sight: Sight,
    profile: Profile,
    flags: Vec<(PathBuf, Reach)>,
    workspace: PathBuf,
    home: PathBuf,
    belay: PathBuf,
    settings: PathBuf,
    is_apart: bool,
    guarded: HashMap<PathBuf, Access>,
    /// What grants say of paths of the workspace, itself among them; of two for the same the later one counts.
    inside: Vec<(PathBuf, Access)>,
}

/// A path that a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) path: PathBuf,
    pub(crate) closed: Option<String>,
    pub(crate) absent: bool,
    /// What the command was told, if nobody saw it.
    pub(crate) errno: i32,
}

impl Reasons {
    /// Those of a jail that works at a path.
    pub fn of(wanted: &Confinement, den: &Den, belay: &Path, at: &Path) -> Result<Reasons> {
        let den = den.clone().at(at);
        let (mut policy, _) = policy_at(wanted, &den, belay, at, None)?;
        policy.shown = shown_in_general();
        Reasons::under(&policy, wanted, &den, belay, at)
    }

    /// Those of this policy.
    pub(crate) fn under(policy: &Policy, wanted: &Confinement, den: &Den, belay: &Path, at: &Path) -> Result<Reasons> {
        let why = |why: String| Error::Confinement { why };
        let profile = den.profiles.get(&wanted.profile).map_err(|error| why(error.to_string()))?;
        let sight = Sight::of(policy).map_err(|error| why(chain_of(&error)))?;
        let mut inside: Vec<(PathBuf, Access)> = Vec::new();
        for (path, access) in sight.named().filter(|(path, _)| path.starts_with(at)) {
            inside.retain(|(other, _)| other != path);
            inside.push((path.to_owned(), access));
        }
        let flag = |(path, reach): &(Raw, Reach)| (PathBuf::from(std::ffi::OsStr::from_bytes(path.bytes())), *reach);
        Ok(Reasons {
            sight,
            profile,
            flags: wanted.paths.iter().map(flag).collect(),
            workspace: at.to_owned(),
            home: den.home.clone(),
            belay: belay.to_owned(),
            settings: den.settings.clone(),
            is_apart: !policy.kept.is_empty(),
            guarded: HashMap::new(),
            inside,
        })
    }

    /// Whether a flag or a rule names this path of the workspace, or a directory around it; the workspace itself is
    /// named by a flag alone.
    pub(crate) fn is_named(&self, path: &Path) -> bool {
        let is_flagged = |path: &Path| self.flags.iter().any(|(flag, _)| flag == path);
        let inside = path.ancestors().take_while(|above| *above != self.workspace);
        let mut inside = inside.filter(|above| above.starts_with(&self.workspace));
        inside.any(|above| is_flagged(above) || self.rule(above).is_some()) || is_flagged(&self.workspace)
    }

    /// Whether a flag names something beneath this path.
    pub(crate) fn is_named_within(&self, path: &Path) -> bool {
        self.flags.iter().any(|(flag, _)| flag.starts_with(path))
    }

    /// Whether a flag names exactly this path.
    pub(crate) fn has_flag(&self, path: &Path) -> bool {
        self.flags.iter().any(|(flag, _)| flag == path)
    }

    /// What rules and flags say of a path of the workspace.
    pub(crate) fn rules_say(&self, path: &Path) -> Access {
        let around = self.inside.iter().filter(|(rule, _)| path.starts_with(rule));
        around.max_by_key(|(rule, _)| rule.components().count()).map_or(Access::Write, |(_, access)| *access)
    }

    /// The paths of the workspace that rules and flags name, and what they say.
    pub(crate) fn inside(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.inside.iter().map(|(path, access)| (path.as_path(), *access))
    }

    /// Files of the workspace, and directories with all that is in them, that can only be read, or files that are
    /// hidden, whatever the rules say.
    pub(crate) fn guard(&mut self, paths: Vec<(PathBuf, Access)>) {
        self.guarded = paths.into_iter().collect();
    }

    fn see(&self, path: &Path) -> Seen {
        let seen = self.sight.see(path);
        let guarded = || seen.path.ancestors().find_map(|above| self.guarded.get_key_value(above));
        match (!self.guarded.is_empty()).then(guarded).flatten() {
            Some((path, access)) if *access == Access::Hidden || seen.access == Access::Write => {
                Seen { access: *access, grant: Some(path.clone()), ..seen.clone() }
            }
            _ => seen,
        }
    }

    /// What the jail shows.
    pub(crate) fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Why a path, which is absolute, is as it is.
    pub fn why(&self, path: &Path) -> Why {
        if is_jails_own(path) {
            return Why::always("the jail's own", JAILS_OWN);
        }
        let seen = self.see(path);
        if is_jails_own(&seen.path) {
            return Why::always("the jail's own", JAILS_OWN);
        }
        if self.is_belays(path) || self.is_belays(&seen.path) {
            return Why::always("hidden", BELAYS_OWN);
        }
        let (rule, origin) = self.says(&seen);
        let wanted = if seen.access == Access::Read { Wanted::Write } else { Wanted::Read };
        let name = word(&seen.path);
        let is_open = seen.allows(Wanted::Write);
        let closed = if is_open { None } else { self.closed(&seen, wanted) };
        let instead = match () {
            () if is_open && seen.grant.as_deref() == Some(&self.workspace) => Some(format!("--hide {name}")),
            () if is_open || closed.is_some() => None,
            () if wanted == Wanted::Write && !seen.is_there => Some(format!("--rw {name}, once something is there")),
            () if wanted == Wanted::Write => Some(format!("--rw {name}")),
            () if seen.is_there => Some(format!("--ro {name} or --rw {name}")),
            () => Some(format!("--ro {name} or --rw {name}, once something is there")),
        };
        Why { decision: self.decision(&seen).to_owned(), rule, origin, instead, closed }
    }

    fn decision(&self, seen: &Seen) -> &'static str {
        match seen.access {
            Access::Read => "can be read",
            Access::Write if seen.grant.as_deref() == Some(&self.workspace) && has_several_names(&seen.path) => {
                "can be written, or only be read if another name of it lies outside of the workspace"
            }
            Access::Write => "can be written",
            Access::Private if self.is_apart && seen.path.starts_with(&self.workspace) => {
                "can be written, apart from the workspace"
            }
            Access::Private => "a private copy, changes end with the run",
            Access::Empty if seen.is_way || !seen.is_there => "private and empty at first",
            Access::Hidden if seen.is_way => "a directory of the jail's own, with nothing but what is granted in it",
            Access::Hidden | Access::Empty => "hidden",
        }
    }

    /// The rule that decides, and which profile or flag says so.
    fn says(&self, seen: &Seen) -> (String, Option<String>) {
        let Some(grant) = &seen.grant else { return ("no rule names it".to_owned(), None) };
        let plain = |text: &str| (text.to_owned(), None);
        if let Some((path, reach)) = self.flags.iter().rev().find(|(path, _)| path == grant) {
            return (format!("{} {}", flag_of(*reach), word(path)), None);
        }
        match self.rule(grant) {
            Some(rule) => (rule.path.clone(), Some(rule.origin.clone())),
            None if *grant == self.workspace => match &seen.unprotected {
                Some(absent) => (format!("{} would be protected if it were there", word(absent)), None),
                None => plain("the workspace can be written"),
            },
            None if self.settings.starts_with(grant) || grant.starts_with(&self.settings) => {
                plain("belay's settings can only be read")
            }
            None if self.guarded.get(grant) == Some(&Access::Hidden) => {
                plain("a file is hidden if another name of it is")
            }
            None if self.guarded.contains_key(grant) => {
                plain("a file that has a name elsewhere too, or one that can only be read, can only be read")
            }
            None if seen.access == Access::Hidden && is_socket(grant) => {
                plain("somebody listens there, and the profile has no network")
            }
            None if grant.starts_with(&self.workspace) => {
                plain("git takes settings or programs from there, and those of the repository are protected")
            }
            None if grant.starts_with("/etc") => plain("what only root may read in /etc is hidden"),
            None => plain("what a filesystem keeps of a workspace is belay's"),
        }
    }

    fn rule(&self, grant: &Path) -> Option<&Rule> {
        let ground = Ground { workspace: &self.workspace, home: &self.home, belay: &self.belay };
        self.profile.rule_at(grant, &ground)
    }

    /// Whether the jail lets a call have what it wants of a path.
    pub(crate) fn allows(&self, path: &Path, wanted: Wanted) -> bool {
        path.starts_with("/proc") || (is_jails_own(path) && !is_machines_device(path)) || self.see(path).allows(wanted)
    }

    /// What a failed call comes to; nothing if the jail was not the reason.
    ///
    /// `inside` says whether something is at a path inside; it counts where nobody saw how the call failed.
    pub(crate) fn judge(
        &self,
        path: &Path,
        wanted: Wanted,
        errno: Option<i32>,
        inside: impl Fn(&Path) -> bool,
    ) -> Option<Judged> {
        if self.allows(path, wanted) {
            return None;
        }
        let seen = self.see(path);
        let expected = match seen.access {
            Access::Read => ROFS,
            Access::Hidden if seen.grant.is_some() && !seen.is_way => ACCES,
            _ => NOENT,
        };
        let is_masked = expected == ACCES;
        let parent = seen.path.parent().unwrap_or(Path::new("/"));
        let refused = match (seen.access, wanted) {
            (Access::Read, _) => errno != Some(NOENT),
            _ if is_masked => true,
            (_, Wanted::Read) => seen.is_there && (errno.is_some() || !inside(&seen.path)),
            _ if !seen.is_there && parent.symlink_metadata().is_err() => false,
            // What is private can be made there, if its directory is there; in the bare root nothing can. A directory of
            // the jail's own surely is there, so whoever does not find a name in it looked for what is nowhere.
            (Access::Empty, Wanted::Write) if !seen.is_there && self.see(parent).is_way => {
                errno.is_some_and(|errno| errno != NOENT)
            }
            (Access::Empty, Wanted::Write) => errno.is_some() || !inside(parent),
            (_, Wanted::Write) => true,
        };
        refused.then(|| Judged {
            closed: self.closed(&seen, wanted),
            absent: !seen.is_there,
            errno: errno.unwrap_or(expected),
            path: seen.path,
        })
    }

    /// Why nothing is proposed that would open a path.
    fn closed(&self, seen: &Seen, wanted: Wanted) -> Option<String> {
        let path = &seen.path;
        if self.is_belays(path) {
            return Some(BELAYS_OWN.to_owned());
        }
        if is_jails_own(path) {
            return Some(JAILS_OWN.to_owned());
        }
        if [&self.home, &self.workspace, &self.belay].iter().any(|place| place.starts_with(path)) {
            return Some(
                "your home, the workspace or belay's directory lies in it; name what is wanted of it".to_owned(),
            );
        }
        if wanted == Wanted::Write && (path.starts_with(&self.settings) || self.settings.starts_with(path)) {
            return Some("who can write belay's settings chooses the next jail".to_owned());
        }
        if seen.access == Access::Hidden && !seen.is_way && seen.grant.is_some() {
            let (rule, origin) = self.says(seen);
            let by = origin.map(|origin| format!(" of the profile {origin}")).unwrap_or_default();
            return Some(format!("it is hidden on purpose, by the rule {rule}{by}"));
        }
        if let Some(why) = secrets::closed(path, &self.home) {
            let flag = if wanted == Wanted::Read { "--ro" } else { "--rw" };
            return Some(format!("{why}, so opening it ({flag}) is left to you"));
        }
        let permits = match (wanted, seen.is_there) {
            (Wanted::Read, _) => is_permitted(path, Permission::READ_OK) || is_permitted(path, Permission::EXEC_OK),
            (Wanted::Write, true) => is_permitted(path, Permission::WRITE_OK),
            (Wanted::Write, false) => path.parent().is_some_and(|parent| is_permitted(parent, Permission::WRITE_OK)),
        };
        let is_known = seen.is_there || wanted == Wanted::Write;
        let what = if wanted == Wanted::Read { "reading" } else { "writing" };
        (is_known && !permits).then(|| format!("your own permissions do not allow {what} it either"))
    }

    fn is_belays(&self, path: &Path) -> bool {
        path.starts_with(&self.belay)
    }
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// A path as a shell reads it back.
fn word(path: &Path) -> String {
    shell_word(path.as_os_str().as_bytes())
}

fn has_several_names(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

fn flag_of(reach: Reach) -> &'static str {
    match reach {
        Reach::Read => "--ro",
        Reach::Write => "--rw",
        Reach::Hide => "--hide",
    }
}

fn is_jails_own(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/dev")
}

/// Whether it is a device of the machine that no jail has.
fn is_machines_device(path: &Path) -> bool {
    const EVERYWHERE: [&str; 14] = [
        "full", "null", "random", "tty", "urandom", "zero", "fd", "ptmx", "pts", "stderr", "stdin", "stdout", "shm",
        "console",
    ];
    let Some(name) = path.strip_prefix("/dev").ok().and_then(|rest| rest.iter().next()) else { return false };
    !EVERYWHERE.iter().any(|known| name == *known) && path.symlink_metadata().is_ok()
}

fn is_permitted(path: &Path, permission: Permission) -> bool {
    // A filesystem that can only be read is one more reason, and not one of the jail's.
    rustix::fs::access(path, permission).is_ok()
}
