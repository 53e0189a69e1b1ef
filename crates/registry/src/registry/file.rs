//! The servers of the configuration file, beside the registered ones: listed and watched like them, changed only there.

use super::{Listed, Listing, Registry};
use crate::clerk::Known;
use portolan_model::{Moment, Origin, ServerId, ServerName, ServerSpec, Workspace};
use portolan_store::ServerRecord;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Registry {
    /// Makes these the servers of the file. Their ids, their histories and what people set for their tools are kept from
    /// one start to the next; how they are reached stays in the file.
    pub async fn follow_file(&self, specs: Vec<ServerSpec>) {
        let _one = self.changing.lock().await;
        self.file.store(Arc::new(specs.clone()));
        self.merge_file(specs).await;
    }

    /// The list from what is registered and what the file says. Whoever calls this holds `changing`.
    pub(super) async fn merge_file(&self, specs: Vec<ServerSpec>) {
        let stored = self.stored_file_records().await;
        let before = self.listing.load_full();
        let mut listing: Listing = before
            .iter()
            .filter(|(_, listed)| listed.record.origin == Origin::Registered)
            .map(|(name, listed)| (name.clone(), listed.clone()))
            .collect();
        for spec in specs {
            if listing.contains_key(&spec.name) {
                let server = &spec.name;
                tracing::warn!(%server, "a server of this name is registered, so the one of the file is left out: rename \
                    one of them, or remove the registered one");
                continue;
            }
            let listed = before.get(&spec.name).map(|listed| &listed.record);
            let record = self.file_record(&spec, stored.get(&spec.name), listed).await;
            let is_new = !before.contains_key(&spec.name);
            let listed = Arc::new(Listed { record, spec });
            if is_new {
                self.introduce(&listed, stored.contains_key(&listed.record.name)).await;
            }
            listing.insert(listed.record.name.clone(), listed);
        }
        let gone = |name: &ServerName| !listing.contains_key(name);
        let left: Vec<Arc<Listed>> =
            before.values().filter(|listed| gone(&listed.record.name)).cloned().collect();
        for record in stored.values().filter(|record| gone(&record.name)) {
            if let Err(error) = self.store.remove_server(record.id).await {
                tracing::warn!(server = %record.name, %error, "a server that left the file stays in the store for now");
            }
        }
        self.apply(listing).await;
        for listed in left {
            self.clerk.forget(&listed.record.name);
            self.tell("server.removed", &listed);
        }
    }

    async fn stored_file_records(&self) -> BTreeMap<ServerName, ServerRecord> {
        let records = match self.store.servers(&Workspace::default()).await {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(%error, "the store does not answer; the servers of the file run all the same");
                self.listing.load().values().map(|listed| listed.record.clone()).collect()
            }
        };
        let of_file = records.into_iter().filter(|record| record.origin == Origin::File);
        of_file.map(|record| (record.name.clone(), record)).collect()
    }

    /// The record of a server of the file: the one it had, or a new one. One that cannot be stored is used all the same,
    /// and stored with the next chance.
    async fn file_record(
        &self,
        spec: &ServerSpec,
        stored: Option<&ServerRecord>,
        listed: Option<&ServerRecord>,
    ) -> ServerRecord {
        let now = Moment::now();
        let outcome = match stored {
            Some(record) if record.description == spec.description => return record.clone(),
            Some(record) => {
                let record =
                    ServerRecord { description: spec.description.clone(), updated_at: now, ..record.clone() };
                (self.store.change_server(&record).await, record)
            }
            None => {
                let record = ServerRecord {
                    id: listed.map_or_else(ServerId::random, |listed| listed.id),
                    workspace: Workspace::default(),
                    name: spec.name.clone(),
                    origin: Origin::File,
                    description: spec.description.clone(),
                    sealed_spec: None,
                    is_wanted: true,
                    registered_at: now,
                    updated_at: now,
                };
                (self.store.add_server(&record).await, record)
            }
        };
        match outcome.0 {
            Ok(()) if stored.is_none() && listed.is_some() => self.clerk.store_again(&spec.name),
            Ok(()) => {}
            Err(error) => {
                tracing::warn!(server = %spec.name, %error, "the server runs, but what happens to it is not stored");
            }
        }
        outcome.1
    }

    async fn introduce(&self, listed: &Listed, is_stored: bool) {
        let record = &listed.record;
        if !is_stored {
            self.clerk.know(&record.name, record.id, Known::default());
            self.tell("server.registered", listed);
        } else if let Err(error) = self.recall(record).await {
            tracing::warn!(server = %record.name, %error, "what was known of the server cannot be read");
            self.clerk.know(&record.name, record.id, Known::default());
        }
    }
}
