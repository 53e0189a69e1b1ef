//! Tools as people see and set them.

use super::{Listed, Registry, SETTLE};
use crate::draft::ToolPatch;
use crate::error::{FieldProblem, RegistryError};
use crate::events::Subject;
use crate::view::{SkilledToolView, ToolView};
use portolan_model::{ServerId, SkillId, State, ToolId, ToolName, name};
use portolan_store::{Among, Curation, Page, Slice, ToolFinder, ToolRecord, ToolsChange};
use serde_json::{Value, json};
use std::collections::HashMap;
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

    /// These tools, by their names; those that are not there are left out.
    pub async fn tools_named(
        &self,
        names: &[ToolName],
    ) -> Result<HashMap<ToolName, ToolView>, RegistryError> {
        let listing = self.listing.load_full();
        let pair = |name: &ToolName| Some((listing.get(&name.server)?.record.id, name.tool.clone()));
        let names: Vec<(ServerId, String)> = names.iter().filter_map(pair).collect();
        let finder = ToolFinder { among: Some(Among::Names(names)), ..ToolFinder::default() };
        let found = self.records(&finder, Page::ALL).await?.items.into_iter();
        let named = found.map(|record| {
            let name = ToolName { server: record.server_name.clone(), tool: record.name.clone() };
            (name, self.show_tool(record))
        });
        Ok(named.collect())
    }

    /// These tools, by their ids, in the order of lists. `NoSuchTool` for one that is not there, or is of another server
    /// than the one that is named.
    pub async fn tools_by_id(
        &self,
        server: Option<&str>,
        ids: &[String],
    ) -> Result<Vec<ToolView>, RegistryError> {
        let server = server.map(|key| self.find(key)).transpose()?.map(|listed| listed.record.id);
        let none = |id: &String| RegistryError::NoSuchTool(id.clone());
        let id = |id: &String| id.parse().map(ToolId).map_err(|_| none(id));
        let wanted = ids.iter().map(id).collect::<Result<Vec<ToolId>, _>>()?;
        let finder = ToolFinder { server, among: Some(Among::Ids(wanted)), ..ToolFinder::default() };
        let found = self.find_tools(&finder, Page::ALL).await?.items;
        match ids.iter().find(|id| found.iter().all(|tool| tool.id != **id)) {
            Some(missing) => Err(none(missing)),
            None => Ok(found),
        }
    }

    /// The tools that have a skill, with how sure that is.
    pub async fn tools_with(
        &self,
        skill: &SkillId,
        page: Page,
    ) -> Result<Slice<SkilledToolView>, RegistryError> {
        let finder = ToolFinder { skill: Some(skill.clone()), ..ToolFinder::default() };
        let found = self.records(&finder, page).await?;
        let show = |record: ToolRecord| {
            let assignment = record.skills.iter().find(|one| one.skill == *skill)?.clone();
            Some(SkilledToolView {
                tool: self.show_tool(record),
                confidence: assignment.confidence,
                source: assignment.source.as_str(),
            })
        };
        Ok(Slice { items: found.items.into_iter().filter_map(show).collect(), total: found.total })
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
        let found = self.records(&finder, Page { limit: 1, offset: 0 }).await?.items.pop();
        found.ok_or_else(|| RegistryError::NoSuchTool(tool.to_owned()))
    }

    async fn find_tools(&self, finder: &ToolFinder, page: Page) -> Result<Slice<ToolView>, RegistryError> {
        let found = self.records(finder, page).await?;
        let items = found.items.into_iter().map(|record| self.show_tool(record)).collect();
        Ok(Slice { items, total: found.total })
    }

    /// What has been listed by now is what is shown: a list on its way into the store is waited for.
    async fn records(&self, finder: &ToolFinder, page: Page) -> Result<Slice<ToolRecord>, RegistryError> {
        self.recorder.settled(SETTLE).await;
        Ok(self.store.tools(finder, page).await?)
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
            primary_skill_id: record.skills.first().map(|one| one.skill.to_string()),
            is_classified: !record.skills.is_empty(),
            skill_ids: record.skills.into_iter().map(|one| one.skill.into()).collect(),
            first_seen_at: record.first_seen_at,
            changed_at: record.changed_at,
        }
    }

    /// Has this told whenever the store has another list of a server's tools than before. Set once: a second one is not told.
    pub fn on_stored_tools(&self, tell: impl Fn(ServerId) + Send + Sync + 'static) {
        self.on_stored_tools.set(Box::new(tell)).unwrap_or_default();
    }

    /// A server's list has been stored, and this is what was new about it.
    pub(super) fn stored_tools(&self, id: ServerId, change: ToolsChange) {
        if change == ToolsChange::default() {
            return;
        }
        self.tell_of_tools(id, change);
        if let Some(tell) = self.on_stored_tools.get() {
            tell(id);
        }
    }

    /// Tells of tools that came, changed or went.
    fn tell_of_tools(&self, id: ServerId, change: ToolsChange) {
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
