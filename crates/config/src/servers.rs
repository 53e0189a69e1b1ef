//! The servers file of Claude Desktop, VS Code and their kin becomes a list of server specs.

mod entry;
mod query;
mod reader;

pub(crate) use entry::{NO_WEB_ADDRESS, is_disabled, is_web_address, read as read_entry};
pub(crate) use reader::Report;

use crate::json::{Json, JsonPath, Object};
use crate::nearest::nearest;
use crate::problem::{Code, ConfigErrors, Problem};
use portolan_model::{ServerName, ServerSpec};
use std::collections::BTreeMap;
use std::path::Path;

/// Claude Desktop, Claude Code, Cursor, Windsurf, Cline … write the first, VS Code the second.
const SECTIONS: [&str; 2] = ["mcpServers", "servers"];

/// What other programs keep in the same file, which is nothing to us.
const FOREIGN: [&str; 7] =
    ["$schema", "inputs", "globalShortcut", "preferences", "sandbox", "theme", "selectedAuthType"];

/// What a servers file says. The values in the specs are not expanded: `${TOKEN}` stays `${TOKEN}`.
#[derive(Debug, Clone, Default)]
pub struct Servers {
    /// The enabled ones, sorted by name.
    pub specs: Vec<ServerSpec>,
    pub disabled: Vec<ServerName>,
    pub warnings: Vec<String>,
    /// Where each spec stands in the file, so that later problems name the place people wrote it in.
    pub places: BTreeMap<ServerName, String>,
}

/// Reads a file and tells everything that is wrong with it at once.
pub fn load_servers(path: &Path) -> Result<Servers, ConfigErrors> {
    let fail = |problems| ConfigErrors { path: path.to_owned(), problems };
    let text = read_text(path).map_err(|problem| fail(vec![problem]))?;
    parse_servers(&text).map_err(fail)
}

/// The text of a file that somebody else wrote.
pub(crate) fn read_text(path: &Path) -> Result<String, Problem> {
    let bytes = std::fs::read(path).map_err(|reason| {
        let message = format!("Config file cannot be read: {reason}; check its path and its permissions");
        Problem::new(Code::FileNotFound, "$", message)
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|b| *b == b'\n').count();
        let problem = Problem::new(Code::InvalidJson, "$", "the file is not UTF-8; save it as UTF-8");
        Problem { line: Some(line), ..problem }
    })
}

/// The same for a text that is already in memory.
pub fn parse_servers(text: &str) -> Result<Servers, Vec<Problem>> {
    // Editors on Windows put a byte order mark first.
    let json = Json::parse(text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|problem| vec![problem])?;
    let root = JsonPath::root();
    let mut file = File { report: Report::default(), found: Servers::default() };
    file.report.problems = json.duplicates(&root);
    match &json {
        Json::Object(object) => file.read(&root, object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => {
            let message =
                format!("Config must be an object, not {}: write {{\"mcpServers\": {{}}}}", json.what());
            file.report.problem(&root, message);
        }
    }
    file.done()
}

struct File {
    report: Report,
    found: Servers,
}

impl File {
    fn read(&mut self, root: &JsonPath, object: &Object) {
        for key in object.keys().filter(|key| !SECTIONS.contains(key) && !FOREIGN.contains(key)) {
            self.report.unknown_key(&root.key(key), key, &SECTIONS);
        }
        let mut is_empty = true;
        for section in SECTIONS {
            let at = root.key(section);
            match object.get(section) {
                None => continue,
                Some(Json::Object(entries)) => {
                    entries.iter().for_each(|(key, entry)| self.entry(&at, key, entry));
                }
                Some(other) => {
                    let message = format!("{section} must be an object, not {}", other.what());
                    self.report.problem(&at, message);
                }
            }
            is_empty = false;
        }
        if is_empty {
            let slip = object.keys().find_map(|key| Some((key, nearest(key, SECTIONS)?)));
            let remedy = match slip {
                Some((key, meant)) => format!("rename `{key}` to `{meant}`"),
                None => "write {\"mcpServers\": {}} around the servers".to_owned(),
            };
            let message = format!("Missing required field: mcpServers (or VS Code's servers): {remedy}");
            self.report.problem(&root.key("mcpServers"), message);
        }
    }

    fn entry(&mut self, section: &JsonPath, key: &str, entry: &Json) {
        let at = section.key(key);
        let Json::Object(fields) = entry else {
            let message = format!("Server config must be an object, not {}", entry.what());
            return self.report.problem(&at, message);
        };
        if entry::is_disabled(&at, fields, &mut self.report) {
            self.found.disabled.extend(ServerName::nearest(key));
            return;
        }
        let Some(name) = self.name(&at, key) else { return };
        if let Some(spec) = entry::read(name, &at, fields, &mut self.report) {
            self.found.specs.push(spec);
        }
    }

    /// The server's name, made from a key for which other programs have looser rules.
    fn name(&mut self, at: &JsonPath, key: &str) -> Option<ServerName> {
        let Some(name) = ServerName::nearest(key) else {
            let message = "No server name can be made of this key: rename it to lower-case letters, digits, `-` \
                           and `_`, with a letter first";
            self.report.problem(at, message);
            return None;
        };
        if let Some(other) = self.found.places.get(&name) {
            // The very same key twice is already told.
            if other != at.as_str() {
                let message =
                    format!("The server would be called `{name}`, and so is {other}: rename one of them");
                self.report.problem(at, message);
            }
            return None;
        }
        if name.as_str() != key {
            self.report.warn(at, format!("the key {key:?} is no server name; the server is called `{name}`"));
        }
        self.found.places.insert(name.clone(), at.as_str().to_owned());
        Some(name)
    }

    fn done(mut self) -> Result<Servers, Vec<Problem>> {
        if !self.report.problems.is_empty() {
            return Err(self.report.problems);
        }
        self.found.specs.sort_by(|a, b| a.name.cmp(&b.name));
        self.found.disabled.retain(|name| !self.found.places.contains_key(name));
        self.found.disabled.sort();
        self.found.disabled.dedup();
        self.found.warnings = self.report.warnings;
        Ok(self.found)
    }
}

#[cfg(test)]
mod tests;
