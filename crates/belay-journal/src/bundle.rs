//! A record as one file that can be checked anywhere: JSON lines, the head first, then every event.
//!
//! An event that is left out leaves its leaf behind, so that the chain still closes; without the nonce, which goes
//! with the body, the leaf cannot be guessed.

use std::io::{BufRead, Write};

use belay_event::{Event, What};
use serde::{Deserialize, Serialize};

use crate::chain::{self, Head, ORIGIN};
use crate::error::{Error, Result};
use crate::key::{PublicKey, from_hex, to_hex};
use crate::reader::Reader;
use crate::stored::{self, Walk};
use crate::verify::{Damage, Ends, Verdict};

const FORMAT: &str = "belay bundle 1";
const TABLE: &str = "event";

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    head: Head,
}

/// Every other line.
#[derive(Serialize, Deserialize)]
struct Line {
    seq: u64,
    link: String,
    /// There unless the event was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<Event>,
    /// There if the event was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leaf: Option<String>,
}

/// What was written into a bundle.
#[derive(Clone, Debug, Serialize)]
pub struct Exported {
    /// The head that the bundle carries.
    pub head: Head,
    /// How many events it holds.
    pub events: u64,
    /// How many of them without their bodies.
    pub redacted: u64,
}

impl Reader {
    /// Writes the events that the head covers into `out`; those that `redact` chooses without their bodies.
    pub fn export(&self, out: &mut dyn Write, redact: &dyn Fn(&Event) -> bool) -> Result<Exported> {
        let (head, secret, erased) = (self.head()?, self.secret()?, self.erased()?);
        let mut exported = Exported { head: head.clone(), events: 0, redacted: 0 };
        let header = Header { format: FORMAT.to_owned(), head };
        put(out, &header)?;
        stored::walk(&self.connection, 0, |stored| {
            if exported.events == header.head.count {
                return Ok(Walk::Stop);
            }
            let stored = stored?;
            let (seq, link) = (stored.seq(), to_hex(stored.hash()));
            let event = stored.into_event()?;
            let nonce = chain::nonce(&secret, seq);
            let was = erased.get(&seq).map(|leaves| leaves.was);
            let line = if was.is_some() || redact(&event) {
                exported.redacted += 1;
                let leaf = to_hex(&was.unwrap_or_else(|| chain::leaf(&nonce, &body(&event))));
                Line { seq, link, nonce: None, event: None, leaf: Some(leaf) }
            } else {
                Line { seq, link, nonce: Some(to_hex(&nonce)), event: Some(event), leaf: None }
            };
            exported.events += 1;
            put(out, &line)?;
            Ok(Walk::On)
        })?;
        out.flush().map_err(Error::Output)?;
        Ok(exported)
    }
}

/// Checks a bundle; `expected` is the key that it should be signed with, if that is known.
pub fn verify_bundle(input: &mut dyn BufRead, expected: Option<&PublicKey>) -> Result<Verdict> {
    let unclear = |_| Error::Form("the bundle's first line");
    let first = next_line(input)?.unwrap_or_default();
    let header: Header = serde_json::from_slice(&first).map_err(unclear)?;
    if header.format != FORMAT {
        return Err(Error::Form("the bundle's format"));
    }
    let is_plain = canonical(&header) == first;
    let head = header.head;
    let mut verdict = Verdict::begin(&head, expected);
    if !is_plain {
        verdict.fault("head", None, Damage::Changed, "the line is not as it was written");
    }
    let (mut ends, mut before) = (Ends::new(&head), ORIGIN);
    while let Some(text) = next_line(input)? {
        let expected_seq = ends.count + 1;
        let Ok(line) = serde_json::from_slice::<Line>(&text) else {
            verdict.fault(TABLE, Some(expected_seq), Damage::Changed, "the line cannot be read");
            ends.push(before, &head);
            continue;
        };
        if line.seq != expected_seq {
            let damage = if line.seq > expected_seq { Damage::Removed } else { Damage::Inserted };
            let detail = format!("event {} stands where {expected_seq} belongs", line.seq);
            verdict.fault(TABLE, Some(expected_seq), damage, detail);
            ends.count = line.seq.saturating_sub(1);
        }
        let link = leaf_of(&line).map(|leaf| chain::link(&before, &leaf));
        let written = from_hex::<32>(&line.link);
        if link.is_none() || link != written || canonical(&line) != text {
            verdict.fault(TABLE, Some(line.seq), Damage::Changed, "the event does not fit its link");
        }
        before = written.or(link).unwrap_or(before);
        ends.push(before, &head);
        match &line.event {
            Some(event) => verdict.roots_from(event),
            None => verdict.redacted += 1,
        }
    }
    verdict.end(&head, &ends);
    Ok(verdict)
}

fn leaf_of(line: &Line) -> Option<[u8; 32]> {
    match (&line.event, &line.nonce, &line.leaf) {
        (Some(event), Some(nonce), None) => Some(chain::leaf(&from_hex(nonce)?, &body(event))),
        (None, None, Some(leaf)) => from_hex(leaf),
        _ => None,
    }
}

/// The next line with its end, whatever bytes it is made of.
fn next_line(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line).map_err(Error::Output)?;
    Ok((!line.is_empty()).then_some(line))
}

/// The line as [`Reader::export`] writes it, so that nothing can hide in what a parser overlooks.
fn canonical(line: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).expect("a line has nothing that JSON could not say");
    bytes.push(b'\n');
    bytes
}

fn body(event: &Event) -> Vec<u8> {
    serde_json::to_vec(event).expect("an event has nothing that JSON could not say")
}

fn put(out: &mut dyn Write, line: &impl Serialize) -> Result<()> {
    out.write_all(&canonical(line)).map_err(Error::Output)
}

impl Verdict {
    /// Takes from an event what it proves about the workspace before and after the run.
    pub(crate) fn roots_from(&mut self, event: &Event) {
        match &event.what {
            What::Snapshot(taken) if taken.kind == "pre-run" && self.root_before.is_none() => {
                self.root_before.clone_from(&taken.root);
            }
            What::Snapshot(taken) if taken.kind == "final" => self.root_after.clone_from(&taken.root),
            What::RunEnded(ended) if ended.root.is_some() => self.root_after.clone_from(&ended.root),
            _ => {}
        }
    }
}
