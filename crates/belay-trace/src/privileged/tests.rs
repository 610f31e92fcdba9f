//! What is lost on purpose is told, and what follows is right again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use belay_event::{Action, Event, FileSource, What};
use belay_sys::fanotify::Queue;
use tempfile::TempDir;

use super::{Privileged, lock};
use crate::options::{Engine, Options};

struct Bed {
    place: TempDir,
    tracer: Privileged,
    events: Arc<Mutex<Vec<Event>>>,
}

/// A tracer whose thread only looks when it is asked to, since the test holds its lock in between.
fn bed(queue: Queue) -> Option<Bed> {
    let place = tempfile::tempdir().unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&events);
    let sink = Box::new(move |batch: Vec<Event>| log.lock().unwrap().extend(batch));
    let options = Options {
        workspace: place.path().to_owned(),
        exec: true,
        files: true,
        engine: Engine::Privileged,
        group: None,
    };
    match Privileged::prepare(&options, sink, queue) {
        Ok(tracer) => Some(Bed { place, tracer, events }),
        Err(error) => {
            belay_testkit::skip(&format!("no privileged tracer: {error}"));
            None
        }
    }
}

impl Bed {
    fn at(&self, path: &str) -> std::path::PathBuf {
        self.place.path().join(path)
    }

    fn losses(&self, source: &str) -> Vec<Option<u64>> {
        let events = self.events.lock().unwrap();
        let lost = events.iter().filter_map(|event| if let What::Lost(lost) = &event.what { Some(lost) } else { None });
        lost.filter(|lost| lost.source == source).map(|lost| lost.count).collect()
    }

    fn created(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let file = |event: &Event| match &event.what {
            What::File(file) if file.action == Action::Created => Some(file.path.lossy().into_owned()),
            _ => None,
        };
        events.iter().filter_map(file).collect()
    }
}

fn queue_length() -> Option<usize> {
    let text = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").ok()?;
    text.trim().parse().ok().filter(|length| *length <= 100_000)
}

#[test]
fn an_overflow_of_the_queue_is_told_and_mended() {
    let Some(bed) = bed(Queue::Limited) else { return };
    let Some(length) = queue_length() else {
        return belay_testkit::skip("the queue is too long to overflow it");
    };
    assert!(bed.tracer.dirty().complete);
    {
        let held = lock(&bed.tracer.state);
        for number in 0..length {
            fs::write(bed.at(&format!("f{number}")), "").unwrap();
        }
        fs::create_dir_all(bed.at("made/unseen")).unwrap();
        drop(held);
    }
    assert!(!bed.tracer.dirty().complete);
    assert_eq!(bed.losses("file"), [None]);

    fs::write(bed.at("made/unseen/file"), "").unwrap();
    let dirty = bed.tracer.dirty();
    assert!(dirty.complete);
    assert_eq!(dirty.paths, [b"made/unseen/file".to_vec()]);
    assert_eq!(bed.created().last().unwrap(), "made/unseen/file");
    assert!(bed.tracer.stop().lost > 0);
}

#[test]
fn a_full_ring_is_told() {
    let Some(bed) = bed(Queue::Unlimited) else { return };
    let place = tempfile::tempdir().unwrap();
    let (go, log) = (place.path().join("go"), place.path().join("log"));
    make_fifo(&go);
    let script = format!(
        "read line < {}; w=$(head -c 120000 /dev/zero | tr '\\0' x); i=0; \
         while [ $i -lt 200 ]; do /bin/true $w; i=$((i+1)); done; echo done > {}",
        go.display(),
        log.display()
    );
    let mut child = Command::new("/bin/sh").args(["-c", &script]).spawn().unwrap();
    bed.tracer.attach(child.id()).unwrap();
    let held = lock(&bed.tracer.state);
    fs::write(&go, "\n").unwrap();
    child.wait().unwrap();
    drop(held);
    bed.tracer.flush();
    assert_eq!(fs::read_to_string(&log).unwrap(), "done\n");
    let lost = bed.losses("exec");
    assert!(matches!(lost[..], [Some(count)] if count > 0), "{lost:?}");
    let totals = bed.tracer.stop();
    assert_eq!(Some(totals.lost), lost[0]);
    assert!(totals.execs < 200);
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn renames_that_the_kernel_merges_do_not_mislead() {
    let Some(bed) = bed(Queue::Unlimited) else { return };
    assert_eq!(bed.tracer.file_source(), FileSource::Fanotify);
    fs::create_dir_all(bed.at("a/in")).unwrap();
    bed.tracer.flush();
    for rounds in [3, 4] {
        let held = lock(&bed.tracer.state);
        let (mut from, mut to) = if bed.at("a").exists() { ("a", "b") } else { ("b", "a") };
        for _ in 0..rounds {
            fs::rename(bed.at(from), bed.at(to)).unwrap();
            std::mem::swap(&mut from, &mut to);
        }
        drop(held);
        bed.tracer.flush();
        let file = format!("{from}/in/{rounds}");
        fs::write(bed.at(&file), "").unwrap();
        bed.tracer.flush();
        assert_eq!(bed.created().last(), Some(&file));
    }
}

#[test]
fn a_directory_that_was_away_is_listed_again() {
    let Some(bed) = bed(Queue::Unlimited) else { return };
    let outside = tempfile::tempdir_in(bed.place.path().parent().unwrap()).unwrap();
    fs::create_dir_all(bed.at("d/old")).unwrap();
    bed.tracer.flush();
    fs::rename(bed.at("d"), outside.path().join("d")).unwrap();
    bed.tracer.flush();
    fs::create_dir_all(outside.path().join("d/new")).unwrap();
    fs::write(outside.path().join("d/old/elsewhere"), "").unwrap();
    fs::rename(outside.path().join("d"), bed.at("e")).unwrap();
    fs::write(bed.at("e/new/file"), "").unwrap();
    fs::write(bed.at("e/old/file"), "").unwrap();
    let dirty = bed.tracer.dirty();
    assert!(dirty.complete);
    assert_eq!(dirty.paths, [b"d".to_vec(), b"e".to_vec()]);
    assert_eq!(bed.created(), ["d", "d/old", "e", "e/new/file", "e/old/file"]);
}

#[test]
fn letting_a_file_go_is_no_change() {
    let Some(bed) = bed(Queue::Unlimited) else { return };
    fs::create_dir(bed.at("d")).unwrap();
    let file = fs::File::create(bed.at("d/new")).unwrap();
    bed.tracer.flush();
    drop(file);
    bed.tracer.flush();
    let events = bed.events.lock().unwrap();
    let file = |event: &Event| if let What::File(file) = &event.what { Some(file.action) } else { None };
    assert_eq!(events.iter().filter_map(file).collect::<Vec<_>>(), [Action::Created, Action::Created]);
}
