//! Which era each server was last met in, so that the next start need not find out again.

use portolan_model::{Era, ServerId};
use portolan_store::{Store, StoreError};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The setting that holds them.
pub(crate) const KEY: &str = "eras";

#[derive(Default)]
pub(crate) struct Verdicts(Mutex<BTreeMap<String, String>>);

impl Verdicts {
    /// Reads what was kept. What cannot be read is found out again.
    pub(crate) async fn recall(&self, store: &dyn Store) -> Result<(), StoreError> {
        let kept = store.setting(KEY).await?.unwrap_or_default();
        let all = serde_json::from_slice(&kept).unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }

    pub(crate) fn of(&self, server: ServerId) -> Option<Era> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&server.to_string()).and_then(|era| Era::parse(era))
    }

    /// Keeps a verdict: all of them as they are to be stored, if it is news.
    pub(crate) fn keep(&self, server: ServerId, era: Era) -> Option<Vec<u8>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.insert(server.to_string(), era.as_str().to_owned());
        (before.as_deref() != Some(era.as_str())).then(|| serde_json::to_vec(&*all).unwrap_or_default())
    }

    /// The same after a server has gone.
    pub(crate) fn forget(&self, server: ServerId) -> Option<Vec<u8>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&server.to_string())?;
        Some(serde_json::to_vec(&*all).unwrap_or_default())
    }
}
