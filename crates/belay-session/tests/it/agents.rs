//! What an agent told, when the machine goes down in the middle of it.

use std::sync::atomic::Ordering;

use belay_session::{AgentDeed, AgentWord};

use crate::bed::{Bed, work};

fn word(deed: AgentDeed) -> AgentWord {
    AgentWord { agent: "claude".into(), session: "claude s".into(), key: None, deed }
}

#[test]
fn a_turn_during_which_the_machine_went_down_is_said_until_the_next_and_stays_in_the_log() {
    let bed = Bed::new();
    bed.ws.file("a", "a");
    let workspace = bed.open();
    let hear = |deed| workspace.hear(&word(deed), work()).expect("it is heard");
    hear(AgentDeed::Prompt("one".into()));
    hear(AgentDeed::TurnEnd);
    hear(AgentDeed::Prompt("two".into()));
    assert_eq!(workspace.broken_off().unwrap(), None, "the machine is up");
    bed.seconds.fetch_add(10 * 365 * 86_400, Ordering::SeqCst);
    let broken = workspace.broken_off().unwrap().expect("by this clock the machine came up after it");
    assert_eq!(broken.turn, 2);
    hear(AgentDeed::Prompt("three".into()));
    assert_eq!(workspace.broken_off().unwrap(), None, "another turn goes on");
    hear(AgentDeed::TurnEnd);
    bed.seconds.fetch_add(10 * 365 * 86_400, Ordering::SeqCst);
    assert_eq!(workspace.broken_off().unwrap(), None, "a turn that ended is durable");
    let run = bed.home.find_run(None, &|_| true).expect("a record");
    let events = bed.home.journal(&run).unwrap().troubles().unwrap();
    let said: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    assert!(said.iter().any(|event| event.contains("went down during @turn-2")), "{said:#?}");
}
