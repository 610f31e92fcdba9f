//! Settings files that people edit by hand, changed in place: what is not ours keeps its order, its spaces and its comments.
//!
//! Reads JSON with comments and trailing commas. Every change is a change of the text at one spot, found by parsing it.

use std::ops::Range;

use serde_json::Value;

/// Longer lines than this are spread over several.
const LINE_MAX: usize = 160;
/// Deeper files than this are nobody's settings.
const DEPTH_MAX: usize = 100;

/// Why a text is no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// What was expected there.
    pub(crate) expected: &'static str,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

#[derive(Clone, Debug)]
struct Member {
    /// From its key to its value's end.
    span: Range<usize>,
    key: String,
    value: Node,
}

/// A place in a document: keys, and numbers in lists, from the outermost.
pub(crate) type Place<'a> = &'a [&'a str];

/// Reads a text; an empty one is an empty object.
pub(crate) fn parse(text: &str) -> Result<Node, Fault> {
    let mut parser = Parser { text: text.as_bytes(), at: 0 };
    parser.blank()?;
    let node = parser.value(0)?;
    parser.blank()?;
    match parser.at == text.len() {
        true => Ok(node),
        false => Err(parser.fault("the end of the file")),
    }
}

impl Node {
    fn at(&self, place: Place<'_>) -> Option<&Node> {
        place.iter().try_fold(self, |node, key| match &node.kind {
            Kind::Object(members) => members.iter().find(|member| member.key == *key).map(|member| &member.value),
            Kind::Array(elements) => elements.get(key.parse::<usize>().ok()?),
            Kind::Scalar => None,
        })
    }

    /// The value without comments.
    fn value(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                members.iter().map(|member| (member.key.clone(), member.value.value(text))).collect()
            }
            Kind::Array(elements) => elements.iter().map(|element| element.value(text)).collect(),
            Kind::Scalar => serde_json::from_str(&text[self.span.clone()]).unwrap_or(Value::Null),
        }
    }
}

/// The value at a place, without comments.
pub(crate) fn get(text: &str, place: Place<'_>) -> Result<Option<Value>, Fault> {
    Ok(parse(text)?.at(place).map(|node| node.value(text)))
}

/// Puts a value at a place, and whatever objects are missing on the way; what is there already is replaced.
pub(crate) fn set(text: &str, place: Place<'_>, value: &Value) -> Result<String, Fault> {
    let root = parse(text)?;
    if let Some(node) = root.at(place) {
        return Ok(spliced(text, node.span.clone(), &pretty(value, indent_at(text, node.span.start))));
    }
    let depth = (0..place.len()).rev().find(|depth| root.at(&place[..*depth]).is_some()).unwrap_or(0);
    let holder = root.at(&place[..depth]).unwrap_or(&root);
    let Kind::Object(members) = &holder.kind else { return Err(fault_at(text, holder.span.start, "an object")) };
    let nested = place[depth + 1..]
        .iter()
        .rev()
        .fold(value.clone(), |value, key| Value::Object(std::iter::once(((*key).to_owned(), value)).collect()));
    let indent = indent_at(text, holder.span.start);
    let key = Value::from(place[depth]);
    let entry = format!("{key}: {}", pretty(&nested, indent + 2));
    Ok(add(text, holder, members.last().map(|member| member.span.end), &entry, indent))
}

/// Puts an element at the end of the list at a place; a list that is not there is made.
pub(crate) fn push(text: &str, place: Place<'_>, element: &Value) -> Result<String, Fault> {
    let root = parse(text)?;
    let Some(list) = root.at(place) else { return set(text, place, &Value::from(vec![element.clone()])) };
    let Kind::Array(elements) = &list.kind else { return Err(fault_at(text, list.span.start, "a list")) };
    let indent = indent_at(text, list.span.start);
    Ok(add(text, list, elements.last().map(|last| last.span.end), &pretty(element, indent + 2), indent))
}

/// Removes what is at a place; nothing is there is no fault.
pub(crate) fn remove(text: &str, place: Place<'_>) -> Result<String, Fault> {
    let root = parse(text)?;
    let Some((key, above)) = place.split_last() else { return Ok(text.to_owned()) };
    let (spans, at): (Vec<Range<usize>>, _) = match root.at(above).map(|node| &node.kind) {
        Some(Kind::Object(members)) => (
            members.iter().map(|member| member.span.clone()).collect(),
            members.iter().position(|member| member.key == *key),
        ),
        Some(Kind::Array(elements)) => (elements.iter().map(|one| one.span.clone()).collect(), key.parse().ok()),
        _ => return Ok(text.to_owned()),
    };
    match at.filter(|at| *at < spans.len()) {
        Some(at) => Ok(without(text, &spans, at)),
        None => Ok(text.to_owned()),
    }
}

/// Whether an object or a list is at a place in which nothing is, not even a remark.
pub(crate) fn is_bare(text: &str, place: Place<'_>) -> Result<bool, Fault> {
    let root = parse(text)?;
    let Some(Node { span, kind: Kind::Object(_) | Kind::Array(_) }) = root.at(place) else { return Ok(false) };
    Ok(text[span.start + 1..span.end - 1].trim().is_empty())
}

/// What a text says piece by piece, remarks included, however it is spaced and wherever commas are left out.
pub(crate) fn pieces(text: &str) -> Result<Vec<&str>, Fault> {
    parse(text)?;
    let mut parser = Parser { text: text.as_bytes(), at: 0 };
    let mut pieces = Vec::new();
    while let Some(byte) = parser.peek() {
        let start = parser.at;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                parser.at += 1;
                continue;
            }
            b'/' => parser.remark()?,
            b'"' => drop(parser.string()?),
            b'{' | b'}' | b'[' | b']' | b':' => parser.at += 1,
            _ => parser.word()?,
        }
        pieces.push(text[start..parser.at].trim_end());
    }
    Ok(pieces)
}

/// Adds an entry behind the last one, or as the first.
fn add(text: &str, holder: &Node, last: Option<usize>, entry: &str, indent: usize) -> String {
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    match last {
        Some(end) => {
            let comma = next_comma(text, end);
            let had_comma = comma > end;
            // A remark on the line of the last one stays with it.
            let line = comma + text[comma..].find('\n').unwrap_or(0);
            let at = if text[comma..line].trim_start().starts_with("//") { line } else { comma };
            let (before, after) = if had_comma { ("", ",") } else { (",", "") };
            format!("{}{before}{}\n{inner}{entry}{after}{}", &text[..comma], &text[comma..at], &text[at..])
        }
        None => {
            let at = holder.span.start + 1;
            // What stands in an empty object can only be blanks and comments, and those stay.
            let rest = text[at..holder.span.end - 1].trim_end();
            spliced(text, at..holder.span.end - 1, &format!("{rest}\n{inner}{entry}\n{outer}"))
        }
    }
}

/// Behind the comma that follows, if one does before anything else; else `at` itself.
fn next_comma(text: &str, at: usize) -> usize {
    let mut parser = Parser { text: text.as_bytes(), at };
    match parser.blank() {
        Ok(()) if parser.peek() == Some(b',') => parser.at + 1,
        _ => at,
    }
}

/// The text without one of several entries and one comma; remarks stay, and so does every line's end that closes one.
fn without(text: &str, spans: &[Range<usize>], at: usize) -> String {
    let Range { start, end } = spans[at].clone();
    let comma_behind = |span: &Range<usize>| Some(next_comma(text, span.end)).filter(|comma| *comma > span.end);
    // The last one takes the comma before it.
    let comma = comma_behind(&spans[at]).or_else(|| comma_behind(&spans[at.checked_sub(1)?]));
    let comma = comma.map(|behind| behind - 1);
    // A comma right behind it goes in one cut, so that a line that is left empty is seen to be.
    let close = comma.filter(|comma| *comma >= end && text[end..*comma].trim().is_empty());
    let end = close.map_or(end, |comma| comma + 1);
    let is_blank = |c: char| matches!(c, ' ' | '\t');
    let before = text[..start].trim_end_matches(is_blank);
    let after = text[end..].trim_start_matches([' ', '\t', '\r']);
    let cut = match (before.ends_with('\n') || before.is_empty(), after.strip_prefix('\n')) {
        (true, Some(rest)) => before.len()..text.len() - rest.len(),
        _ => before.len()..end,
    };
    match comma.filter(|_| close.is_none()) {
        Some(comma) if comma < cut.start => {
            format!("{}{}{}", &text[..comma], &text[comma + 1..cut.start], &text[cut.end..])
        }
        Some(comma) => format!("{}{}{}", &text[..cut.start], &text[cut.end..comma], &text[comma + 1..]),
        None => spliced(text, cut, ""),
    }
}

fn spliced(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// How far the line is indented that holds this place.
fn indent_at(text: &str, at: usize) -> usize {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..].bytes().take_while(|byte| *byte == b' ').count()
}

/// A value as people write it: on one line if it fits there.
fn pretty(value: &Value, indent: usize) -> String {
    let line = on_one_line(value);
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    let spread = |open: char, entries: Vec<String>, close: char| {
        format!("{open}\n{inner}{}\n{outer}{close}", entries.join(&format!(",\n{inner}")))
    };
    match value {
        _ if line.len() + indent <= LINE_MAX => line,
        Value::Object(members) if !members.is_empty() => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), pretty(value, indent + 2))
            };
            spread('{', members.iter().map(entry).collect(), '}')
        }
        Value::Array(elements) if !elements.is_empty() => {
            spread('[', elements.iter().map(|element| pretty(element, indent + 2)).collect(), ']')
        }
        _ => line,
    }
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), on_one_line(value));
            format!("{{ {} }}", members.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn fault_at(text: &str, at: usize, expected: &'static str) -> Fault {
    Fault { line: text[..at].matches('\n').count() + 1, expected }
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn fault(&self, expected: &'static str) -> Fault {
        let before = &self.text[..self.at.min(self.text.len())];
        Fault { line: before.iter().filter(|byte| **byte == b'\n').count() + 1, expected }
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), Fault> {
        match self.peek() == Some(byte) {
            true => self.at += 1,
            false => return Err(self.fault(expected)),
        }
        Ok(())
    }

    /// Skips blanks and comments.
    fn blank(&mut self) -> Result<(), Fault> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.remark()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips a comment, but not the end of its line.
    fn remark(&mut self) -> Result<(), Fault> {
        let rest = &self.text[self.at..];
        match rest {
            [b'/', b'/', ..] => self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => match rest.windows(2).skip(2).position(|pair| pair == b"*/") {
                Some(end) => self.at += end + 4,
                None => return Err(self.fault("the end of a comment")),
            },
            _ => return Err(self.fault("a comment")),
        }
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            return Err(self.fault("less depth"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.members(depth)?),
            Some(b'[') => Kind::Array(self.elements(depth)?),
            Some(b'"') => {
                self.string()?;
                Kind::Scalar
            }
            _ => {
                self.word()?;
                Kind::Scalar
            }
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, Fault> {
        self.take(b'{', "an object")?;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.blank()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(members);
            }
            let start = self.at;
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err(self.fault("each key once"));
            }
            self.blank()?;
            self.take(b':', "a colon")?;
            self.blank()?;
            let value = self.value(depth + 1)?;
            members.push(Member { span: start..self.at, key, value });
            self.comma(b'}', "a comma or }")?;
        }
    }

    fn elements(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        self.take(b'[', "a list")?;
        let mut elements = Vec::new();
        loop {
            self.blank()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(elements);
            }
            elements.push(self.value(depth + 1)?);
            self.comma(b']', "a comma or ]")?;
        }
    }

    /// What follows an entry: a comma, or the end.
    fn comma(&mut self, end: u8, expected: &'static str) -> Result<(), Fault> {
        self.blank()?;
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == end => {}
            _ => return Err(self.fault(expected)),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.take(b'"', "a text in quotes")?;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    let text = &self.text[start..self.at];
                    return serde_json::from_slice(text).map_err(|_| self.fault("a text in quotes"));
                }
                _ => self.at += 1,
            }
        }
        Err(self.fault("the end of a text"))
    }

    /// A number, true, false or null.
    fn word(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
        let is_value = serde_json::from_slice::<Value>(&self.text[start..self.at]).is_ok();
        if is_value { Ok(()) } else { Err(self.fault("a value")) }
    }
}

#[cfg(test)]
mod tests;
