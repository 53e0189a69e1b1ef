//! Connector agents: one a server, which plans, calls its server's tools, reads what they return, and answers.
//!
//! Everything that touches a server, a client or a person comes in through [`Hands`], [`Sampler`] and [`Unaided`]. What an
//! agent may do is decided in `errand.rs`, by code: neither its model nor what a tool returns can widen it.

mod account;
mod agent;
mod agents;
mod ask;
mod contexts;
mod errand;
mod hands;
mod prompt;
mod query;
mod rate;
mod report;
mod risk;
mod sampling;
mod shorten;
mod talk;
mod tally;
#[cfg(test)]
mod tests;
mod text;
pub mod tool;
mod toolbox;
mod trace;
mod turnstile;
mod unaided;

pub use crate::agents::{Agents, Card, Limits, Options, Standing};
pub use crate::ask::{Ask, BadAsk, Destructive, MOST_TOOLS, USUAL_TOOLS};
pub use crate::contexts::{Context, Fragment, Source};
pub use crate::hands::{Call, CallFailed, Consent, Hands};
pub use crate::query::{Mind, With};
pub use crate::report::{Failure, Report};
pub use crate::sampling::{SampleFailed, Sampler, Sampling};
pub use crate::tally::Tally;
pub use crate::trace::{Ending, Step, Traced, Watch};
pub use crate::turnstile::UnderWay;
pub use crate::unaided::{Answered, PlannedCall, Unaided, Way};
