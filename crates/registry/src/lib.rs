//! The servers that people manage: what is stored and what the file says in one list, kept, watched and told of.

mod amend;
mod check;
mod clerk;
mod draft;
mod error;
mod events;
mod mask;
mod overlay;
mod recorder;
mod registry;
mod sealed;
mod verdicts;
mod view;

pub use clerk::Clerk;
pub use draft::{ConnectionConfig, Draft, Patch, ToolPatch, ToolPatterns};
pub use error::{FieldProblem, RegistryError};
pub use events::{RESET, Subscription};
pub use portolan_store::{Page, Slice, StoreError};
pub use portolan_upstream::Parting;
pub use registry::{Options, Parts, Patience, Registry, is_sealed};
pub use view::{
    Connected, Disconnected, Event, HealthView, HistoryView, LeftOutView, Overall, SecretView, ServerView,
    SkilledToolView, StateView, ToolView,
};
