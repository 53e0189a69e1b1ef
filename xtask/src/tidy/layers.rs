//! Who may use whom: the map of ARCHITECTURE.md as a table, held against every manifest.

use super::Violation;
use anyhow::Result;
use toml::{Table, Value};

/// What stands behind `crates/…`: only `portolan`, the binary, may use everything.
const ANYTHING: &[&str] = &["*"];

/// crate → the crates of this workspace that it may use. What is not listed is forbidden, so that calls, offers and
/// control each keep flowing one way. telemetry names logs and counters and is open to whoever has some.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("wire", &["model"]),
    ("telemetry", &[]),
    // Arithmetic over texts: it knows nothing of tools.
    ("embed", &[]),
    // Pure as well: whoever asks brings the vectors.
    ("search", &["model"]),
    ("outbound", &["model", "telemetry"]),
    // The only one that talks to a model; who asks, and for what, is not its business.
    ("llm", &["model", "outbound", "telemetry"]),
    ("config", &["model", "telemetry", "outbound"]),
    // Lists are rendered where they are kept, so that one is rendered once: the catalog writes tools with wire.
    ("catalog", &["model", "wire", "telemetry", "config"]),
    ("upstream", &["model", "wire", "outbound", "telemetry"]),
    ("router", &["model", "wire", "catalog", "upstream", "telemetry"]),
    ("store", &["model", "telemetry"]),
    ("access", &["model", "telemetry"]),
    // Which tools can do what, by either kind of model; outbound and embed are for its tests and its measuring alone.
    ("skills", &["model", "store", "search", "llm", "outbound", "embed", "telemetry"]),
    // Where control comes together: what people want goes to the store, and from there to the fleet.
    (
        "registry",
        &["model", "wire", "config", "store", "access", "outbound", "upstream", "catalog", "telemetry"],
    ),
    // Where search comes together: the index follows the catalog, and what texts mean is kept in the store.
    ("finder", &["model", "wire", "catalog", "store", "search", "embed", "llm", "skills", "telemetry"]),
    // Everything of one question to many servers but the servers: those come in through a trait.
    ("query", &["model", "wire", "search", "telemetry"]),
    // Servers, clients and people come in through traits; outbound is for its tests, against a provider that is scripted.
    ("agent", &["model", "wire", "llm", "store", "search", "telemetry", "outbound"]),
    // Where questions meet servers: what the query and the agents need of the world.
    ("ask", &["model", "wire", "catalog", "router", "finder", "query", "agent", "llm", "store", "telemetry"]),
    ("builtin", &["model", "wire", "catalog", "router", "finder", "query", "agent", "ask", "telemetry"]),
    // Calls over REST go the same way as all others: through the router.
    (
        "admin",
        &[
            "model",
            "wire",
            "registry",
            "router",
            "catalog",
            "finder",
            "skills",
            "ask",
            "query",
            "agent",
            "telemetry",
        ],
    ),
    ("front", &["model", "wire", "router", "catalog", "telemetry"]),
    ("portolan", ANYTHING),
    ("testkit", ANYTHING),
];

/// crate → what it must stay free of, its tests apart: model and wire are pure, so they are tested without waiting.
const STAYS_FREE_OF: &[(&str, &[&str])] = &[
    ("model", &["tokio", "tokio-util", "hyper", "hyper-util", "axum", "notify", "rustix"]),
    ("wire", &["tokio", "tokio-util", "hyper", "hyper-util", "axum", "notify", "rustix"]),
];

/// heavy crate → the only crates that hold it, beside the binary.
const FENCED: &[(&str, &[&str])] = &[
    ("axum", &["admin"]),
    ("utoipa-axum", &["admin"]),
    ("utoipa", &["admin", "registry"]),
    ("sqlx", &["store"]),
    ("aes-gcm", &["access"]),
    ("rustls", &["outbound"]),
    ("tokio-rustls", &["outbound"]),
    ("notify", &["config"]),
    ("clap", &["testkit"]),
    ("anyhow", &["testkit"]),
];

/// Whether a dependency is part of the program or only of its tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Built,
    Tested,
}

/// Holds one manifest against the tables. Those outside `crates/` are tools: they only have to declare their
/// dependencies where everyone does. `fuzz` is a workspace of its own and cannot.
pub(super) fn check(path: &str, text: &str) -> Result<Vec<Violation>> {
    let manifest: Table = toml::from_str(text)?;
    let mut violations = Vec::new();
    let mut report = |dependency: &str, rule, advice| {
        violations.push(Violation { path: path.to_owned(), line: line_of(text, dependency), rule, advice });
    };
    if let Some(shared) = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies")) {
        for (name, how) in shared.as_table().into_iter().flatten() {
            if how.get("git").is_some() {
                report(name, "git-dependency", format!("{name} comes from git: take a released version"));
            }
        }
    }
    let owner = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
    for (name, how, used) in dependencies(&manifest) {
        let is_shared = how.get("workspace").and_then(Value::as_bool) == Some(true);
        if !is_shared && !path.starts_with("fuzz/") {
            let advice =
                format!("declare {name} once, in the root's [workspace.dependencies], with its reason");
            report(name, "own-dependency", advice);
        }
        if let Some(advice) = owner.and_then(|owner| refusal(owner, name, used)) {
            report(name, "layer", advice);
        }
    }
    if let Some(owner) = owner.filter(|owner| row(MAY_USE, owner).is_none()) {
        report("name", "layer", format!("give {owner} its row in xtask/src/tidy/layers.rs"));
    }
    Ok(violations)
}

/// Why `owner` may not use `dependency`, if it may not.
fn refusal(owner: &str, dependency: &str, used: Use) -> Option<String> {
    let Some(own) = dependency.strip_prefix("portolan-") else {
        return foreign_refusal(owner, dependency, used);
    };
    let allowed = row(MAY_USE, owner)?;
    if allowed == ANYTHING && (own != "testkit" || used == Use::Tested) {
        return None;
    }
    match (own, used) {
        ("testkit", Use::Tested) => None,
        ("testkit", Use::Built) => Some("testkit is for tests: move it to [dev-dependencies]".to_owned()),
        _ if allowed.contains(&own) => None,
        _ => Some(format!("{owner} must not use {own}; it may use {}", listed(allowed))),
    }
}

fn foreign_refusal(owner: &str, dependency: &str, used: Use) -> Option<String> {
    if used == Use::Tested || owner == "portolan" {
        return None;
    }
    if row(STAYS_FREE_OF, owner).is_some_and(|forbidden| forbidden.contains(&dependency)) {
        return Some(format!("{owner} stays free of {dependency}: it is pure"));
    }
    let holders = row(FENCED, dependency)?;
    (!holders.contains(&owner))
        .then(|| format!("only {} holds {dependency}, beside the binary", listed(holders)))
}

/// Every dependency of a manifest, those for one system included.
fn dependencies(manifest: &Table) -> Vec<(&str, &Value, Use)> {
    let systems = manifest.get("target").and_then(Value::as_table);
    let tables = std::iter::once(manifest)
        .chain(systems.into_iter().flat_map(Table::values).filter_map(Value::as_table));
    let kinds =
        [("dependencies", Use::Built), ("build-dependencies", Use::Built), ("dev-dependencies", Use::Tested)];
    let mut found = Vec::new();
    for table in tables {
        for (kind, used) in kinds {
            let listed = table.get(kind).and_then(Value::as_table);
            found.extend(listed.into_iter().flatten().map(|(name, how)| (name.as_str(), how, used)));
        }
    }
    found
}

fn row(table: &[(&str, &'static [&'static str])], key: &str) -> Option<&'static [&'static str]> {
    table.iter().find(|(name, _)| *name == key).map(|(_, entries)| *entries)
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "no other crate of ours".to_owned() } else { names.join(", ") }
}

/// The first line that declares `key`, or the first of all.
fn line_of(text: &str, key: &str) -> usize {
    let declares = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']));
    text.lines().position(declares).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_uses(owner: &str, dependencies: &str, expected: &[&str]) {
        let text = format!("[package]\nname = \"x\"\n\n{dependencies}\n");
        let found = check(&format!("crates/{owner}/Cargo.toml"), &text).unwrap();
        let found: Vec<String> =
            found.iter().map(|v| format!("{}: {}: {}", v.line, v.rule, v.advice)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_crate_uses_what_its_row_says_and_nothing_else() {
        check_uses("wire", "[dependencies]\nportolan-model.workspace = true\nserde.workspace = true", &[]);
        check_uses(
            "upstream",
            "[dependencies]\nportolan-wire.workspace = true\nportolan-catalog.workspace = true",
            &["6: layer: upstream must not use catalog; it may use model, wire, outbound, telemetry"],
        );
        check_uses(
            "model",
            "[dependencies]\nportolan-wire = { workspace = true }",
            &["5: layer: model must not use wire; it may use no other crate of ours"],
        );
        check_uses("portolan", "[dependencies]\nportolan-front.workspace = true\naxum.workspace = true", &[]);
    }

    #[test]
    fn pure_crates_stay_free_of_io_but_their_tests_need_not() {
        check_uses(
            "wire",
            "[dependencies]\ntokio.workspace = true",
            &["5: layer: wire stays free of tokio: it is pure"],
        );
        check_uses("wire", "[dev-dependencies]\ntokio.workspace = true", &[]);
    }

    #[test]
    fn fenced_crates_stay_behind_their_fence_on_every_system() {
        check_uses(
            "router",
            "[target.'cfg(unix)'.dependencies]\naxum.workspace = true",
            &["5: layer: only admin holds axum, beside the binary"],
        );
    }

    #[test]
    fn the_testkit_is_for_tests_alone() {
        check_uses("upstream", "[dev-dependencies]\nportolan-testkit.workspace = true", &[]);
        let misplaced = ["5: layer: testkit is for tests: move it to [dev-dependencies]"];
        check_uses("upstream", "[dependencies]\nportolan-testkit.workspace = true", &misplaced);
        check_uses("portolan", "[dependencies]\nportolan-testkit.workspace = true", &misplaced);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        check_uses("teleport", "", &["2: layer: give teleport its row in xtask/src/tidy/layers.rs"]);
    }

    #[test]
    fn dependencies_are_declared_once_and_never_from_git() {
        check_uses(
            "front",
            "[dependencies]\nserde = \"1\"",
            &[
                "5: own-dependency: declare serde once, in the root's [workspace.dependencies], with its reason",
            ],
        );
        let root = "[workspace.dependencies]\nx = { git = \"https://example.com/x\" }\n";
        assert_eq!(check("Cargo.toml", root).unwrap()[0].rule, "git-dependency");
        assert_eq!(check("fuzz/Cargo.toml", "[dependencies]\nlibfuzzer-sys = \"0.4\"\n").unwrap(), []);
    }
}
