//! What happened: the history of each server and the stream of events, both kept to their latest.

use super::fault::Fault;
use super::servers;
use crate::{EventRecord, HistoryRecord, Page, Slice};
use portolan_model::ServerId;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use std::collections::BTreeSet;

/// Entries that each server's history keeps, and events that are kept in all.
const KEPT: i64 = 1000;

pub(super) async fn add_history(db: &mut SqliteConnection, entries: &[HistoryRecord]) -> Result<(), Fault> {
    for entry in entries {
        // The SELECT yields a row only if the server is there.
        sqlx::query(
            "INSERT INTO history (server_id, event, details, at) SELECT id, ?2, ?3, ?4 FROM servers WHERE id = ?1",
        )
        .bind(entry.server.to_string())
        .bind(entry.event.as_str())
        .bind(entry.details.as_deref())
        .bind(entry.at.as_millis())
        .execute(&mut *db)
        .await?;
    }
    let servers: BTreeSet<ServerId> = entries.iter().map(|entry| entry.server).collect();
    for server in servers {
        // A walk along the index; where there are not too many the inner SELECT is NULL and nothing goes.
        sqlx::query(
            "DELETE FROM history WHERE server_id = ?1 AND id <=
                 (SELECT id FROM history WHERE server_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        )
        .bind(server.to_string())
        .bind(KEPT)
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

pub(super) async fn history(
    db: &mut SqliteConnection,
    server: ServerId,
    page: Page,
) -> Result<Slice<HistoryRecord>, Fault> {
    let total: i64 = sqlx::query_scalar("SELECT count(*) FROM history WHERE server_id = ?")
        .bind(server.to_string())
        .fetch_one(&mut *db)
        .await?;
    let rows = sqlx::query(
        "SELECT id, server_id, event, details, at FROM history WHERE server_id = ?
         ORDER BY id DESC LIMIT ? OFFSET ?",
    )
    .bind(server.to_string())
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(db)
    .await?;
    let items: Result<_, _> = rows.iter().map(entry).collect();
    Ok(Slice { items: items?, total: total.cast_unsigned() })
}

pub(super) async fn add_events(db: &mut SqliteConnection, events: &[EventRecord]) -> Result<(), Fault> {
    for event in events {
        // Whoever does not know whether the events were taken may send them again.
        sqlx::query(
            "INSERT INTO events (id, kind, data, at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        )
        .bind(event.id)
        .bind(event.kind.as_str())
        .bind(event.data.as_str())
        .bind(event.at.as_millis())
        .execute(&mut *db)
        .await?;
    }
    sqlx::query("DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)")
        .bind(KEPT)
        .execute(db)
        .await?;
    Ok(())
}

pub(super) async fn events(db: &mut SqliteConnection) -> Result<Vec<EventRecord>, Fault> {
    let rows = sqlx::query("SELECT id, kind, data, at FROM events ORDER BY id").fetch_all(db).await?;
    rows.iter().map(event).collect()
}

fn entry(row: &SqliteRow) -> Result<HistoryRecord, Fault> {
    Ok(HistoryRecord {
        id: row.try_get("id")?,
        server: servers::id(row, "server_id")?,
        event: row.try_get("event")?,
        details: row.try_get("details")?,
        at: servers::moment(row, "at")?,
    })
}

fn event(row: &SqliteRow) -> Result<EventRecord, Fault> {
    Ok(EventRecord {
        id: row.try_get("id")?,
        kind: row.try_get("kind")?,
        data: row.try_get("data")?,
        at: servers::moment(row, "at")?,
    })
}
