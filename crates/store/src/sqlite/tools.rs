//! The tables of tools and of what people set for them.

use super::fault::Fault;
use super::{ROWS, classifications, servers};
use crate::{
    Among, Assignment, Curation, Page, Slice, StoreError, ToolDraft, ToolFinder, ToolRecord, ToolsChange,
};
use portolan_model::{Moment, ServerId, ToolId};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};
use std::collections::HashMap;

/// A tool as far as it matters for the difference.
struct Stored {
    id: i64,
    position: i64,
    fingerprint: String,
}

/// What is to be written so that the stored list becomes the new one.
#[derive(Default)]
struct Difference<'d> {
    new: Vec<(i64, &'d ToolDraft)>,
    /// With the id that it keeps.
    changed: Vec<(i64, i64, &'d ToolDraft)>,
    /// Only its place is another: id and place.
    moved: Vec<(i64, i64)>,
    gone: Vec<i64>,
}

impl<'d> Difference<'d> {
    fn between(mut stored: HashMap<String, Stored>, drafts: &'d [ToolDraft]) -> Self {
        // Of two drafts of one name the last one holds.
        let last: HashMap<&str, i64> = drafts.iter().map(|draft| draft.name.as_str()).zip(0..).collect();
        let mut difference = Self::default();
        for (position, draft) in (0..).zip(drafts) {
            if last.get(draft.name.as_str()) != Some(&position) {
                continue;
            }
            match stored.remove(&draft.name) {
                None => difference.new.push((position, draft)),
                Some(tool) if tool.fingerprint != draft.fingerprint => {
                    difference.changed.push((tool.id, position, draft));
                }
                Some(tool) if tool.position != position => difference.moved.push((tool.id, position)),
                Some(_) => {}
            }
        }
        difference.gone = stored.into_values().map(|tool| tool.id).collect();
        difference
    }
}

pub(super) async fn put(
    db: &mut SqliteConnection,
    server: ServerId,
    drafts: &[ToolDraft],
) -> Result<ToolsChange, Fault> {
    if !servers::is_there(db, server).await? {
        return Err(Fault::Refused(StoreError::NoSuchServer));
    }
    let difference = Difference::between(stored(db, server).await?, drafts);
    let now = Moment::now().as_millis();
    for id in &difference.gone {
        sqlx::query("DELETE FROM tools WHERE id = ?").bind(id).execute(&mut *db).await?;
    }
    for (id, position) in &difference.moved {
        let moved = sqlx::query("UPDATE tools SET position = ? WHERE id = ?").bind(position).bind(id);
        moved.execute(&mut *db).await?;
    }
    for (id, position, draft) in &difference.changed {
        sqlx::query(
            "UPDATE tools SET position = ?, description = ?, definition = ?, fingerprint = ?, changed_at = ?
             WHERE id = ?",
        )
        .bind(position)
        .bind(draft.description.as_deref())
        .bind(draft.definition.as_str())
        .bind(draft.fingerprint.as_str())
        .bind(now)
        .bind(id)
        .execute(&mut *db)
        .await?;
    }
    for tools in difference.new.chunks(ROWS) {
        insert(db, server, tools, now).await?;
    }
    Ok(ToolsChange {
        added: difference.new.len(),
        changed: difference.changed.len(),
        removed: difference.gone.len(),
    })
}

/// Tools with their places.
async fn insert(
    db: &mut SqliteConnection,
    server: ServerId,
    tools: &[(i64, &ToolDraft)],
    now: i64,
) -> Result<(), Fault> {
    let mut query = QueryBuilder::new(
        "INSERT INTO tools (server_id, name, position, description, definition, fingerprint, first_seen_at) ",
    );
    query.push_values(tools, |mut row, (position, draft)| {
        row.push_bind(server.to_string())
            .push_bind(draft.name.as_str())
            .push_bind(*position)
            .push_bind(draft.description.as_deref())
            .push_bind(draft.definition.as_str())
            .push_bind(draft.fingerprint.as_str())
            .push_bind(now);
    });
    query.build().persistent(false).execute(db).await?;
    Ok(())
}

/// The server's tools by their names.
async fn stored(db: &mut SqliteConnection, server: ServerId) -> Result<HashMap<String, Stored>, Fault> {
    let rows = sqlx::query("SELECT name, id, position, fingerprint FROM tools WHERE server_id = ?")
        .bind(server.to_string())
        .fetch_all(db)
        .await?;
    let stored = |row: &SqliteRow| {
        let tool = Stored {
            id: row.try_get("id")?,
            position: row.try_get("position")?,
            fingerprint: row.try_get("fingerprint")?,
        };
        Ok((row.try_get("name")?, tool))
    };
    rows.iter().map(stored).collect()
}

pub(super) async fn find(
    db: &mut SqliteConnection,
    finder: &ToolFinder,
    page: Page,
) -> Result<Slice<ToolRecord>, Fault> {
    let mut count = QueryBuilder::new("SELECT count(*) FROM servers s JOIN tools t ON t.server_id = s.id");
    narrow(&mut count, finder);
    let total: i64 = count.build_query_scalar().fetch_one(&mut *db).await?;
    let mut list = QueryBuilder::new(
        "SELECT t.id, t.server_id, s.name AS server_name, t.name, t.description, t.definition, t.fingerprint,
                t.first_seen_at, t.changed_at, c.is_enabled, c.description AS curated_description
         FROM servers s
         JOIN tools t ON t.server_id = s.id
         LEFT JOIN curations c ON c.server_id = t.server_id AND c.tool_name = t.name",
    );
    narrow(&mut list, finder);
    cut(&mut list, page);
    let rows = list.build().fetch_all(&mut *db).await?;
    let mut skills = skills(db, finder, page).await?;
    let record = |row: &SqliteRow| {
        let tool = record(row)?;
        Ok(ToolRecord { skills: skills.remove(&tool.id).unwrap_or_default(), ..tool })
    };
    Ok(Slice { items: rows.iter().map(record).collect::<Result<_, Fault>>()?, total: total.cast_unsigned() })
}

/// What the tools of a page can do: one more look at the same page, however long it is.
async fn skills(
    db: &mut SqliteConnection,
    finder: &ToolFinder,
    page: Page,
) -> Result<HashMap<ToolId, Vec<Assignment>>, Fault> {
    let mut query = QueryBuilder::new(
        "SELECT p.id, a.* FROM
             (SELECT t.id, t.server_id, t.name FROM servers s JOIN tools t ON t.server_id = s.id",
    );
    narrow(&mut query, finder);
    cut(&mut query, page);
    query.push(
        ") p JOIN skill_assignments a ON a.server_id = p.server_id AND a.tool_name = p.name
         ORDER BY p.id, a.is_primary DESC, a.confidence DESC, a.skill_id",
    );
    let mut found: HashMap<ToolId, Vec<Assignment>> = HashMap::new();
    for row in query.build().fetch_all(db).await? {
        let assignment = classifications::assignment(&row)?.assignment;
        found.entry(ToolId(row.try_get("id")?)).or_default().push(assignment);
    }
    Ok(found)
}

/// Written out one by one, so that each way of looking has its index.
fn narrow(query: &mut QueryBuilder<Sqlite>, finder: &ToolFinder) {
    // The plus keeps SQLite from going through all servers where it is told which tools are meant.
    query.push(if finder.among.is_some() { " WHERE +s.workspace = " } else { " WHERE s.workspace = " });
    query.push_bind(finder.workspace.as_str().to_owned());
    if let Some(server) = finder.server {
        query.push(" AND s.id = ").push_bind(server.to_string());
    }
    if let Some(name) = &finder.name {
        query.push(" AND t.name = ").push_bind(name.clone());
    }
    if let Some(skill) = &finder.skill {
        query.push(
            " AND EXISTS (SELECT 1 FROM skill_assignments h
                          WHERE h.server_id = t.server_id AND h.tool_name = t.name AND h.skill_id = ",
        );
        query.push_bind(skill.to_string()).push(")");
    }
    match &finder.among {
        None => {}
        Some(Among::Ids(ids)) => {
            query.push(" AND t.id IN (");
            let mut listed = query.separated(", ");
            for id in ids {
                listed.push_bind(id.0);
            }
            query.push(")");
        }
        Some(Among::Names(names)) => {
            query.push(" AND t.id IN (");
            // A list without rows is no SQL, and this one finds nothing.
            if !names.is_empty() {
                query.push("SELECT n.id FROM (");
                query.push_values(names, |mut pair, (server, name)| {
                    pair.push_bind(server.to_string()).push_bind(name.clone());
                });
                query.push(") v JOIN tools n ON n.server_id = v.column1 AND n.name = v.column2");
            }
            query.push(")");
        }
    }
}

/// The page of the list in its order.
fn cut(query: &mut QueryBuilder<Sqlite>, page: Page) {
    query.push(" ORDER BY s.name, t.position, t.id LIMIT ").push_bind(i64::from(page.limit));
    query.push(" OFFSET ").push_bind(i64::from(page.offset));
}

pub(super) async fn curate(
    db: &mut SqliteConnection,
    server: ServerId,
    tool: &str,
    curation: &Curation,
) -> Result<bool, Fault> {
    // The SELECT yields a row only if the tool is there.
    let done = sqlx::query(
        "INSERT INTO curations (server_id, tool_name, is_enabled, description)
         SELECT server_id, name, ?3, ?4 FROM tools WHERE server_id = ?1 AND name = ?2
         ON CONFLICT (server_id, tool_name)
         DO UPDATE SET is_enabled = excluded.is_enabled, description = excluded.description",
    )
    .bind(server.to_string())
    .bind(tool)
    .bind(curation.is_enabled)
    .bind(curation.description.as_deref())
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn curations(
    db: &mut SqliteConnection,
    server: ServerId,
) -> Result<Vec<(String, Curation)>, Fault> {
    let rows = sqlx::query(
        "SELECT tool_name, is_enabled, description FROM curations WHERE server_id = ? ORDER BY tool_name",
    )
    .bind(server.to_string())
    .fetch_all(db)
    .await?;
    let curation = |row: &SqliteRow| {
        let curation =
            Curation { is_enabled: row.try_get("is_enabled")?, description: row.try_get("description")? };
        Ok((row.try_get("tool_name")?, curation))
    };
    rows.iter().map(curation).collect()
}

fn record(row: &SqliteRow) -> Result<ToolRecord, Fault> {
    let is_enabled: Option<bool> = row.try_get("is_enabled")?;
    let changed_at: Option<i64> = row.try_get("changed_at")?;
    Ok(ToolRecord {
        id: ToolId(row.try_get("id")?),
        server: servers::id(row, "server_id")?,
        server_name: servers::name(row, "server_name")?,
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        definition: row.try_get("definition")?,
        fingerprint: row.try_get("fingerprint")?,
        curation: match is_enabled {
            Some(is_enabled) => Curation { is_enabled, description: row.try_get("curated_description")? },
            None => Curation::default(),
        },
        skills: Vec::new(),
        first_seen_at: servers::moment(row, "first_seen_at")?,
        changed_at: changed_at.map(Moment::from_millis),
    })
}
