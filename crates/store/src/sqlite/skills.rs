//! The table of skills.

use super::fault::Fault;
use super::servers;
use crate::SkillRecord;
use portolan_model::{Moment, SkillId, Workspace};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

pub(super) async fn all(db: &mut SqliteConnection, workspace: &Workspace) -> Result<Vec<SkillRecord>, Fault> {
    let rows = sqlx::query("SELECT * FROM skills WHERE workspace = ? AND is_removed = 0 ORDER BY id")
        .bind(workspace.as_str())
        .fetch_all(db)
        .await?;
    rows.iter().map(record).collect()
}

pub(super) async fn is_there(
    db: &mut SqliteConnection,
    workspace: &Workspace,
    skill: &SkillId,
) -> Result<bool, Fault> {
    let found = sqlx::query("SELECT 1 FROM skills WHERE workspace = ? AND id = ? AND is_removed = 0")
        .bind(workspace.as_str())
        .bind(skill.as_str());
    Ok(found.fetch_optional(db).await?.is_some())
}

pub(super) async fn add_missing(db: &mut SqliteConnection, skills: &[SkillRecord]) -> Result<usize, Fault> {
    let mut added = 0;
    for skill in skills {
        added += usize::from(insert(db, skill, "ON CONFLICT (workspace, id) DO NOTHING").await?);
    }
    Ok(added)
}

/// An id that was removed may be given again.
pub(super) async fn add(db: &mut SqliteConnection, skill: &SkillRecord) -> Result<bool, Fault> {
    insert(
        db,
        skill,
        "ON CONFLICT (workspace, id) DO UPDATE SET
             name = excluded.name, description = excluded.description, keywords = excluded.keywords,
             examples = excluded.examples, domain = excluded.domain, is_removed = 0,
             created_at = excluded.created_at, updated_at = excluded.updated_at
         WHERE is_removed = 1",
    )
    .await
}

async fn insert(
    db: &mut SqliteConnection,
    skill: &SkillRecord,
    on_conflict: &'static str,
) -> Result<bool, Fault> {
    let mut query = sqlx::QueryBuilder::new(
        "INSERT INTO skills (workspace, id, name, description, keywords, examples, domain, is_built_in, is_removed,
                             created_at, updated_at) VALUES (",
    );
    let mut values = query.separated(", ");
    values.push_bind(skill.workspace.as_str());
    values.push_bind(skill.id.as_str());
    values.push_bind(skill.name.as_str());
    values.push_bind(skill.description.as_str());
    values.push_bind(written(&skill.keywords));
    values.push_bind(written(&skill.examples));
    values.push_bind(skill.domain.as_str());
    values.push_bind(skill.is_built_in);
    values.push_bind(false);
    values.push_bind(skill.created_at.as_millis());
    values.push_bind(skill.updated_at.as_millis());
    query.push(") ").push(on_conflict);
    Ok(query.build().execute(db).await?.rows_affected() > 0)
}

pub(super) async fn change(db: &mut SqliteConnection, skill: &SkillRecord) -> Result<bool, Fault> {
    let done = sqlx::query(
        "UPDATE skills SET name = ?, description = ?, keywords = ?, examples = ?, domain = ?, updated_at = ?
         WHERE workspace = ? AND id = ? AND is_removed = 0",
    )
    .bind(skill.name.as_str())
    .bind(skill.description.as_str())
    .bind(written(&skill.keywords))
    .bind(written(&skill.examples))
    .bind(skill.domain.as_str())
    .bind(skill.updated_at.as_millis())
    .bind(skill.workspace.as_str())
    .bind(skill.id.as_str())
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn remove(
    db: &mut SqliteConnection,
    workspace: &Workspace,
    skill: &SkillId,
) -> Result<bool, Fault> {
    let done =
        sqlx::query("UPDATE skills SET is_removed = 1 WHERE workspace = ? AND id = ? AND is_removed = 0")
            .bind(workspace.as_str())
            .bind(skill.as_str())
            .execute(&mut *db)
            .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    let rows = sqlx::query(
        "DELETE FROM skill_assignments
         WHERE skill_id = ?1 AND server_id IN (SELECT id FROM servers WHERE workspace = ?2)
         RETURNING server_id, tool_name",
    )
    .bind(skill.as_str())
    .bind(workspace.as_str())
    .fetch_all(&mut *db)
    .await?;
    let now = Moment::now().as_millis();
    for row in rows {
        let (server, tool): (String, String) = (row.try_get("server_id")?, row.try_get("tool_name")?);
        // Nothing happens here where the primary skill was another one, or none is left.
        sqlx::query(
            "UPDATE skill_assignments SET is_primary = 1
             WHERE server_id = ?1 AND tool_name = ?2
               AND skill_id = (SELECT skill_id FROM skill_assignments WHERE server_id = ?1 AND tool_name = ?2
                               ORDER BY is_primary DESC, confidence DESC, skill_id LIMIT 1)",
        )
        .bind(server.as_str())
        .bind(tool.as_str())
        .execute(&mut *db)
        .await?;
        sqlx::query(
            "UPDATE classifications SET state = 'DISCOVERED', tries = 0, updated_at = ?3
             WHERE server_id = ?1 AND tool_name = ?2 AND state = 'CLASSIFIED'
               AND NOT EXISTS (SELECT 1 FROM skill_assignments WHERE server_id = ?1 AND tool_name = ?2)",
        )
        .bind(server.as_str())
        .bind(tool.as_str())
        .bind(now)
        .execute(&mut *db)
        .await?;
    }
    Ok(true)
}

/// A list of texts as the row has it; texts can always be written.
fn written(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

fn texts(row: &SqliteRow, column: &str) -> Result<Vec<String>, Fault> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|_| Fault::Row("a list of a skill"))
}

pub(super) fn id(text: &str) -> Result<SkillId, Fault> {
    SkillId::parse(text).map_err(|_| Fault::Row("the id of a skill"))
}

fn record(row: &SqliteRow) -> Result<SkillRecord, Fault> {
    let workspace: &str = row.try_get("workspace")?;
    Ok(SkillRecord {
        workspace: workspace.into(),
        id: id(row.try_get("id")?)?,
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        keywords: texts(row, "keywords")?,
        examples: texts(row, "examples")?,
        domain: row.try_get("domain")?,
        is_built_in: row.try_get("is_built_in")?,
        created_at: servers::moment(row, "created_at")?,
        updated_at: servers::moment(row, "updated_at")?,
    })
}
