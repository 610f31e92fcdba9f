//! The commands, one file each: its arguments with their help, and one function that carries it out.

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::Result;

pub(crate) mod answer;
pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod bisect;
pub(crate) mod blame;
pub(crate) mod cat;
pub(crate) mod changes;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod du;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod forget;
pub(crate) mod fork;
pub(crate) mod forks;
pub(crate) mod gc;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod logs;
pub(crate) mod ls;
pub(crate) mod mcp;
pub(crate) mod pick;
pub(crate) mod profile;
pub(crate) mod redo;
pub(crate) mod reside;
pub(crate) mod restore;
pub(crate) mod review;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod snapshots;
pub(crate) mod sql;
pub(crate) mod status;
pub(crate) mod statusline;
pub(crate) mod stop;
pub(crate) mod supervise;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod uninstall;
pub(crate) mod util;
pub(crate) mod verify;
pub(crate) mod version;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod workspaces;

/// Carries out the command.
pub(crate) fn run(cli: Cli, context: &Context<'_>) -> Result<ExitCode> {
    match cli.command {
        Command::Run(args) => run::run(context, args),
        Command::Watch(args) => watch::run(context, args),
        Command::Attach(args) => attach::run(context, args),
        Command::Stop(args) => stop::run(context, args),
        Command::Logs(args) => logs::run(context, args),
        Command::Runs(args) => runs::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Log(args) => log::run(context, args),
        Command::Sql(args) => sql::run(context, args),
        Command::Audit(args) => audit::run(context, args),
        Command::Snapshot(args) => snapshot::run(context, args),
        Command::Snapshots(args) => snapshots::run(context, args),
        Command::Status(args) => status::run(context, args),
        Command::Diff(args) => diff::run(context, args),
        Command::Rollback(args) => rollback::run(context, args),
        Command::Review(args) => review::run(context, args),
        Command::Discard(args) => discard::run(context, args),
        Command::Fork(args) => fork::run(context, args),
        Command::Forks(args) => forks::run(context, args),
        Command::Compare(args) => compare::run(context, args),
        Command::Pick(args) => pick::run(context, args),
        Command::Undo(args) => undo::run(context, args),
        Command::Redo(args) => redo::run(context, args),
        Command::Restore(args) => restore::run(context, args),
        Command::History(args) => history::run(context, args),
        Command::Changes(args) => changes::run(context, args),
        Command::Blame(args) => blame::run(context, args),
        Command::Bisect(args) => bisect::run(context, args),
        Command::Cat(args) => cat::run(context, args),
        Command::Ls(args) => ls::run(context, args),
        Command::Find(args) => find::run(context, args),
        Command::Du(args) => du::run(context, args),
        Command::Gc(args) => gc::run(context, args),
        Command::Verify(args) => verify::run(context, args),
        Command::Export(args) => export::run(context, args),
        Command::Import(args) => import::run(context, args),
        Command::Forget(args) => forget::run(context, args),
        Command::Workspaces(args) => workspaces::run(context, args),
        Command::Profile(args) => profile::run(context, args),
        Command::Why(args) => why::run(context, args),
        Command::Config(args) => config::run(context, args),
        Command::Trust(args) => trust::run(context, args),
        Command::Init(args) => init::run(context, args),
        Command::Install(args) => install::run(context, args),
        Command::Uninstall(args) => uninstall::run(context, args),
        Command::Hook(args) => hook::run(context, args),
        Command::Statusline(args) => statusline::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Mcp(args) => mcp::run(context, args),
        Command::Conformance(args) => conformance::run(context, args),
        Command::Demo(args) => demo::run(context, args),
        Command::Completions(args) => completions::run(context, args),
        Command::Version(args) => version::run(context, args),
        Command::Answer(args) => answer::run(context, args),
        Command::Reside(args) => reside::run(context, args),
        Command::Supervise(args) => supervise::run(context, args),
        Command::Util(args) => util::run(context, args),
    }
}
