//! Registering, changing and removing servers.

use super::{Listed, Registry};
use crate::clerk::Known;
use crate::draft::{Draft, Patch};
use crate::error::RegistryError;
use crate::view::ServerView;
use crate::{amend, sealed};
use portolan_model::{Moment, Origin, ServerId, TransportSpec, Workspace};
use portolan_store::{ServerRecord, StoreError};
use portolan_upstream::Parting;
use std::sync::Arc;

impl Registry {
    pub async fn register(self: &Arc<Self>, draft: Draft) -> Result<ServerView, RegistryError> {
        let registry = self.clone();
        self.to_the_end(async move { registry.add(&draft).await }).await
    }

    pub async fn change(self: &Arc<Self>, key: &str, patch: Patch) -> Result<ServerView, RegistryError> {
        let (registry, key) = (self.clone(), key.to_owned());
        self.to_the_end(async move { registry.amend(&key, patch).await }).await
    }

    /// BR-008: disconnects, then deletes the server and everything of it.
    pub async fn remove(self: &Arc<Self>, key: &str, parting: Parting) -> Result<(), RegistryError> {
        let (registry, key) = (self.clone(), key.to_owned());
        self.to_the_end(async move { registry.delete(&key, parting).await }).await
    }

    async fn add(&self, draft: &Draft) -> Result<ServerView, RegistryError> {
        let spec = self.rules().check(draft).map_err(RegistryError::Invalid)?;
        self.permit(&spec.transport)?;
        let _one = self.changing.lock().await;
        let (count, limit) = (self.listing.load().len(), self.options.most_servers);
        if self.listing.load().contains_key(&spec.name) {
            return Err(RegistryError::NameTaken(spec.name.to_string()));
        }
        if count >= limit {
            return Err(RegistryError::TooMany { limit });
        }
        let (id, now) = (ServerId::random(), Moment::now());
        let record = ServerRecord {
            id,
            workspace: Workspace::default(),
            name: spec.name.clone(),
            origin: Origin::Registered,
            description: spec.description.clone(),
            sealed_spec: Some(sealed::seal(&self.vault, id, &spec)?),
            is_wanted: draft.auto_connect,
            registered_at: now,
            updated_at: now,
        };
        self.store.add_server(&record).await.map_err(refused)?;
        self.clerk.know(&record.name, id, Known::default());
        let listed = self.list(Listed { record, spec }, None).await;
        self.tell("server.registered", &listed);
        Ok(self.show(&listed))
    }

    /// Running a program is a permission of its own, on every way that leads to it.
    fn permit(&self, transport: &TransportSpec) -> Result<(), RegistryError> {
        match transport {
            TransportSpec::Stdio { .. } if !self.options.may_register_stdio => Err(RegistryError::StdioOff),
            TransportSpec::Stdio { .. } | TransportSpec::Remote { .. } => Ok(()),
        }
    }

    async fn amend(&self, key: &str, patch: Patch) -> Result<ServerView, RegistryError> {
        let one = self.changing.lock().await;
        let old = self.find(key)?;
        if old.record.origin == Origin::File {
            return Err(RegistryError::InFile(old.record.name.to_string()));
        }
        let wish = patch.auto_connect;
        let draft = amend::patched(&old, patch);
        let spec = self.rules().check(&draft).map_err(RegistryError::Invalid)?;
        if spec.transport != old.spec.transport {
            self.permit(&spec.transport)?;
        }
        let is_renamed = spec.name != old.record.name;
        if is_renamed && self.listing.load().contains_key(&spec.name) {
            return Err(RegistryError::NameTaken(spec.name.to_string()));
        }
        let record = ServerRecord {
            name: spec.name.clone(),
            description: spec.description.clone(),
            sealed_spec: Some(sealed::seal(&self.vault, old.record.id, &spec)?),
            is_wanted: wish.unwrap_or(old.record.is_wanted),
            updated_at: Moment::now(),
            ..old.record.clone()
        };
        self.store.change_server(&record).await.map_err(refused)?;
        if is_renamed {
            self.clerk.rename(&old.record.name, &record.name);
        }
        let listed = self.list(Listed { record, spec }, Some(&old.record.name)).await;
        self.tell("server.updated", &listed);
        drop(one);
        match wish {
            Some(true) => self.member(&listed)?.connect().await,
            Some(false) => drop(self.member(&listed)?.disconnect(Parting::Drained).await),
            None => {}
        }
        Ok(self.show(&listed))
    }

    async fn delete(&self, key: &str, parting: Parting) -> Result<(), RegistryError> {
        let listed = self.find(key)?;
        if listed.record.origin == Origin::File {
            return Err(RegistryError::InFile(listed.record.name.to_string()));
        }
        // Others may go on changing things while this one drains.
        self.member(&listed)?.disconnect(parting).await;
        let _one = self.changing.lock().await;
        // It may have been renamed meanwhile; its id has not changed.
        let listed = self.find(&listed.record.id.to_string())?;
        if let Err(error) = self.store.remove_server(listed.record.id).await {
            // It is not removed, and so it goes on as it was.
            if listed.record.is_wanted {
                self.member(&listed)?.connect().await;
            }
            return Err(error.into());
        }
        let mut listing = super::Listing::clone(&self.listing.load());
        listing.remove(&listed.record.name);
        self.apply(listing).await;
        self.clerk.forget(&listed.record.name);
        self.tell("server.removed", &listed);
        // One of the file that this one has kept out comes in now.
        let file = self.file.load_full();
        if file.iter().any(|spec| spec.name == listed.record.name) {
            self.merge_file(file.to_vec()).await;
        }
        Ok(())
    }
}

/// What the database alone can know: another process, or another change, was quicker.
fn refused(error: StoreError) -> RegistryError {
    match error {
        StoreError::NameTaken(name) => RegistryError::NameTaken(name.to_string()),
        other @ (StoreError::NoSuchServer
        | StoreError::Busy
        | StoreError::Full
        | StoreError::InUse { .. }
        | StoreError::Newer { .. }
        | StoreError::Damaged { .. }
        | StoreError::Folder { .. }
        | StoreError::Unavailable(_)) => RegistryError::Store(other),
    }
}
