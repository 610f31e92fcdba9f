//! The command line as it is typed: global options and one variant for each command.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::commands as c;
use crate::error::EXIT_CODES;
use crate::ui::width::hang;

/// Snapshots of any directory, and the way back.
///
/// Belay keeps snapshots of a workspace (any directory; git is not needed) outside of it, complete to the last
/// permission bit, and takes the workspace back to any of them. Nothing is ever lost on the way: before belay
/// changes a file it has captured what was there, so every rollback can be undone.
#[derive(Debug, Parser)]
#[command(name = "belay", version, max_term_width = 100, after_help = AFTER_HELP, after_long_help = after_long_help())]
#[command(disable_help_subcommand = false, infer_subcommands = false, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Act on the workspace that holds DIR instead of the current directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true, help_heading = "Global options")]
    pub(crate) directory: Option<PathBuf>,

    /// Act on this fork of the workspace instead
    #[arg(long, value_name = "NAME", global = true, help_heading = "Global options")]
    pub(crate) fork: Option<String>,

    /// Print JSON: one document, or one object a line for lists that can be long
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = "Global options")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) color: Color,

    /// Say nothing but what was asked for, warnings and errors
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,

    /// Allow your home directory or `/` as a workspace
    #[arg(long, global = true, help_heading = "Global options", hide_short_help = true)]
    pub(crate) yes_really: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(c::run::Args),
    Watch(c::watch::Args),
    Attach(c::attach::Args),
    Stop(c::stop::Args),
    Logs(c::logs::Args),
    Runs(c::runs::Args),
    Show(c::show::Args),
    Log(c::log::Args),
    Sql(c::sql::Args),
    Audit(c::audit::Args),
    Snapshot(c::snapshot::Args),
    Snapshots(c::snapshots::Args),
    Status(c::status::Args),
    Diff(c::diff::Args),
    Rollback(c::rollback::Args),
    Review(c::review::Args),
    Discard(c::discard::Args),
    Fork(c::fork::Args),
    Forks(c::forks::Args),
    Compare(c::compare::Args),
    Pick(c::pick::Args),
    Undo(c::undo::Args),
    Redo(c::redo::Args),
    Restore(c::restore::Args),
    History(c::history::Args),
    Changes(c::changes::Args),
    Blame(c::blame::Args),
    Bisect(c::bisect::Args),
    Cat(c::cat::Args),
    Ls(c::ls::Args),
    Find(c::find::Args),
    Du(c::du::Args),
    Gc(c::gc::Args),
    Verify(c::verify::Args),
    Export(c::export::Args),
    Import(c::import::Args),
    Forget(c::forget::Args),
    Workspaces(c::workspaces::Args),
    Profile(c::profile::Args),
    Why(c::why::Args),
    Config(c::config::Args),
    Trust(c::trust::Args),
    Init(c::init::Args),
    Install(c::install::Args),
    Uninstall(c::uninstall::Args),
    Doctor(c::doctor::Args),
    Mcp(c::mcp::Args),
    Hook(c::hook::Args),
    Statusline(c::statusline::Args),
    Demo(c::demo::Args),
    Conformance(c::conformance::Args),
    Completions(c::completions::Args),
    Version(c::version::Args),
    #[command(hide = true)]
    Answer(c::answer::Args),
    #[command(hide = true)]
    Reside(c::reside::Args),
    #[command(hide = true)]
    Supervise(c::supervise::Args),
    #[command(hide = true)]
    Util(c::util::Args),
}

impl Command {
    /// Whether it never changes anything that somebody might fear for.
    pub(crate) fn only_reads(&self) -> bool {
        use Command as C;
        matches!(
            self,
            C::Blame(_) | C::Cat(_) | C::Diff(_) | C::Log(_) | C::Logs(_) | C::Profile(_) | C::Show(_) | C::Why(_)
        )
    }
}

/// The command among words that could not be understood as a whole.
pub(crate) fn verb(words: &[String]) -> Option<&str> {
    let mut words = words.iter().map(String::as_str);
    loop {
        match words.next()? {
            "-C" | "--directory" | "--fork" | "--color" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
}

const AFTER_HELP: &str = "\
A snapshot is named by its id or the beginning of it, its label, its number,
`@latest`, `@-2`, `@turn-3`, `@safety`, or a time such as `10m ago` or `14:30`.
`belay demo` shows everything in five seconds.";

const NOTES: &str = "\
Names of snapshots:
  snap_w5k9n3, snap_w5   an id, or its beginning when only one snapshot begins so;
                         w5k9 is enough, shorter needs the snap_
  before-refactor        a label
  12, cp-3               a number in the timeline, a slot of a pool
  @latest, @-2           the newest, the second before it, without those that belay
                         took before a rollback (that one is @safety)
  @pre-run, @safety      the newest before a run, the newest that a rollback made
  @turn-3                the one taken when that turn of an agent began
  '10m ago', 14:30, 2026-01-20T10:30:00Z
                         the newest that is not younger than that

Examples:
  belay snapshot --label before-refactor
  belay status
  belay diff @latest --stat
  belay rollback before-refactor
  belay undo

Files:
  $BELAY_HOME, else $XDG_DATA_HOME/belay, else ~/.local/share/belay
                         snapshots of all workspaces; never inside a workspace
  ~/.config/belay/config.toml, /etc/belay/corp.toml, belay.toml in a workspace
                         configuration, also as .yaml; see `belay config list --origin`

Environment:
  BELAY_HOME             keeps everything, configuration included, in that directory
  BELAY_SECTION__KEY     overrides a configuration key, for example
                         BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED=capture
  BELAY_PAGER, PAGER     the pager for long output; empty for none
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE
                         whether to use colour

Exit codes:
";

fn after_long_help() -> String {
    let codes = EXIT_CODES.iter().map(|(code, meaning)| hang(&format!("  {code:<4} "), meaning, 80) + "\n");
    format!("{NOTES}{}", codes.collect::<String>())
}

/// Every command that the help shows, by what one wants to do.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Protect", &["run", "watch", "snapshot", "init", "install", "uninstall", "doctor"]),
    ("Take back", &["undo", "redo", "rollback", "restore"]),
    (
        "Look",
        &[
            "status",
            "log",
            "diff",
            "changes",
            "blame",
            "history",
            "find",
            "ls",
            "cat",
            "snapshots",
            "runs",
            "show",
            "bisect",
            "sql",
            "audit",
        ],
    ),
    ("Runs that go on", &["attach", "logs", "stop"]),
    ("Side by side", &["fork", "forks", "compare", "pick", "review", "discard"]),
    ("Rules and settings", &["profile", "why", "config", "trust"]),
    ("The store", &["du", "gc", "verify", "forget", "export", "import", "workspaces"]),
];
/// What is for programs, or once.
const OTHERS: (&str, &[&str]) =
    ("Others", &["demo", "conformance", "completions", "version", "mcp", "hook", "statusline", "help"]);

/// The command line with a help that is ordered by what one wants to do, on so many columns.
pub(crate) fn with_groups(columns: usize) -> clap::Command {
    let command = Cli::command();
    let header = *command.get_styles().get_header();
    let mut commands = String::new();
    for (group, names) in GROUPS.iter().chain([&OTHERS]) {
        commands.push_str(&format!("{header}{group}:{header:#}\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_else(|| "Show this, or the help of a command".to_owned());
            commands.push_str(&hang(&format!("  {name:<12} "), &about, columns));
            commands.push('\n');
        }
        commands.push('\n');
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().chain([&OTHERS]).flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let mut command = Cli::command();
        command.build();
        let mut shown: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            let long = command.get_after_long_help().map(|help| help.to_string()).unwrap_or_default();
            assert!(long.contains("Examples:"), "`belay {} --help` has no examples", command.get_name());
            for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
                let long = inner.get_after_long_help().map(|help| help.to_string()).unwrap_or_default();
                let name = format!("{} {}", command.get_name(), inner.get_name());
                assert!(long.contains("Examples:"), "`belay {name} --help` has no examples");
            }
        }
    }
}
