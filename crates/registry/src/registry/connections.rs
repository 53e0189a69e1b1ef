//! Connecting, disconnecting and refreshing servers; the wish is stored before it is carried out.

use super::{Listed, Registry, SETTLE};
use crate::error::RegistryError;
use crate::view::{Connected, Disconnected};
use portolan_model::{Moment, ServerName, State};
use portolan_store::ServerRecord;
use portolan_upstream::{Member, Parting, Status};
use std::sync::Arc;
use tokio::time::timeout;

/// Whether an answer waits until a connection is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    AtOnce,
    UntilDecided,
}

impl Registry {
    /// BR-002: answers at once and goes on by itself; connecting what is connected changes nothing.
    pub async fn connect(
        self: &Arc<Self>,
        key: &str,
        patience: Patience,
    ) -> Result<Connected, RegistryError> {
        let listed = self.wish(key, true).await?;
        let member = self.member(&listed)?;
        let before = member.status();
        if !is_up(&before) {
            member.connect().await;
        }
        self.outcome(&member, patience, &before).await
    }

    pub async fn reconnect(
        self: &Arc<Self>,
        key: &str,
        patience: Patience,
    ) -> Result<Connected, RegistryError> {
        let listed = self.wish(key, true).await?;
        let member = self.member(&listed)?;
        // Waits for what is in flight, so it goes on whether or not the caller stays for it.
        member.reconnect().await;
        let before = Status { state: State::Connecting, ..member.status() };
        self.outcome(&member, patience, &before).await
    }

    /// BR-007: no new calls, and those under way may end or are given up.
    pub async fn disconnect(
        self: &Arc<Self>,
        key: &str,
        parting: Parting,
    ) -> Result<Disconnected, RegistryError> {
        let (registry, key) = (self.clone(), key.to_owned());
        self.to_the_end(async move {
            let listed = registry.wish(&key, false).await?;
            let member = registry.member(&listed)?;
            let pending_requests = member.disconnect(parting).await;
            // Somebody may have wanted it back meanwhile.
            let state = member.status().state;
            if state == State::Disconnected {
                registry.filed(&listed.record.name, state).await;
            }
            Ok(Disconnected { status: state.as_str(), pending_requests })
        })
        .await
    }

    /// Has a connected server's tools listed again, soon.
    pub async fn refresh(self: &Arc<Self>, key: &str) -> Result<Connected, RegistryError> {
        let listed = self.find(key)?;
        let member = self.member(&listed)?;
        let status = member.status();
        if !is_up(&status) {
            let (server, state) = (listed.record.name.to_string(), status.state);
            return Err(RegistryError::NotConnected { server, state });
        }
        member.refresh().await;
        Ok(Connected { status: status.state.as_str(), message: "Tool discovery initiated".to_owned() })
    }

    /// Stores whether a server is meant to be connected.
    async fn wish(self: &Arc<Self>, key: &str, is_wanted: bool) -> Result<Arc<Listed>, RegistryError> {
        let (registry, key) = (self.clone(), key.to_owned());
        self.to_the_end(async move {
            let _one = registry.changing.lock().await;
            let old = registry.find(&key)?;
            if old.record.is_wanted == is_wanted {
                return Ok(old);
            }
            let record = ServerRecord { is_wanted, updated_at: Moment::now(), ..old.record.clone() };
            registry.store.change_server(&record).await?;
            let name = record.name.clone();
            Ok(registry.list(Listed { record, spec: old.spec.clone() }, Some(&name)).await)
        })
        .await
    }

    async fn outcome(
        &self,
        member: &Member,
        patience: Patience,
        before: &Status,
    ) -> Result<Connected, RegistryError> {
        let connected = |status: &Status, message: &str| Connected {
            status: status.state.as_str(),
            message: message.to_owned(),
        };
        if is_up(before) {
            if patience == Patience::UntilDecided {
                self.filed(&member.spec.name, before.state).await;
            }
            return Ok(connected(before, "Already connected"));
        }
        match patience {
            Patience::AtOnce => {
                let shown = Status { state: State::Connecting, ..member.status() };
                Ok(connected(&shown, "Connection initiated"))
            }
            Patience::UntilDecided => {
                let status = member.decided().await;
                self.filed(&member.spec.name, status.state).await;
                let message = match &status.error {
                    Some(error) => error.to_string(),
                    None => "Connected".to_owned(),
                };
                Ok(connected(&status, &message))
            }
        }
    }

    pub(super) fn member(&self, listed: &Listed) -> Result<Arc<Member>, RegistryError> {
        let name = listed.record.name.as_str();
        let member = self.fleet.get().and_then(|fleet| fleet.member(name));
        member.ok_or_else(|| RegistryError::NoSuchServer(name.to_owned()))
    }

    /// Waits until what a server has just become has been filed and stored, so that whoever asks next sees it.
    async fn filed(&self, server: &ServerName, state: State) {
        let on_file = self.clerk.shows(server, state);
        timeout(SETTLE, on_file).await.unwrap_or_default();
        self.recorder.settled(SETTLE).await;
    }
}

fn is_up(status: &Status) -> bool {
    matches!(status.state, State::Connected | State::Degraded) && !status.is_draining
}
