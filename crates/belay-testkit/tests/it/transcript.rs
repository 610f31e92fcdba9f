//! Placeholders stand for what changes, and for nothing else.

use belay_testkit::Transcript;
use std::path::Path;

#[test]
fn what_changes_becomes_a_placeholder() {
    let mut transcript = Transcript::new()
        .path(Path::new("/tmp/x"), "[BASE]")
        .path(Path::new("/tmp/x/workspace"), "[WORKSPACE]")
        .hide_sizes()
        .squeeze_columns();
    let said = transcript.normalise(
        "snap_b2m7t4 (before-refactor)\n\
         snap_a3f9x2     pre-run  +12 KB    2 hours ago\n\
         snap_b2m7t4     manual   1.5 MiB   just now\n\
         root 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef in 0.3 s\n\
         2026-01-02T03:04:05.678Z /tmp/x/workspace/a /tmp/x/home\n",
    );
    assert_eq!(
        said,
        "snap_000001 (before-refactor)\n\
         snap_000002  pre-run  [SIZE]  [AGE]\n\
         snap_000001  manual  [SIZE]  [AGE]\n\
         root [HASH-1] in [DURATION]\n\
         [TIME] [WORKSPACE]/a [BASE]/home\n"
    );
    assert_eq!(transcript.normalise("snap_a3f9x2"), "snap_000002");
}

#[test]
fn ordinary_words_and_numbers_stay() {
    let text = "5 snapshots, 3 files changed\n@@ -1,2 +1,2 @@\nmode 0644 -> 0755, cp-3, 10 MB\n";
    assert_eq!(Transcript::new().normalise(text), text);
}
