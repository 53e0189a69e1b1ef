//! What the fan-out query needs of the world.

use crate::calls::{Calls, Trouble};
use async_trait::async_trait;
use portolan_catalog::View;
use portolan_finder::{Finder, Strategy, Wish};
use portolan_model::ServerName;
use portolan_query::{Ports, Ranking, Reason, Trouble as Failed, Within};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Tools that are ranked for one query, all servers together.
const RANKED: usize = 500;

pub(crate) struct Seaports<'p> {
    pub(crate) calls: Calls,
    pub(crate) finder: &'p Finder,
    pub(crate) view: &'p View,
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(reason) => Self::Refused(Reason::new(reason)),
            Trouble::Lost(reason) => Self::Lost(Reason::new(reason)),
        }
    }
}

#[async_trait]
impl Ports for Seaports<'_> {
    async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        within: &Within,
    ) -> Result<Box<RawValue>, Failed> {
        let arguments = Value::Object(arguments.clone()).to_string();
        Ok(self.calls.tool(&named(server)?, tool, &arguments, &within.cancel).await?)
    }

    async fn read(&self, server: &str, uri: &str, within: &Within) -> Result<Box<RawValue>, Failed> {
        Ok(self.calls.resource(&named(server)?, uri, &within.cancel).await?)
    }

    async fn rank(&self, query: &str, servers: &[&str]) -> Ranking {
        let servers: Vec<ServerName> =
            servers.iter().filter_map(|server| ServerName::parse(server).ok()).collect();
        ranking(self.finder, query, self.view, &servers).await
    }

    async fn embed(&self, texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        self.finder.meanings(texts.iter().map(ToString::to_string).collect()).await
    }
}

fn named(server: &str) -> Result<ServerName, Failed> {
    ServerName::parse(server).map_err(|error| Failed::Refused(Reason::new(error.to_string())))
}

/// How well tools of these servers fit a query.
pub(crate) async fn ranking(finder: &Finder, query: &str, view: &View, servers: &[ServerName]) -> Ranking {
    let wish = Wish { query, limit: RANKED, view, servers, skills: &[], strategy: Strategy::Direct };
    let mut ranking = Ranking::default();
    for tool in finder.find(&wish).await.tools {
        let of_server = ranking.0.entry(tool.name.server.to_string()).or_default();
        of_server.insert(tool.name.tool, tool.score);
    }
    ranking
}
