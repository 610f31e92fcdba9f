//! The few colours that belay uses, each with one meaning.

use anstyle::{AnsiColor, Style};

/// Headings of tables and sections.
pub(crate) const HEADING: Style = Style::new().bold();
/// Ids of snapshots and workspaces.
pub(crate) const ID: Style = AnsiColor::Cyan.on_default();
/// What was added, and what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What was removed, and what went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// What changed, and what needs attention.
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default();
/// What is said in passing.
pub(crate) const DIM: Style = Style::new().dimmed();
