//! Pages of a list: whole items only, so that what is cut never breaks a line or a JSON document.

use serde_json::{Map, Value};

use crate::arguments::{Arguments, Parameter, Shape};
use crate::error::Result;
use crate::reply::Reply;

/// The characters of an answer unless another number is asked for.
const LENGTH_DEFAULT: u64 = 5000;

pub(crate) const START_INDEX: Parameter = Parameter {
    name: "start_index",
    shape: Shape::Number(0, u32::MAX as u64),
    required: false,
    doc: "The first item to return, counted from 0; pass the next_index of the last answer to go on.",
};
pub(crate) const MAX_LENGTH: Parameter = Parameter {
    name: "max_length",
    shape: Shape::Number(1, 1_000_000),
    required: false,
    doc: "About how many characters to return (default 5000). Items are never cut; one is always returned.",
};
pub(crate) const FORMAT: Parameter = Parameter {
    name: "format",
    shape: Shape::Choice(&["text", "json"]),
    required: false,
    doc: "text (default) or json.",
};

/// An item as a line of text and as data.
pub(crate) type Item = (String, Value);

/// A list to be answered in pages.
pub(crate) struct Paged<'a> {
    /// The key of the items in the data.
    pub(crate) key: &'a str,
    /// What is said when there are no items.
    pub(crate) none: &'a str,
    /// The items.
    pub(crate) items: Vec<Item>,
    /// The lines in front of the items.
    pub(crate) head: String,
    /// What else belongs to the data.
    pub(crate) extra: Map<String, Value>,
}

impl Paged<'_> {
    /// The page that the arguments ask for.
    pub(crate) fn reply(mut self, arguments: &Arguments) -> Reply {
        let mut items: Vec<Option<Item>> = std::mem::take(&mut self.items).into_iter().map(Some).collect();
        let reply =
            self.reply_with(arguments, items.len(), &mut |at| Ok(items[at].take().expect("each is asked once")));
        reply.expect("items that are there do not fail")
    }

    /// The same of items that are made as they are needed.
    pub(crate) fn reply_with(
        self,
        arguments: &Arguments,
        total: usize,
        item: &mut dyn FnMut(usize) -> Result<Item>,
    ) -> Result<Reply> {
        let format = arguments.text("format");
        let start = arguments.number("start_index").unwrap_or(0) as usize;
        let room = arguments.number("max_length").unwrap_or(LENGTH_DEFAULT) as usize;
        let length = |item: &Item| match format {
            Some("json") => item.1.to_string().len() + 1,
            _ => item.0.chars().count() + 1,
        };
        let mut used = 0;
        let mut page = Vec::new();
        for at in start..total {
            let item = item(at)?;
            used += length(&item);
            if used > room && !page.is_empty() {
                break;
            }
            page.push(item);
        }
        let next = Some(start + page.len()).filter(|next| *next < total);
        let mut text = self.head;
        if total == 0 {
            text.push_str(self.none);
        }
        let mut values = Vec::new();
        for (line, value) in page {
            text.push_str(&line);
            text.push('\n');
            values.push(value);
        }
        if let Some(next) = next {
            text.push_str(&format!("({} more; go on with start_index {next})\n", total - next));
        }
        let mut data = self.extra;
        data.insert(self.key.to_owned(), values.into());
        data.insert("total".to_owned(), total.into());
        data.insert("start_index".to_owned(), start.into());
        data.insert("next_index".to_owned(), next.into());
        Ok(Reply::new(text.trim_end(), data.into()).in_format(format))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(given: Value) -> Reply {
        let items = (0..10).map(|n| (format!("line {n}"), json!({ "n": n }))).collect();
        let paged = Paged { key: "items", none: "nothing", items, head: String::new(), extra: Map::new() };
        let given = given.as_object().unwrap().clone();
        paged.reply(&Arguments::check(&[START_INDEX, MAX_LENGTH, FORMAT], given).unwrap())
    }

    #[test]
    fn pages_follow_one_another_without_a_gap() {
        let (mut seen, mut at) = (Vec::new(), 0);
        loop {
            let reply = page(json!({"start_index": at, "max_length": 20, "format": "json"}));
            let parsed: Value = serde_json::from_str(&reply.text).expect("a page is JSON");
            assert_eq!(parsed, reply.data);
            seen.extend(reply.data["items"].as_array().unwrap().iter().map(|item| item["n"].as_u64().unwrap()));
            match reply.data["next_index"].as_u64() {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(seen, (0..10).collect::<Vec<u64>>());
    }

    #[test]
    fn one_item_is_returned_however_little_room_there_is_and_none_beyond_the_end() {
        assert_eq!(page(json!({"max_length": 1})).text, "line 0\n(9 more; go on with start_index 1)");
        let beyond = page(json!({"start_index": 99}));
        assert_eq!((beyond.text.as_str(), &beyond.data["next_index"]), ("", &Value::Null));
    }
}
