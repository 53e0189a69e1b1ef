//! One verb a file.

pub(crate) mod add;
pub(crate) mod agents;
pub(crate) mod aggregate;
pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod disconnect;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod query;
pub(crate) mod refresh;
pub(crate) mod remove;
pub(crate) mod search;
pub(crate) mod secret;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod version;
