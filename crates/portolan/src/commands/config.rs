//! `portolan config`: the effective settings and where each came from.

use crate::cli::ConfigArgs;
use crate::{Failure, wire_up};
use portolan_config::{Environment, Row};
use std::process::ExitCode;

#[expect(clippy::print_stdout, reason = "the settings are what was asked for")]
pub(crate) fn run(args: &ConfigArgs) -> Result<ExitCode, Failure> {
    let loaded = wire_up::settings(&args.common.flags(), &Environment::of_process())?;
    let rows = portolan_config::describe(&loaded);
    if args.json {
        let object: serde_json::Map<String, serde_json::Value> = rows
            .iter()
            .map(|row| {
                let entry = serde_json::json!({"value": row.value, "origin": row.origin.to_string()});
                (row.key.to_owned(), entry)
            })
            .collect();
        println!("{}", serde_json::Value::Object(object));
    } else {
        print!("{}", table(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

fn table(rows: &[Row]) -> String {
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (keys, values) = (width(|row| row.key.len()), width(|row| row.value.len()));
    let line = |row: &Row| format!("{:keys$}  {:values$}  {}\n", row.key, row.value, row.origin);
    rows.iter().map(line).collect()
}
