//! Runs and rewinds: what a workspace is, what its snapshots are called, which are kept, and how one goes back.
//!
//! The crate owns decisions and holds no mechanism: bytes are the store's business. It never prints, and it
//! reads neither the environment nor the clock nor a home directory; whoever calls it passes those in.
//!
//! - A snapshot is listed only after everything it needs is durable.
//! - Nothing in a workspace is changed before what is there is captured and named in the timeline.
//! - What the workspace itself says (its `belay.toml`) can only strengthen its protection until it is trusted.

mod aftermath;
mod agent;
mod archive;
mod backend;
mod bisect;
mod blame;
mod blend;
mod budget;
mod cause;
mod changes;
mod clock;
mod compact;
mod config;
mod departed;
mod ephemeral;
mod error;
mod export;
mod eyes;
mod forget;
mod fork;
#[cfg(test)]
#[path = "fuzz/tests.rs"]
mod fuzz;
mod git;
mod given_up;
mod guard;
mod history;
mod home;
mod identity;
mod import;
mod intent;
mod log;
mod maintenance;
mod mend;
mod nearest;
mod outer;
mod overlay;
mod pools;
mod present;
mod profile;
mod proposals;
mod reasons;
mod record;
mod record_of_run;
mod recover;
mod repair;
mod resident;
mod resolve;
mod retention;
mod rollback;
mod run;
mod secrets;
mod shell;
mod snapshot;
mod spans;
mod spare;
mod status;
mod timeline;
mod times;
mod trigger;
mod trust;
mod workspace;

pub use agent::{AgentDeed, AgentWord, BrokenOff, Gap, Gaps, Heard, Missed, Unhooked};
pub use archive::Packing;
pub use backend::BackendChoice;
pub use bisect::{Checkout, Program, Search, Turn, Verdict};
pub use blame::{Blame, BlamedLine, Interval, Touch};
pub use blend::{Brought, Choice, Draft, Incoming};
pub use budget::Budget;
pub use cause::{Circumstances, RevertPlan, RevertRequest, Reverted, StepInfo, StepName};
pub use changes::{Changed, ChangedPath, ChangesOf, NewerEdit};
pub use clock::{Clock, Ids};
pub use config::{Edited, Format, Layer, Override, Setting, Settings, Sources, Text};
pub use departed::Departed;
pub use ephemeral::Written;
pub use error::{Error, Result};
pub use export::Exported;
pub use eyes::{Eyes, Lookout, Sight};
pub use forget::{Elsewhere, ErasedRecords, Finished, Forget, ForgetReport, NamedInRun};
pub use fork::{CopyCost, Fork, ForkPlace, ForkState, Pinned};
pub use git::{CommitRequest, Committed, FromGit, GitId, GitRef, NotInGit, SNAPSHOT_REFS, WhyNotInGit, excludes_file};
pub use guard::Guard;
pub use history::{Finds, Found, Version, VersionState};
pub use home::{Consent, Home, HomeOptions};
pub use identity::{Arrival, WorkspaceInfo};
pub use import::{ImportRequest, Imported};
pub use maintenance::{Affected, Collected, Du, DuRow, Health, TimelineDamage};
pub use mend::Mended;
pub use nearest::distance;
pub use present::{Stored, Tree};
pub use profile::{Ground, Profile, ProfileError, Profiles, Rule, Subject, Why, suits};
pub use proposals::{Proposal, proposals};
pub use reasons::Reasons;
pub use record::{Backend, Cause, Kind, Origin, PathText, Pool, RewindKind, Rewound, Snapshot};
pub use recover::Interrupted;
pub use repair::RepairReport;
pub use resident::{Hung, Letter, Residence, Resident, Standing, Told, Unheard, Want, end_hung, reside};
pub use retention::{PrunePlan, PruneRule, Pruned};
pub use rollback::{EXTRACT_PREFIX, Goal, Outcome, Recovered, RewindPlan, RewindRequest, Stage};
pub use run::{
    AgentAnswer, AgentCall, Answer, Answerer, Beyond, Confinement, ConfinementEngine, Deed, Den, Discarded,
    DiscardedPath, Farewell, Frame, Host, LostRun, Outlived, Owner, ProcessName, Reach, Request, RunClient, RunLimits,
    RunPlan, RunRecord, RunState, RunTotals, Step, TerminalSize, ask_run, inherited, lead_session, supervise,
    talk_to_run, try_cgroup,
};
pub use shell::{is_invisible, shell_word};
pub use snapshot::{Dirty, SnapshotRequest, Taken};
pub use status::{Status, Unprotected};
pub use timeline::Timeline;
pub use times::{parse_size, parse_span};
pub use trigger::{Activity, Ask, Rhythm, Triggers};
pub use trust::Trust;
pub use workspace::{Work, Workspace};

pub use belay_event as event;
pub use belay_jail as jail;
pub use belay_journal as journal;
pub use belay_store as store;

pub use belay_sys::{
    RawMode, UNWAITED, catch_signals, close_inherited, is_findable, is_foreground, is_hung_up, landlock_abi,
    on_interrupt, plain, survive_terminal, suspend_job, suspend_self, terminal_size, until_interrupt, user_id,
    wait_readable, write_if_room,
};
