//! What a query goes by: its limits, how much servers count, and which queries go to which of them.

use crate::error::QueryError;
use crate::input::{QueryInput, invalid};
use crate::target::Target;
use portolan_model::pattern;
use std::collections::BTreeMap;
use std::time::Duration;

/// What one query, and one server in it, can take at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// All that one server is asked for takes this long at most.
    pub per_server: Duration,
    /// And the whole query this long.
    pub in_all: Duration,
    /// Servers that are asked at the same time.
    pub at_once: usize,
    /// An answer over this is not looked at: the server is named with that reason.
    pub answer_bytes: usize,
    pub items_per_server: usize,
    pub item_bytes: usize,
    /// What is kept of all servers together; each has the same share.
    pub bytes: usize,
    /// How many items are embedded, the best by words.
    pub embedded: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_server: Duration::from_secs(3),
            in_all: Duration::from_secs(5),
            at_once: 64,
            answer_bytes: 4 << 20,
            items_per_server: 100,
            item_bytes: 4 << 10,
            bytes: 10 << 20,
            embedded: 64,
        }
    }
}

/// Queries that look like `pattern` go to `servers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// `*` and `?` as in a shell, whatever the case; it is held against the whole query.
    pub pattern: String,
    pub servers: Vec<String>,
}

/// What people set about servers for all queries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules {
    /// By name or pattern, the closest of them. 1 for those that are not here; more lifts a server's results, less lowers them, 0 puts them last.
    pub weights: BTreeMap<String, f64>,
    pub routes: Vec<Route>,
}

impl Rules {
    /// What a server's results count.
    pub fn weight(&self, server: &str) -> f64 {
        let named = pattern::best(self.weights.keys().map(String::as_str), server);
        let weight = named.and_then(|named| self.weights.get(named)).copied().unwrap_or(1.0);
        if weight.is_finite() { weight.clamp(0.0, 10.0) } else { 1.0 }
    }

    /// The targets that a query goes to, in the order of their names: those that it names, else those that routes name
    /// for it, else all. A route to servers that are not there is none.
    pub fn choose<'t>(
        &self,
        input: &QueryInput,
        targets: &'t [Target],
    ) -> Result<Vec<&'t Target>, QueryError> {
        let mut chosen: Vec<&Target> = targets.iter().collect();
        if let Some(names) = &input.servers {
            let unknown = names.iter().find(|name| targets.iter().all(|target| target.name != **name));
            if let Some(name) = unknown {
                return Err(invalid("servers", format!("No server is called {name:?}")));
            }
            chosen.retain(|target| names.contains(&target.name));
        } else {
            let query = input.query.to_lowercase();
            let fitting =
                self.routes.iter().filter(|route| pattern::matches(&route.pattern.to_lowercase(), &query));
            let routed: Vec<&String> = fitting.flat_map(|route| &route.servers).collect();
            let is_routed = |target: &&Target| routed.contains(&&target.name);
            if chosen.iter().any(is_routed) {
                chosen.retain(is_routed);
            }
        }
        chosen.sort_by(|one, other| one.name.cmp(&other.name));
        chosen.dedup_by(|one, other| one.name == other.name);
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let route = |pattern: &str, servers: &[&str]| Route {
            pattern: pattern.to_owned(),
            servers: servers.iter().map(ToString::to_string).collect(),
        };
        Rules {
            weights: [("a".to_owned(), 2.0), ("b".to_owned(), f64::NAN)].into(),
            routes: vec![
                route("*commit*", &["git"]),
                route("*release*", &["a", "gone"]),
                route("*x*", &["gone"]),
            ],
        }
    }

    #[track_caller]
    fn check(query: &str, servers: Option<&[&str]>, expected: Result<&[&str], &str>) {
        let targets: Vec<Target> = ["git", "b", "a"].into_iter().map(Target::named).collect();
        let servers = servers.map(|names| names.iter().map(ToString::to_string).collect());
        let input = QueryInput { query: query.to_owned(), max_results: 30, servers };
        let chosen = rules().choose(&input, &targets);
        let names = chosen.map(|chosen| chosen.iter().map(|target| target.name.clone()).collect::<Vec<_>>());
        match expected {
            Ok(expected) => assert_eq!(names.unwrap(), expected, "{query}"),
            Err(reason) => assert_eq!(names.unwrap_err().data()["reason"], reason, "{query}"),
        }
    }

    #[test]
    fn a_query_goes_to_the_servers_it_names_else_to_those_of_its_routes_else_to_all() {
        check("anything", None, Ok(&["a", "b", "git"]));
        check("the last COMMIT", None, Ok(&["git"]));
        check("commits of the release", None, Ok(&["a", "git"]));
        check("the last commit", Some(&["b"]), Ok(&["b"]));
        check("x", None, Ok(&["a", "b", "git"]));
        check("anything", Some(&["a", "nobody"]), Err("No server is called \"nobody\""));
    }

    #[test]
    fn weights_are_one_where_nothing_sensible_is_set() {
        let weights: Vec<f64> = ["a", "b", "c"].into_iter().map(|server| rules().weight(server)).collect();
        assert_eq!(weights, [2.0, 1.0, 1.0]);
    }
}
