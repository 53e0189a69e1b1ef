//! What the registry shows: servers, their health and history, and all of it in numbers.

use super::{Listed, Registry, SETTLE};
use crate::error::RegistryError;
use crate::mask;
use crate::view::{HealthView, HistoryView, LeftOutView, Overall, ServerView, StateView};
use portolan_model::{LeftOut, ServerId, ServerName, State, Workspace};
use portolan_store::{HistoryRecord, Page, Slice};
use portolan_upstream::{Report, Status};
use serde_json::json;

impl Registry {
    /// All servers, by name.
    pub fn servers(&self) -> Vec<ServerView> {
        self.listing.load().values().map(|listed| self.show(listed)).collect()
    }

    /// All servers by name: who they are, and what people say of them.
    pub fn roster(&self) -> Vec<(ServerId, ServerName, Option<String>)> {
        let listing = self.listing.load();
        let records = listing.values().map(|listed| &listed.record);
        records.map(|record| (record.id, record.name.clone(), record.description.clone())).collect()
    }

    /// One server, by its id or its name.
    pub fn server(&self, key: &str) -> Result<ServerView, RegistryError> {
        self.find(key).map(|listed| self.show(&listed))
    }

    pub fn health_of(&self, key: &str) -> Result<HealthView, RegistryError> {
        self.find(key).map(|listed| self.show_health(&listed))
    }

    pub fn health(&self) -> Overall {
        let listing = self.listing.load();
        let is_ill = |listed: &Listed| {
            let (status, _) = self.seen(listed);
            listed.record.is_wanted && matches!(status.state, State::Error | State::Degraded)
        };
        let status = if listing.values().any(|listed| is_ill(listed)) { "degraded" } else { "healthy" };
        Overall { status, servers: listing.values().map(|listed| self.show_health(listed)).collect() }
    }

    /// The latest first.
    pub async fn history(&self, key: &str, page: Page) -> Result<Slice<HistoryView>, RegistryError> {
        let listed = self.find(key)?;
        self.recorder.settled(SETTLE).await;
        let found = self.store.history(listed.record.id, page).await?;
        let show = |record: HistoryRecord| HistoryView {
            id: record.id.to_string(),
            event_type: record.event,
            details: record.details.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(json!({})),
            timestamp: record.at,
        };
        Ok(Slice { items: found.items.into_iter().map(show).collect(), total: found.total })
    }

    pub async fn state(&self) -> Result<StateView, RegistryError> {
        self.recorder.settled(SETTLE).await;
        let classified = self.store.classified_tools(&Workspace::default()).await?;
        let listing = self.listing.load();
        let states: Vec<State> = listing.values().map(|listed| self.seen(listed).0.state).collect();
        let count = |state: State| states.iter().filter(|s| **s == state).count();
        let total_tools: u64 = listing.keys().map(|name| self.clerk.tool_count(name)).sum();
        // The store may be a moment behind, or ahead of a list that is about to go.
        let classified_tools = classified.min(total_tools);
        Ok(StateView {
            total_servers: states.len(),
            connected_servers: count(State::Connected),
            connecting_servers: count(State::Connecting),
            degraded_servers: count(State::Degraded),
            disconnected_servers: count(State::Disconnected),
            error_servers: count(State::Error),
            total_tools,
            classified_tools,
            unclassified_tools: total_tools - classified_tools,
            unindexed_tools: total_tools,
            last_sync: self.clerk.last_sync(),
            uptime_seconds: self.started.elapsed().as_secs(),
        })
    }

    /// What the fleet knows of a server right now.
    fn seen(&self, listed: &Listed) -> (Status, Report) {
        let member = self.fleet.get().and_then(|fleet| fleet.member(listed.record.name.as_str()));
        match member {
            Some(member) => (member.status(), member.health()),
            None => (Status::at_first(State::Disconnected), Report::default()),
        }
    }

    pub(super) fn show(&self, listed: &Listed) -> ServerView {
        let Listed { record, spec } = listed;
        let (status, health) = self.seen(listed);
        let (left_out, tools_partial) = self.clerk.shortfall(&record.name);
        let told = |left: LeftOut| LeftOutView { tool: left.tool, reason: left.reason };
        ServerView {
            id: record.id.to_string(),
            name: record.name.to_string(),
            description: record.description.clone(),
            transport_type: mask::transport_type(&spec.transport),
            connection_config: mask::connection_config(&spec.transport),
            health_check_url: spec
                .health_check_url
                .as_ref()
                .map(|url| portolan_model::mask_url(url.reveal())),
            status: status.state.as_str(),
            error_message: status.error.as_deref().map(str::to_owned),
            source: record.origin.as_str(),
            auto_connect: record.is_wanted,
            timeout: spec.timeout.map(|timeout| timeout.as_secs_f64()),
            tool_count: self.clerk.tool_count(&record.name),
            tools_left_out: left_out.into_iter().map(told).collect(),
            tools_partial,
            last_health_check: health.checked_at,
            registered_at: record.registered_at,
            connected_at: status.connected_at,
            updated_at: record.updated_at,
            tools: None,
        }
    }

    fn show_health(&self, listed: &Listed) -> HealthView {
        let (status, health) = self.seen(listed);
        HealthView {
            server_id: listed.record.id.to_string(),
            name: listed.record.name.to_string(),
            status: status.state.as_str(),
            healthy: status.state == State::Connected && health.consecutive_failures == 0,
            response_time_ms: health.response_time.map(|time| time.as_secs_f64() * 1000.0),
            consecutive_failures: health.consecutive_failures,
            last_error: health.last_error.as_deref().map(str::to_owned),
            last_health_check: health.checked_at,
        }
    }
}
