//! What a record of a run does not tell: what was taken back or forward when none was there, and what was asked for.

use std::collections::{HashMap, HashSet};

use belay_event::{At, Event, What};
use jiff::Timestamp;

use crate::error::Result;
use crate::home::Home;
use crate::record::{Kind, Rewound};
use crate::run::RunRecord;
use crate::timeline::Timeline;
use crate::workspace::timeline_name;

impl Home {
    /// Rollbacks, undos and the like in the run's workspace after its end and before the next run there, but for those
    /// that its own record tells of, by their safety snapshots.
    pub fn rewinds_after(&self, run: &RunRecord, recorded: &HashSet<String>) -> Result<Vec<Event>> {
        let Some(ended) = run.ended_at else { return Ok(Vec::new()) };
        let runs = self.runs()?;
        let later = runs.iter().filter(|other| other.workspace == run.workspace && other.created_at >= ended);
        let mut events = self.rewinds(&run.workspace, Some(ended), later.map(|next| next.created_at).min())?;
        events.retain(|event| !matches!(&event.what, What::Rewound(told) if recorded.contains(&told.from)));
        Ok(events)
    }

    /// The same in a workspace from one moment until another.
    pub fn rewinds(&self, workspace: &str, from: Option<Timestamp>, until: Option<Timestamp>) -> Result<Vec<Event>> {
        let timeline = Timeline::read(self.disk(), &timeline_name(workspace))?;
        let is_meant = |rewound: &&Rewound| {
            // One that was reversed left everything as it was.
            !rewound.reversed
                && from.is_none_or(|from| rewound.at >= from)
                && until.is_none_or(|until| rewound.at < until)
        };
        let event = |rewound: &Rewound| {
            let told = belay_event::Rewound {
                kind: rewound.kind.name().to_owned(),
                from: rewound.from.clone(),
                to: rewound.to.clone(),
                checkpoint: timeline.get(&rewound.to).and_then(|snapshot| snapshot.checkpoint()),
                changed: rewound.changed,
            };
            Event::new(At::from(rewound.at), What::Rewound(told))
        };
        Ok(timeline.rewinds().iter().filter(is_meant).map(event).collect())
    }

    /// What the user had asked for in the turns of a workspace, by the snapshots that were taken before them.
    pub fn prompts(&self, workspace: &str) -> Result<HashMap<String, String>> {
        let timeline = Timeline::read(self.disk(), &timeline_name(workspace))?;
        let turns = timeline.snapshots().iter().filter(|snapshot| snapshot.kind == Kind::Turn);
        Ok(turns.filter_map(|turn| Some((turn.id.clone(), turn.cause.trigger.clone()?))).collect())
    }
}
