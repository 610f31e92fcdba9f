//! What an operation answers: text for a model to read, and the same as data.

use serde_json::Value;

/// The answer of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) data: Value,
}

impl Reply {
    /// An answer in words and as data.
    pub(crate) fn new(text: impl Into<String>, data: Value) -> Reply {
        Reply { text: text.into(), data }
    }

    /// The same with the data as its text, if that was asked for.
    pub(crate) fn in_format(self, format: Option<&str>) -> Reply {
        match format {
            Some("json") => Reply { text: self.data.to_string(), data: self.data },
            _ => self,
        }
    }
}
