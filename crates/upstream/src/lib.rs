//! Sessions to the servers behind: children, Streamable HTTP and HTTP+SSE, kept alive and spoken to.

mod aside;
mod attempt;
mod backoff;
pub mod child;
pub mod discover;
pub mod error;
pub mod fleet;
mod handshake;
mod health;
mod inbox;
mod lifeline;
mod link;
mod member;
mod opening;
mod orders;
mod pending;
mod pool;
mod profiles;
mod question;
mod relisting;
mod scout;
pub mod session;
pub mod watchdog;
mod wishes;

pub use aside::Aside;
pub use attempt::{Trial, try_out};
pub use error::{CallError, ConnectError};
pub use fleet::{Fleet, Happening, Identity, Limits, Outside, Wanted};
pub use health::Report;
pub use inbox::Notice;
pub use member::{Member, Status, Unavailable};
pub use orders::Parting;
pub use pending::{Note, Reply};
pub use pool::Lease;
pub use question::{Desk, Party, Question};
pub use session::{Ask, Session};
