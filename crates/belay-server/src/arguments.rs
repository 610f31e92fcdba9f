//! The parameters of an operation: their schema for whoever asks, and the check of what was given.
//!
//! Nothing is guessed: an unknown parameter, a wrong type or a value out of range is an error that says what is expected.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    /// A whole number from the first to the second.
    Number(u64, u64),
    Flag,
    Texts,
    Choice(&'static [&'static str]),
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

/// Texts longer than this are nobody's path or name.
const TEXT_BYTES_MAX: usize = 1 << 16;
const TEXTS_MAX: usize = 10_000;

/// The JSON schema of an operation's input.
pub(crate) fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    for parameter in parameters {
        let mut property = match parameter.shape {
            Shape::Text => json!({ "type": "string" }),
            Shape::Number(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Shape::Flag => json!({ "type": "boolean" }),
            Shape::Texts => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
            Shape::Choice(choices) => json!({ "type": "string", "enum": choices }),
        };
        property["description"] = parameter.doc.into();
        properties.insert(parameter.name.to_owned(), property);
    }
    let required: Vec<&str> = parameters.iter().filter(|one| one.required).map(|one| one.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// Arguments that fit their parameters.
#[derive(Debug, Default)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    /// All of them as they were given.
    pub(crate) fn preview(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// Checks what was given; a parameter that is null counts as not given.
    pub(crate) fn check(parameters: &[Parameter], mut given: Map<String, Value>) -> Result<Arguments> {
        given.retain(|_, value| !value.is_null());
        for (name, value) in &given {
            let Some(parameter) = parameters.iter().find(|one| one.name == name) else {
                let known: Vec<&str> = parameters.iter().map(|one| one.name).collect();
                let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
                return Err(Error::Arguments(format!("there is no parameter {name:?}; the parameters: {known}")));
            };
            if let Some(expected) = fault(parameter.shape, value) {
                return Err(Error::Arguments(format!("{name} must be {expected}")));
            }
        }
        match parameters.iter().find(|one| one.required && !given.contains_key(one.name)) {
            Some(missing) => Err(Error::Arguments(format!("{} is required: {}", missing.name, missing.doc))),
            None => Ok(Arguments(given)),
        }
    }

    /// A text that may be absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A text that the schema requires.
    pub(crate) fn required(&self, name: &str) -> &str {
        self.text(name).expect("the check saw that it is there")
    }

    /// A number that may be absent.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole)
    }

    /// A flag; absent means no.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A list of texts; absent means none.
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }
}

/// A whole number; to JSON Schema 3.0 is one, and clients in whose language every number has a point send it so.
fn whole(value: &Value) -> Option<u64> {
    let of_float = |number: f64| (number.fract() == 0.0 && number >= 0.0).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(of_float))
}

/// What was expected instead, if the value does not fit.
fn fault(shape: Shape, value: &Value) -> Option<String> {
    let is_text =
        |value: &Value| value.as_str().is_some_and(|text| text.len() <= TEXT_BYTES_MAX && !text.contains('\0'));
    let (fits, expected) = match shape {
        Shape::Text => (is_text(value), "a text of at most 65,536 bytes and without NUL".to_owned()),
        Shape::Number(min, max) => (
            whole(value).is_some_and(|number| (min..=max).contains(&number)),
            format!("a whole number from {min} to {max}"),
        ),
        Shape::Flag => (value.is_boolean(), "true or false".to_owned()),
        Shape::Texts => (
            value
                .as_array()
                .is_some_and(|list| !list.is_empty() && list.len() <= TEXTS_MAX && list.iter().all(is_text)),
            "a list of texts that is not empty".to_owned(),
        ),
        Shape::Choice(choices) => (value.as_str().is_some_and(|text| choices.contains(&text)), choices.join(" or ")),
    };
    (!fits).then_some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter { name: "path", shape: Shape::Text, required: true, doc: "a path" },
        Parameter { name: "count", shape: Shape::Number(1, 9), required: false, doc: "how many" },
        Parameter { name: "names", shape: Shape::Texts, required: false, doc: "which" },
        Parameter { name: "format", shape: Shape::Choice(&["text", "json"]), required: false, doc: "how" },
    ];

    fn check(given: Value) -> Result<Arguments, String> {
        let given = given.as_object().unwrap().clone();
        Arguments::check(PARAMETERS, given).map_err(|error| error.to_string())
    }

    #[test]
    fn what_fits_is_taken_and_null_is_not_given() {
        let arguments = check(json!({"path": "a", "count": 3, "names": ["x"], "format": null})).unwrap();
        assert_eq!(arguments.required("path"), "a");
        assert_eq!(arguments.number("count"), Some(3));
        assert_eq!(arguments.texts("names"), ["x"]);
        assert_eq!(arguments.text("format"), None);
        assert_eq!(
            check(json!({"path": "a", "count": 3.0})).unwrap().number("count"),
            Some(3),
            "as JSON Schema has it"
        );
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        for (given, expected) in [
            (json!({}), "path is required: a path"),
            (json!({"path": null}), "path is required: a path"),
            (json!({"path": 1}), "path must be a text of at most 65,536 bytes and without NUL"),
            (json!({"path": "a\0b"}), "path must be a text of at most 65,536 bytes and without NUL"),
            (json!({"path": "a", "count": 0}), "count must be a whole number from 1 to 9"),
            (json!({"path": "a", "count": -1}), "count must be a whole number from 1 to 9"),
            (json!({"path": "a", "count": 1.5}), "count must be a whole number from 1 to 9"),
            (json!({"path": "a", "count": 1e300}), "count must be a whole number from 1 to 9"),
            (json!({"path": "a", "count": "3"}), "count must be a whole number from 1 to 9"),
            (json!({"path": "a", "names": []}), "names must be a list of texts that is not empty"),
            (json!({"path": "a", "names": [1]}), "names must be a list of texts that is not empty"),
            (json!({"path": "a", "format": "xml"}), "format must be text or json"),
            (
                json!({"path": "a", "pth": "b"}),
                "there is no parameter \"pth\"; the parameters: path, count, names, format",
            ),
        ] {
            assert_eq!(check(given.clone()).unwrap_err(), expected, "{given}");
        }
    }

    #[test]
    fn the_schema_forbids_what_the_check_refuses() {
        let schema = schema(PARAMETERS);
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["count"]["maximum"], json!(9));
    }
}
