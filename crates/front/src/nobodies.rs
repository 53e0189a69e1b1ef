//! Whoever comes without a session: what a client has is shared by many of them.

use crate::client::Client;
use crate::sessions::Held;
use dashmap::DashMap;
use portolan_catalog::View;
use portolan_model::ServerName;
use std::sync::Arc;

/// Several of the same: a count that all requests share is what they would wait for.
const MANY: usize = 16;

pub(crate) struct Nobodies {
    all: [Arc<Held>; MANY],
    /// Those who look at one server by itself.
    of_server: DashMap<ServerName, Arc<Held>>,
    of_profile: DashMap<ServerName, Arc<Held>>,
    in_flight: usize,
}

impl Nobodies {
    pub(crate) fn new(in_flight: usize) -> Self {
        let all = std::array::from_fn(|_| Held::alone(Client::new(View::All, in_flight)));
        Self { all, of_server: DashMap::new(), of_profile: DashMap::new(), in_flight }
    }

    /// One for a request of this number.
    pub(crate) fn one(&self, view: &View, number: u64) -> Arc<Held> {
        match view {
            View::All => self.all[usize::try_from(number).unwrap_or_default() % MANY].clone(),
            View::Server(server) => self.of(&self.of_server, server, view),
            View::Profile(profile) => self.of(&self.of_profile, &profile.name, view),
        }
    }

    fn of(&self, table: &DashMap<ServerName, Arc<Held>>, name: &ServerName, view: &View) -> Arc<Held> {
        if let Some(held) = table.get(name).filter(|held| held.client.view == *view) {
            return held.clone();
        }
        let held = Held::alone(Client::new(view.clone(), self.in_flight));
        table.insert(name.clone(), held.clone());
        held
    }

    /// Counts a tick for every request in flight, so that long ones show a sign of life.
    pub(crate) fn tick(&self) {
        self.all.iter().for_each(|held| held.client.tick());
        self.of_server.iter().chain(self.of_profile.iter()).for_each(|held| held.client.tick());
    }
}
