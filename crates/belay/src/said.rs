//! What an agent says on standard input: one JSON document, whether or not the agent closes its end after it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

/// More than this is no event that an agent tells.
const INPUT_BYTES_MAX: usize = 64 << 20;

/// How long the end is waited for once the document is whole: hardly an agent keeps its end open, and one that still writes a
/// line's end must find somebody who reads it.
const END_TIME_MAX: Duration = Duration::from_millis(20);

/// Reads until the document is whole, the input ends, or so much time has passed.
pub(crate) fn read(patience: Duration) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    // Not the handle that buffers: what it holds back nobody can wait for.
    let mut from = File::from(stdin.as_fd().try_clone_to_owned()?);
    let (mut input, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    let until = Instant::now() + patience;
    while input.len() < INPUT_BYTES_MAX {
        let has_more = |wait: Duration| Ok::<_, io::Error>(belay_session::wait_readable(&[from.as_fd()], wait)?[0]);
        // Whether it is whole is asked only where the end is not in sight.
        if !has_more(Duration::ZERO)? {
            let (now, rest) = (Instant::now(), until.saturating_duration_since(Instant::now()));
            let wait = if is_whole(&input) { rest.min(END_TIME_MAX) } else { rest };
            match has_more(wait)? {
                true => {}
                false if now.elapsed() >= wait => break,
                // A signal is no reason to go.
                false => continue,
            }
        }
        match from.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => input.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(input)
}

fn is_whole(input: &[u8]) -> bool {
    input.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(input).is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_whole;

    #[test]
    fn a_document_is_whole_when_its_last_brace_is_there() {
        assert!(is_whole(b"{\"a\": {\"b\": 1}}\n"));
        assert!(!is_whole(b"{\"a\": {\"b\": 1}") && !is_whole(b"") && !is_whole(b"{\"a\": \"}"));
    }
}
