//! The profiles that this person has: built in, and the files beside the configuration.

use std::path::Path;

use belay_session::{Den, Profile, ProfileError, Profiles};

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::{ui::escape, view};

/// Larger files are a mistake, and not worth the memory.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the person's own profiles; `profiles/NAME.toml` beside the configuration file.
pub(crate) fn read(context: &Context<'_>) -> Result<Profiles> {
    let directory = context.environment.user_config.with_file_name("profiles");
    let mut own = Vec::new();
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Profiles { own }),
        Err(error) => return Err(cannot_read(&directory, &error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| cannot_read(&directory, &error))?.path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
            own.push((name.to_owned(), text(&path)?));
        }
    }
    own.sort();
    Ok(Profiles { own })
}

/// What a jail is made from here.
pub(crate) fn den(context: &Context<'_>) -> Result<Den> {
    Ok(Den {
        profiles: read(context)?,
        home: context.environment.user_home.clone().unwrap_or_else(|| "/".into()),
        program: std::env::current_exe().ok(),
        settings: context.environment.user_config.with_file_name(""),
        git: context.environment.git_settings.clone(),
        owner: None,
        stranger: None,
    })
}

/// The text of a profile's file.
pub(crate) fn text(path: &Path) -> Result<String> {
    let meta = std::fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
    if !meta.is_file() {
        return Err(cannot_read(path, &std::io::Error::other("it is not a plain file")));
    }
    if meta.len() > PROFILE_BYTES_MAX {
        return Err(cannot_read(path, &std::io::Error::other("it is larger than any profile")));
    }
    std::fs::read_to_string(path).map_err(|error| cannot_read(path, &error))
}

/// The profile of that name.
pub(crate) fn get(profiles: &Profiles, name: &str) -> Result<Profile> {
    profiles.get(name).map_err(failure)
}

/// What is wrong with a profile, for people.
pub(crate) fn failure(error: ProfileError) -> Failure {
    let kind = if matches!(error, ProfileError::Unknown { .. }) { Kind::NotFound } else { Kind::Usage };
    let message = escape::printable(error.to_string().as_bytes());
    let failure = Failure::new(kind, message).untouched();
    let failure = std::error::Error::source(&error).into_iter().fold(failure, |failure, cause| failure.because(cause));
    failure.hint("`belay profile list` shows every profile")
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::named(format!("cannot read {}", view::path(path)), error).untouched()
}
