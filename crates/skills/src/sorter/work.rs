//! One batch: what is looked at, what comes out, and what is written down.

use super::{Sorter, TRIES};
use crate::classifier::{Found, Suggested, Trouble};
use crate::queue::Job;
use portolan_model::classification::next;
use portolan_model::{Classification, ClassificationEvent, ServerId, SkillSource};
use portolan_store::{
    Among, Assignment, ClassificationRecord, Overwrite, Page, ServerRecord, StoreError, SuggestionDraft,
    ToolFinder, ToolRecord, ToolSkills,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What stands in the record of a tool that nothing fits.
const NOTHING_FITS: &str = "no skill fits: a suggestion waits for somebody";

/// Why nobody can be asked at the moment.
pub(super) struct Away(pub(super) String);

impl Sorter {
    /// Does the batch. Gives the tools of it that are to be tried again, or says why nobody can be asked.
    pub(super) async fn work(&self, job: Job) -> (Job, Result<Vec<String>, Away>) {
        let outcome = match self.attempt(&job).await {
            // Whoever is gone needs no skills.
            Err(StoreError::NoSuchServer) => Ok(Ok(Vec::new())),
            outcome => outcome,
        };
        (job, outcome.unwrap_or_else(|error| Err(Away(error.to_string()))))
    }

    async fn attempt(&self, job: &Job) -> Result<Result<Vec<String>, Away>, StoreError> {
        let servers = self.store.servers(&self.workspace).await?;
        let Some(server) = servers.into_iter().find(|server| server.id == job.server) else {
            return Ok(Ok(Vec::new()));
        };
        let tools = self.to_classify(job).await?;
        if tools.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let tools: Vec<&ToolRecord> = tools.iter().collect();
        let begun = self.begin(&server, &tools).await?;
        let skills = self.store.skills(&self.workspace).await?;
        match self.classifier.classify(&skills, &server, &tools).await {
            Ok(found) => {
                self.write(&server, &begun, &tools, (found, job.overwrite)).await?;
                Ok(Ok(Vec::new()))
            }
            Err(trouble) => {
                let again = self.write_failure(server.id, begun, &trouble).await?;
                Ok(match trouble {
                    Trouble::Away(reason) => Err(Away(reason)),
                    Trouble::Unusable(_) => Ok(again),
                })
            }
        }
    }

    /// The tools of the batch that are still listed and that no person has spoken for; those count as classified.
    async fn to_classify(&self, job: &Job) -> Result<Vec<ToolRecord>, StoreError> {
        let tools = self.listed(job.server, job.tools.iter().cloned()).await?;
        if job.overwrite == Overwrite::Everything {
            return Ok(tools);
        }
        let (theirs, ours): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_a_persons);
        let kept: Vec<ToolSkills> = theirs.iter().map(|tool| of(tool, Vec::new())).collect();
        if !kept.is_empty() {
            self.store.assign_skills(job.server, &kept, Overwrite::KeepPersons).await?;
        }
        Ok(ours)
    }

    /// Those of these tools that the server lists now.
    async fn listed(
        &self,
        server: ServerId,
        tools: impl Iterator<Item = String>,
    ) -> Result<Vec<ToolRecord>, StoreError> {
        let finder = ToolFinder {
            workspace: self.workspace.clone(),
            among: Some(Among::Names(tools.map(|tool| (server, tool)).collect())),
            ..ToolFinder::default()
        };
        Ok(self.store.tools(&finder, Page::ALL).await?.items)
    }

    /// Writes that the tools are under way, and gives their records as they are then.
    async fn begin(
        &self,
        server: &ServerRecord,
        tools: &[&ToolRecord],
    ) -> Result<Vec<ClassificationRecord>, StoreError> {
        let mut before: HashMap<String, ClassificationRecord> = HashMap::new();
        let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        for record in self.store.classifications(server.id, Some(&names)).await? {
            before.insert(record.tool.clone(), record);
        }
        let begun = tools.iter().map(|tool| {
            let record = before.remove(&tool.name).filter(|record| record.fingerprint == tool.fingerprint);
            let (state, tries) = record.map_or((Classification::Discovered, 0), |r| (r.state, r.tries));
            // One that was under way when the process ended is begun anew.
            let state = next(state, ClassificationEvent::Interrupted).unwrap_or(state);
            ClassificationRecord {
                tool: tool.name.clone(),
                state: next(state, ClassificationEvent::Begun).unwrap_or(state),
                fingerprint: tool.fingerprint.clone(),
                tries,
                last_error: None,
            }
        });
        let begun: Vec<ClassificationRecord> = begun.collect();
        self.store.put_classifications(server.id, &begun).await?;
        Ok(begun)
    }

    async fn write(
        &self,
        server: &ServerRecord,
        begun: &[ClassificationRecord],
        tools: &[&ToolRecord],
        (found, overwrite): (Vec<Found>, Overwrite),
    ) -> Result<(), StoreError> {
        let mut classified = Vec::new();
        let mut unclassified = Vec::new();
        let mut suggested: BTreeMap<String, SuggestionDraft> = BTreeMap::new();
        for ((tool, begun), found) in tools.iter().zip(begun).zip(found) {
            match found {
                Found::Skills(assignments) => classified.push(of(tool, assignments)),
                Found::Nothing(Suggested { name, description }) => {
                    unclassified.push(failed(begun, NOTHING_FITS, begun.tries));
                    let draft = suggested.entry(name.clone()).or_insert_with(|| SuggestionDraft {
                        workspace: self.workspace.clone(),
                        name,
                        description,
                        tools: Vec::new(),
                    });
                    draft.tools.push((server.id, tool.name.clone()));
                }
            }
        }
        if overwrite == Overwrite::KeepPersons && !unclassified.is_empty() {
            // Somebody may have spoken while the models were asked.
            let tools = unclassified.iter().map(|record| record.tool.clone()).collect::<Vec<_>>();
            let tools = self.listed(server.id, tools.into_iter()).await?;
            let persons: HashSet<&str> =
                tools.iter().filter(|tool| is_a_persons(tool)).map(|tool| tool.name.as_str()).collect();
            unclassified.retain(|record| !persons.contains(record.tool.as_str()));
        }
        // A tool is said to wait for a suggestion only once there is one.
        for draft in suggested.values() {
            self.store.suggest(draft).await?;
        }
        // What those that nothing fits had before goes, and nothing takes its place yet.
        classified.extend(unclassified.iter().map(emptied));
        self.store.assign_skills(server.id, &classified, overwrite).await?;
        if unclassified.is_empty() {
            return Ok(());
        }
        self.store.put_classifications(server.id, &unclassified).await
    }

    /// Writes why it failed; the tools that have a try left.
    async fn write_failure(
        &self,
        server: ServerId,
        begun: Vec<ClassificationRecord>,
        trouble: &Trouble,
    ) -> Result<Vec<String>, StoreError> {
        // That somebody is away says nothing about a tool.
        let more = match trouble {
            Trouble::Away(_) => 0,
            Trouble::Unusable(_) => 1,
        };
        let records: Vec<ClassificationRecord> =
            begun.iter().map(|record| failed(record, trouble.reason(), record.tries + more)).collect();
        self.store.put_classifications(server, &records).await?;
        let with_a_try_left = records.into_iter().filter(|record| record.tries < TRIES);
        Ok(with_a_try_left.map(|record| record.tool).collect())
    }
}

/// Whether a person has said what its skills are.
fn is_a_persons(tool: &ToolRecord) -> bool {
    tool.skills.iter().any(|one| one.source == SkillSource::Human)
}

fn of(tool: &ToolRecord, assignments: Vec<Assignment>) -> ToolSkills {
    ToolSkills { tool: tool.name.clone(), fingerprint: tool.fingerprint.clone(), assignments }
}

fn emptied(record: &ClassificationRecord) -> ToolSkills {
    ToolSkills { tool: record.tool.clone(), fingerprint: record.fingerprint.clone(), assignments: Vec::new() }
}

fn failed(record: &ClassificationRecord, reason: &str, tries: u32) -> ClassificationRecord {
    ClassificationRecord {
        state: next(record.state, ClassificationEvent::Failed).unwrap_or(record.state),
        tries,
        last_error: Some(reason.to_owned()),
        ..record.clone()
    }
}
