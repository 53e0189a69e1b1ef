//! Nouns and pure rules: no tokio, no I/O.

pub mod classification;
pub mod era;
pub mod fingerprint;
pub mod hex;
pub mod identity;
pub mod lifecycle;
pub mod mask;
pub mod name;
pub mod offer;
pub mod pattern;
pub mod profile;
pub mod query_way;
pub mod secret;
pub mod server;
pub mod skill;

pub use classification::{Classification, ClassificationEvent};
pub use era::Era;
pub use fingerprint::fingerprint;
pub use hex::hex;
pub use identity::{Moment, ServerId, ToolId, Workspace};
pub use lifecycle::{Event, Lifecycle, State};
pub use mask::{
    MASK, holds_mask, keep_masked, keep_masked_args, keep_masked_url, mask_args, mask_url, mask_value,
};
pub use name::{NameStyle, ToolName};
pub use offer::{Item, Kind, Kinds, LeftOut, Manner, Offer, Piece, Tool};
pub use pattern::ToolFilter;
pub use profile::{Exposure, Profile};
pub use query_way::QueryWay;
pub use secret::Secret;
pub use server::{
    ChildSpec, Endpoint, Origin, Reached, RemoteKind, ServerName, ServerSpec, Sharing, TransportSpec,
};
pub use skill::{BadSkillId, SkillId, SkillSource, SuggestionId, SuggestionState};
