//! Bytes from the agent's world: a path or an argument, which need not be UTF-8.

use serde::{Deserialize, Serialize};

/// Bytes that are text in JSON where they are UTF-8, else an array of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct Raw(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes(Vec<u8>),
}

impl Raw {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, owned.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The bytes as text, with a mark wherever they are none.
    pub fn lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<Form> for Raw {
    fn from(form: Form) -> Raw {
        match form {
            Form::Text(text) => Raw(text.into_bytes()),
            Form::Bytes(bytes) => Raw(bytes),
        }
    }
}

impl From<Raw> for Form {
    fn from(raw: Raw) -> Form {
        String::from_utf8(raw.0).map_or_else(|error| Form::Bytes(error.into_bytes()), Form::Text)
    }
}

impl From<Vec<u8>> for Raw {
    fn from(bytes: Vec<u8>) -> Raw {
        Raw(bytes)
    }
}

impl From<&[u8]> for Raw {
    fn from(bytes: &[u8]) -> Raw {
        Raw(bytes.to_vec())
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Raw {
        Raw(text.as_bytes().to_vec())
    }
}
