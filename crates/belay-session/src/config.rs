//! The settings and where each came from.
//!
//! Later layers win: defaults, user, trusted workspace, environment, flags; the corporate layer wins over all.
//! A workspace that is not trusted may only strengthen its protection.

mod edit;
mod keys;
mod value;

use belay_store::{Filter, Ignored, Limits};
use serde_json::Value as Json;

use crate::error::{Error, Result, chain};
use crate::nearest::nearest;
use crate::pools::PoolSizes;
pub use edit::Edited;
use keys::{KEYS, Key, Shape, Strengthens};
use value::Value;

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

impl Layer {
    /// The layer in words: `default`, a file, a variable or a flag.
    pub fn name(&self) -> &str {
        match self {
            Layer::Default => "default",
            Layer::User(name) | Layer::Workspace(name) | Layer::Env(name) | Layer::Flag(name) => name,
            Layer::Corporate(name) => name,
        }
    }
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The user's file.
    pub user: Option<Text>,
    /// The corporate file.
    pub corporate: Option<Text>,
    /// Environment variables that set keys.
    pub env: Vec<Override>,
    /// Flags that set keys.
    pub flags: Vec<Override>,
    /// Whether what is wrong is told ([`Settings::faults`]) and otherwise as if it were not there: the way back must not depend on it.
    pub lenient: bool,
}

/// The workspace's own file.
#[derive(Clone, Debug)]
pub(crate) struct OwnText {
    pub(crate) text: Text,
    pub(crate) trusted: bool,
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
    values: Vec<(Value, Layer)>,
    ignored: Vec<String>,
    faults: Vec<String>,
}

impl Settings {
    /// The settings without a workspace.
    pub fn resolve(sources: &Sources) -> Result<Settings> {
        Settings::resolve_with(sources, None)
    }

    /// The settings of a workspace that may have a file of its own.
    pub(crate) fn resolve_with(sources: &Sources, own: Option<&OwnText>) -> Result<Settings> {
        let mut settings = Settings::built_in();
        let mut faults = Vec::new();
        if let Some(text) = &sources.user {
            settings.take_text(text, Layer::User, &mut faults);
        }
        match own {
            Some(OwnText { text, trusted: true }) => settings.take_text(text, Layer::Workspace, &mut faults),
            Some(OwnText { text, trusted: false }) => settings.strengthen(text),
            None => {}
        }
        for variable in &sources.env {
            faults.extend(settings.take_override(variable, Layer::Env).err());
        }
        for flag in &sources.flags {
            faults.extend(settings.take_override(flag, Layer::Flag).err());
        }
        if let Some(text) = &sources.corporate {
            settings.take_text(text, Layer::Corporate, &mut faults);
        }
        settings.settle(faults, sources.lenient)
    }

    /// The settings, or the first thing that is wrong with them.
    fn settle(self, faults: Vec<Error>, lenient: bool) -> Result<Settings> {
        if lenient {
            return Ok(Settings { faults: faults.iter().map(chain).collect(), ..self });
        }
        faults.into_iter().next().map_or(Ok(self), Err)
    }

    /// What is wrong in the files and variables, and does not count.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Whether a file could be in force as it is: every key is known and every value fits.
    pub(crate) fn check(text: &Text) -> Result<()> {
        let (mut settings, mut faults) = (Settings::built_in(), Vec::new());
        settings.take_text(text, Layer::Workspace, &mut faults);
        settings.settle(faults, false).map(drop)
    }

    fn built_in() -> Settings {
        let text = Text { name: "default".into(), format: Format::Toml, text: include_str!("defaults.toml").into() };
        let found = flatten(&text).expect("the defaults are tested");
        let value = |key: &Key| {
            let json = &found.iter().find(|(name, _)| name == key.name).expect("the defaults are tested").1;
            Value::from_json(key.shape, json).expect("the defaults are tested")
        };
        Settings {
            values: KEYS.iter().map(|key| (value(key), Layer::Default)).collect(),
            ignored: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Every setting, by key.
    pub fn list(&self) -> Vec<Setting> {
        let setting = |(key, (value, layer)): (&'static Key, &(Value, Layer))| Setting {
            key: key.name,
            value: value.to_toml(key.shape),
            layer: layer.clone(),
            help: key.help,
        };
        KEYS.iter().zip(&self.values).map(setting).collect()
    }

    /// Keys that an untrusted workspace set and that do not count.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The key that an environment variable's name after `BELAY_` stands for: `SNAPSHOTS__RETENTION__MAX_COUNT`
    /// is `snapshots.retention.max_count`; none if it has no `__` and so means something else.
    pub fn key_of_variable(name: &str) -> Option<String> {
        name.contains("__").then(|| name.replace("__", ".").to_ascii_lowercase())
    }

    /// Takes what is right in a file; what is not is added to `faults`.
    fn take_text(&mut self, text: &Text, layer: fn(String) -> Layer, faults: &mut Vec<Error>) {
        let found = flatten(text).map_err(|error| faults.push(error)).unwrap_or_default();
        for (name, json) in found {
            let value = known(&text.name, &name).and_then(|key| {
                let value = Value::from_json(key.shape, &json);
                Ok((key, value.ok_or_else(|| misfit(&text.name, key, &json.to_string()))?))
            });
            match value {
                Ok((key, value)) => self.set(key, value, layer(text.name.clone())),
                Err(error) => faults.push(error),
            }
        }
    }

    fn take_override(&mut self, given: &Override, layer: fn(String) -> Layer) -> Result<()> {
        let key = known(&given.name, &given.key)?;
        let value = Value::from_text(key.shape, &given.value);
        let value = value.ok_or_else(|| misfit(&given.name, key, &format!("{:?}", given.value)))?;
        self.set(key, value, layer(given.name.clone()));
        Ok(())
    }

    /// Takes from an untrusted file what strengthens protection. Whatever else it says, even nonsense, only
    /// adds to the list of what does not count: a workspace must not be able to stop its own protection.
    fn strengthen(&mut self, text: &Text) {
        let Ok(found) = flatten(text) else {
            self.ignored.push(format!("all of {}", text.name));
            return;
        };
        for (name, json) in found {
            let value = keys::find(&name).and_then(|key| Some((key, Value::from_json(key.shape, &json)?)));
            let stronger = value.and_then(|(key, value)| Some((key, stronger(key, self.value(key.name), value)?)));
            match stronger {
                Some((key, value)) => self.set(key, value, Layer::Workspace(text.name.clone())),
                None => self.ignored.push(name),
            }
        }
    }

    fn set(&mut self, key: &Key, value: Value, layer: Layer) {
        let at = KEYS.iter().position(|known| known.name == key.name).expect("the key is from the table");
        self.values[at] = (value, layer);
    }

    fn value(&self, name: &str) -> &Value {
        &self.at(name).0
    }

    fn at(&self, name: &str) -> &(Value, Layer) {
        &self.values[KEYS.iter().position(|key| key.name == name).expect("names in the code are in the table")]
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        *self.value(name) == Value::Flag(true)
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Number(number) => *number,
            other => unreachable!("{name} is a number, not {other:?}"),
        }
    }

    pub(crate) fn choice(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(choice) => choice,
            other => unreachable!("{name} is a choice, not {other:?}"),
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::Texts(items) => items.clone(),
            other => unreachable!("{name} is a list, not {other:?}"),
        }
    }

    /// Whether the corporate file decides.
    pub(crate) fn is_corporate(&self, name: &str) -> bool {
        matches!(self.at(name).1, Layer::Corporate(_))
    }

    /// Where snapshots were switched off, if they were.
    pub(crate) fn disabled_by(&self) -> Option<&Layer> {
        self.flag("snapshots.disabled").then(|| &self.at("snapshots.disabled").1)
    }

    pub(crate) fn pools(&self) -> PoolSizes {
        PoolSizes {
            auto_max: self.number("snapshots.auto_max") as u32,
            manual_max: self.number("snapshots.manual_max") as u32,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            entries_max: self.number("snapshots.max_entries"),
            new_bytes_max: self.number("snapshots.max_bytes"),
            stored_bytes_max: u64::MAX,
            answer_seconds_max: self.number("snapshots.answer_seconds"),
        }
    }

    /// The filter, but for the ignore files above the workspace.
    pub(crate) fn filter(&self) -> Filter {
        let gitignored = match self.value("snapshots.exclude.gitignored") {
            _ if self.flag("snapshots.exclude.ignore_gitignore") => Ignored::Capture,
            Value::Text(choice) if choice == "skip" => Ignored::Skip,
            Value::Text(choice) if choice == "capture" => Ignored::Capture,
            _ => Ignored::Regenerable,
        };
        Filter {
            gitignored,
            additional: self.texts("snapshots.exclude.additional"),
            exclude_patterns: self.texts("snapshots.exclude.exclude_patterns"),
            exclude_globs: self.texts("snapshots.exclude.exclude_globs"),
            force_include: self.texts("snapshots.exclude.force_include"),
            regenerable_bytes_min: self.number("snapshots.exclude.regenerable_min"),
            ..Filter::default()
        }
    }
}

/// The value after an untrusted workspace asked for `asked`, if that protects more than `now`.
fn stronger(key: &Key, now: &Value, asked: Value) -> Option<Value> {
    match (key.strengthens, now, asked) {
        (Strengthens::Being(good), Value::Flag(_), Value::Flag(asked)) => (asked == good).then_some(Value::Flag(good)),
        (Strengthens::DownTo(least), Value::Number(now), Value::Number(asked)) => {
            (asked <= *now && asked >= least).then_some(Value::Number(asked))
        }
        (Strengthens::Later, Value::Text(now), Value::Text(asked)) => {
            let Shape::Choice(choices) = key.shape else { return None };
            let rank = |text: &String| choices.iter().position(|choice| choice == text);
            (rank(&asked) >= rank(now)).then_some(Value::Text(asked))
        }
        (Strengthens::Adding, Value::Texts(now), Value::Texts(asked)) => {
            let fresh = asked.into_iter().filter(|item| !now.contains(item));
            Some(Value::Texts(now.iter().cloned().chain(fresh).collect()))
        }
        _ => None,
    }
}

fn known(origin: &str, name: &str) -> Result<&'static Key> {
    keys::find(name).ok_or_else(|| Error::ConfigKey {
        origin: origin.to_owned(),
        key: name.to_owned(),
        nearest: nearest(name, keys::names()),
    })
}

fn misfit(origin: &str, key: &Key, value: &str) -> Error {
    let (origin, key, expected) = (origin.to_owned(), key.name.to_owned(), key.expected());
    Error::ConfigValue { origin, key, value: value.to_owned(), expected }
}

/// The file's values under dotted keys, in the order of the file.
fn flatten(text: &Text) -> Result<Vec<(String, Json)>> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), value::parse(text)?)];
    while let Some((prefix, json)) = pending.pop() {
        match json {
            Json::Object(table) if prefix.is_empty() || keys::is_section(&prefix) => {
                let dot = if prefix.is_empty() { "" } else { "." };
                pending.extend(table.into_iter().rev().map(|(name, json)| (format!("{prefix}{dot}{name}"), json)));
            }
            // YAML writes an empty section as `snapshots:`.
            Json::Null if keys::is_section(&prefix) => {}
            json => found.push((prefix, json)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
