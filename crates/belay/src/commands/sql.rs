//! `belay sql`: questions to the record of a run.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use belay_session::journal::{Answer, Cell as Value};
use serde_json::{Map, json};

use crate::context::Context;
use crate::error::Result;
use crate::past;
use crate::ui::escape::{harmless, printable};
use crate::ui::table::Table;

/// Ask the record of a run in SQL, without being able to change it
///
/// The record is an SQLite database: fs_events, exec_events, snapshot_events, denials, net_events, mcp_calls, model_calls,
/// and events with everything in JSON. One statement that only reads is answered, also while the run goes on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, allow_missing_positional = true)]
pub(crate) struct Args {
    /// The run: an id or its beginning, a label, @latest, @-2; the latest by default
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// The question
    #[arg(value_name = "SQL")]
    sql: String,

    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay sql \"SELECT action, count(*) FROM fs_events GROUP BY action\"
  belay sql @latest \"SELECT number, command, args FROM exec_events WHERE exit_code <> 0\"
  belay sql run_k8m2p1x0 \"SELECT * FROM snapshot_events\" --json
  belay sql @latest \"SELECT name FROM pragma_table_info('fs_events')\"";

/// Prints the answer.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let run = past::find(context, &home, args.run.as_deref())?;
    let journal = home.journal(&run)?;
    let answer = journal.query(&args.sql).map_err(belay_session::Error::from)?;
    let mut out = context.ui.paged();
    if context.ui.json {
        for row in &answer.rows {
            let object: Map<String, serde_json::Value> =
                answer.columns.iter().cloned().zip(row.iter().map(to_json)).collect();
            out.json(&object)?;
        }
    } else if args.csv {
        // On a terminal nothing in a field may move the cursor; a file gets the very bytes.
        let is_seen = std::io::stdout().is_terminal();
        write_csv(&mut out, &answer, |field| if is_seen { harmless(field) } else { field.to_owned() })?;
    } else {
        write_table(&mut out, &answer)?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn write_table(out: &mut impl Write, answer: &Answer) -> Result<()> {
    let columns: Vec<String> = answer.columns.iter().map(|name| printable(name.as_bytes())).collect();
    let mut table = Table::new(&columns);
    for row in &answer.rows {
        table.row(row.iter().map(|value| printable(text(value).as_bytes()).into()).collect());
    }
    Ok(table.write(out)?)
}

fn write_csv(out: &mut impl Write, answer: &Answer, shown: impl Fn(&str) -> String) -> Result<()> {
    let line = |fields: Vec<String>| fields.iter().map(|field| quoted(&shown(field))).collect::<Vec<_>>().join(",");
    write!(out, "{}\r\n", line(answer.columns.clone()))?;
    for row in &answer.rows {
        write!(out, "{}\r\n", line(row.iter().map(text).collect()))?;
    }
    Ok(())
}

/// A field as RFC 4180 has it.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => hex(bytes),
    }
}

fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => json!(null),
        Value::Integer(number) => json!(number),
        Value::Real(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Bytes(bytes) => json!(hex(bytes)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
