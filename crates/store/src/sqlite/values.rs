//! The tables of single values: secrets, which are sealed before they come here, and settings.

use super::fault::Fault;
use super::servers;
use crate::SecretRecord;
use portolan_model::Workspace;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

pub(super) async fn secrets(
    db: &mut SqliteConnection,
    workspace: &Workspace,
) -> Result<Vec<SecretRecord>, Fault> {
    let rows = sqlx::query("SELECT name, sealed, updated_at FROM secrets WHERE workspace = ? ORDER BY name")
        .bind(workspace.as_str())
        .fetch_all(db)
        .await?;
    let secret = |row: &SqliteRow| {
        Ok(SecretRecord {
            workspace: workspace.clone(),
            name: row.try_get("name")?,
            sealed: row.try_get("sealed")?,
            updated_at: servers::moment(row, "updated_at")?,
        })
    };
    rows.iter().map(secret).collect()
}

pub(super) async fn put_secret(db: &mut SqliteConnection, secret: &SecretRecord) -> Result<(), Fault> {
    sqlx::query(
        "INSERT INTO secrets (workspace, name, sealed, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (workspace, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
    )
    .bind(secret.workspace.as_str())
    .bind(secret.name.as_str())
    .bind(secret.sealed.as_slice())
    .bind(secret.updated_at.as_millis())
    .execute(db)
    .await?;
    Ok(())
}

pub(super) async fn remove_secret(
    db: &mut SqliteConnection,
    workspace: &Workspace,
    name: &str,
) -> Result<bool, Fault> {
    let done = sqlx::query("DELETE FROM secrets WHERE workspace = ? AND name = ?")
        .bind(workspace.as_str())
        .bind(name)
        .execute(db)
        .await?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn setting(db: &mut SqliteConnection, key: &str) -> Result<Option<Vec<u8>>, Fault> {
    let value = sqlx::query_scalar("SELECT value FROM settings WHERE key = ?").bind(key);
    Ok(value.fetch_optional(db).await?)
}

pub(super) async fn put_setting(db: &mut SqliteConnection, key: &str, value: &[u8]) -> Result<(), Fault> {
    sqlx::query(
        "INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    )
    .bind(key)
    .bind(value)
    .execute(db)
    .await?;
    Ok(())
}
