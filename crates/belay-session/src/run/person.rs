//! As whom a confined command works when root starts it in a workspace that is somebody else's.
//!
//! Invariants: root is never given up for root; the command is who owns the workspace, with the groups and the home that
//! this user has anyway and nothing of root's; where that user has no home, it has an empty one that ends with the run,
//! which is said.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belay_event::{Degraded, Person};
use belay_jail::{Access, Grant, Identity, Policy};
use belay_sys::Account;

use super::confine::Den;

/// What somebody is called who has no account.
const NAMELESS: &str = "agent";
/// Where the home of somebody is shown who has none on this machine.
const HOME_OF_NOBODY: &str = "/run/belay/home";
/// More groups than this are not worth their while, and a kernel takes no more for some filesystems.
const GROUPS_MAX: usize = 1024;
/// Where belay keeps what it has of a person who never said otherwise, and the settings beside it.
const OWN_STORE: &str = ".local/share/belay";
const OWN_SETTINGS: &str = ".config/belay";

/// Who owns a workspace, for root who works in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    name: Option<String>,
    home: Option<PathBuf>,
    /// The home of whoever started belay.
    instead_of: PathBuf,
    workspace: PathBuf,
}

impl Owner {
    /// The owner of a workspace, if we are root and it is not; and whether we may become that user.
    fn of(workspace: &Path, instead_of: &Path) -> Option<(Owner, bool)> {
        if !belay_sys::is_root() {
            return None;
        }
        let found = workspace.symlink_metadata().ok().filter(|found| found.uid() != 0)?;
        let owner = Owner::from(found.uid(), found.gid(), belay_sys::account(found.uid()));
        let owner = Owner { instead_of: instead_of.to_owned(), workspace: workspace.to_owned(), ..owner };
        // A container knows some users alone, and shows the files of all others as those of nobody.
        let is_known = belay_sys::Maps::everybody().is_ok_and(|maps| maps.know(owner.uid, &owner.all_groups()));
        Some((owner, is_known))
    }

    fn from(uid: u32, gid_of_workspace: u32, account: Option<Account>) -> Owner {
        // The home of a service is often a directory of the system's, which nobody may take for its own.
        let is_own = |home: &PathBuf| {
            let found = home.symlink_metadata().ok();
            home.is_absolute() && found.is_some_and(|found| found.is_dir() && found.uid() == uid)
        };
        let home = account.as_ref().map(|account| account.home.clone()).filter(is_own);
        // Without an account nobody says which group is the user's; root's is not, whatever the directory has.
        let guess = if gid_of_workspace == 0 { uid } else { gid_of_workspace };
        let gid = account.as_ref().map_or(guess, |account| account.gid);
        let mut groups = account.as_ref().map_or_else(Vec::new, |account| account.groups.clone());
        // Root's own group is nobody else's to have: its files are what the jail keeps from the command.
        groups.retain(|group| *group != 0 && *group != gid);
        groups.truncate(GROUPS_MAX);
        let name = account.map(|account| account.name);
        Owner { uid, gid, groups, name, home, instead_of: PathBuf::new(), workspace: PathBuf::new() }
    }

    fn all_groups(&self) -> Vec<u32> {
        self.groups.iter().copied().chain([self.gid]).collect()
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(NAMELESS)
    }

    /// The home that the command has.
    pub(super) fn home(&self) -> &Path {
        self.home.as_deref().unwrap_or(Path::new(HOME_OF_NOBODY))
    }

    /// The user's and the group's number.
    pub(super) fn numbers(&self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    /// Who the command is.
    pub(super) fn identity(&self) -> Identity {
        Identity::Other { uid: self.uid, gid: self.gid, groups: self.groups.clone() }
    }

    /// The same for the record.
    pub(super) fn person(&self) -> Person {
        let home = self.home().as_os_str().as_bytes().into();
        Person { uid: self.uid, gid: self.gid, name: self.name.clone(), home }
    }

    /// The name and home that lists of users must tell, because the machine's own tell others.
    pub(super) fn listed(&self) -> Option<(&str, &Path)> {
        self.home.is_none().then(|| (self.name(), self.home()))
    }

    /// What belay has of this person too: a command that could write it would choose the jail of the next one.
    pub(super) fn protect_own(&self, policy: &mut Policy) {
        let store = self.home().join(OWN_STORE);
        policy.grants.retain(|grant| !grant.path.starts_with(&store));
        policy.grants.push(Grant::new(&store, Access::Hidden));
        policy.sealed.push(store);
        let settings = self.home().join(OWN_SETTINGS);
        if policy.decides(&settings).is_some_and(|grant| grant.access == Access::Write) {
            policy.grants.push(Grant::new(settings, Access::Read));
        }
    }

    /// The environment of the command: its own home and name, and nothing that leads into the home of whoever started it.
    pub(crate) fn dress(&self, env: &[Vec<u8>]) -> Vec<Vec<u8>> {
        const OWN: [&[u8]; 3] = [b"HOME", b"LOGNAME", b"USER"];
        const KEPT: [&[u8]; 2] = [b"PATH", b"PWD"];
        let other = (self.home() != self.instead_of && self.instead_of.parent().is_some()).then_some(&self.instead_of);
        let leads = |value: &[u8]| {
            let path = Path::new(std::ffi::OsStr::from_bytes(value));
            other.is_some_and(|other| path.starts_with(other)) && !path.starts_with(&self.workspace)
        };
        let stays = |variable: &&Vec<u8>| {
            let at = variable.iter().position(|byte| *byte == b'=').unwrap_or(variable.len());
            let (name, value) = (&variable[..at], variable.get(at + 1..).unwrap_or_default());
            !OWN.contains(&name) && (KEPT.contains(&name) || !leads(value))
        };
        let mut dressed: Vec<Vec<u8>> = env.iter().filter(stays).cloned().collect();
        let name = self.name().as_bytes();
        for (variable, value) in OWN.into_iter().zip([self.home().as_os_str().as_bytes(), name, name]) {
            dressed.push([variable, b"=", value].concat());
        }
        dressed
    }

    /// What of this is weaker than it would be for the owner at work.
    pub(super) fn told(&self) -> Option<Degraded> {
        let (uid, name) = (self.uid, self.name.as_deref());
        let who = name.map_or_else(|| format!("the user {uid}, who has no account here,"), str::to_owned);
        let why = format!(
            "{who} has no home here: the command gets an empty one that ends with it, without settings of agents and tools"
        );
        self.home.is_none().then(|| Degraded { layer: "person".into(), why })
    }

    /// What is said where nothing makes the command anybody else than root.
    pub(super) fn told_of_root(&self) -> Degraded {
        let whose = self.name.clone().unwrap_or_else(|| format!("the user {}", self.uid));
        let why = format!("the command runs as root: what it makes in the workspace of {whose} belongs to root");
        Degraded { layer: "person".into(), why }
    }
}

/// What is said where the owner of the workspace is nobody whom root could become.
pub(super) fn told_of_stranger(uid: u32) -> Degraded {
    let why = format!(
        "the workspace belongs to the user {uid}, whom this container does not know: the command stays root's without \
         privileges, and writes there only what everybody may"
    );
    Degraded { layer: "person".into(), why }
}

impl Den {
    /// The same for a workspace: whose it is decides about the home that is shown.
    pub(crate) fn at(mut self, workspace: &Path) -> Den {
        let Some((owner, is_known)) = Owner::of(workspace, &self.home) else { return self };
        if !is_known {
            self.stranger = Some(owner.uid);
            return self;
        }
        self.home = owner.home().to_owned();
        self.git.extend([".gitconfig", ".config/git/config"].map(|file| owner.home().join(file)));
        self.owner = Some(owner);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(home: &Path) -> Account {
        Account { name: "ada".into(), gid: 100, groups: vec![100, 0, 27], home: home.to_owned() }
    }

    #[test]
    fn the_owner_has_its_own_home_and_groups_and_none_of_roots() {
        let home = tempfile::tempdir().unwrap();
        let uid = home.path().metadata().unwrap().uid();
        let owner = Owner::from(uid, 7, Some(account(home.path())));
        assert_eq!((owner.home(), owner.numbers()), (home.path(), (uid, 100)));
        assert_eq!(owner.identity(), Identity::Other { uid, gid: 100, groups: vec![27] });
        assert_eq!((owner.told(), owner.listed()), (None, None));
    }

    #[test]
    fn a_home_that_is_not_the_owners_is_none() {
        let owner = Owner::from(4_000_000_123, 7, Some(account(Path::new("/usr"))));
        assert_eq!(owner.home(), Path::new(HOME_OF_NOBODY));
        assert_eq!(owner.listed(), Some(("ada", Path::new(HOME_OF_NOBODY))));
        let nobody = Owner::from(4_000_000_123, 7, None);
        assert_eq!((nobody.numbers(), nobody.name()), ((4_000_000_123, 7), NAMELESS));
        assert!(nobody.told().unwrap().why.contains("4000000123"));
    }

    #[test]
    fn nothing_leads_into_the_home_of_whoever_started_it() {
        let owner = Owner {
            instead_of: "/srv/mine".into(),
            workspace: "/srv/mine/project".into(),
            ..Owner::from(4_000_000_123, 7, None)
        };
        let env = [
            "HOME=/srv/mine",
            "USER=root",
            "PATH=/srv/mine/bin:/usr/bin",
            "PWD=/srv/mine/project",
            "CARGO_HOME=/srv/mine/.cargo",
        ];
        let more = ["HERE=/srv/mine/project/x", "XDG_CONFIG_HOME=/srv/mine/.config", "TERM=xterm", "ROOTED=/rooted"];
        let env: Vec<Vec<u8>> = env.iter().chain(&more).map(|one| one.as_bytes().to_vec()).collect();
        let dressed = owner.dress(&env);
        let dressed: Vec<&str> = dressed.iter().map(|one| std::str::from_utf8(one).unwrap()).collect();
        let expected = [
            "PATH=/srv/mine/bin:/usr/bin",
            "PWD=/srv/mine/project",
            "HERE=/srv/mine/project/x",
            "TERM=xterm",
            "ROOTED=/rooted",
            "HOME=/run/belay/home",
            "LOGNAME=agent",
            "USER=agent",
        ];
        assert_eq!(dressed, expected);
    }
}
