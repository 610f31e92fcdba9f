//! The table of operations: what each is called, what it takes, what it may change, and who carries it out.

mod checkpoint;
mod checkpoint_list;
mod named;
mod record;
mod way_back;

use belay_session::{Work, Workspace};

use crate::arguments::{Arguments, Parameter, Shape};
use crate::error::Result;
use crate::mcp::Patch;
use crate::page::{FORMAT, MAX_LENGTH, START_INDEX};
use crate::reply::Reply;

/// What an operation may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// It adds something that was not there.
    Adds,
    /// It changes or removes what was there.
    Overwrites,
}

/// What an operation cannot do without, and not everybody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It takes something out of the history.
    Removal,
    /// It shows what files hold.
    Content,
    /// It looks at the workspace as it is now, or changes it.
    Present,
}

impl Need {
    /// What is said to whoever does not have it.
    pub(crate) fn objection(self) -> &'static str {
        match self {
            Need::Removal => "removes snapshots, which nobody inside a run may; whoever started the run can",
            Need::Content => "shows what files hold, and some are hidden from this run",
            Need::Present => "is about the workspace itself, from which this run is kept apart",
        }
    }
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// For the model that decides whether to call it.
    pub(crate) description: &'static str,
    pub(crate) effect: Effect,
    pub(crate) needs: &'static [Need],
    /// Whether doing it again changes nothing more.
    pub(crate) idempotent: bool,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) run: fn(&Call<'_>) -> Result<Reply>,
}

/// An operation that was asked for.
pub(crate) struct Call<'a> {
    pub(crate) workspace: &'a Workspace<'a>,
    pub(crate) arguments: &'a Arguments,
    pub(crate) work: Work<'a>,
    pub(crate) patch: &'a Patch<'a>,
    /// Answers before the operation has ended, with what is certain by then; what it returns is not heard after that.
    pub(crate) answer: &'a dyn Fn(Reply),
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Parameter {
    Parameter { name, shape, required: true, doc }
}

const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Parameter {
    Parameter { name, shape, required: false, doc }
}

const PATH: Parameter = required(
    "path",
    Shape::Text,
    "The path, relative to the workspace or absolute inside it. Write it as the other tools show it: \\\\ is a backslash, \\n, \\r and \\t are \
     what they are in JSON, \\xff is a byte that is no UTF-8, \\u{1b} a control character.",
);
const CHECKPOINT: &str = "A checkpoint such as cp-10, or any other name of a snapshot: its id, label or number.";
const NAME: &str = "The snapshot's name: letters, digits, _ . and -, beginning with a letter, digit or _.";

/// Every operation.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "snapshots_create",
        title: "Create a checkpoint",
        description: "Take a named checkpoint of the whole workspace before a risky change. It stays until it is \
                      deleted; when all manual slots are taken this is an error and nothing is overwritten.",
        effect: Effect::Adds,
        needs: &[Need::Present],
        idempotent: false,
        parameters: &[required("name", Shape::Text, "A short name, unique in the workspace.")],
        run: checkpoint::create,
    },
    Operation {
        name: "snapshots_list",
        title: "List checkpoints",
        description: "List all snapshots of the workspace, newest first: checkpoint, origin, name or turn and \
                      prompt, hash, age, number of files; with include_changes also what changed against the one before.",
        effect: Effect::Reads,
        needs: &[],
        idempotent: true,
        parameters: &[
            START_INDEX,
            MAX_LENGTH,
            FORMAT,
            optional("include_changes", Shape::Flag, "Also count what changed against the snapshot before."),
        ],
        run: checkpoint_list::list,
    },
    Operation {
        name: "snapshots_changes",
        title: "What changed since the checkpoints",
        description: "For each file that differs from a checkpoint: whether it was created, modified or deleted, and \
                      the newest checkpoint that differs, ready to be passed to snapshots_revert.",
        effect: Effect::Reads,
        needs: &[Need::Present],
        idempotent: true,
        parameters: &[START_INDEX, MAX_LENGTH, FORMAT],
        run: checkpoint_list::changes,
    },
    Operation {
        name: "snapshots_revert",
        title: "Take one path back",
        description: "Bring one file or directory back as it is in a checkpoint, content and permissions; what the \
                      checkpoint does not have is removed. Without a checkpoint the newest that holds the path is \
                      used. What was there is captured first: belay_undo takes the revert back.",
        effect: Effect::Overwrites,
        needs: &[Need::Present],
        idempotent: true,
        parameters: &[PATH, optional("checkpoint", Shape::Text, CHECKPOINT)],
        run: way_back::revert,
    },
    Operation {
        name: "snapshots_delete",
        title: "Delete a checkpoint",
        description: "Delete a checkpoint that was made with snapshots_create, and free its slot. Automatic snapshots \
                      cannot be deleted this way.",
        effect: Effect::Overwrites,
        needs: &[Need::Removal],
        idempotent: false,
        parameters: &[required("checkpoint", Shape::Text, CHECKPOINT)],
        run: checkpoint::delete,
    },
    Operation {
        name: "snapshots_history",
        title: "Versions of a path",
        description: "Show what became of a path from snapshot to snapshot: new, modified, unchanged or deleted.",
        effect: Effect::Reads,
        needs: &[],
        idempotent: true,
        parameters: &[PATH],
        run: checkpoint_list::history,
    },
    Operation {
        name: "snapshots_compact",
        title: "Make one checkpoint of several",
        description: "Replace several checkpoints by one that holds the newest state of them, deletions included. They \
                      are removed only when the new one exists.",
        effect: Effect::Overwrites,
        needs: &[Need::Removal],
        idempotent: false,
        parameters: &[
            required("checkpoints", Shape::Texts, "The checkpoints to make one of, such as [\"cp-10\", \"cp-11\"]."),
            optional("name", Shape::Text, "The name of the new checkpoint; the newest one's by default."),
        ],
        run: checkpoint::compact,
    },
    Operation {
        name: "snapshot_create",
        title: "Record a named state",
        description: "Record the current state of the workspace under a name, without touching git's HEAD, index, \
                      branches or stash. A name that exists is an error.",
        effect: Effect::Adds,
        needs: &[Need::Present],
        idempotent: false,
        parameters: &[
            required("name", Shape::Text, NAME),
            optional("description", Shape::Text, "What this state is, for whoever lists the snapshots."),
        ],
        run: named::create,
    },
    Operation {
        name: "snapshot_list",
        title: "List named states",
        description: "List the named snapshots, most recent first: name, short hash, time and description, separated \
                      by tabs.",
        effect: Effect::Reads,
        needs: &[],
        idempotent: true,
        parameters: &[],
        run: named::list,
    },
    Operation {
        name: "snapshot_restore",
        title: "Go back to a named state",
        description: "Reset the whole workspace to a named snapshot and list the files that changed. What was there is \
                      captured first: belay_undo takes it back. An unknown name changes nothing.",
        effect: Effect::Overwrites,
        needs: &[Need::Present],
        idempotent: true,
        parameters: &[required("name", Shape::Text, NAME)],
        run: named::restore,
    },
    Operation {
        name: "snapshot_diff",
        title: "Compare with a named state",
        description: "Show a unified diff from a named snapshot to the current workspace: - lines are the snapshot, + \
                      lines are now.",
        effect: Effect::Reads,
        needs: &[Need::Content, Need::Present],
        idempotent: true,
        parameters: &[required("name", Shape::Text, NAME)],
        run: named::diff,
    },
    Operation {
        name: "belay_status",
        title: "What is protected",
        description: "Show the last known state of the workspace, what changed since, what a snapshot would leave out, \
                      and the runs that are going on.",
        effect: Effect::Reads,
        needs: &[Need::Present],
        idempotent: true,
        parameters: &[],
        run: record::status,
    },
    Operation {
        name: "belay_log",
        title: "What happened",
        description: "Show the commands of a recorded run with their exit status, newest last, and the snapshots taken \
                      meanwhile. Without a run the latest of this workspace.",
        effect: Effect::Reads,
        needs: &[],
        idempotent: true,
        parameters: &[
            optional("run", Shape::Text, "A run's id or label; @latest by default."),
            START_INDEX,
            MAX_LENGTH,
            FORMAT,
        ],
        run: record::log,
    },
    Operation {
        name: "belay_blame",
        title: "Who changed a file",
        description: "Show which command, run and prompt last changed a file, and where each line comes from.",
        effect: Effect::Reads,
        needs: &[Need::Content, Need::Present],
        idempotent: true,
        parameters: &[
            PATH,
            optional("line", Shape::Number(1, u32::MAX as u64), "Only this line, counted from 1."),
            START_INDEX,
            MAX_LENGTH,
            FORMAT,
        ],
        run: record::blame,
    },
    Operation {
        name: "belay_undo",
        title: "Take something back",
        description: "Without arguments: undo the last rollback, restore, revert or undo of a step. With step: take \
                      back one turn (@turn-3), or what happened after a snapshot, and keep what came later; with \
                      command: what one command of a run did. Conflicts are named and nothing is guessed. dry_run \
                      only tells.",
        effect: Effect::Overwrites,
        needs: &[Need::Present],
        idempotent: false,
        parameters: &[
            optional("step", Shape::Text, "@turn-N, or the snapshot at which the step began."),
            optional("command", Shape::Number(1, u32::MAX as u64), "The number of a command of the latest run."),
            optional("dry_run", Shape::Flag, "Tell what would be done, and do nothing."),
        ],
        run: way_back::undo,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_name_of_its_own_and_says_enough() {
        for (at, operation) in OPERATIONS.iter().enumerate() {
            assert!(OPERATIONS[..at].iter().all(|other| other.name != operation.name), "{} twice", operation.name);
            assert!(operation.description.len() > 60, "{} says too little", operation.name);
            assert!(
                operation.effect != Effect::Reads || operation.idempotent,
                "{} reads, again and again",
                operation.name
            );
        }
    }
}
