//! A table of a TOML file that people edit by hand: renewed and taken out where it stands, and all else stays to the byte.
//!
//! What belongs to the table is found by parsing the file, and a change counts only if the file then says the same but for it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table beneath another one.
pub(crate) type Name<'a> = [&'a str; 2];

/// The text without a table, what is beneath it, and lines that say `mark`; none if it is written in a way that cannot be
/// taken out by lines.
pub(crate) fn without(text: &str, name: Name<'_>, mark: &str) -> Option<String> {
    let root = DeTable::parse(text).ok()?;
    let root = root.get_ref();
    let (mut all, mut own) = (Vec::new(), Vec::new());
    spans(text, root, &mut all);
    match inner(root, name)? {
        (_, DeValue::Table(table), span) if !is_inline(text, &span) => spans(text, table, &mut own),
        (key, _, span) => own.push(key.start..span.end),
    }
    let touches = |spans: &[Range<usize>], line: &Range<usize>| {
        spans.iter().any(|span| span.start < line.end && line.start < span.end)
    };
    let mut kept: Vec<&str> = Vec::new();
    let (mut at, mut is_gap) = (0, false);
    for line in text.split_inclusive('\n') {
        let place = at..at + line.len();
        at = place.end;
        let is_outside = !touches(&all, &place);
        let goes = touches(&own, &place) || (is_outside && (line.trim() == mark || is_header(line, name)));
        if goes {
            is_gap = true;
            continue;
        }
        // The blank line in front of the table was its own.
        let is_blank = |line: &str| line.trim().is_empty();
        if std::mem::take(&mut is_gap) && is_blank(line) && kept.last().is_some_and(|last| is_blank(last)) {
            kept.pop();
        }
        kept.push(line);
    }
    if is_gap && kept.last().is_some_and(|last| last.trim().is_empty()) {
        kept.pop();
    }
    let left = kept.concat();
    (rest(&left, name)? == rest(text, name)?).then_some(left)
}

/// The text with another value for a key of a table.
pub(crate) fn with_value(text: &str, name: Name<'_>, key: &str, value: &str) -> Option<String> {
    let root = DeTable::parse(text).ok()?;
    let (_, DeValue::Table(table), _) = inner(root.get_ref(), name)? else { return None };
    let (_, present) = table.iter().find(|(one, _)| one.get_ref() == key)?;
    let Range { start, end } = present.span();
    Some(format!("{}{value}{}", &text[..start], &text[end..]))
}

/// The text with a block at its end, in the line endings that it has; none if the two do not go together.
pub(crate) fn with_block(text: &str, block: &str) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    let gap = if text.is_empty() || text.ends_with(&end.repeat(2)) { "" } else { end };
    let with = format!("{text}{newline}{gap}{}", block.replace('\n', end));
    with.parse::<toml::Table>().is_ok().then_some(with)
}

type Found<'t, 'i> = (Range<usize>, &'t DeValue<'i>, Range<usize>);

fn inner<'t, 'i>(root: &'t DeTable<'i>, name: Name<'_>) -> Option<Found<'t, 'i>> {
    let (_, outer) = root.iter().find(|(key, _)| key.get_ref() == name[0])?;
    let DeValue::Table(outer) = outer.get_ref() else { return None };
    let (key, value) = outer.iter().find(|(key, _)| key.get_ref() == name[1])?;
    Some((key.span(), value.get_ref(), value.span()))
}

/// Where each key stands with its value.
fn spans(text: &str, table: &DeTable<'_>, found: &mut Vec<Range<usize>>) {
    for (key, value) in table.iter() {
        let tables: Vec<&DeTable<'_>> = match value.get_ref() {
            DeValue::Array(list) => list.iter().filter_map(|one| headed(text, one)).collect(),
            _ => headed(text, value).into_iter().collect(),
        };
        match tables.is_empty() {
            true => found.push(key.span().start..value.span().end),
            false => tables.into_iter().for_each(|inner| spans(text, inner, found)),
        }
    }
}

/// A table that has a header of its own, or is made by the keys in it.
fn headed<'t, 'i>(text: &str, value: &'t Spanned<DeValue<'i>>) -> Option<&'t DeTable<'i>> {
    match value.get_ref() {
        DeValue::Table(table) if !is_inline(text, &value.span()) => Some(table),
        _ => None,
    }
}

fn is_inline(text: &str, span: &Range<usize>) -> bool {
    text[span.start..].starts_with('{')
}

/// Whether a line is the header of a table or of one beneath it.
fn is_header(line: &str, name: Name<'_>) -> bool {
    let line = line.trim();
    let parsed = line.starts_with('[').then(|| line.parse::<toml::Table>().ok()).flatten();
    let is_there = |table: &toml::Table| table.get(name[0]).and_then(|outer| outer.get(name[1])).is_some();
    parsed.is_some_and(|table| is_there(&table))
}

/// What a text says beside the table.
fn rest(text: &str, name: Name<'_>) -> Option<toml::Table> {
    let mut all: toml::Table = text.parse().ok()?;
    if let Some(toml::Value::Table(outer)) = all.get_mut(name[0]) {
        outer.remove(name[1]);
        if outer.is_empty() {
            all.remove(name[0]);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Name<'_> = ["mcp_servers", "belay"];
    const BLOCK: &str = "# mark\n[mcp_servers.belay]\ncommand = \"/x/belay\"\nargs = [\"mcp\"]\n";

    fn left(text: &str) -> Option<String> {
        without(text, NAME, "# mark")
    }

    #[test]
    fn a_block_comes_and_goes_without_a_trace() {
        for text in
            ["", "model = \"x\"\n", "model = \"x\"", "a = 1\r\n[t]\r\nb = '''\r\n[mcp_servers.belay]\r\n'''\r\n"]
        {
            let with = with_block(text, BLOCK).unwrap();
            assert_eq!(with.parse::<toml::Table>().unwrap()["mcp_servers"]["belay"]["args"][0].as_str(), Some("mcp"));
            assert_eq!(left(&with).unwrap().trim_end(), text.trim_end(), "{with}");
            assert_eq!(with.contains("\r\n"), text.contains("\r\n"));
        }
        assert_eq!(with_block("mcp_servers = { other = { command = 'x' } }\n", BLOCK), None);
    }

    #[test]
    fn all_of_a_table_goes_however_it_is_written() {
        let (before, after) = ("# Mine.\nmodel = \"x\"\n", "\n# Also mine.\n[mcp_servers.other]\ncommand = \"y\"\n");
        for table in [
            BLOCK,
            "# mark\n[mcp_servers.belay]\ncommand = \"/x/belay\"\nargs = [\n  \"mcp\",\n  \"--read-only\", # so\n]\n",
            "# mark\n[ mcp_servers . \"belay\" ] # here\nargs = [\"mcp\"]\nstartup_timeout_sec = 20\ncommand = 'belay'\n",
            "# mark\n[mcp_servers.belay]\ncommand = \"belay\"\nargs = [\"mcp\"]\n[mcp_servers.belay.env]\nA = \"\"\"\n[x]\n\"\"\"\n",
            "[mcp_servers]\nbelay = { command = \"belay\", args = [\"mcp\"] }\n",
        ] {
            for text in [format!("{before}\n{table}{after}"), format!("{before}{after}\n{table}")] {
                for text in [text.replace('\n', "\r\n"), text] {
                    let left = left(&text).unwrap_or_else(|| panic!("not taken out of\n{text}"));
                    let parsed: toml::Table = left.parse().unwrap();
                    assert!(
                        parsed["mcp_servers"].get("belay").is_none() && parsed["model"].as_str() == Some("x"),
                        "{left}"
                    );
                    assert_eq!(parsed["mcp_servers"]["other"]["command"].as_str(), Some("y"), "{left}");
                    assert!(
                        left.contains("# Mine.") && left.contains("# Also mine.") && !left.contains("mark"),
                        "{left}"
                    );
                    assert!(
                        !left.contains("timeout") && !left.contains("read-only") && !left.contains("A ="),
                        "{left}"
                    );
                }
            }
        }
        assert_eq!(left("mcp_servers = { belay = { command = 'belay' }, other = { command = 'y' } }\n"), None);
    }

    #[test]
    fn one_value_is_renewed_where_it_stands() {
        let text = "[mcp_servers.belay]\r\nargs = [\"mcp\"]\r\ncommand = '/old/belay' # mine\r\n";
        assert_eq!(with_value(text, NAME, "command", "\"/new\"").unwrap(), text.replace("'/old/belay'", "\"/new\""));
    }
}
