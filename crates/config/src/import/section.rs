//! Where the entries stand in the files of each program.

use super::Program;
use crate::json::{Json, JsonPath, Object};
use crate::problem::Problem;
use std::path::Path;

pub(super) struct Entry<'a> {
    pub(super) at: JsonPath,
    pub(super) key: &'a str,
    pub(super) value: &'a Json,
    /// The folder of the project that the entry belongs to.
    pub(super) folder: Option<&'a Path>,
}

/// Every entry of the file, in its order. What else the file holds is nothing to us.
pub(super) fn entries<'a>(
    program: Program,
    file: &'a Json,
    folder: Option<&'a Path>,
) -> Result<Vec<Entry<'a>>, Problem> {
    let root = JsonPath::root();
    let Json::Object(file) = file else {
        return Err(Problem::schema(
            root.as_str(),
            format!("The file must be an object, not {}", file.what()),
        ));
    };
    let mut sections = Sections { entries: Vec::new() };
    match program {
        Program::ClaudeDesktop | Program::Cursor | Program::Windsurf => {
            sections.add(&root, file, "mcpServers", folder)?;
        }
        Program::ClaudeCode => {
            sections.add(&root, file, "mcpServers", folder)?;
            sections.add_projects(&root, file)?;
        }
        Program::VsCode => {
            for key in ["servers", "mcpServers", "mcp.servers"] {
                sections.add(&root, file, key, folder)?;
            }
            if let Some(Json::Object(mcp)) = file.get("mcp") {
                sections.add(&root.key("mcp"), mcp, "servers", folder)?;
            }
        }
        Program::Zed => sections.add(&root, file, "context_servers", folder)?,
        Program::Codex => sections.add(&root, file, "mcp_servers", folder)?,
    }
    Ok(sections.entries)
}

struct Sections<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> Sections<'a> {
    fn add(
        &mut self,
        at: &JsonPath,
        file: &'a Object,
        section: &str,
        folder: Option<&'a Path>,
    ) -> Result<(), Problem> {
        let at = at.key(section);
        let members = match file.get(section) {
            None | Some(Json::Null) => return Ok(()),
            Some(Json::Object(members)) => members,
            Some(other) => {
                let message = format!("{section} must be an object, not {}", other.what());
                return Err(Problem::schema(at.as_str(), message));
            }
        };
        self.entries.extend(members.iter().map(|(key, value)| Entry { at: at.key(key), key, value, folder }));
        Ok(())
    }

    /// Claude Code keeps what a person added in one project under that project's path.
    fn add_projects(&mut self, root: &JsonPath, file: &'a Object) -> Result<(), Problem> {
        let Some(Json::Object(projects)) = file.get("projects") else { return Ok(()) };
        let at = root.key("projects");
        for (path, project) in projects.iter() {
            if let Json::Object(project) = project {
                self.add(&at.key(path), project, "mcpServers", Some(Path::new(path)))?;
            }
        }
        Ok(())
    }
}
