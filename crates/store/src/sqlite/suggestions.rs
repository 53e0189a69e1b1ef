//! The tables of skills that seem to be missing.

use super::fault::Fault;
use super::{classifications, servers, skills};
use crate::{Page, Settled, Slice, SuggestionDraft, SuggestionRecord, Verdict};
use portolan_model::{Moment, ServerId, SkillId, SuggestionId, SuggestionState, Workspace};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};

pub(super) async fn add(db: &mut SqliteConnection, draft: &SuggestionDraft) -> Result<(), Fault> {
    let waiting: Option<i64> = sqlx::query_scalar(
        "SELECT id FROM skill_suggestions
         WHERE workspace = ? AND name = ? AND state IN ('PENDING', 'REJECTED') ORDER BY id DESC LIMIT 1",
    )
    .bind(draft.workspace.as_str())
    .bind(draft.name.as_str())
    .fetch_optional(&mut *db)
    .await?;
    let id = match waiting {
        Some(id) => id,
        None => insert(db, draft).await?,
    };
    for (server, tool) in &draft.tools {
        // The SELECT yields a row only if the server is still there.
        sqlx::query(
            "INSERT INTO suggestion_tools (suggestion_id, server_id, tool_name)
             SELECT ?1, id, ?3 FROM servers WHERE id = ?2
             ON CONFLICT (suggestion_id, server_id, tool_name) DO NOTHING",
        )
        .bind(id)
        .bind(server.to_string())
        .bind(tool.as_str())
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

async fn insert(db: &mut SqliteConnection, draft: &SuggestionDraft) -> Result<i64, Fault> {
    let id = sqlx::query_scalar(
        "INSERT INTO skill_suggestions (workspace, name, description, state, created_at)
         VALUES (?, ?, ?, 'PENDING', ?) RETURNING id",
    )
    .bind(draft.workspace.as_str())
    .bind(draft.name.as_str())
    .bind(draft.description.as_str())
    .bind(Moment::now().as_millis())
    .fetch_one(db)
    .await?;
    Ok(id)
}

pub(super) async fn find(
    db: &mut SqliteConnection,
    workspace: &Workspace,
    state: Option<SuggestionState>,
    page: Page,
) -> Result<Slice<SuggestionRecord>, Fault> {
    let narrow = |query: &mut QueryBuilder<Sqlite>| {
        query.push(" WHERE workspace = ").push_bind(workspace.as_str().to_owned());
        if let Some(state) = state {
            query.push(" AND state = ").push_bind(state.as_str());
        }
    };
    let mut count = QueryBuilder::new("SELECT count(*) FROM skill_suggestions");
    narrow(&mut count);
    let total: i64 = count.build_query_scalar().fetch_one(&mut *db).await?;
    let mut list = QueryBuilder::new("SELECT * FROM skill_suggestions");
    narrow(&mut list);
    list.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(page.limit));
    list.push(" OFFSET ").push_bind(i64::from(page.offset));
    let mut items = Vec::new();
    for row in list.build().fetch_all(&mut *db).await? {
        items.push(record(db, &row).await?);
    }
    Ok(Slice { items, total: total.cast_unsigned() })
}

pub(super) async fn settle(
    db: &mut SqliteConnection,
    suggestion: SuggestionId,
    verdict: &Verdict,
    at: Moment,
) -> Result<Settled, Fault> {
    let Some(before) = one(db, suggestion).await? else { return Ok(Settled::NoSuchSuggestion) };
    if before.state != SuggestionState::Pending {
        return Ok(Settled::Already(before.state));
    }
    let (state, skill) = match verdict {
        Verdict::Approve(skill) => {
            if !skills::add(db, skill).await? {
                return Ok(Settled::SkillTaken);
            }
            (SuggestionState::Approved, Some(&skill.id))
        }
        Verdict::Reject => (SuggestionState::Rejected, None),
        Verdict::Merge(skill) => {
            if !skills::is_there(db, &before.workspace, skill).await? {
                return Ok(Settled::NoSuchSkill);
            }
            (SuggestionState::Merged, Some(skill))
        }
    };
    if let Some(skill) = skill {
        for (server, tool) in &before.tools {
            classifications::give(db, *server, tool, skill).await?;
        }
    }
    sqlx::query("UPDATE skill_suggestions SET state = ?, skill_id = ?, settled_at = ? WHERE id = ?")
        .bind(state.as_str())
        .bind(skill.map(SkillId::as_str))
        .bind(at.as_millis())
        .bind(suggestion.0)
        .execute(db)
        .await?;
    Ok(Settled::Done(SuggestionRecord { state, skill: skill.cloned(), settled_at: Some(at), ..before }))
}

pub(super) async fn one(
    db: &mut SqliteConnection,
    id: SuggestionId,
) -> Result<Option<SuggestionRecord>, Fault> {
    let row = sqlx::query("SELECT * FROM skill_suggestions WHERE id = ?").bind(id.0);
    match row.fetch_optional(&mut *db).await? {
        Some(row) => Ok(Some(record(db, &row).await?)),
        None => Ok(None),
    }
}

async fn record(db: &mut SqliteConnection, row: &SqliteRow) -> Result<SuggestionRecord, Fault> {
    let id: i64 = row.try_get("id")?;
    let workspace: &str = row.try_get("workspace")?;
    let skill: Option<&str> = row.try_get("skill_id")?;
    let settled_at: Option<i64> = row.try_get("settled_at")?;
    let state = SuggestionState::named(row.try_get("state")?);
    Ok(SuggestionRecord {
        id: SuggestionId(id),
        workspace: workspace.into(),
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        state: state.ok_or(Fault::Row("the state of a suggestion"))?,
        skill: skill.map(skills::id).transpose()?,
        tools: tools(db, id).await?,
        created_at: servers::moment(row, "created_at")?,
        settled_at: settled_at.map(Moment::from_millis),
    })
}

async fn tools(db: &mut SqliteConnection, suggestion: i64) -> Result<Vec<(ServerId, String)>, Fault> {
    let rows = sqlx::query(
        "SELECT w.server_id, w.tool_name FROM suggestion_tools w JOIN servers s ON s.id = w.server_id
         WHERE w.suggestion_id = ? ORDER BY s.name, w.tool_name",
    )
    .bind(suggestion)
    .fetch_all(db)
    .await?;
    let tool = |row: &SqliteRow| Ok((servers::id(row, "server_id")?, row.try_get("tool_name")?));
    rows.iter().map(tool).collect()
}
