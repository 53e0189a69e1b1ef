//! The table of servers.

use super::fault::Fault;
use crate::{ServerRecord, StoreError};
use portolan_model::{Moment, Origin, ServerId, ServerName, Workspace};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

pub(super) async fn all(
    db: &mut SqliteConnection,
    workspace: &Workspace,
) -> Result<Vec<ServerRecord>, Fault> {
    let rows = sqlx::query("SELECT * FROM servers WHERE workspace = ? ORDER BY name")
        .bind(workspace.as_str())
        .fetch_all(db)
        .await?;
    rows.iter().map(record).collect()
}

pub(super) async fn is_there(db: &mut SqliteConnection, server: ServerId) -> Result<bool, Fault> {
    let found = sqlx::query("SELECT 1 FROM servers WHERE id = ?").bind(server.to_string());
    Ok(found.fetch_optional(db).await?.is_some())
}

pub(super) async fn add(db: &mut SqliteConnection, server: &ServerRecord) -> Result<(), Fault> {
    sqlx::query(
        "INSERT INTO servers
             (id, workspace, name, origin, description, sealed_spec, is_wanted, registered_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(server.id.to_string())
    .bind(server.workspace.as_str())
    .bind(server.name.as_str())
    .bind(server.origin.as_str())
    .bind(server.description.as_deref())
    .bind(server.sealed_spec.as_deref())
    .bind(server.is_wanted)
    .bind(server.registered_at.as_millis())
    .bind(server.updated_at.as_millis())
    .execute(db)
    .await
    .map_err(|error| Fault::of_naming(error, &server.name))?;
    Ok(())
}

pub(super) async fn change(db: &mut SqliteConnection, server: &ServerRecord) -> Result<(), Fault> {
    let done = sqlx::query(
        "UPDATE servers SET name = ?, description = ?, sealed_spec = ?, is_wanted = ?, updated_at = ? WHERE id = ?",
    )
    .bind(server.name.as_str())
    .bind(server.description.as_deref())
    .bind(server.sealed_spec.as_deref())
    .bind(server.is_wanted)
    .bind(server.updated_at.as_millis())
    .bind(server.id.to_string())
    .execute(db)
    .await
    .map_err(|error| Fault::of_naming(error, &server.name))?;
    match done.rows_affected() {
        0 => Err(Fault::Refused(StoreError::NoSuchServer)),
        _ => Ok(()),
    }
}

/// Its tools, curations and history go with it: their tables cascade.
pub(super) async fn remove(db: &mut SqliteConnection, server: ServerId) -> Result<bool, Fault> {
    let done = sqlx::query("DELETE FROM servers WHERE id = ?").bind(server.to_string()).execute(db).await?;
    Ok(done.rows_affected() > 0)
}

fn record(row: &SqliteRow) -> Result<ServerRecord, Fault> {
    let workspace: &str = row.try_get("workspace")?;
    Ok(ServerRecord {
        id: id(row, "id")?,
        workspace: workspace.into(),
        name: name(row, "name")?,
        origin: origin(row)?,
        description: row.try_get("description")?,
        sealed_spec: row.try_get("sealed_spec")?,
        is_wanted: row.try_get("is_wanted")?,
        registered_at: moment(row, "registered_at")?,
        updated_at: moment(row, "updated_at")?,
    })
}

pub(super) fn id(row: &SqliteRow, column: &str) -> Result<ServerId, Fault> {
    let text: &str = row.try_get(column)?;
    text.parse().map_err(|_| Fault::Row("the id of a server"))
}

pub(super) fn name(row: &SqliteRow, column: &str) -> Result<ServerName, Fault> {
    ServerName::parse(row.try_get(column)?).map_err(|_| Fault::Row("the name of a server"))
}

pub(super) fn moment(row: &SqliteRow, column: &str) -> Result<Moment, Fault> {
    Ok(Moment::from_millis(row.try_get(column)?))
}

fn origin(row: &SqliteRow) -> Result<Origin, Fault> {
    let text: &str = row.try_get("origin")?;
    [Origin::File, Origin::Registered]
        .into_iter()
        .find(|origin| origin.as_str() == text)
        .ok_or(Fault::Row("the origin of a server"))
}
