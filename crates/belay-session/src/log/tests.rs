//! Tests of the framing, of torn ends and of damage.

use super::*;

fn log_of(payloads: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut last = Check::default();
    for payload in payloads {
        last = frame(&mut bytes, &last, payload.as_bytes()).unwrap();
    }
    bytes
}

fn texts(log: &Log) -> Vec<&str> {
    log.payloads().map(|(_, payload)| std::str::from_utf8(payload).unwrap()).collect()
}

const THREE: [&str; 3] = [r#"{"a":1}"#, r#"{"b":"BLR1"}"#, r#"{"c":3}"#];

#[test]
fn records_come_back_in_order() {
    let log = Log::scan(log_of(&THREE));
    assert_eq!(texts(&log), THREE);
    assert_eq!(log.broken, []);
    assert_eq!(log.end, log.bytes.len());
}

#[test]
fn a_torn_end_is_not_seen_and_will_be_cut() {
    let whole = log_of(&THREE);
    let two = log_of(&THREE[..2]).len();
    for cut in two..whole.len() {
        let log = Log::scan(whole[..cut].to_vec());
        assert_eq!(texts(&log), THREE[..2], "cut at {cut}");
        assert_eq!((log.end, log.broken.len()), (two, 0), "cut at {cut}");
    }
    for kept in two..whole.len() {
        let mut zeros = whole[..kept].to_vec();
        zeros.resize(whole.len(), 0);
        let log = Log::scan(zeros);
        assert_eq!((log.end, log.broken.len()), (two, 0), "zeros from {kept}");
    }
}

#[test]
fn every_flipped_bit_is_found_and_harms_at_most_one_record() {
    let whole = log_of(&THREE);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let log = Log::scan(bytes);
            assert_eq!(log.broken.len(), 1, "byte {at} bit {bit}: {:?}", log.broken);
            assert!(texts(&log).len() >= 2, "byte {at} bit {bit}");
            assert!(texts(&log).iter().all(|text| THREE.contains(text)));
        }
    }
}

#[test]
fn a_record_taken_out_is_missed() {
    let (first, second) = (log_of(&THREE[..1]).len(), log_of(&THREE[..2]).len());
    let mut bytes = log_of(&THREE);
    bytes.drain(first..second);
    let log = Log::scan(bytes);
    assert_eq!(texts(&log), [THREE[0], THREE[2]]);
    assert_eq!(log.broken, [Broken { offset: first as u64, detail: "a record before this one is missing" }]);
}

#[test]
fn a_record_of_a_newer_format_is_refused() {
    let mut bytes = log_of(&THREE);
    let end = bytes.len();
    bytes.extend_from_slice(b"BLR2 something else entirely, long enough to hold a header of ours");
    let log = Log::scan(bytes);
    assert!(log.too_new);
    assert_eq!((log.end > end, texts(&log).len()), (true, 3));
}

#[test]
fn appending_cuts_a_torn_end_and_keeps_damage() {
    let dir = tempfile::tempdir().unwrap();
    let disk = belay_store::RealDisk::open(dir.path()).unwrap();
    let append = |payload: &str| {
        let log = Log::read(&disk, "x/log").unwrap().append(&disk, "x/log", &[payload.as_bytes().to_vec()]).unwrap();
        assert!(log.is_still(&disk, "x/log").unwrap());
        assert_eq!(texts(&log), texts(&Log::read(&disk, "x/log").unwrap()));
    };
    append(THREE[0]);
    append(THREE[1]);
    let path = dir.path().join("x/log");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"BLR1\x40\0\0\0torn");
    std::fs::write(&path, &bytes).unwrap();
    append(THREE[2]);
    let log = Log::read(&disk, "x/log").unwrap();
    assert_eq!((texts(&log), log.broken.len()), (THREE.to_vec(), 0));

    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    append(r#"{"d":4}"#);
    let log = Log::read(&disk, "x/log").unwrap();
    assert_eq!((texts(&log), log.broken.len()), (vec![THREE[0], THREE[1], r#"{"d":4}"#], 1));
}

#[test]
fn an_end_of_which_any_part_did_not_arrive_is_torn() {
    let whole = log_of(&THREE);
    let published = log_of(&THREE[..2]).len();
    for kept in published..whole.len() {
        let mut bytes = whole.clone();
        bytes[kept..].fill(0);
        let log = Log::scan(bytes);
        assert_eq!((texts(&log), log.broken.len(), log.end), (THREE[..2].to_vec(), 0, published), "{kept} bytes");
    }
}

#[test]
fn rewriting_leaves_just_the_given_records() {
    let dir = tempfile::tempdir().unwrap();
    let disk = belay_store::RealDisk::open(dir.path()).unwrap();
    Log::rewrite(&disk, "log", &[b"{}".to_vec()]).unwrap();
    Log::rewrite(&disk, "log", &[THREE[0].into(), THREE[2].into()]).unwrap();
    assert_eq!(texts(&Log::read(&disk, "log").unwrap()), [THREE[0], THREE[2]]);
    assert_eq!(disk.list("").unwrap().len(), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_the_bytes_are_a_log_can_be_read_and_written_on(
        junk in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
        at in 0usize..400,
        cut in 0usize..400,
    ) {
        let mut bytes = log_of(&THREE);
        let at = at.min(bytes.len());
        bytes.splice(at..(at + cut).min(bytes.len()), junk);
        let log = Log::scan(bytes.clone());
        proptest::prop_assert!(log.end <= bytes.len());
        let mut longer = bytes[..log.end].to_vec();
        frame(&mut longer, &log.last, b"{\"last\":1}").unwrap();
        let again = Log::scan(longer);
        let (before, after) = (texts_lossy(&log), texts_lossy(&again));
        let is_last = after.last().is_some_and(|text| text.contains("last"));
        proptest::prop_assert!(log.too_new || (is_last && after.len() > before.len()));
    }
}

fn texts_lossy(log: &Log) -> Vec<String> {
    log.payloads().map(|(_, payload)| String::from_utf8_lossy(payload).into_owned()).collect()
}
