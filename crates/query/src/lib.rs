//! One question to many servers: how each is asked, what its answer is cut into, and one ranking of it all.
//!
//! Servers are reached through [`Ports`], so nothing here knows a session. A query is [`QueryInput::read`],
//! [`fan_out`], and a [`QueryOutput`] or a [`QueryError`].

mod asking;
mod cut;
mod definition;
mod error;
mod fan_out;
mod fold;
mod forms;
mod input;
mod item;
mod output;
mod plan;
mod ports;
mod rank;
mod reply;
mod resources;
mod score;
mod settings;
mod target;
mod ways;

pub use cut::cut;
pub use definition::{DESCRIPTION, INPUT_SCHEMA, OUTPUT_SCHEMA, TOOL_NAME};
pub use error::{QueryError, Reason, Trouble};
pub use fan_out::fan_out;
pub use input::QueryInput;
pub use item::{Bounds, Haul, Item, Over};
pub use output::{LeftOut, Metadata, QueryOutput, QueryResult};
pub use plan::{Call, Plan};
pub use ports::{Ports, Ranking, Within};
pub use rank::{Answer, Ranked, RankedItem, Vectors, rank};
pub use reply::Reply;
pub use settings::{Limits, Route, Rules};
pub use target::{Standing, Target, WaySetting};
pub use ways::{Way, Ways, ways};
