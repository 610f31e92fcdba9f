//! One key of a configuration file changed where it stands; everything else, remarks included, stays as somebody wrote it.
//!
//! An edit is tried and read again: it counts only if the file then says the same as before but for that key.

use std::ops::Range;

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Key, Shape};
use super::{Format, Settings, Text, Value, flatten, known, misfit, value};
use crate::error::{Error, Result};

/// A file in which one key was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The key.
    pub key: &'static str,
    /// What the file gave it before, as TOML.
    pub before: Option<String>,
    /// What it gives it now, as TOML.
    pub after: Option<String>,
    /// The file's text.
    pub text: String,
}

impl Settings {
    /// The file with a key set to what somebody typed, or without the key.
    pub fn edited(file: &Text, name: &str, typed: Option<&str>) -> Result<Edited> {
        let key = known(ORIGIN, name)?;
        let wanted = typed.map(|typed| read(key, typed)).transpose()?;
        if file.format == Format::Yaml {
            return Err(by_hand(file, key, wanted.as_ref(), "it is YAML, which belay reads and does not write"));
        }
        let found = flatten(file)?;
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).filter(|name| is_name(key, name)).collect();
        let before = found.iter().rev().find(|(name, _)| is_name(key, name));
        let before = before.map(|(_, json)| shown(key, json));
        let after = wanted.as_ref().map(|value| value.to_toml(key.shape));
        let text = match (&after, names.as_slice()) {
            (Some(after), []) => insert(file, key, after),
            (Some(after), names) => names.iter().try_fold(file.text.clone(), |text, name| replace(&text, name, after)),
            (None, names) => names.iter().try_fold(file.text.clone(), |text, name| take_out(&text, name)),
        };
        let text = text.filter(|text| says(file, key, after.as_deref(), text));
        let text = text
            .ok_or_else(|| by_hand(file, key, wanted.as_ref(), "it is written in a way that belay does not change"))?;
        Ok(Edited { key: key.name, before, after, text })
    }
}

/// Where what is wrong was said.
const ORIGIN: &str = "the command line";

fn is_name(key: &Key, name: &str) -> bool {
    keys::find(name).is_some_and(|found| found.name == key.name)
}

/// The value that somebody typed: as in a variable, and a list also as in a file.
fn read(key: &Key, typed: &str) -> Result<Value> {
    let in_file = || {
        let text = Text { name: ORIGIN.to_owned(), format: Format::Toml, text: format!("value = {typed}\n") };
        let json = value::parse(&text).ok()?.get("value")?.clone();
        Value::from_json(key.shape, &json)
    };
    let is_list = key.shape == Shape::Texts && typed.trim_start().starts_with('[');
    let value = if is_list { in_file() } else { Value::from_text(key.shape, typed) };
    value.ok_or_else(|| misfit(ORIGIN, key, &format!("{typed:?}")))
}

fn shown(key: &Key, json: &Json) -> String {
    Value::from_json(key.shape, json).map_or_else(|| json.to_string(), |value| value.to_toml(key.shape))
}

fn by_hand(file: &Text, key: &Key, wanted: Option<&Value>, why: &str) -> Error {
    let line = wanted.map(|value| format!("{} = {}", key.name, value.to_toml(key.shape)));
    Error::ConfigByHand { origin: file.name.clone(), why: why.to_owned(), key: key.name.to_owned(), line }
}

/// Whether a text says what the file says, but for the key.
fn says(file: &Text, key: &Key, after: Option<&str>, text: &str) -> bool {
    let flat = |text: &str| {
        let mut found = flatten(&Text { text: text.to_owned(), ..file.clone() }).ok()?;
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Some(found)
    };
    let (Some(old), Some(new)) = (flat(&file.text), flat(text)) else { return false };
    let others =
        |all: &[(String, Json)]| all.iter().filter(|(name, _)| !is_name(key, name)).cloned().collect::<Vec<_>>();
    let own: Vec<String> =
        new.iter().filter(|(name, _)| is_name(key, name)).map(|(_, json)| shown(key, json)).collect();
    let is_right = match after {
        Some(after) => !own.is_empty() && own.iter().all(|own| own == after),
        None => own.is_empty(),
    };
    is_right && others(&old) == others(&new)
}

/// Where the last word of a key and its value stand.
fn place(text: &str, name: &str) -> Option<(Range<usize>, Range<usize>)> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut words = name.split('.').peekable();
    while let Some(word) = words.next() {
        let (key, value) = table.iter().find(|(key, _)| key.get_ref() == word)?;
        match (words.peek(), value.get_ref()) {
            (None, _) => return Some((key.span(), value.span())),
            (Some(_), DeValue::Table(inner)) => table = inner,
            _ => return None,
        }
    }
    None
}

fn replace(text: &str, name: &str, after: &str) -> Option<String> {
    let (_, value) = place(text, name)?;
    Some(format!("{}{after}{}", &text[..value.start], &text[value.end..]))
}

/// Takes the lines out on which a key and its value stand, and nothing else.
fn take_out(text: &str, name: &str) -> Option<String> {
    let (key, value) = place(text, name)?;
    let start = text[..key.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[value.end..].find('\n').map_or(text.len(), |newline| value.end + newline + 1);
    let rest = text[value.end..end].trim();
    let is_alone = !text[start..key.start].contains(['{', '=']) && (rest.is_empty() || rest.starts_with('#'));
    is_alone.then(|| format!("{}{}", &text[..start], &text[end..]))
}

/// Puts a line in: into the table that it belongs to if the file has one, else to those before the first table.
fn insert(file: &Text, key: &Key, after: &str) -> Option<String> {
    let words: Vec<&str> = key.name.split('.').collect();
    let tables = (1..words.len()).rev().map(|depth| (Some(words[..depth].join(".")), words[depth..].join(".")));
    let places = tables.chain([(None, key.name.to_owned())]);
    let tried = places.filter_map(|(table, name)| {
        let at = end_of(&file.text, table.as_deref())?;
        let (before, rest) = file.text.split_at(at);
        let newline = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        Some(format!("{before}{newline}{name} = {after}\n{rest}"))
    });
    tried.into_iter().find(|text| says(file, key, Some(after), text))
}

/// Where the last line of a table ends that says something; of what stands before all tables if none is named.
fn end_of(text: &str, table: Option<&str>) -> Option<usize> {
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let named = |line: &str| {
        let inner = line.trim().strip_prefix('[').and_then(|rest| Some(rest.split_once(']')?.0));
        inner.map(|inner| {
            inner.split('.').map(|word| word.trim().trim_matches(['"', '\''])).collect::<Vec<_>>().join(".")
        })
    };
    let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, line))
    });
    let mut end = match table {
        Some(table) => lines.find(|(_, line)| is_header(line) && named(line).as_deref() == Some(table))?.0,
        None => 0,
    };
    let is_silent = |line: &str| line.trim().is_empty() || (table.is_some() && line.trim_start().starts_with('#'));
    for (at, line) in lines.take_while(|(_, line)| !is_header(line)) {
        if !is_silent(line) {
            end = at;
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Text {
        Text { name: "config.toml".to_owned(), format: Format::Toml, text: text.to_owned() }
    }

    fn edit(text: &str, name: &str, typed: Option<&str>) -> String {
        Settings::edited(&file(text), name, typed).unwrap_or_else(|error| panic!("{name}: {error}\n{text}")).text
    }

    #[test]
    fn a_value_changes_where_it_stands_and_remarks_stay() {
        let before = "# Mine.\nagents.hide_prompts = false # for now\n\n[snapshots]\nauto_max = 3\n# Last.\n";
        let after = edit(before, "agents.hide_prompts", Some("true"));
        assert_eq!(after, before.replace("false", "true"));
        assert_eq!(edit(before, "snapshots.auto_max", Some("7")), before.replace('3', "7"));
        assert_eq!(
            edit("snapshots = { auto_max = 3 } # x\n", "snapshots.auto_max", Some("7")),
            "snapshots = { auto_max = 7 } # x\n"
        );
        assert_eq!(edit("vm.snapshots.auto_max = 3\n", "snapshots.auto_max", Some("7")), "vm.snapshots.auto_max = 7\n");
    }

    #[test]
    fn a_key_that_is_missing_goes_where_it_belongs() {
        assert_eq!(edit("", "agents.hide_prompts", Some("yes")), "agents.hide_prompts = true\n");
        assert_eq!(edit("# Mine.\n", "agents.hide_prompts", Some("yes")), "# Mine.\nagents.hide_prompts = true\n");
        let before = "[snapshots]\nauto_max = 3\n\n# About the rest.\n[snapshots.exclude]\n  additional = [\n  '[x]',\n  ]\n\n[tracing]\n";
        let after = edit(before, "snapshots.auto_interval", Some("60"));
        assert_eq!(after, before.replace("auto_max = 3\n", "auto_max = 3\nauto_interval = 60\n"));
        let after = edit(before, "snapshots.exclude.gitignored", Some("capture"));
        assert_eq!(after, before.replace("  ]\n", "  ]\ngitignored = \"capture\"\n"));
        let after = edit(before, "snapshots.retention.budget", Some("2GiB"));
        assert_eq!(after, before.replace("auto_max = 3\n", "auto_max = 3\nretention.budget = \"2GiB\"\n"));
        assert_eq!(edit(before, "agents.hide_prompts", Some("on")), format!("agents.hide_prompts = true\n{before}"));
        assert_eq!(
            edit("agents.hide_prompts = true", "snapshots.auto_max", Some("1")),
            "agents.hide_prompts = true\nsnapshots.auto_max = 1\n"
        );
    }

    #[test]
    fn lists_are_typed_with_commas_or_as_in_a_file() {
        let all = "snapshots.exclude.additional = [\"*.tmp\", \"a b\"]\n";
        assert_eq!(edit("", "snapshots.exclude.additional", Some("*.tmp, a b")), all);
        assert_eq!(edit("", "snapshots.exclude.additional", Some("['*.tmp', \"a b\"]")), all);
        assert_eq!(edit(all, "snapshots.exclude.additional", Some("")), "snapshots.exclude.additional = []\n");
    }

    #[test]
    fn a_key_goes_with_its_lines_and_nothing_else() {
        let before = "# Mine.\nagents.hide_prompts = true # so\n[snapshots.exclude]\nadditional = [\n  'a', # why\n]\ngitignored = \"skip\"\n";
        assert_eq!(edit(before, "agents.hide_prompts", None), before.replace("agents.hide_prompts = true # so\n", ""));
        let after = edit(before, "snapshots.exclude.additional", None);
        assert_eq!(after, before.replace("additional = [\n  'a', # why\n]\n", ""));
        assert_eq!(edit(before, "snapshots.auto_max", None), before, "what is not there need not go");
    }

    #[test]
    fn what_is_wrong_or_not_to_be_changed_is_refused() {
        let refused = |text: Text, name: &str, typed: Option<&str>| Settings::edited(&text, name, typed).unwrap_err();
        let typo = refused(file(""), "snapshots.auto_maxx", Some("3"));
        assert!(
            matches!(&typo, Error::ConfigKey { nearest, .. } if nearest.contains(&"snapshots.auto_max".to_owned())),
            "{typo}"
        );
        assert!(matches!(refused(file(""), "snapshots.auto_max", Some("many")), Error::ConfigValue { .. }));
        assert!(matches!(refused(file("a = "), "snapshots.auto_max", Some("3")), Error::ConfigSyntax { .. }));
        let inline = refused(file("agents = { hide_prompts = true }\n"), "agents.hide_prompts", None);
        assert!(matches!(inline, Error::ConfigByHand { line: None, .. }), "{inline}");
        let yaml = Text { format: Format::Yaml, ..file("snapshots:\n  auto_max: 3\n") };
        let yaml = refused(yaml, "snapshots.auto_max", Some("4"));
        assert!(
            matches!(&yaml, Error::ConfigByHand { line: Some(line), .. } if line == "snapshots.auto_max = 4"),
            "{yaml}"
        );
    }
}
