//! Values of settings: read from TOML, YAML or plain text, and written as TOML.

use serde_json::Value as Json;

use super::keys::Shape;
use super::{Format, Text};
use crate::error::{Error, Result};
use crate::times::parse_size;

/// A value that fits its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Flag(bool),
    Number(u64),
    Text(String),
    Texts(Vec<String>),
}

impl Value {
    /// The value of that shape, unless it is of another.
    pub(crate) fn from_json(shape: Shape, json: &Json) -> Option<Value> {
        match (shape, json) {
            (Shape::Flag, Json::Bool(flag)) => Some(Value::Flag(*flag)),
            (Shape::Number(max), Json::Number(number)) => number.as_u64().filter(|n| *n <= max).map(Value::Number),
            (Shape::Size, Json::Number(number)) => number.as_u64().map(Value::Number),
            (Shape::Size, Json::String(text)) => parse_size(text).ok().map(Value::Number),
            (Shape::Choice(choices), Json::String(text)) => {
                choices.contains(&text.as_str()).then(|| Value::Text(text.clone()))
            }
            (Shape::Texts, Json::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().map(Value::Texts)
            }
            _ => None,
        }
    }

    /// The value of that shape from a variable or flag; a list is separated by commas.
    pub(crate) fn from_text(shape: Shape, text: &str) -> Option<Value> {
        let text = text.trim();
        let json = match shape {
            Shape::Flag => Json::Bool(match text {
                "true" | "1" | "yes" | "on" => true,
                "false" | "0" | "no" | "off" => false,
                _ => return None,
            }),
            Shape::Number(_) => Json::Number(text.parse::<u64>().ok()?.into()),
            Shape::Size | Shape::Choice(_) => Json::String(text.to_owned()),
            Shape::Texts => text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Json::from).collect(),
        };
        Value::from_json(shape, &json)
    }

    /// The value as it would stand in a TOML file.
    pub(crate) fn to_toml(&self, shape: Shape) -> String {
        match self {
            Value::Flag(flag) => flag.to_string(),
            Value::Number(bytes) if shape == Shape::Size => quoted(&size_text(*bytes)),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => quoted(text),
            Value::Texts(items) => {
                format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The largest binary unit in which the size is a whole number.
fn size_text(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = units.iter().find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    fits.map_or_else(|| format!("{bytes}B"), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

/// Reads a file's text into nested tables.
pub(crate) fn parse(text: &Text) -> Result<Json> {
    let bad = |detail: String| Error::ConfigSyntax { origin: text.name.clone(), detail };
    let json = match text.format {
        Format::Toml => {
            let table: toml::Table = text.text.parse().map_err(|error: toml::de::Error| bad(error.to_string()))?;
            serde_json::to_value(table).map_err(|error| bad(error.to_string()))?
        }
        Format::Yaml if text.text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) => {
            Json::Object(serde_json::Map::new())
        }
        Format::Yaml => serde_saphyr::from_str(&text.text).map_err(|error| bad(error.to_string()))?,
    };
    match json {
        Json::Null => Ok(Json::Object(serde_json::Map::new())),
        Json::Object(_) => Ok(json),
        _ => Err(bad("it is not a table of keys".into())),
    }
}
