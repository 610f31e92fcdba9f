//! A Rust file as the rules see it: code without strings and comments, and which lines are tests.

/// One Rust file.
pub(crate) struct Source {
    /// Its path in the project.
    pub(crate) path: String,
    /// What stands in it.
    pub(crate) text: String,
    /// The same, with the insides of strings, characters and comments blanked; line breaks stay.
    pub(crate) code: String,
    test_lines: Vec<bool>,
}

impl Source {
    pub(crate) fn new(path: &str, text: String) -> Source {
        let code = mask(&text);
        let in_tests = path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "examples"));
        let whole = in_tests || code.lines().any(|line| line == "#![cfg(test)]");
        let mut test_lines = vec![whole; code.lines().count()];
        for (first, last) in test_regions(&code) {
            let last = last.min(test_lines.len().saturating_sub(1));
            test_lines[first..=last].fill(true);
        }
        Source { path: path.to_owned(), text, code, test_lines }
    }

    /// The folder that the file is in: the crate's name, `xtask` or `bench`.
    pub(crate) fn room(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or(path)
    }

    /// Lines of code with their numbers, tests included.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Lines of code outside of tests.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(number, _)| !self.test_lines[number - 1])
    }
}

/// Whether `word` stands in `code` with no letter, digit or underscore next to it.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let joins = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    code.match_indices(word).any(|(start, _)| {
        let before = start.checked_sub(1).and_then(|index| code.as_bytes().get(index));
        let after = code.as_bytes().get(start + word.len());
        !joins(before) && !joins(after)
    })
}

/// First and last line, from zero, of each item behind a `#[cfg(test)]`.
fn test_regions(code: &str) -> Vec<(usize, usize)> {
    let line_of = |position: usize| code[..position].matches('\n').count();
    let regions = code.match_indices("#[cfg(test)]").map(|(start, _)| {
        let mut depth = 0;
        let end = code[start..].char_indices().find(|(_, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(character, '}' | ';')
        });
        (line_of(start), line_of(end.map_or(code.len(), |(offset, _)| start + offset)))
    });
    regions.collect()
}

/// Blanks everything that is not code.
fn mask(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped_at(rest, code.chars().next_back());
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let (inside, after) = rest.split_at(skipped);
            code.extend(inside.chars().map(|character| if character == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// How many bytes from here are a comment, a string or a character; zero where code begins.
fn skipped_at(rest: &str, previous: Option<char>) -> usize {
    let in_a_name = previous.is_some_and(|character| character.is_alphanumeric() || character == '_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if rest.starts_with('"') {
        return quoted(rest, '"');
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    if in_a_name {
        return 0;
    }
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len();
    let (prefix, rest) = rest.split_at(prefix);
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let raw = prefix.ends_with('r') && rest[hashes..].starts_with('"');
    let length = if raw {
        raw_string(rest, hashes)
    } else if !prefix.is_empty() && rest.starts_with('"') {
        quoted(rest, '"')
    } else if prefix == "b" && rest.starts_with('\'') {
        character(rest)
    } else {
        return 0;
    };
    prefix.len() + length
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut position = 0;
    while position < rest.len() {
        if rest[position..].starts_with("/*") {
            depth += 1;
            position += 2;
        } else if rest[position..].starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += rest[position..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, character)| {
        let ends = *character == quote && !escaped;
        escaped = *character == '\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(position, _)| position + 1)
}

fn raw_string(rest: &str, hashes: usize) -> usize {
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 1;
    rest[start..].find(&end).map_or(rest.len(), |position| start + position + end.len())
}

/// A character literal's length; a lifetime is code.
fn character(rest: &str) -> usize {
    let mut inside = rest.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => quoted(rest, '\''),
        (Some(one), Some('\'')) => 2 + one.len_utf8(),
        _ => 0,
    }
}
