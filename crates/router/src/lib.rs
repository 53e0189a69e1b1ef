//! From a name to an answer.

mod call;
mod learned;
mod own;
mod resolve;
mod rounds;
mod subscribe;
mod target;
mod tasks;

pub use call::{Answered, Call, Caller, RouteError, Router};
pub use own::{OwnAnswer, OwnCall, OwnTools};
pub use portolan_upstream::{Aside, CallError, Desk, Note, Notice, Party, Question, Reply, Unavailable};
pub use resolve::{Unresolved, resolve_prompt, resolve_tool};
pub use subscribe::Watched;
pub use target::What;
pub use tasks::TaskMethod;
