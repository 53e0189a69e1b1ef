//! The tables of which tools have which skills, and of how far that is decided.

use super::fault::Fault;
use super::{servers, skills};
use crate::{
    Assignment, AssignmentFinder, AssignmentRecord, ClassificationRecord, OpenTool, Overwrite, StoreError,
    ToolSkills,
};
use portolan_model::{Classification, Moment, ServerId, SkillId, SkillSource, Workspace};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, SqliteConnection};

pub(super) async fn assignments(
    db: &mut SqliteConnection,
    finder: &AssignmentFinder,
) -> Result<Vec<AssignmentRecord>, Fault> {
    let mut query = QueryBuilder::new(
        "SELECT a.* FROM servers s JOIN skill_assignments a ON a.server_id = s.id WHERE s.workspace = ",
    );
    query.push_bind(finder.workspace.as_str());
    if let Some(server) = finder.server {
        query.push(" AND s.id = ").push_bind(server.to_string());
    }
    if let Some(skill) = &finder.skill {
        query.push(" AND a.skill_id = ").push_bind(skill.as_str());
    }
    query.push(" ORDER BY s.name, a.tool_name, a.is_primary DESC, a.confidence DESC, a.skill_id");
    let rows = query.build().fetch_all(db).await?;
    rows.iter().map(assignment).collect()
}

pub(super) async fn counts(
    db: &mut SqliteConnection,
    workspace: &Workspace,
) -> Result<Vec<(SkillId, u64)>, Fault> {
    let rows = sqlx::query(
        "SELECT a.skill_id, count(*) AS tools
         FROM servers s
         JOIN skill_assignments a ON a.server_id = s.id
         JOIN tools t ON t.server_id = a.server_id AND t.name = a.tool_name
         WHERE s.workspace = ? GROUP BY a.skill_id",
    )
    .bind(workspace.as_str())
    .fetch_all(db)
    .await?;
    let count = |row: &SqliteRow| {
        let tools: i64 = row.try_get("tools")?;
        Ok((skills::id(row.try_get("skill_id")?)?, tools.cast_unsigned()))
    };
    rows.iter().map(count).collect()
}

pub(super) async fn classified(db: &mut SqliteConnection, workspace: &Workspace) -> Result<u64, Fault> {
    let tools: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM servers s JOIN tools t ON t.server_id = s.id
         WHERE s.workspace = ? AND EXISTS
             (SELECT 1 FROM skill_assignments a WHERE a.server_id = t.server_id AND a.tool_name = t.name)",
    )
    .bind(workspace.as_str())
    .fetch_one(db)
    .await?;
    Ok(tools.cast_unsigned())
}

pub(super) fn assignment(row: &SqliteRow) -> Result<AssignmentRecord, Fault> {
    let source = SkillSource::named(row.try_get("source")?).ok_or(Fault::Row("who assigned a skill"))?;
    Ok(AssignmentRecord {
        server: servers::id(row, "server_id")?,
        tool: row.try_get("tool_name")?,
        assignment: Assignment {
            skill: skills::id(row.try_get("skill_id")?)?,
            confidence: row.try_get("confidence")?,
            source,
            is_primary: row.try_get("is_primary")?,
        },
    })
}

pub(super) async fn assign(
    db: &mut SqliteConnection,
    server: ServerId,
    tools: &[ToolSkills],
    overwrite: Overwrite,
) -> Result<(), Fault> {
    check_server(db, server).await?;
    for tool in tools {
        let is_kept = match overwrite {
            Overwrite::KeepPersons => is_a_persons(db, server, &tool.tool).await?,
            Overwrite::Everything => false,
        };
        if !is_kept {
            replace(db, server, &tool.tool, &tool.assignments).await?;
        }
        if is_kept || !tool.assignments.is_empty() {
            leave_suggestions(db, server, &tool.tool).await?;
        }
        let record = ClassificationRecord {
            tool: tool.tool.clone(),
            state: Classification::Classified,
            fingerprint: tool.fingerprint.clone(),
            tries: 0,
            last_error: None,
        };
        put_one(db, server, &record).await?;
    }
    Ok(())
}

async fn is_a_persons(db: &mut SqliteConnection, server: ServerId, tool: &str) -> Result<bool, Fault> {
    let found = sqlx::query(
        "SELECT 1 FROM skill_assignments WHERE server_id = ? AND tool_name = ? AND source = 'HUMAN' LIMIT 1",
    )
    .bind(server.to_string())
    .bind(tool);
    Ok(found.fetch_optional(db).await?.is_some())
}

/// A tool that has skills waits for none.
async fn leave_suggestions(db: &mut SqliteConnection, server: ServerId, tool: &str) -> Result<(), Fault> {
    sqlx::query(
        "DELETE FROM suggestion_tools WHERE server_id = ? AND tool_name = ?
           AND suggestion_id IN (SELECT id FROM skill_suggestions WHERE state = 'PENDING')",
    )
    .bind(server.to_string())
    .bind(tool)
    .execute(db)
    .await?;
    Ok(())
}

async fn replace(
    db: &mut SqliteConnection,
    server: ServerId,
    tool: &str,
    assignments: &[Assignment],
) -> Result<(), Fault> {
    let old = sqlx::query("DELETE FROM skill_assignments WHERE server_id = ? AND tool_name = ?")
        .bind(server.to_string())
        .bind(tool);
    old.execute(&mut *db).await?;
    for assignment in assignments {
        add(db, server, tool, assignment).await?;
    }
    Ok(())
}

pub(super) async fn add(
    db: &mut SqliteConnection,
    server: ServerId,
    tool: &str,
    assignment: &Assignment,
) -> Result<(), Fault> {
    sqlx::query(
        "INSERT INTO skill_assignments (server_id, tool_name, skill_id, confidence, source, is_primary)
         VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (server_id, tool_name, skill_id)
         DO UPDATE SET confidence = excluded.confidence, source = excluded.source, is_primary = excluded.is_primary",
    )
    .bind(server.to_string())
    .bind(tool)
    .bind(assignment.skill.as_str())
    .bind(assignment.confidence)
    .bind(assignment.source.as_str())
    .bind(assignment.is_primary)
    .execute(db)
    .await?;
    Ok(())
}

pub(super) async fn of_server(
    db: &mut SqliteConnection,
    server: ServerId,
    among: Option<&[String]>,
) -> Result<Vec<ClassificationRecord>, Fault> {
    let mut query = QueryBuilder::new("SELECT * FROM classifications WHERE server_id = ");
    query.push_bind(server.to_string());
    if let Some(names) = among {
        query.push(" AND tool_name IN (");
        let mut listed = query.separated(", ");
        for name in names {
            listed.push_bind(name.as_str());
        }
        query.push(")");
    }
    let rows = query.push(" ORDER BY tool_name").build().fetch_all(db).await?;
    let record = |row: &SqliteRow| {
        Ok(ClassificationRecord {
            tool: row.try_get("tool_name")?,
            state: state(row)?,
            fingerprint: row.try_get("fingerprint")?,
            tries: row.try_get("tries")?,
            last_error: row.try_get("last_error")?,
        })
    };
    rows.iter().map(record).collect()
}

pub(super) async fn put(
    db: &mut SqliteConnection,
    server: ServerId,
    records: &[ClassificationRecord],
) -> Result<(), Fault> {
    check_server(db, server).await?;
    for record in records {
        put_one(db, server, record).await?;
    }
    Ok(())
}

async fn put_one(
    db: &mut SqliteConnection,
    server: ServerId,
    record: &ClassificationRecord,
) -> Result<(), Fault> {
    sqlx::query(
        "INSERT INTO classifications (server_id, tool_name, state, fingerprint, tries, last_error, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (server_id, tool_name) DO UPDATE SET
             state = excluded.state, fingerprint = excluded.fingerprint, tries = excluded.tries,
             last_error = excluded.last_error, updated_at = excluded.updated_at",
    )
    .bind(server.to_string())
    .bind(record.tool.as_str())
    .bind(record.state.as_str())
    .bind(record.fingerprint.as_str())
    .bind(record.tries)
    .bind(record.last_error.as_deref())
    .bind(Moment::now().as_millis())
    .execute(db)
    .await?;
    Ok(())
}

pub(super) async fn open(
    db: &mut SqliteConnection,
    workspace: &Workspace,
    server: Option<ServerId>,
    limit: u32,
) -> Result<Vec<OpenTool>, Fault> {
    let mut query = QueryBuilder::new(
        "SELECT t.server_id, t.name,
                CASE WHEN c.fingerprint = t.fingerprint THEN c.state ELSE 'DISCOVERED' END AS state,
                CASE WHEN c.fingerprint = t.fingerprint THEN c.tries ELSE 0 END AS failed
         FROM servers s
         JOIN tools t ON t.server_id = s.id
         LEFT JOIN classifications c ON c.server_id = t.server_id AND c.tool_name = t.name
         WHERE s.workspace = ",
    );
    query.push_bind(workspace.as_str());
    if let Some(server) = server {
        query.push(" AND s.id = ").push_bind(server.to_string());
    }
    // A definition that nothing fitted is not looked at again by itself: somebody has to settle its suggestion first.
    query.push(
        " AND (c.state IS NULL OR c.fingerprint <> t.fingerprint
               OR (c.state <> 'CLASSIFIED' AND NOT (c.state = 'UNCLASSIFIED' AND EXISTS
                   (SELECT 1 FROM suggestion_tools w JOIN skill_suggestions g ON g.id = w.suggestion_id
                    WHERE w.server_id = t.server_id AND w.tool_name = t.name
                      AND g.state IN ('PENDING', 'REJECTED')))))
          ORDER BY failed, s.name, t.position, t.id LIMIT ",
    );
    query.push_bind(i64::from(limit));
    let rows = query.build().fetch_all(db).await?;
    let open = |row: &SqliteRow| {
        Ok(OpenTool {
            server: servers::id(row, "server_id")?,
            tool: row.try_get("name")?,
            state: state(row)?,
            tries: row.try_get("failed")?,
        })
    };
    rows.iter().map(open).collect()
}

fn state(row: &SqliteRow) -> Result<Classification, Fault> {
    Classification::named(row.try_get("state")?).ok_or(Fault::Row("how far a tool is classified"))
}

async fn check_server(db: &mut SqliteConnection, server: ServerId) -> Result<(), Fault> {
    if !servers::is_there(db, server).await? {
        return Err(Fault::Refused(StoreError::NoSuchServer));
    }
    Ok(())
}

/// By a person's word the tool has this skill, as its primary one unless a person gave it another before.
pub(super) async fn give(
    db: &mut SqliteConnection,
    server: ServerId,
    tool: &str,
    skill: &SkillId,
) -> Result<(), Fault> {
    let has_others = is_a_persons(db, server, tool).await?;
    if !has_others {
        replace(db, server, tool, &[]).await?;
    }
    let assignment = Assignment {
        skill: skill.clone(),
        confidence: 1.0,
        source: SkillSource::Human,
        is_primary: !has_others,
    };
    add(db, server, tool, &assignment).await?;
    sqlx::query(
        "UPDATE classifications SET state = 'CLASSIFIED', tries = 0, last_error = NULL, updated_at = ?
         WHERE server_id = ? AND tool_name = ?",
    )
    .bind(Moment::now().as_millis())
    .bind(server.to_string())
    .bind(tool)
    .execute(db)
    .await?;
    Ok(())
}
