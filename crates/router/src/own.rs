//! Tools that Portolan has itself, beside those of the servers.

use crate::call::{Caller, RouteError};
use async_trait::async_trait;
use bytes::Bytes;
use portolan_catalog::View;
use portolan_model::Tool;
use portolan_upstream::Aside;
use portolan_wire::params::Params;
use std::sync::Arc;

/// A call of one of them.
pub struct OwnCall<'a> {
    pub view: &'a View,
    pub name: &'a str,
    pub params: &'a Params,
    pub caller: &'a Caller,
    /// Where its client hears of progress and takes questions, and calls it off.
    pub aside: &'a Arc<Aside>,
}

/// What such a call comes to.
pub enum OwnAnswer {
    /// The result as raw JSON.
    Result(Bytes),
    /// An error of JSON-RPC, as raw JSON too.
    Error(Bytes),
    /// The call of another tool: its params, as if the client had sent them.
    Instead(Params),
}

#[async_trait]
pub trait OwnTools: Send + Sync {
    /// Those that clients of this view are shown instead of the servers' tools; nothing where they are shown those.
    fn shown(&self, view: &View) -> Vec<Arc<Tool>>;

    /// `None` if there is none of this name.
    async fn call(&self, call: OwnCall<'_>) -> Option<Result<OwnAnswer, RouteError>>;
}
