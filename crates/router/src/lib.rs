//! From a name to an answer.

mod call;
mod resolve;

pub use call::{Answered, Call, RouteError, Router};
pub use portolan_upstream::{Aside, CallError, Note, Notice, Reply, Unavailable};
pub use resolve::{Unresolved, resolve};
