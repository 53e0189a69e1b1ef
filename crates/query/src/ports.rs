//! What a query needs of the world: calls, resources, a ranking of tools, and the meaning of texts.

use crate::error::Trouble;
use async_trait::async_trait;
use portolan_model::Moment;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long something may take, and the word that nobody waits for it any more.
#[derive(Debug, Clone)]
pub struct Within {
    pub deadline: Instant,
    /// Cancelled when the server is late; the call is dropped at the same moment.
    pub cancel: CancellationToken,
}

/// How well the tools of servers fit a query: server → tool → score from 0 to 1. What is not in it has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking(pub BTreeMap<String, BTreeMap<String, f32>>);

impl Ranking {
    pub fn score(&self, server: &str, tool: &str) -> f32 {
        let score = self.0.get(server).and_then(|tools| tools.get(tool)).copied().unwrap_or_default();
        if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[async_trait]
pub trait Ports: Send + Sync {
    /// Calls a tool and gives the result as its server wrote it. Dropping the future gives the call up.
    async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        within: &Within,
    ) -> Result<Box<RawValue>, Trouble>;

    /// Reads a resource and gives the result as its server wrote it.
    async fn read(&self, server: &str, uri: &str, within: &Within) -> Result<Box<RawValue>, Trouble>;

    /// How well the servers' tools fit the query. It is asked once a query, before any server.
    async fn rank(&self, query: &str, servers: &[&str]) -> Ranking;

    /// A vector for each text, the query's first; without them words alone decide.
    async fn embed(&self, _texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        None
    }

    fn now(&self) -> Moment {
        Moment::now()
    }
}
