//! What other programs have configured, read from their own files and never written to.

mod codex;
mod notation;
mod places;
mod section;
mod zed;

pub use places::places;

use crate::json::{Json, Object};
use crate::problem::{ConfigErrors, Problem};
use crate::servers::{Report, is_disabled, read_entry, read_text};
use portolan_model::{Origin, ServerName, ServerSpec, TransportSpec};
use section::Entry;
use std::fmt;
use std::path::{Path, PathBuf};

/// A program that has servers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Windsurf,
    Zed,
    Codex,
}

impl Program {
    pub const ALL: [Self; 7] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
    ];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
        }
    }

    /// What `--from` calls it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
        }
    }

    /// The programs that `--from` means; none where it must be a file. `claude` is both of that name.
    pub fn from_flag(text: &str) -> Vec<Self> {
        let text = text.to_ascii_lowercase();
        let is_meant = |program: &Self| {
            let is_claude = matches!(program, Self::ClaudeDesktop | Self::ClaudeCode);
            program.flag() == text || (is_claude && text == "claude")
        };
        Self::ALL.into_iter().filter(is_meant).collect()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one file of another program holds.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// In the order of the file, and with names that differ. What other programs write as `${env:NAME}` is `${NAME}`,
    /// and a dollar that means nothing to them is doubled, so that it means nothing to us either.
    pub specs: Vec<ServerSpec>,
    /// The key of each server that cannot be taken over, and why.
    pub skipped: Vec<(String, String)>,
    pub warnings: Vec<String>,
}

/// Reads one of the files that `places` names. A file without servers is none that is wrong.
pub fn read_program(program: Program, path: &Path) -> Result<Found, ConfigErrors> {
    let fail = |problem| ConfigErrors { path: path.to_owned(), problems: vec![problem] };
    let text = read_text(path).map_err(fail)?;
    parse_program(program, &text, project_folder(path).as_deref()).map_err(fail)
}

/// Files that are named from the working directory belong to the project in it, whose servers run there.
fn project_folder(path: &Path) -> Option<PathBuf> {
    let file = path.is_relative().then(|| std::path::absolute(path).ok())??;
    let folder = file.parent()?;
    let is_hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let is_inside = path.parent().is_some_and(|parent| !parent.as_os_str().is_empty());
    if is_hidden && is_inside { folder.parent().map(Path::to_owned) } else { Some(folder.to_owned()) }
}

fn parse_program(program: Program, text: &str, folder: Option<&Path>) -> Result<Found, Problem> {
    // Editors on Windows put a byte order mark first.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Found::default());
    }
    let file = match program {
        Program::ClaudeDesktop | Program::ClaudeCode => Json::parse(text)?,
        Program::Cursor | Program::VsCode | Program::Windsurf | Program::Zed => Json::parse_lenient(text)?,
        Program::Codex => codex::parse(text)?,
    };
    let mut import = Import { program, found: Found::default() };
    for entry in section::entries(program, &file, folder)? {
        import.take(&entry);
    }
    Ok(import.found)
}

struct Import {
    program: Program,
    found: Found,
}

impl Import {
    fn take(&mut self, entry: &Entry<'_>) {
        let mut report = Report::default();
        let taken = self.read(entry, &mut report);
        self.found.warnings.append(&mut report.warnings);
        match taken {
            Ok(spec) if self.found.specs.contains(&spec) => {}
            Ok(spec) => self.found.specs.push(spec),
            Err(reason) => self.found.skipped.push((entry.key.to_owned(), reason)),
        }
    }

    fn read(&self, entry: &Entry<'_>, report: &mut Report) -> Result<ServerSpec, String> {
        let Json::Object(fields) = entry.value else {
            return Err(format!("it is no object but {}", entry.value.what()));
        };
        if is_disabled(&entry.at, fields, report) {
            return Err(format!("it is switched off in {}", self.program));
        }
        let fields = self.own_shape(fields)?;
        let fields = notation::translate(self.program, &fields)?;
        let name =
            ServerName::nearest(entry.key).ok_or("no server name can be made of its key: rename it")?;
        let Some(mut spec) = read_entry(name, &entry.at, &fields, report) else {
            let reasons: Vec<&str> = report.problems.iter().map(|problem| problem.message.as_str()).collect();
            return Err(reasons.join("; "));
        };
        spec.origin = Origin::Registered;
        stay_in(entry.folder, &mut spec.transport);
        match self.found.specs.iter().find(|other| other.name == spec.name) {
            Some(other) if *other != spec => Err(format!(
                "another server in the same file is called `{}` already: rename one of them",
                spec.name
            )),
            Some(_) | None => Ok(spec),
        }
    }

    /// The entry as the reader of our own file expects it.
    fn own_shape(&self, fields: &Object) -> Result<Object, String> {
        let fields = match self.program {
            Program::Zed => zed::entry(fields)?,
            Program::Codex => codex::entry(fields),
            Program::ClaudeDesktop
            | Program::ClaudeCode
            | Program::Cursor
            | Program::VsCode
            | Program::Windsurf => fields.clone(),
        };
        Ok(with_tool_filter(&fields))
    }
}

/// Where a program lets people choose tools, and what that is to us.
const TOOL_LISTS: [(&str, &str); 4] = [
    ("enabledTools", "allow"),
    ("enabled_tools", "allow"),
    ("disabledTools", "deny"),
    ("disabled_tools", "deny"),
];

/// To forget which tools were switched off would offer what was to be denied. What an entry says to us stands first.
fn with_tool_filter(fields: &Object) -> Object {
    let ours = |key: &str| TOOL_LISTS.iter().find(|(theirs, _)| *theirs == key).map(|(_, ours)| *ours);
    let (mut filter, mut extras, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in fields.iter() {
        match (ours(key), key, value) {
            // Nothing allowed is not the same as nothing said.
            (Some("allow"), _, Json::List(tools)) if tools.is_empty() => {
                filter.push(("deny".to_owned(), Json::List(vec![Json::Text("*".to_owned())])));
            }
            (Some(ours), _, Json::List(_)) => filter.push((ours.to_owned(), value.clone())),
            (None, "portolan", Json::Object(own)) => {
                extras.extend(own.iter().map(|(key, value)| (key.to_owned(), value.clone())));
            }
            (Some(_) | None, _, _) => rest.push((key.to_owned(), value.clone())),
        }
    }
    if !filter.is_empty() && !extras.iter().any(|(key, _)| key == "tools") {
        extras.push(("tools".to_owned(), Json::Object(filter.into_iter().collect())));
    }
    if !extras.is_empty() {
        rest.push(("portolan".to_owned(), Json::Object(extras.into_iter().collect())));
    }
    rest.into_iter().collect()
}

/// A project's server runs in the project's folder. That is only said where it matters, so that a server which many
/// projects have stays one.
fn stay_in(folder: Option<&Path>, transport: &mut TransportSpec) {
    let (Some(folder), TransportSpec::Stdio { command, args, cwd: cwd @ None, .. }) = (folder, transport)
    else {
        return;
    };
    let starts_here = |text: &str| ["./", "../", ".\\", "..\\"].iter().any(|start| text.starts_with(start));
    let is_here = |text: &str| {
        let is_name = !text.is_empty() && !text.starts_with(['-', '$']) && Path::new(text).is_relative();
        starts_here(text) || text == "." || (is_name && folder.join(text).exists())
    };
    // A command without a slash is looked for where programs are.
    let command_is_here = command.contains(['/', '\\']) && is_here(command);
    if command_is_here || args.iter().any(|arg| is_here(arg.reveal())) {
        *cwd = Some(folder.to_string_lossy().replace('$', "$$"));
    }
}

#[cfg(test)]
mod tests;
