//! A bundle proves what it holds, without the record it came from and with parts left out.

use belay_event::{Action, Ended, Event, What};
use belay_journal::{Damage, Head, Key, Reader, Verdict, verify_bundle};

use crate::events::{ended, exec, exit, file, key, snapshot, started, writer};

fn bundle(redact: &dyn Fn(&Event) -> bool) -> String {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), snapshot(1, "pre-run", None), exec(2, 1, &["curl", "--token", "s3cret"])]);
    writer.append(vec![file(3, Action::Created, "a"), exit(4, 1, Ended::Code(0)), ended()]);
    writer.finish().unwrap();
    let mut out = Vec::new();
    Reader::open(dir.path()).unwrap().export(&mut out, redact).unwrap();
    String::from_utf8(out).unwrap()
}

fn verify(text: &str) -> Verdict {
    verify_bundle(&mut text.as_bytes(), Some(&key().public())).unwrap()
}

fn whole() -> String {
    bundle(&|_| false)
}

fn without_line(text: &str, number: usize) -> String {
    let kept = text.lines().enumerate().filter(|(index, _)| *index != number);
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

#[test]
fn a_bundle_is_good_and_proves_both_roots() {
    let verdict = verify(&whole());
    assert!(verdict.is_good(), "{:?}", verdict.faults);
    assert_eq!((verdict.events, verdict.closed, verdict.redacted), (6, true, 0));
    assert_eq!(verdict.root_before, Some("cd".repeat(32)));
    assert_eq!(verdict.root_after, Some("ab".repeat(32)));
}

#[test]
fn what_is_left_out_is_gone_and_the_rest_still_holds() {
    let text = bundle(&|event| matches!(event.what, What::Exec(_)));
    assert!(!text.contains("s3cret"));
    let verdict = verify(&text);
    assert!(verdict.is_good(), "{:?}", verdict.faults);
    assert_eq!(verdict.redacted, 1);
    assert!(!verify(&text.replace("\"created\"", "\"deleted\"")).is_good());
}

#[test]
fn a_changed_removed_inserted_or_truncated_line_is_found() {
    let text = whole();
    let damage = |text: &str| verify(text).faults.first().map(|fault| (fault.line, fault.damage));
    assert_eq!(damage(&text.replace("s3cret", "public")), Some((Some(3), Damage::Changed)));
    assert_eq!(damage(&without_line(&text, 3)), Some((Some(3), Damage::Removed)));
    assert_eq!(damage(&without_line(&text, 6)), Some((None, Damage::Truncated)));
    let lines: Vec<&str> = text.lines().collect();
    let twice = [&lines[..4], &lines[3..]].concat().join("\n");
    assert_eq!(damage(&twice), Some((Some(4), Damage::Inserted)));
    let more = format!("{text}{}\n", lines[6].replace("\"seq\":6", "\"seq\":7"));
    assert!(!verify(&more).is_good());
    assert_eq!(damage(&text.replace("\"seq\":4,", "\"seq\":4,\"note\":1,")), Some((Some(4), Damage::Changed)));
}

#[test]
fn another_key_is_noticed() {
    let other = Key::from_bytes(&[9; 32]).public();
    let text = whole();
    let verdict = verify_bundle(&mut text.as_bytes(), Some(&other)).unwrap();
    assert_eq!(verdict.known_key, Some(false));
    assert!(!verdict.is_good());
    assert!(verify_bundle(&mut text.as_bytes(), None).unwrap().is_good());
    let head: Head = serde_json::from_value(
        serde_json::from_str::<serde_json::Value>(text.lines().next().unwrap()).unwrap()["head"].clone(),
    )
    .unwrap();
    assert_eq!(head.key().unwrap(), key().public());
}

#[test]
fn nothing_hides_in_the_first_line_in_line_ends_or_in_bytes_that_are_no_text() {
    let text = whole();
    let told = text.replacen("\"format\":", "\"note\":\"approved\",\"format\":", 1);
    assert!(!verify(&told).is_good());
    assert!(!verify(&format!(" {text}")).is_good());
    assert!(!verify(&text.replace('\n', "\r\n")).is_good());
    assert!(!verify(&format!("{text}\n")).is_good());
    assert!(!verify(text.trim_end()).is_good());
    let mut bytes = text.into_bytes();
    bytes.extend(b"\xff\xfe\n");
    assert!(!verify_bundle(&mut &bytes[..], None).unwrap().is_good());
}
