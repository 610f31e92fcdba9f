//! The text of a profile: TOML, read strictly, merged with what it inherits.

use belay_jail::{Access, Limits};
use serde::Deserialize;

use super::{Profile, Rule};

/// What is wrong with a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no such profile.
    #[error("there is no profile {name}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It inherits from itself.
    #[error("the profile {name} inherits from itself")]
    Circle {
        /// The name.
        name: String,
    },
    /// It cannot be read.
    #[error("the profile {name} cannot be read")]
    Text {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A path is not one.
    #[error("in the profile {name}, {path:?} {why}")]
    Path {
        /// The name.
        name: String,
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Text {
    description: String,
    inherits: Vec<String>,
    paths: Paths,
    environment: Environment,
    network: NetworkText,
    limits: LimitsText,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Paths {
    read: Vec<String>,
    write: Vec<String>,
    private: Vec<String>,
    empty: Vec<String>,
    protect: Vec<String>,
    hide: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Environment {
    pass: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NetworkText {
    mode: Option<Mode>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Shared,
    None,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitsText {
    processes: Option<u64>,
    open_files: Option<u64>,
    file_bytes: Option<u64>,
    address_bytes: Option<u64>,
    cpu_seconds: Option<u64>,
    private_bytes: Option<u64>,
}

/// Reads a profile and everything that it inherits; what is nearer counts more.
pub(super) fn assemble<'a>(name: &str, text_of: &dyn Fn(&str) -> Option<&'a str>) -> Result<Profile, ProfileError> {
    let mut profile = Profile {
        name: name.to_owned(),
        description: String::new(),
        lineage: Vec::new(),
        rules: Vec::new(),
        variables: Vec::new(),
        // Whoever does not say gets none.
        shared_network: (false, name.to_owned()),
        limits: Limits::default(),
    };
    inherit(&mut profile, name, &mut Vec::new(), text_of)?;
    Ok(profile)
}

fn inherit<'a>(
    profile: &mut Profile,
    name: &str,
    below: &mut Vec<String>,
    text_of: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<(), ProfileError> {
    if below.iter().any(|descendant| descendant == name) {
        return Err(ProfileError::Circle { name: name.to_owned() });
    }
    if profile.lineage.iter().any(|ancestor| ancestor == name) {
        return Ok(());
    }
    let text = text_of(name).ok_or_else(|| ProfileError::Unknown { name: name.to_owned() })?;
    let text: Text = toml::from_str(text)
        .map_err(|source| ProfileError::Text { name: name.to_owned(), source: Box::new(source) })?;
    below.push(name.to_owned());
    for parent in &text.inherits {
        inherit(profile, parent, below, text_of)?;
    }
    below.pop();
    lay_over(profile, name, text)
}

fn lay_over(profile: &mut Profile, name: &str, text: Text) -> Result<(), ProfileError> {
    let Paths { read, write, private, empty, protect, hide } = text.paths;
    // Of two lists that name the same path, the stricter stands later.
    let lists = [
        (empty, Access::Empty),
        (write, Access::Write),
        (read, Access::Read),
        (private, Access::Private),
        (protect, Access::Read),
        (hide, Access::Hidden),
    ];
    for (paths, access) in lists {
        for path in paths {
            check_path(name, &path)?;
            profile.rules.push(Rule { path, access, origin: name.to_owned() });
        }
    }
    profile.variables.extend(text.environment.pass.into_iter().map(|pattern| (pattern, name.to_owned())));
    if let Some(mode) = text.network.mode {
        profile.shared_network = (mode == Mode::Shared, name.to_owned());
    }
    let (limits, said) = (&mut profile.limits, text.limits);
    limits.processes = said.processes.or(limits.processes);
    limits.open_files = said.open_files.or(limits.open_files);
    limits.file_bytes = said.file_bytes.or(limits.file_bytes);
    limits.address_bytes = said.address_bytes.or(limits.address_bytes);
    limits.cpu_seconds = said.cpu_seconds.or(limits.cpu_seconds);
    limits.private_bytes = said.private_bytes.or(limits.private_bytes);
    profile.description = text.description;
    profile.lineage.push(name.to_owned());
    Ok(())
}

fn check_path(name: &str, path: &str) -> Result<(), ProfileError> {
    let wrong = |why| Err(ProfileError::Path { name: name.to_owned(), path: path.to_owned(), why });
    if path.is_empty() {
        return wrong("is empty");
    }
    if path.split('/').any(|part| part == "..") {
        return wrong("leads upwards");
    }
    if path.contains(['*', '?', '\0']) {
        return wrong("is a pattern, and only paths can be granted");
    }
    if path.starts_with('~') && path != "~" && !path.starts_with("~/") {
        return wrong("names somebody else's home");
    }
    if path == "/" || ["/proc", "/dev"].iter().any(|own| path == *own || path.starts_with(&format!("{own}/"))) {
        return wrong("is always the jail's own");
    }
    Ok(())
}
