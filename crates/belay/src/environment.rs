//! The only place that reads environment variables: where belay keeps its things, and how it should behave.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use etcetera::BaseStrategy;
use jiff::tz::TimeZone;

use crate::error::{Failure, Kind, Result};

/// The prefix of variables that override configuration keys.
const PREFIX: &str = "BELAY_";

/// Names the socket of the run that a process is confined in.
pub(crate) const AGENT_SOCKET: &str = "BELAY_AGENT_SOCK";

/// Where things are, and what the environment says about how to behave.
#[derive(Clone)]
pub(crate) struct Environment {
    /// `$BELAY_HOME`, else `$XDG_DATA_HOME/belay`, else `~/.local/share/belay`.
    pub(crate) home: PathBuf,
    /// The user's home directory, if it is known; it is not a workspace unless that is said twice.
    pub(crate) user_home: Option<PathBuf>,
    /// Where the user's configuration may be, without an ending.
    pub(crate) user_config: PathBuf,
    /// Where the organisation's configuration may be, without an ending.
    pub(crate) corp_config: PathBuf,
    /// Variables that may override configuration keys, by their name after `BELAY_`.
    pub(crate) overrides: BTreeMap<String, String>,
    /// The pager for long output, unless none is wanted.
    pub(crate) pager: Option<String>,
    /// The directories in which git looks for the user's own ignore rules.
    git_files: Option<(PathBuf, PathBuf)>,
    /// The files that git takes settings from beside a repository's, here or in another shell of this person's.
    pub(crate) git_settings: Vec<PathBuf>,
    /// The socket of the run that this process is confined in.
    pub(crate) agent_socket: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment.
    pub(crate) fn read() -> Result<Environment> {
        let strategy = etcetera::base_strategy::Xdg::new().ok();
        let own = env::var_os("BELAY_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = own.clone().or_else(|| Some(strategy.as_ref()?.data_dir().join("belay"))).ok_or_else(homeless)?;
        // BELAY_HOME overrides all: a belay that was moved there must not be steered from elsewhere.
        let user_config = match own {
            Some(own) => own.join("config"),
            None => strategy.as_ref().map(|s| s.config_dir().join("belay/config")).ok_or_else(homeless)?,
        };
        Ok(Environment {
            home: std::path::absolute(home)
                .map_err(|error| Failure::system("cannot find the current directory", &error))?,
            git_files: strategy.as_ref().map(|s| (s.home_dir().to_owned(), s.config_dir())),
            git_settings: git_settings(strategy.as_ref()),
            user_home: strategy.map(|strategy| strategy.home_dir().to_owned()),
            user_config,
            corp_config: PathBuf::from("/etc/belay/corp"),
            overrides: overrides(
                env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))),
            ),
            agent_socket: env::var_os(AGENT_SOCKET).filter(|value| !value.is_empty()).map(PathBuf::from),
            pager: pager(env::var("BELAY_PAGER").ok().or_else(|| env::var("PAGER").ok())),
        })
    }
}

impl Environment {
    /// The ignore file that git takes for all of a user's repositories.
    pub(crate) fn git_ignore(&self) -> Option<String> {
        self.git_files.as_ref().and_then(|(home, config)| git_ignore(home, config))
    }

    /// What steers belay from here: a helper that is steered otherwise must not answer.
    pub(crate) fn steering(&self) -> String {
        serde_json::json!([self.user_config, self.overrides]).to_string()
    }
}

/// The variables that belay itself goes by.
pub(crate) fn own() -> impl Iterator<Item = (OsString, OsString)> {
    let is_own = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"BELAY_") || name.starts_with(b"XDG_") || [&b"HOME"[..], b"TZ", b"PATH"].contains(&name)
    };
    env::vars_os().filter(move |(name, _)| is_own(name))
}

/// Whether this process belongs to a run, which sees what changes by itself.
pub(crate) fn is_in_run() -> bool {
    env::var_os("BELAY_RUN").is_some() || env::var_os(AGENT_SOCKET).is_some()
}

/// Each file that git might take settings from; a variable that names others does not do so for everybody.
fn git_settings(strategy: Option<&etcetera::base_strategy::Xdg>) -> Vec<PathBuf> {
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let own = strategy.map(|strategy| {
        let (home, config) = (strategy.home_dir(), strategy.config_dir());
        [home.join(".gitconfig"), home.join(".config/git/config"), config.join("git/config")]
    });
    let mut files: Vec<PathBuf> = own.into_iter().flatten().chain(["/etc/gitconfig".into()]).chain(named).collect();
    files.retain(|file| file.is_absolute());
    files.dedup();
    files
}

/// The ignore file that git takes for all of a user's repositories, wherever the user's own configuration says it is.
fn git_ignore(home: &Path, config: &Path) -> Option<String> {
    const BYTES_MAX: u64 = 1 << 20;
    let read = |path: &Path| {
        let is_sane = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= BYTES_MAX);
        is_sane.then(|| std::fs::read(path).ok()).flatten()
    };
    let settings = [home.join(".gitconfig"), config.join("git/config")];
    let said = settings.iter().find_map(|path| belay_session::excludes_file(&read(path)?));
    let path = match said.as_deref().map(|said| said.strip_prefix("~/").ok_or(said)) {
        Some(Ok(beneath)) => home.join(beneath),
        Some(Err(path)) => PathBuf::from(path),
        None => config.join("git/ignore"),
    };
    String::from_utf8(read(&path)?).ok()
}

/// The zone in which the user reads and says times; found once.
pub(crate) fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let local = || {
        if env::var_os("TZ").is_some() {
            return TimeZone::system();
        }
        // jiff would list the whole database of zones to learn the name of the local one, which nobody asks for.
        let bytes = std::fs::read("/etc/localtime").ok();
        bytes.and_then(|bytes| TimeZone::tzif("Local", &bytes).ok()).unwrap_or_else(TimeZone::system)
    };
    ZONE.get_or_init(local).clone()
}

/// The variables that steer belay, for whoever starts another one that nothing must steer.
pub(crate) fn own_variables() -> Vec<OsString> {
    env::vars_os().map(|(name, _)| name).filter(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes())).collect()
}

/// The program of that name that a shell would find.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}

fn homeless() -> Failure {
    Failure::new(Kind::System, "cannot tell where to keep snapshots: neither BELAY_HOME nor HOME is set")
        .hint("set BELAY_HOME to a directory of your own")
}

/// `BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED=capture` overrides `snapshots.exclude.gitignored`.
/// The double underscore keeps variables such as `BELAY_HOME` apart from keys.
fn overrides(variables: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    variables
        .filter_map(|(name, value)| {
            let key = name.strip_prefix(PREFIX)?;
            key.contains("__").then(|| (key.to_owned(), value))
        })
        .collect()
}

fn pager(asked: Option<String>) -> Option<String> {
    match asked {
        Some(command) if command.trim().is_empty() || command == "cat" => None,
        Some(command) => Some(command),
        None => Some("less".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_with_a_double_underscore_are_configuration() {
        let given = [("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED", "capture"), ("BELAY_HOME", "/x"), ("HOME__X", "y")];
        let found = overrides(given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        assert_eq!(found.len(), 1);
        assert_eq!(found["SNAPSHOTS__EXCLUDE__GITIGNORED"], "capture");
    }

    #[test]
    fn a_pager_can_be_chosen_or_refused() {
        assert_eq!(pager(Some(String::new())), None);
        assert_eq!(pager(Some("cat".to_owned())), None);
        assert_eq!(pager(None).as_deref(), Some("less"));
    }
}
