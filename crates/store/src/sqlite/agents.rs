//! The table of what connector agents have done.

use super::fault::Fault;
use super::servers;
use crate::{AgentDay, AgentTallyRecord, StoreError};
use portolan_model::Moment;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

pub(super) async fn all(db: &mut SqliteConnection) -> Result<Vec<AgentTallyRecord>, Fault> {
    let rows = sqlx::query("SELECT * FROM agent_tallies ORDER BY server_id").fetch_all(db).await?;
    rows.iter().map(record).collect()
}

pub(super) async fn put(db: &mut SqliteConnection, tally: &AgentTallyRecord) -> Result<(), Fault> {
    if !servers::is_there(db, tally.server).await? {
        return Err(Fault::Refused(StoreError::NoSuchServer));
    }
    sqlx::query(
        "INSERT OR REPLACE INTO agent_tallies
             (server_id, calls, errors, tokens_in, tokens_out, cost, latency_total, latency_max, last_used_at,
              day, day_tokens_in, day_tokens_out, day_cost)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(tally.server.to_string())
    .bind(integer(tally.calls))
    .bind(integer(tally.errors))
    .bind(integer(tally.tokens_in))
    .bind(integer(tally.tokens_out))
    .bind(integer(tally.cost))
    .bind(integer(tally.latency_total))
    .bind(integer(tally.latency_max))
    .bind(tally.last_used_at.map(Moment::as_millis))
    .bind(tally.today.day)
    .bind(integer(tally.today.tokens_in))
    .bind(integer(tally.today.tokens_out))
    .bind(integer(tally.today.cost))
    .execute(db)
    .await?;
    Ok(())
}

fn record(row: &SqliteRow) -> Result<AgentTallyRecord, Fault> {
    let last_used_at: Option<i64> = row.try_get("last_used_at")?;
    Ok(AgentTallyRecord {
        server: servers::id(row, "server_id")?,
        calls: number(row, "calls")?,
        errors: number(row, "errors")?,
        tokens_in: number(row, "tokens_in")?,
        tokens_out: number(row, "tokens_out")?,
        cost: number(row, "cost")?,
        latency_total: number(row, "latency_total")?,
        latency_max: number(row, "latency_max")?,
        last_used_at: last_used_at.map(Moment::from_millis),
        today: AgentDay {
            day: row.try_get("day")?,
            tokens_in: number(row, "day_tokens_in")?,
            tokens_out: number(row, "day_tokens_out")?,
            cost: number(row, "day_cost")?,
        },
    })
}

/// SQLite's integers have a sign; what is beyond them stays at their end.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(row: &SqliteRow, column: &str) -> Result<u64, Fault> {
    let value: i64 = row.try_get(column)?;
    u64::try_from(value).map_err(|_| Fault::Row("a number of an agent"))
}
