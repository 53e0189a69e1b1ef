//! Keys of our own in `_meta`: what Portolan says of its lists, and what Portolans say to one another.

/// In a list: servers that are still in their first try, whose tools may be missing from it.
pub const PENDING: &str = "portolan/pending";
/// In a list: servers of which only a part is shown, because their own lists have no end or are over a limit.
pub const PARTIAL: &str = "portolan/partial";
/// In `initialize`: the Portolan that is asking.
pub const VIA: &str = "portolan/via";
/// In the result of `initialize` and in a list for another Portolan: who can be reached through us, ourselves included.
pub const INSTANCES: &str = "portolan/instances";
