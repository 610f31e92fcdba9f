//! The JSON form is a contract: these texts do not change.

use proptest::prelude::*;

use super::*;

fn event(what: What) -> Event {
    Event::new(At::from_unix_nanos(1_768_904_400_000_000_005), what)
}

fn round(event: &Event) -> String {
    let text = serde_json::to_string(event).unwrap();
    assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event);
    text
}

#[test]
fn an_exec_has_this_form() {
    let exec = Exec {
        command: 2,
        parent: Some(1),
        pid: 41,
        ppid: 40,
        uid: 1000,
        argv: vec!["git".into(), "commit".into(), Raw::from(vec![0xff, 0x0a])],
        exe: "/usr/bin/git".into(),
        cwd: "/srv/project".into(),
        cut: false,
    };
    assert_eq!(
        round(&event(What::Exec(exec))),
        r#"{"at":"2026-01-20T10:20:00.000000005Z","event":"exec","command":2,"parent":1,"pid":41,"ppid":40,"uid":1000,"argv":["git","commit",[255,10]],"exe":"/usr/bin/git","cwd":"/srv/project"}"#
    );
}

#[test]
fn a_file_change_has_this_form() {
    let change = FileChange {
        action: Action::Renamed,
        path: "a".into(),
        to: Some("b".into()),
        dir: false,
        size: Some(3),
        by: Some(Actor { pid: Some(41), command: Some(2), exact: true }),
    };
    assert_eq!(
        round(&event(What::File(change))),
        r#"{"at":"2026-01-20T10:20:00.000000005Z","event":"file","action":"renamed","path":"a","to":"b","size":3,"by":{"pid":41,"command":2,"exact":true}}"#
    );
}

#[test]
fn an_exit_has_this_form() {
    let exit = Exit { command: 2, pid: 41, ended: Ended::Signal(9), duration_ns: 7 };
    assert_eq!(
        round(&event(What::Exit(exit))),
        r#"{"at":"2026-01-20T10:20:00.000000005Z","event":"exit","command":2,"pid":41,"ended":{"signal":9},"duration_ns":7}"#
    );
}

proptest! {
    #[test]
    fn any_bytes_survive(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let raw = Raw::from(bytes);
        let text = serde_json::to_string(&raw).unwrap();
        prop_assert_eq!(serde_json::from_str::<Raw>(&text).unwrap(), raw);
    }

    #[test]
    fn any_moment_survives(nanos in any::<i64>()) {
        let at = At::from_unix_nanos(i128::from(nanos));
        let text = serde_json::to_string(&at).unwrap();
        prop_assert_eq!(serde_json::from_str::<At>(&text).unwrap(), at);
        prop_assert_eq!(at.unix_nanos(), i128::from(nanos));
    }
}
