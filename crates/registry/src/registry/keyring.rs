//! The secrets that `${NAME}` stands for in registered servers: set and removed by people, and never shown again.

use super::Registry;
use crate::error::{FieldProblem, RegistryError};
use crate::view::SecretView;
use portolan_access::is_secret_name;
use portolan_model::{Moment, Origin, Secret, Workspace};
use portolan_store::SecretRecord;
use std::sync::Arc;

/// A sealed secret opens only under its own name.
pub(super) fn purpose(name: &str) -> String {
    format!("secret:{name}")
}

impl Registry {
    /// Names only, and who uses them.
    pub async fn secrets(&self) -> Result<Vec<SecretView>, RegistryError> {
        let records = self.store.secrets(&Workspace::default()).await?;
        let listing = self.listing.load();
        let uses = |name: &String| {
            let registered = listing.values().filter(|listed| listed.record.origin == Origin::Registered);
            let users = registered.filter(|listed| portolan_config::references(&listed.spec).contains(name));
            users.map(|listed| listed.record.name.to_string()).collect()
        };
        let show = |record: SecretRecord| SecretView {
            used_by: uses(&record.name),
            name: record.name,
            updated_at: record.updated_at,
        };
        Ok(records.into_iter().map(show).collect())
    }

    /// Sets a secret; servers that use it read it with their next session.
    pub async fn set_secret(self: &Arc<Self>, name: &str, value: Secret) -> Result<(), RegistryError> {
        if !is_secret_name(name) {
            let message =
                "a secret's name has letters, digits and `_`, no digit first, and at most 255 of them";
            return Err(RegistryError::Invalid(vec![FieldProblem::new(&["name"], message)]));
        }
        if value.reveal().contains('\0') {
            let message = "the value holds a NUL character: remove it";
            return Err(RegistryError::Invalid(vec![FieldProblem::new(&["value"], message)]));
        }
        let (registry, name) = (self.clone(), name.to_owned());
        self.to_the_end(async move {
            let _one = registry.changing.lock().await;
            let sealed = registry.vault.seal(&purpose(&name), value.reveal().as_bytes());
            let sealed = sealed.map_err(|error| RegistryError::Sealed(error.to_string()))?;
            let (workspace, updated_at) = (Workspace::default(), Moment::now());
            registry
                .store
                .put_secret(&SecretRecord { workspace, name: name.clone(), sealed, updated_at })
                .await?;
            registry.secrets.set(&name, &value);
            Ok(())
        })
        .await
    }

    pub async fn remove_secret(self: &Arc<Self>, name: &str) -> Result<(), RegistryError> {
        let (registry, name) = (self.clone(), name.to_owned());
        self.to_the_end(async move {
            let _one = registry.changing.lock().await;
            if !registry.store.remove_secret(&Workspace::default(), &name).await? {
                return Err(RegistryError::NoSuchSecret(name));
            }
            registry.secrets.remove(&name);
            Ok(())
        })
        .await
    }
}
