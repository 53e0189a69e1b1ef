//! The tables of which tools have which skills, and of how far that is decided.

use super::fault::Fault;
use super::{ROWS, servers, skills};
use crate::{
    Assignment, AssignmentFinder, AssignmentRecord, ClassificationRecord, OpenTool, Overwrite, StoreError,
    ToolSkills,
};
use portolan_model::{Classification, Moment, ServerId, SkillId, SkillSource, Workspace};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};
use std::collections::HashSet;

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
    let kept = match overwrite {
        Overwrite::KeepPersons => given_by_persons(db, server).await?,
        Overwrite::Everything => HashSet::new(),
    };
    for tools in tools.chunks(ROWS) {
        let (of_persons, open): (Vec<&ToolSkills>, Vec<&ToolSkills>) =
            tools.iter().partition(|tool| kept.contains(&tool.tool));
        clear(db, server, &names(open.iter().copied())).await?;
        let mut given = Vec::new();
        for tool in &open {
            given.extend(tool.assignments.iter().map(|assignment| (tool.tool.as_str(), assignment)));
        }
        add(db, server, &given).await?;
        let having = open.into_iter().filter(|tool| !tool.assignments.is_empty());
        leave_suggestions(db, server, &names(having.chain(of_persons))).await?;
        let classified = tools.iter().map(|tool| ClassificationRecord {
            tool: tool.tool.clone(),
            state: Classification::Classified,
            fingerprint: tool.fingerprint.clone(),
            tries: 0,
            last_error: None,
        });
        write(db, server, &classified.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

fn names<'t>(tools: impl Iterator<Item = &'t ToolSkills>) -> Vec<&'t str> {
    tools.map(|tool| tool.tool.as_str()).collect()
}

/// The tools of a server whose skills are by a person's word.
async fn given_by_persons(db: &mut SqliteConnection, server: ServerId) -> Result<HashSet<String>, Fault> {
    let names = sqlx::query_scalar(
        "SELECT DISTINCT tool_name FROM skill_assignments WHERE server_id = ? AND source = 'HUMAN'",
    );
    Ok(names.bind(server.to_string()).fetch_all(db).await?.into_iter().collect())
}

/// Tools that have skills wait for none.
async fn leave_suggestions(db: &mut SqliteConnection, server: ServerId, tools: &[&str]) -> Result<(), Fault> {
    let mut query = QueryBuilder::new("DELETE FROM suggestion_tools WHERE server_id = ");
    query.push_bind(server.to_string());
    among(&mut query, tools);
    query.push(" AND suggestion_id IN (SELECT id FROM skill_suggestions WHERE state = 'PENDING')");
    query.build().persistent(false).execute(db).await?;
    Ok(())
}

/// Takes all skills from these tools.
async fn clear(db: &mut SqliteConnection, server: ServerId, tools: &[&str]) -> Result<(), Fault> {
    let mut query = QueryBuilder::new("DELETE FROM skill_assignments WHERE server_id = ");
    query.push_bind(server.to_string());
    among(&mut query, tools);
    query.build().persistent(false).execute(db).await?;
    Ok(())
}

fn among<'n, N: AsRef<str> + 'n>(query: &mut QueryBuilder<Sqlite>, tools: impl IntoIterator<Item = &'n N>) {
    query.push(" AND tool_name IN (");
    let mut listed = query.separated(", ");
    for tool in tools {
        listed.push_bind(tool.as_ref().to_owned());
    }
    query.push(")");
}

/// Gives tools skills.
async fn add(
    db: &mut SqliteConnection,
    server: ServerId,
    given: &[(&str, &Assignment)],
) -> Result<(), Fault> {
    if given.is_empty() {
        return Ok(());
    }
    let mut query = QueryBuilder::new(
        "INSERT INTO skill_assignments (server_id, tool_name, skill_id, confidence, source, is_primary) ",
    );
    query.push_values(given, |mut row, (tool, assignment)| {
        row.push_bind(server.to_string())
            .push_bind(*tool)
            .push_bind(assignment.skill.as_str())
            .push_bind(assignment.confidence)
            .push_bind(assignment.source.as_str())
            .push_bind(assignment.is_primary);
    });
    query.push(
        " ON CONFLICT (server_id, tool_name, skill_id)
          DO UPDATE SET confidence = excluded.confidence, source = excluded.source, is_primary = excluded.is_primary",
    );
    query.build().persistent(false).execute(db).await?;
    Ok(())
}

pub(super) async fn of_server(
    db: &mut SqliteConnection,
    server: ServerId,
    names: Option<&[String]>,
) -> Result<Vec<ClassificationRecord>, Fault> {
    let mut query = QueryBuilder::new("SELECT * FROM classifications WHERE server_id = ");
    query.push_bind(server.to_string());
    if let Some(names) = names {
        among(&mut query, names);
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
    for records in records.chunks(ROWS) {
        write(db, server, records).await?;
    }
    Ok(())
}

async fn write(
    db: &mut SqliteConnection,
    server: ServerId,
    records: &[ClassificationRecord],
) -> Result<(), Fault> {
    let now = Moment::now().as_millis();
    let mut query = QueryBuilder::new(
        "INSERT INTO classifications (server_id, tool_name, state, fingerprint, tries, last_error, updated_at) ",
    );
    query.push_values(records, |mut row, record| {
        row.push_bind(server.to_string())
            .push_bind(record.tool.as_str())
            .push_bind(record.state.as_str())
            .push_bind(record.fingerprint.as_str())
            .push_bind(record.tries)
            .push_bind(record.last_error.as_deref())
            .push_bind(now);
    });
    query.push(
        " ON CONFLICT (server_id, tool_name) DO UPDATE SET
              state = excluded.state, fingerprint = excluded.fingerprint, tries = excluded.tries,
              last_error = excluded.last_error, updated_at = excluded.updated_at",
    );
    query.build().persistent(false).execute(db).await?;
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
    let has_others = given_by_persons(db, server).await?.contains(tool);
    if !has_others {
        clear(db, server, &[tool]).await?;
    }
    let assignment = Assignment {
        skill: skill.clone(),
        confidence: 1.0,
        source: SkillSource::Human,
        is_primary: !has_others,
    };
    add(db, server, &[(tool, &assignment)]).await?;
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
