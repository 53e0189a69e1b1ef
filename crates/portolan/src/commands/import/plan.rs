//! What an import would do, decided before anything is done.

use super::draft;
use super::sources::Source;
use crate::Failure;
use crate::terminal::screen::{Screen, plain};
use crate::terminal::table::{Cell, Table};
use anstyle::{AnsiColor, Style};
use portolan_config::{Environment, references, required_references};
use portolan_model::{Secret, ServerName, ServerSpec, TransportSpec};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the running Portolan has already, by name.
pub(super) struct There {
    pub(super) servers: BTreeSet<String>,
    pub(super) secrets: BTreeSet<String>,
}

pub(super) enum Step {
    /// With the secrets that are taken from the environment for it.
    Add {
        spec: Box<ServerSpec>,
        secrets: Vec<String>,
    },
    Skip(String),
    Added,
    Failed(String),
}

/// One server of one file.
pub(super) struct Row {
    pub(super) file: String,
    pub(super) server: String,
    /// How it is reached, without anything that could be secret.
    pub(super) reached: String,
    pub(super) step: Step,
}

pub(super) struct Plan {
    pub(super) rows: Vec<Row>,
    /// What is to be set from the environment before any server is added.
    pub(super) secrets: BTreeMap<String, Secret>,
    warnings: Vec<String>,
    /// Whether it was known what is there already.
    is_informed: bool,
}

impl Plan {
    /// Decides for each server of each file. Nothing is known of what is there where no Portolan is running.
    pub(super) fn new(sources: Vec<Source>, there: Option<&There>, env: &Environment) -> Self {
        let plan = Self {
            rows: Vec::new(),
            secrets: BTreeMap::new(),
            warnings: Vec::new(),
            is_informed: there.is_some(),
        };
        let nothing = There { servers: BTreeSet::new(), secrets: BTreeSet::new() };
        let mut planner = Planner {
            plan,
            there: there.unwrap_or(&nothing),
            env,
            seen: BTreeMap::new(),
            winners: BTreeMap::new(),
        };
        for source in sources {
            planner.take(source);
        }
        planner.plan
    }

    pub(super) fn additions(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.step, Step::Add { .. })).count()
    }

    pub(super) fn show(&self, screen: &Screen) -> Result<(), Failure> {
        for warning in &self.warnings {
            screen.line(&format!("warning {}", plain(warning)))?;
        }
        if self.rows.is_empty() {
            return screen.line("no servers of other programs were found");
        }
        screen.table(&self.table())?;
        if !self.secrets.is_empty() {
            let names: Vec<&str> = self.secrets.keys().map(String::as_str).collect();
            screen.line(&format!("secrets that are set from your environment: {}", names.join(", ")))?;
        }
        if !self.is_informed {
            screen.line("no Portolan is running here, so what it has already is not known")?;
        }
        Ok(())
    }

    /// What has become of the servers that were to be added.
    pub(super) fn show_outcome(&self, screen: &Screen, next: &str) -> Result<(), Failure> {
        for row in &self.rows {
            if let Step::Failed(reason) = &row.step {
                screen.line(&format!("{} is not added: {reason}", row.server))?;
            }
        }
        let added = self.rows.iter().filter(|row| matches!(row.step, Step::Added)).count();
        let servers = if added == 1 { "server is" } else { "servers are" };
        screen.line(&format!("{added} {servers} added: {next}"))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["FILE", "SERVER", "REACHED", "PLAN"]);
        for row in &self.rows {
            let (text, style) = row.step.told();
            let cells = [Cell::from(&row.file), Cell::from(&row.server), Cell::from(&row.reached)];
            table.row(cells.into_iter().chain([Cell::styled(&text, style)]));
        }
        table
    }

    pub(super) fn json(&self) -> Value {
        let servers: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let secrets: Vec<&String> = self.secrets.keys().collect();
        json!({"servers": servers, "secrets": secrets, "warnings": self.warnings})
    }
}

impl Row {
    fn json(&self) -> Value {
        let (step, reason, secrets) = match &self.step {
            Step::Add { secrets, .. } => ("add", None, secrets.as_slice()),
            Step::Skip(reason) => ("skip", Some(reason), [].as_slice()),
            Step::Added => ("added", None, [].as_slice()),
            Step::Failed(reason) => ("failed", Some(reason), [].as_slice()),
        };
        json!({
            "file": self.file, "server": self.server, "reached": self.reached, "step": step, "reason": reason,
            "secrets": secrets,
        })
    }
}

impl Step {
    fn told(&self) -> (String, Style) {
        match self {
            Self::Add { secrets, .. } if secrets.is_empty() => {
                ("add".to_owned(), AnsiColor::Green.on_default())
            }
            Self::Add { secrets, .. } => (
                format!("add, with {} from your environment", secrets.join(", ")),
                AnsiColor::Green.on_default(),
            ),
            Self::Skip(reason) => (format!("skip: {reason}"), Style::new().dimmed()),
            Self::Added => ("added".to_owned(), AnsiColor::Green.on_default()),
            Self::Failed(reason) => (format!("failed: {reason}"), AnsiColor::Red.on_default()),
        }
    }
}

struct Planner<'a> {
    plan: Plan,
    there: &'a There,
    env: &'a Environment,
    /// Every server that was met.
    seen: BTreeMap<ServerName, Vec<ServerSpec>>,
    /// The files of those that are added.
    winners: BTreeMap<ServerName, String>,
}

impl Planner<'_> {
    fn take(&mut self, source: Source) {
        let file = shown(&source.path, self.env);
        let found = match source.found {
            Ok(found) => found,
            Err(errors) => {
                let reasons: Vec<&str> =
                    errors.problems.iter().map(|problem| problem.message.as_str()).collect();
                return self.skip(&file, "-", "", &reasons.join("; "));
            }
        };
        self.plan.warnings.extend(found.warnings.iter().map(|warning| format!("{file}: {warning}")));
        for spec in found.specs {
            self.decide(&file, spec);
        }
        for (key, reason) in found.skipped {
            self.skip(&file, &key, "", &reason);
        }
    }

    fn decide(&mut self, file: &str, spec: ServerSpec) {
        let same_name = self.seen.entry(spec.name.clone()).or_default();
        // The same server in two programs is said once.
        if same_name.contains(&spec) {
            return;
        }
        same_name.push(spec.clone());
        let (name, reached) = (spec.name.to_string(), reached(&spec));
        if let Some(winner) = self.winners.get(&spec.name) {
            let reason = format!("another server of this name comes from {winner}");
            return self.skip(file, &name, &reached, &reason);
        }
        if self.there.servers.contains(&name) {
            return self.skip(file, &name, &reached, "already there");
        }
        let is_unset = |name: &String| self.value(name).is_none() && !self.is_kept(name);
        let missing: Vec<String> = required_references(&spec).into_iter().filter(is_unset).collect();
        if !missing.is_empty() {
            return self.skip(file, &name, &reached, &unset(&missing));
        }
        self.winners.insert(spec.name.clone(), file.to_owned());
        let mut secrets = Vec::new();
        for name in references(&spec) {
            if let Some(value) = self.value(&name).filter(|_| !self.is_kept(&name)) {
                self.plan.secrets.insert(name.clone(), Secret::new(value));
                secrets.push(name);
            }
        }
        let step = Step::Add { spec: Box::new(spec), secrets };
        self.plan.rows.push(Row { file: file.to_owned(), server: name, reached, step });
    }

    /// What the caller's own environment has; an empty value is none.
    fn value(&self, name: &str) -> Option<&str> {
        self.env.get(name).filter(|value| !value.is_empty())
    }

    fn is_kept(&self, name: &str) -> bool {
        self.there.secrets.contains(name)
    }

    fn skip(&mut self, file: &str, server: &str, reached: &str, reason: &str) {
        let step = Step::Skip(reason.to_owned());
        let (file, server, reached) = (file.to_owned(), server.to_owned(), reached.to_owned());
        self.plan.rows.push(Row { file, server, reached, step });
    }
}

fn unset(missing: &[String]) -> String {
    match missing {
        [name] => format!("${{{name}}} is not set: export it, or `portolan secret set {name}`"),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("${{{name}}}")).collect();
            format!("{} are not set: export them, or use `portolan secret set`", names.join(", "))
        }
    }
}

/// Arguments, and what follows the host in an address, may hold secrets.
fn reached(spec: &ServerSpec) -> String {
    match &spec.transport {
        TransportSpec::Stdio { command, .. } => format!("runs {command}"),
        TransportSpec::Remote { kind, url, .. } => {
            let transport = draft::transport(*kind, url).as_str();
            let host = url::Url::parse(url.reveal()).ok();
            let host =
                host.as_ref().and_then(|url| url.host_str()).filter(|host| !host.contains(['$', '{', '%']));
            host.map_or_else(|| transport.to_owned(), |host| format!("{transport} {host}"))
        }
    }
}

/// A path as people write it: from home on.
fn shown(path: &Path, env: &Environment) -> String {
    let home = env.get("HOME").filter(|home| !home.is_empty());
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests;
