//! The rules of `portolan.toml` for one question to many servers: `[query.weights]` and `[[query.routes]]`.

use crate::nearest::nearest;
use portolan_model::ServerName;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The most that a server can count.
const MOST: f64 = 10.0;

const ROUTE_KEYS: [&str; 2] = ["pattern", "servers"];

/// What the results of servers count, by names and patterns: from 0 to 10, and 1 where nothing is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weights(BTreeMap<String, Weight>);

/// A number from 0 to 10.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Weight(f64);

/// What is not a number cannot be a weight, so each is equal to itself.
impl Eq for Weight {}

impl Weight {
    fn of(value: &Value) -> Option<Self> {
        // Whole numbers are written without a point as well. Those that do not fit are far beyond what is allowed.
        let whole = value.as_integer().map(|number| i32::try_from(number).map_or(f64::NAN, f64::from));
        whole.or_else(|| value.as_float()).filter(|number| (0.0..=MOST).contains(number)).map(Self)
    }
}

impl Weights {
    /// The weights by the patterns of the servers that they are for; of those that fit a server, `pattern::best` holds.
    pub fn to_map(&self) -> BTreeMap<String, f64> {
        self.0.iter().map(|(pattern, weight)| (pattern.clone(), weight.0)).collect()
    }

    /// Reads what stands under `query.weights`. What is wrong is told, with its place, and the rest is read all the same.
    pub(super) fn read(value: &Value) -> (Self, Vec<String>) {
        let Some(table) = value.as_table() else {
            let problem = "query.weights must be a table, as in [query.weights] with git = 2";
            return (Self::default(), vec![problem.to_owned()]);
        };
        let (mut weights, mut problems) = (BTreeMap::new(), Vec::new());
        for (key, value) in table {
            match (is_server_pattern(key), Weight::of(value)) {
                (true, Some(weight)) => drop(weights.insert(key.clone(), weight)),
                (false, _) => problems.push(format!(
                    "query.weights: no server can be called {key:?}: write a server's name, or a pattern such as \"git*\""
                )),
                (true, None) => {
                    problems.push(format!("query.weights.{key} must be a number from 0 to 10"));
                }
            }
        }
        (Self(weights), problems)
    }
}

/// Whether there is a name that it fits.
fn is_server_pattern(text: &str) -> bool {
    ServerName::parse(&text.replace(['*', '?'], "a")).is_ok()
}

/// Questions that look like `pattern` go to `servers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRoute {
    /// `*` and `?` as in a shell, whatever the case; it is held against the whole question.
    pub pattern: String,
    /// Their names.
    pub servers: Vec<String>,
}

impl QueryRoute {
    /// Reads what stands under `query.routes`.
    pub(super) fn read_all(value: &Value) -> (Vec<Self>, Vec<String>) {
        let Some(items) = value.as_array() else {
            return (Vec::new(), vec!["query.routes must be tables, each as in [[query.routes]]".to_owned()]);
        };
        let (mut routes, mut problems) = (Vec::new(), Vec::new());
        for (n, item) in items.iter().enumerate() {
            let mut reader = Reader { at: format!("query.routes[{n}]"), problems: &mut problems };
            routes.extend(reader.route(item));
        }
        (routes, problems)
    }
}

struct Reader<'r> {
    at: String,
    problems: &'r mut Vec<String>,
}

impl Reader<'_> {
    fn route(&mut self, value: &Value) -> Option<QueryRoute> {
        let Some(fields) = value.as_table() else {
            return self.wrong("", "must be a table, as in [[query.routes]]");
        };
        for key in fields.keys().filter(|key| !ROUTE_KEYS.contains(&key.as_str())) {
            let hint = nearest(key, ROUTE_KEYS).map_or_else(
                || format!("a route has {}", ROUTE_KEYS.join(" and ")),
                |meant| format!("did you mean `{meant}`?"),
            );
            let _: Option<()> = self.wrong(&format!(".{key}"), &format!("is not known; {hint}"));
        }
        let (pattern, servers) = (self.pattern(fields), self.servers(fields));
        Some(QueryRoute { pattern: pattern?, servers: servers? })
    }

    fn pattern(&mut self, fields: &Table) -> Option<String> {
        let pattern = fields.get("pattern").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        match pattern {
            Some(pattern) => Some(pattern.to_owned()),
            None => {
                self.wrong(".pattern", "must be a text that questions are held against, such as \"*commit*\"")
            }
        }
    }

    fn servers(&mut self, fields: &Table) -> Option<Vec<String>> {
        let items = fields.get("servers").and_then(Value::as_array).filter(|items| !items.is_empty());
        let names = items
            .into_iter()
            .flatten()
            .map(|item| ServerName::parse(item.as_str()?).ok().map(|name| name.to_string()));
        match names.collect::<Option<Vec<String>>>() {
            Some(names) if !names.is_empty() => Some(names),
            Some(_) | None => self
                .wrong(".servers", "must be an array of the names of servers, such as [\"git\", \"github\"]"),
        }
    }

    fn wrong<T>(&mut self, key: &str, what: &str) -> Option<T> {
        self.problems.push(format!("{}{key} {what}", self.at));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        Value::Table(text.parse().unwrap())
    }

    #[test]
    fn weights_belong_to_names_and_to_patterns() {
        let (weights, problems) = Weights::read(&parse("git = 2\n\"web*\" = 0.5\nnoise = 0\n\"?\" = 10.0"));
        assert_eq!(problems, [""; 0]);
        let read: Vec<String> =
            weights.to_map().iter().map(|(pattern, weight)| format!("{pattern} {weight}")).collect();
        assert_eq!(read, ["? 10", "git 2", "noise 0", "web* 0.5"]);
    }

    #[track_caller]
    fn check_wrong_weight(text: &str, expected: &str) {
        let (weights, problems) = Weights::read(&parse(text));
        assert_eq!(weights, Weights::default());
        assert_eq!(problems, [expected]);
    }

    #[test]
    fn a_weight_that_cannot_be_is_told_with_its_place() {
        for bad in ["-1", "10.5", "nan", "inf", "-0.1", "\"2\"", "true", "{ x = 1 }", "99999999999"] {
            check_wrong_weight(&format!("git = {bad}"), "query.weights.git must be a number from 0 to 10");
        }
        let nobody = "query.weights: no server can be called \"Git Hub\": write a server's name, or a pattern such as \"git*\"";
        check_wrong_weight("\"Git Hub\" = 1", nobody);
        assert!(is_server_pattern("?it*") && !is_server_pattern("1*") && !is_server_pattern(""));
        let (_, problems) = Weights::read(&Value::Integer(2));
        assert!(problems[0].starts_with("query.weights must be a table"), "{problems:?}");
    }

    fn routes(text: &str) -> (Vec<QueryRoute>, Vec<String>) {
        QueryRoute::read_all(&text.parse::<Table>().unwrap()["routes"])
    }

    #[test]
    fn routes_are_read_in_their_order() {
        let (routes, problems) = routes(
            "[[routes]]\npattern = \"*commit*\"\nservers = [\"git\"]\n\
             [[routes]]\npattern = \"*\"\nservers = [\"b\", \"a\"]\n",
        );
        assert_eq!(problems, [""; 0]);
        let read: Vec<String> =
            routes.iter().map(|route| format!("{} {}", route.pattern, route.servers.join(","))).collect();
        assert_eq!(read, ["*commit* git", "* b,a"]);
    }

    #[track_caller]
    fn check_wrong_route(text: &str, expected: &[&str]) {
        let (_, problems) = routes(text);
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(expected), "{problem}");
        }
    }

    #[test]
    fn whatever_is_wrong_with_a_route_is_told_with_its_place() {
        check_wrong_route("routes = 1", &["query.routes must be tables, each as in [[query.routes]]"]);
        check_wrong_route("[routes]\npattern = \"x\"", &["query.routes must be tables"]);
        check_wrong_route("routes = [1]", &["query.routes[0] must be a table"]);
        check_wrong_route(
            "[[routes]]\npattern = \"x\"\nservers = [\"a\"]\n[[routes]]\npatern = \"x\"\nserver = []\nto = 1\n",
            &[
                "query.routes[1].patern is not known; did you mean `pattern`?",
                "query.routes[1].server is not known; did you mean `servers`?",
                "query.routes[1].to is not known; a route has pattern and servers",
                "query.routes[1].pattern must be a text",
                "query.routes[1].servers must be an array",
            ],
        );
        for bad in ["\"a\"", "[]", "[1]", "[\"a\", \"Not A Name\"]", "[\"git*\"]"] {
            let text = format!("[[routes]]\npattern = \"x\"\nservers = {bad}\n");
            check_wrong_route(&text, &["query.routes[0].servers must be an array of the names of servers"]);
        }
        check_wrong_route(
            "[[routes]]\npattern = \" \"\nservers = [\"a\"]\n",
            &["query.routes[0].pattern must be a text"],
        );
    }
}
