//! Tools as people see and set them.

use super::{Listed, Registry, SETTLE};
use crate::draft::ToolPatch;
use crate::error::{FieldProblem, RegistryError};
use crate::events::Subject;
use crate::view::ToolView;
use portolan_model::{ServerId, State, name};
use portolan_store::{Curation, Page, Slice, ToolFinder, ToolRecord, ToolsChange};
use serde_json::{Value, json};
use std::sync::Arc;

const LONGEST_DESCRIPTION: usize = 10_000;

impl Registry {
    pub async fn tools(&self, page: Page) -> Result<Slice<ToolView>, RegistryError> {
        self.find_tools(&ToolFinder::default(), page).await
    }

    pub async fn tools_of(&self, key: &str, page: Page) -> Result<Slice<ToolView>, RegistryError> {
        let server = Some(self.find(key)?.record.id);
        self.find_tools(&ToolFinder { server, ..ToolFinder::default() }, page).await
    }

    /// One tool, by its original name.
    pub async fn change_tool(
        self: &Arc<Self>,
        key: &str,
        tool: &str,
        patch: ToolPatch,
    ) -> Result<ToolView, RegistryError> {
        if patch.description.as_ref().is_some_and(|text| text.chars().count() > LONGEST_DESCRIPTION) {
            let message = format!("a description has at most {LONGEST_DESCRIPTION} characters");
            return Err(RegistryError::Invalid(vec![FieldProblem::new(&["description"], message)]));
        }
        let (registry, key, tool) = (self.clone(), key.to_owned(), tool.to_owned());
        self.to_the_end(async move { registry.curate(&key, &tool, patch).await }).await
    }

    /// One tool, by its server's id or name and its own name.
    pub async fn tool_of(&self, key: &str, tool: &str) -> Result<ToolView, RegistryError> {
        let listed = self.find(key)?;
        Ok(self.show_tool(self.tool(&listed, tool).await?))
    }

    async fn curate(&self, key: &str, tool: &str, patch: ToolPatch) -> Result<ToolView, RegistryError> {
        let _one = self.changing.lock().await;
        let listed = self.find(key)?;
        let before = self.tool(&listed, tool).await?;
        let curation = Curation {
            is_enabled: patch.enabled.unwrap_or(before.curation.is_enabled),
            description: match patch.description {
                Some(text) => Some(text).filter(|text| !text.is_empty()),
                None => before.curation.description,
            },
        };
        if !self.store.curate(listed.record.id, tool, &curation).await? {
            return Err(RegistryError::NoSuchTool(tool.to_owned()));
        }
        self.clerk.curate(&listed.record.name, tool, curation);
        self.tell_of_tools(listed.record.id, ToolsChange { changed: 1, ..ToolsChange::default() });
        Ok(self.show_tool(self.tool(&listed, tool).await?))
    }

    async fn tool(&self, listed: &Listed, tool: &str) -> Result<ToolRecord, RegistryError> {
        let finder = ToolFinder {
            server: Some(listed.record.id),
            name: Some(tool.to_owned()),
            ..ToolFinder::default()
        };
        self.recorder.settled(SETTLE).await;
        let found = self.store.tools(&finder, Page { limit: 1, offset: 0 }).await?.items.pop();
        found.ok_or_else(|| RegistryError::NoSuchTool(tool.to_owned()))
    }

    /// What has been listed by now is what is shown: a list on its way into the store is waited for.
    async fn find_tools(&self, finder: &ToolFinder, page: Page) -> Result<Slice<ToolView>, RegistryError> {
        self.recorder.settled(SETTLE).await;
        let found = self.store.tools(finder, page).await?;
        let items = found.items.into_iter().map(|record| self.show_tool(record)).collect();
        Ok(Slice { items, total: found.total })
    }

    fn show_tool(&self, record: ToolRecord) -> ToolView {
        let is_up = |member: Arc<portolan_upstream::Member>| {
            matches!(member.status().state, State::Connected | State::Degraded)
        };
        let member = self.fleet.get().and_then(|fleet| fleet.member(record.server_name.as_str()));
        let definition: Value = serde_json::from_str(&record.definition).unwrap_or_default();
        ToolView {
            id: record.id.to_string(),
            name: name::join(&record.server_name, &record.name, '.'),
            original_name: record.name,
            description: record.curation.description.or(record.description),
            input_schema: definition.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"})),
            server_id: record.server.to_string(),
            server_name: record.server_name.to_string(),
            enabled: record.curation.is_enabled,
            available: record.curation.is_enabled && member.is_some_and(is_up),
            fingerprint: record.fingerprint,
            skill_ids: Vec::new(),
            primary_skill_id: None,
            is_classified: false,
            first_seen_at: record.first_seen_at,
            changed_at: record.changed_at,
        }
    }

    /// Tells of tools that came, changed or went, once they are stored.
    pub(super) fn tell_of_tools(&self, id: ServerId, change: ToolsChange) {
        if change == ToolsChange::default() {
            return;
        }
        let listing = self.listing.load();
        let Some(listed) = listing.values().find(|listed| listed.record.id == id) else { return };
        let name = &listed.record.name;
        let details = [
            ("added", change.added.into()),
            ("changed", change.changed.into()),
            ("removed", change.removed.into()),
            ("tool_count", self.clerk.tool_count(name).into()),
        ];
        self.books.tell("tools.changed", Subject { id, name }, details);
    }
}
