//! One verb a file.

pub(crate) mod aggregate;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod serve;
pub(crate) mod version;
