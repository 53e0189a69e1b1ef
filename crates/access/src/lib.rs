//! What is secret: sealed at rest, open in memory, shown nowhere.

pub mod secrets;
pub mod vault;

pub use secrets::{Secrets, is_secret_name};
pub use vault::{BadKey, Key, Vault, VaultError};
