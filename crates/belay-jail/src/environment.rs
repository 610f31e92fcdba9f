//! The environment of a confined program: only what an allow-list names.
//!
//! Invariants: a name ending in `*` allows every name that begins with the rest; a pattern that begins with `!` forbids,
//! whatever others allow.

/// The variables whose names the patterns allow, in their order.
pub fn scrub<'a>(
    variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    patterns: &[impl AsRef<str>],
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let allowed = |name: &[u8]| {
        let (forbidding, allowing): (Vec<&str>, Vec<&str>) =
            patterns.iter().map(AsRef::as_ref).partition(|pattern| pattern.starts_with('!'));
        allowing.iter().any(|pattern| matches(pattern, name))
            && !forbidding.iter().any(|pattern| matches(&pattern[1..], name))
    };
    variables
        .into_iter()
        .filter(|(name, _)| allowed(name))
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect()
}

fn matches(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == pattern.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_passes_and_a_ban_wins() {
        let variables: [(&[u8], &[u8]); 5] = [
            (b"PATH", b"/usr/bin"),
            (b"LC_ALL", b"C"),
            (b"AWS_SECRET_ACCESS_KEY", b"x"),
            (b"LC_SECRET", b"y"),
            (b"PATHS", b"z"),
        ];
        let kept = scrub(variables, &["PATH", "LC_*", "!LC_SECRET"]);
        let names: Vec<&[u8]> = kept.iter().map(|(name, _)| name.as_slice()).collect();
        assert_eq!(names, [&b"PATH"[..], b"LC_ALL"]);
    }
}
