//! Words that a shell reads back as they were meant, whatever is in them, and that show nothing that cannot be seen.

use std::fmt::Write;

/// Characters that take no room or reorder their neighbours, so that two different names could look alike.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A word for a shell: bare, in quotes, or with the escapes of `$'…'` where it holds what cannot be shown.
pub fn shell_word(word: &[u8]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+^~".contains(c);
    let is_shown = |c: char| !c.is_control() && !is_invisible(c);
    match std::str::from_utf8(word) {
        Ok(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Ok(text) if text.chars().all(is_shown) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => escaped(word, &is_shown),
    }
}

fn escaped(word: &[u8], is_shown: &dyn Fn(char) -> bool) -> String {
    let mut out = String::from("$'");
    // By bytes, since shells do not agree on how else a character is written.
    let put = |out: &mut String, bytes: &[u8]| {
        bytes.iter().for_each(|byte| {
            let _ = write!(out, "\\x{byte:02x}");
        });
    };
    for chunk in word.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\'' => out.push_str("\\'"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if is_shown(c) => out.push(c),
                c => put(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        put(&mut out, chunk.invalid());
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        let words: [&[u8]; 9] = [
            b"plain/name.txt",
            b"",
            b"two words",
            b"it's",
            b"back\\slash \\u{202e}",
            "caf\u{e9} \u{202e}txt.exe".as_bytes(),
            b"line\nbreak\x1b[2J7",
            b"not utf8 \xff\xfe'",
            "\u{9b}\u{feff}".as_bytes(),
        ];
        for word in words {
            let shown = shell_word(word);
            assert!(!shown.chars().any(|c| c.is_control() || is_invisible(c)), "{shown}");
            let line = std::ffi::OsString::from(format!("printf %s {shown}"));
            let Ok(said) = std::process::Command::new("bash").arg("-c").arg(line).output() else { return };
            assert_eq!(said.stdout, word, "{shown}: {:?}", std::ffi::OsStr::from_bytes(&said.stderr));
        }
    }
}
