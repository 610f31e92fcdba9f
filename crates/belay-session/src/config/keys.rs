//! The table of keys: what each means, what it may be, and what an untrusted workspace may do to it.

/// What values a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number up to a maximum.
    Number(u64),
    /// A size as a number or as a text with a unit.
    Size,
    /// One of these texts, from the weakest protection to the strongest.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
}

/// How a workspace that is not trusted may strengthen protection by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strengthens {
    /// Not at all.
    Never,
    /// By this value of a flag.
    Being(bool),
    /// By a lower number, though not below this one.
    DownTo(u64),
    /// By a choice further right.
    Later,
    /// By adding to the list.
    Adding,
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) strengthens: Strengthens,
    pub(crate) help: &'static str,
}

impl Key {
    /// What is expected of a value, in words, for an error.
    pub(crate) fn expected(&self) -> String {
        let words = self.shape.expected();
        match self.shape {
            Number(_) if self.help.starts_with("Seconds") => {
                words.replace("a whole number", "a whole number of seconds")
            }
            _ => words,
        }
    }
}

const fn key(name: &'static str, shape: Shape, strengthens: Strengthens, help: &'static str) -> Key {
    Key { name, shape, strengthens, help }
}

use Shape::{Choice, Flag, Number, Size, Texts};
use Strengthens::{Adding, Being, DownTo, Later, Never};

const YEAR_SECONDS: u64 = 366 * 24 * 3600;

/// Every key, in the order in which they are listed.
pub(crate) const KEYS: &[Key] = &[
    key("snapshots.disabled", Flag, Being(false), "Take no snapshots at all."),
    key(
        "snapshots.backend",
        Choice(crate::backend::BackendChoice::NAMES),
        Never,
        "Where the content of snapshots lies.",
    ),
    key(
        "snapshots.archive_format",
        Choice(&["tar.gz", "tar.zst"]),
        Never,
        "How the backend archive packs its archives.",
    ),
    key(
        "snapshots.auto_max",
        Number(10_000),
        Never,
        "Slots of the ring of automatic snapshots; with 0 none are taken by the interval.",
    ),
    key("snapshots.manual_max", Number(10_000), Never, "Named slots of the manual pool."),
    key("snapshots.auto_interval", Number(YEAR_SECONDS), DownTo(60), "Seconds between automatic snapshots."),
    key("snapshots.max_entries", Number(u64::MAX), Never, "Entries beyond which a snapshot is partial."),
    key("snapshots.max_bytes", Size, Never, "New bytes beyond which a snapshot is partial."),
    key("snapshots.cross_mounts", Flag, Never, "Capture other filesystems that are mounted inside."),
    key("snapshots.answer_seconds", Number(3600), Never, "Seconds until a path that does not answer counts as hung."),
    key("snapshots.triggers.disable_pre_run", Flag, Being(false), "Take no snapshot before a run."),
    key("snapshots.triggers.disable_git_commits", Flag, Being(false), "Take no snapshot after a commit."),
    key("snapshots.triggers.disable_builds", Flag, Being(false), "Take no snapshot after a build."),
    key("snapshots.triggers.disable_idle", Flag, Being(false), "Take no snapshot when a run falls idle."),
    key("snapshots.triggers.disable_auto", Flag, Being(false), "Take no snapshot when the interval has passed."),
    key("snapshots.triggers.disable_before_git", Flag, Being(false), "Take none before git can destroy work."),
    key("snapshots.triggers.disable_commands", Flag, Being(false), "Take none after a command that changed files."),
    key("snapshots.triggers.idle_threshold_seconds", Number(YEAR_SECONDS), DownTo(10), "Seconds until a run is idle."),
    key("snapshots.triggers.build_patterns", Texts, Adding, "Commands that are builds too, by their first words."),
    key(
        "snapshots.exclude.gitignored",
        Choice(&["skip", "regenerable", "capture"]),
        Later,
        "What to do with what git ignores: skip all, skip what can be made again, or capture all.",
    ),
    key("snapshots.exclude.ignore_gitignore", Flag, Being(true), "The same as gitignored = \"capture\"."),
    key("snapshots.exclude.regenerable_min", Size, Never, "Size below which ignored build and dist are captured."),
    key("snapshots.exclude.additional", Texts, Never, "Patterns to leave out, in gitignore syntax."),
    key("snapshots.exclude.exclude_patterns", Texts, Never, "Names, or parts of paths, to leave out."),
    key("snapshots.exclude.exclude_globs", Texts, Never, "Globs of file names to leave out."),
    key("snapshots.exclude.force_include", Texts, Adding, "Patterns to capture whatever else is said."),
    key(
        "snapshots.retention.budget",
        Size,
        Never,
        "Bytes that the store may hold, for all workspaces; seen to before and after each snapshot.",
    ),
    key("snapshots.retention.budget_free_percent", Number(100), Never, "Part of the free disk the store may hold."),
    key("snapshots.retention.max_count", Number(1_000_000), Never, "Snapshots kept by the archive backend."),
    key("snapshots.retention.delete_initial", Flag, Being(false), "Let pre-run snapshots be deleted automatically."),
    key("agents.hide_prompts", Flag, Being(true), "Keep only a hash of what the user asked an agent."),
    key("agents.helper_idle_seconds", Number(YEAR_SECONDS), Never, "Seconds until an idle helper ends; 0 for none."),
    key(
        "agents.named",
        Choice(&["store", "git"]),
        Never,
        "Where agents' named states are kept: in belay's store, or as refs of the workspace's git repository too.",
    ),
    key("agents.alternates", Flag, Never, "Also read repositories that the workspace's borrows objects from."),
    key(
        "tracing.disable_denials",
        Flag,
        Being(false),
        "Do not watch for paths that a jail refuses, which as root costs every system call of the machine a little.",
    ),
    key("tracing.disable_exec", Flag, Being(false), "Do not record the commands of a run."),
    key("tracing.disable_files", Flag, Being(false), "Do not record which files a run changes."),
    key(
        "tracing.engine",
        Choice(&["unprivileged", "auto", "privileged"]),
        Never,
        "With what means to trace: what any user may use, the best that works, or BPF and fanotify alone.",
    ),
    key(
        "isolation.engine",
        Choice(&["none", "auto", "jail"]),
        Later,
        "What keeps the command of a run in: nothing, the strongest that works, or a jail and else no run.",
    ),
    key("isolation.delete_storm.count", Number(10_000_000), Never, "Deletions that are a storm; 0 for never."),
    key("isolation.delete_storm.window_seconds", Number(3600), Never, "Seconds within which they are counted."),
    key(
        "isolation.delete_storm.action",
        Choice(&["note", "ask", "undo"]),
        Later,
        "What to do about a storm: write it down; hold the run and ask whoever is at its terminal; undo it and stop.",
    ),
];

/// Names under which other tools know a key.
const ALIASES: &[(&str, &str)] = &[
    ("vm.snapshots.auto_max", "snapshots.auto_max"),
    ("vm.snapshots.manual_max", "snapshots.manual_max"),
    ("vm.snapshots.auto_interval", "snapshots.auto_interval"),
];

/// The key of that name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    KEYS.iter().find(|key| key.name == name)
}

/// Every name of every key.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name).chain(ALIASES.iter().map(|(alias, _)| *alias))
}

/// Whether keys begin with this name and a dot.
pub(crate) fn is_section(name: &str) -> bool {
    names().any(|key| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

impl Shape {
    /// The shape in words, for an error.
    pub(crate) fn expected(self) -> String {
        match self {
            Flag => "true or false".into(),
            Number(u64::MAX) => "a whole number".into(),
            Number(max) => format!("a whole number up to {max}"),
            Size => "a size such as 2GiB, 500MB or 1024".into(),
            Choice(choices) => choices.join(" or "),
            Texts => "a list of texts".into(),
        }
    }
}
