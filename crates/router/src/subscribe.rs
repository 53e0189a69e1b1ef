//! Subscriptions to resources: the server behind hears of the first one who wants it and of the last.

use crate::call::{RouteError, Router, WAIT_FOR_SESSION};
use crate::target::owner;
use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_upstream::Reply;

/// A resource as its server knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Watched {
    pub server: ServerName,
    pub uri: String,
}

impl Router {
    /// Finds out whose a resource is.
    pub fn watched(&self, view: &View, uri: &str) -> Result<Watched, RouteError> {
        let (server, uri) = owner(&self.catalog.snapshot(), &self.learned, view, uri)?;
        Ok(Watched { server, uri })
    }

    /// One client more wants to hear of a resource: the server's own answer.
    pub async fn subscribe(&self, watched: &Watched) -> Result<Reply, RouteError> {
        let member = self.member(&watched.server)?;
        member.session(WAIT_FOR_SESSION).await?;
        Ok(member.subscribe(&watched.uri).await)
    }

    /// One client less wants to; the server hears of it soon.
    pub fn unsubscribe(&self, watched: &Watched) {
        if let Ok(member) = self.member(&watched.server) {
            member.unsubscribe(&watched.uri);
        }
    }
}
