//! Any client meets any server: each era, transport and capability on one side with each on the other.

mod asker;
mod attribution;
mod cancellation;
mod changes;
mod eras;
mod forms;
mod fronts;
mod kinds;
mod lists;
mod minds;
mod modern_front;
mod parking;
mod pool;
mod questions;
mod resumption;
mod scripted;
mod standing;
mod subscriptions;
mod unknown;

pub(crate) use forms::{Behind, Form};
pub(crate) use fronts::{Answering, AnyClient, Front};
