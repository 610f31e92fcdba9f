//! Whether the workspace's own configuration counts: trusted by the hash of its text, as direnv does.

use std::io::{self, Read};

use belay_store::Root;

use crate::config::{Format, OwnText, Settings, Sources, Text};
use crate::error::{Error, Result};
use crate::home::Home;
use crate::log::replace;
use crate::workspace::Workspace;

const FILES: [(&str, Format); 3] =
    [("belay.toml", Format::Toml), ("belay.yaml", Format::Yaml), ("belay.yml", Format::Yaml)];
const BYTES_MAX: u64 = 1 << 20;

/// What is known of a workspace's own configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It has none.
    Absent,
    /// It has one that is trusted.
    Trusted {
        /// The file's name.
        file: String,
    },
    /// It has one that is not trusted, so that only what strengthens protection counts.
    Untrusted {
        /// The file's name.
        file: String,
        /// The keys that do not count.
        ignored: Vec<String>,
    },
}

/// The settings of a workspace, and whether it is trusted.
pub(crate) fn settle(home: &Home, id: &str, root: &Root, sources: &Sources) -> Result<(Settings, Trust)> {
    let Some(text) = own_text(root) else { return Ok((Settings::resolve(sources)?, Trust::Absent)) };
    let file = text.name.clone();
    // One that cannot be in force, since another belay wrote it, must not stop the way back.
    let is_sound = Settings::check(&text).is_ok();
    let trusted = is_sound && trusted_hash(home, id)?.is_some_and(|hash| hash == hash_of(&text));
    let settings = Settings::resolve_with(sources, Some(&OwnText { text, trusted }))?;
    let ignored = settings.ignored().to_vec();
    Ok((settings, if trusted { Trust::Trusted { file } } else { Trust::Untrusted { file, ignored } }))
}

/// The workspace's configuration. One that cannot be read, is no plain file or is huge counts as none: what
/// the workspace holds must not be able to stop its own protection.
fn own_text(root: &Root) -> Option<Text> {
    let dir = root.dir_path_only(b"").ok()?;
    FILES.into_iter().find_map(|(name, format)| {
        let file = dir.open_read(name.as_bytes()).ok()?;
        let mut text = String::new();
        file.take(BYTES_MAX + 1).read_to_string(&mut text).ok()?;
        (text.len() as u64 <= BYTES_MAX).then(|| Text { name: name.to_owned(), format, text })
    })
}

/// What a workspace says of its own configuration, and what its user trusts of that: all that decides about it.
pub(crate) type OwnWord = (Option<Text>, Option<String>);

/// The word as it is now.
pub(crate) fn own_word(home: &Home, id: &str, root: &Root) -> Result<OwnWord> {
    Ok((own_text(root), trusted_hash(home, id)?))
}

fn hash_of(text: &Text) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.name.as_bytes()).update(&[0]).update(text.text.as_bytes());
    hasher.finalize().to_hex().to_string()
}

fn file_name(id: &str) -> String {
    format!("workspaces/{id}/trust")
}

fn trusted_hash(home: &Home, id: &str) -> Result<Option<String>> {
    let name = file_name(id);
    match home.disk().read(&name) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok().map(|text| text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::disk("read", name)(error)),
    }
}

impl Workspace<'_> {
    /// Whether the workspace's configuration is trusted.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The workspace's own configuration as it is now: its name and its text.
    pub fn own_configuration(&self) -> Option<(String, String)> {
        own_text(self.root()).map(|text| (text.name, text.text))
    }

    /// Whether the workspace's configuration could be in force as it is.
    pub fn check_own_configuration(&self) -> Result<()> {
        own_text(self.root()).map_or(Ok(()), |text| Settings::check(&text))
    }

    /// Trusts the workspace's configuration, which must still be `text`; false if it has changed or is gone.
    pub fn grant_trust(&self, text: &str) -> Result<bool> {
        let Some(own) = own_text(self.root()).filter(|own| own.text == text) else { return Ok(false) };
        Settings::check(&own)?;
        replace(self.home.disk(), &file_name(&self.id), hash_of(&own).as_bytes())?;
        Ok(true)
    }

    /// Withdraws the trust; false if there was none.
    pub fn revoke_trust(&self) -> Result<bool> {
        let name = file_name(&self.id);
        match self.home.disk().remove(&name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::disk("remove", name)(error)),
        }
    }
}
