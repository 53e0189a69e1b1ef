//! The table of what texts mean: a cache, of which the oldest part goes when there is too much of it.

use super::ROWS;
use super::fault::Fault;
use crate::VectorRecord;
use sqlx::{QueryBuilder, Row as _, SqliteConnection};

/// How many are asked for at a time: SQLite takes only so many values in one statement.
const AT_A_TIME: usize = 500;
/// As many as there may be tools, twice: those of a model that is being replaced stay meanwhile.
const MOST: i64 = 200_000;

pub(super) async fn find(
    db: &mut SqliteConnection,
    model: &str,
    hashes: &[String],
) -> Result<Vec<VectorRecord>, Fault> {
    let mut found = Vec::with_capacity(hashes.len());
    for some in hashes.chunks(AT_A_TIME) {
        let mut query = QueryBuilder::new("SELECT text_hash, vector FROM vectors WHERE model = ");
        query.push_bind(model).push(" AND text_hash IN (");
        let mut listed = query.separated(", ");
        for hash in some {
            listed.push_bind(hash.as_str());
        }
        query.push(")");
        for row in query.build().fetch_all(&mut *db).await? {
            found.push(VectorRecord { text_hash: row.try_get("text_hash")?, vector: row.try_get("vector")? });
        }
    }
    Ok(found)
}

pub(super) async fn put(
    db: &mut SqliteConnection,
    model: &str,
    vectors: &[VectorRecord],
) -> Result<(), Fault> {
    for vectors in vectors.chunks(ROWS) {
        let mut query = QueryBuilder::new("INSERT INTO vectors (model, text_hash, vector) ");
        query.push_values(vectors, |mut row, record| {
            row.push_bind(model).push_bind(record.text_hash.as_str()).push_bind(record.vector.as_slice());
        });
        query.push(" ON CONFLICT (model, text_hash) DO UPDATE SET vector = excluded.vector");
        query.build().persistent(false).execute(&mut *db).await?;
    }
    sqlx::query("DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?")
        .bind(MOST)
        .execute(db)
        .await?;
    Ok(())
}
