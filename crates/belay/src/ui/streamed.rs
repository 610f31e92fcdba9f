//! JSON objects with lists that may be as long as a workspace has files, written without being held.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// Makes a list anew, item by item, each time it is asked.
type List<'a> = Box<dyn Fn() -> Box<dyn Iterator<Item = Value> + 'a> + 'a>;

/// An object, some of whose values are lists that are made while they are written.
#[derive(Default)]
pub(crate) struct Streamed<'a> {
    object: Map<String, Value>,
    lists: Vec<(&'static str, List<'a>)>,
}

impl<'a> Streamed<'a> {
    /// An object without lists; anything but an object is an object without values.
    pub(crate) fn new(object: Value) -> Streamed<'a> {
        match object {
            Value::Object(object) => Streamed { object, lists: Vec::new() },
            _ => Streamed::default(),
        }
    }

    /// The object with one more list.
    pub(crate) fn list<I: Iterator<Item = Value> + 'a>(
        mut self,
        key: &'static str,
        items: impl Fn() -> I + 'a,
    ) -> Self {
        self.object.insert(key.to_owned(), Value::Null);
        self.lists.push((key, Box::new(move || Box::new(items()))));
        self
    }
}

impl Serialize for Streamed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.object.len()))?;
        for (key, value) in &self.object {
            match self.lists.iter().find(|(name, _)| name == key) {
                Some((_, list)) => map.serialize_entry(key, &Items(list))?,
                None => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

struct Items<'a, 'b>(&'b List<'a>);

impl Serialize for Items<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_streamed_object_reads_as_one_that_is_held() {
        let held = json!({ "a": 1, "list": [1, 2, 3], "none": [], "z": { "b": null } });
        let numbers = [1, 2, 3];
        let streamed = Streamed::new(json!({ "z": { "b": null }, "a": 1 }))
            .list("none", std::iter::empty)
            .list("list", || numbers.iter().map(|number| json!(number)));
        assert_eq!(serde_json::to_string(&streamed).unwrap(), held.to_string());
    }
}
