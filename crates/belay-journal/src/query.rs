//! Questions in SQL, which cannot change anything.
//!
//! The connection is read-only, and an authorizer refuses whatever is more than reading this one database:
//! other databases, settings, functions that reach outside.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::Value;

use crate::error::{Error, Result};
use crate::reader::Reader;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Reader {
    /// Answers a question in SQL: one statement that only reads.
    pub fn query(&self, sql: &str) -> Result<Answer> {
        self.connection.authorizer(Some(authorize)).map_err(Error::Query)?;
        let answer = self.answer(sql);
        self.connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(Error::Query)?;
        answer.map_err(Error::Query)
    }

    fn answer(&self, sql: &str) -> rusqlite::Result<Answer> {
        let mut statement = self.connection.prepare(sql)?;
        let columns = statement.column_names().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let cells = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|column| row.get(column).map(cell)).collect();
        let rows = statement.query_map([], cells)?.collect::<rusqlite::Result<_>>()?;
        Ok(Answer { columns, rows })
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Integer(number) => Cell::Integer(number),
        Value::Real(number) => Cell::Real(number),
        Value::Text(text) => Cell::Text(text),
        Value::Blob(bytes) => Cell::Bytes(bytes),
    }
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    const PRAGMAS: [&str; 5] = ["table_info", "table_xinfo", "table_list", "index_list", "user_version"];
    match context.action {
        AuthAction::Select | AuthAction::Recursive => Authorization::Allow,
        // The secret of the nonces would undo what an export leaves out.
        AuthAction::Read { table_name: "head", column_name: "secret" } => Authorization::Deny,
        AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Allow
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let known = PRAGMAS.contains(&pragma_name.to_ascii_lowercase().as_str());
            let sets = pragma_name.eq_ignore_ascii_case("user_version") && pragma_value.is_some();
            if known && !sets { Authorization::Allow } else { Authorization::Deny }
        }
        _ => Authorization::Deny,
    }
}
