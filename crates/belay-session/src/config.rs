//! The settings and where each came from.
//!
//! Later layers win: defaults, user, trusted workspace, environment, flags; the corporate layer wins over all.
//! An untrusted workspace may only strengthen protection.

use crate::error::Result;

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The defaults that are built in.
    Default,
    /// The user's file.
    User(String),
    /// The workspace's file.
    Workspace(String),
    /// An environment variable.
    Env(String),
    /// A flag of the command line.
    Flag(String),
    /// The corporate file.
    Corporate(String),
}

/// How a configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// The text of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// How it is called in messages: its path.
    pub name: String,
    /// How it is written.
    pub format: Format,
    /// What it says.
    pub text: String,
}

/// An environment variable or flag that sets a key: `snapshots.retention.max_count` and `20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// How it is called in messages: `BELAY_SNAPSHOTS__RETENTION__MAX_COUNT` or `--max-count`.
    pub name: String,
    /// The key.
    pub key: String,
    /// The value as text.
    pub value: String,
}

/// Everything that the crate `belay` read for us.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The user's file.
    pub user: Option<Text>,
    /// The corporate file.
    pub corporate: Option<Text>,
    /// Environment variables that set keys.
    pub env: Vec<Override>,
    /// Flags that set keys.
    pub flags: Vec<Override>,
}

/// One setting with its value and origin, to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, `snapshots.retention.max_count`.
    pub key: &'static str,
    /// The value as TOML.
    pub value: String,
    /// Where it came from.
    pub layer: Layer,
    /// What the key means, in one sentence.
    pub help: &'static str,
}

/// The configuration in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    all: Vec<Setting>,
}

impl Settings {
    /// The settings without a workspace.
    pub fn resolve(_sources: &Sources) -> Result<Settings> {
        unimplemented!()
    }

    /// Every setting, by key.
    pub fn list(&self) -> &[Setting] {
        &self.all
    }

    /// The key that an environment variable's name after `BELAY_` stands for: `SNAPSHOTS__RETENTION__MAX_COUNT`
    /// is `snapshots.retention.max_count`; none if belay has no such key.
    pub fn key_of_variable(_name: &str) -> Option<&'static str> {
        unimplemented!()
    }
}
