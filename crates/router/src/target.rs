//! Where a request goes, and what of its params is different there.

use crate::call::{Call, RouteError};
use crate::learned::Learned;
use crate::resolve::{Unresolved, resolve_prompt, resolve_tool};
use crate::tasks::{self, Offered, TaskMethod};
use portolan_catalog::{Snapshot, View};
use portolan_model::{Kind, ServerName, ToolName};
use portolan_upstream::Reply;
use portolan_wire::json::{self, Members};
use portolan_wire::mirror::{self, Mirror};
use portolan_wire::params::Params;
use portolan_wire::project;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Tool,
    Prompt,
    Resource,
    Completion,
    Task(TaskMethod),
    /// The tasks of a client, wherever they are.
    Tasks,
}

impl What {
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tool => "tools/call",
            Self::Prompt => "prompts/get",
            Self::Resource => "resources/read",
            Self::Completion => "completion/complete",
            Self::Task(method) => method.method(),
            Self::Tasks => "tasks/list",
        }
    }

    /// The member that says what is asked for, where a header repeats it.
    pub const fn key(self) -> Option<&'static str> {
        match self {
            Self::Tool | Self::Prompt => Some("name"),
            Self::Resource => Some("uri"),
            Self::Task(TaskMethod::Get | TaskMethod::Update | TaskMethod::Cancel) => Some("taskId"),
            Self::Completion | Self::Task(TaskMethod::Result) | Self::Tasks => None,
        }
    }
}

/// A server, and the params as it knows them.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) server: ServerName,
    /// The member that is swapped, and the server's own value for it as raw JSON.
    pub(crate) member: &'static str,
    pub(crate) value: String,
    /// The same as text, where a header repeats it.
    pub(crate) name: Option<String>,
    /// Arguments that the tool wants in headers, should the server be spoken to over HTTP.
    pub(crate) mirrors: Vec<Mirror>,
    /// What the server has of tasks, if anything.
    pub(crate) tasks: Option<Offered>,
}

impl Target {
    pub(crate) fn find(snapshot: &Snapshot, learned: &Learned, call: &Call<'_>) -> Result<Self, RouteError> {
        let missing = |key: &str| {
            let method = call.what.method();
            RouteError::Invalid(format!("{method} needs params with a `{key}`"))
        };
        match call.what {
            What::Tool => {
                let name = call.params.text("name").ok_or_else(|| missing("name"))?;
                let found = resolve_tool(snapshot, call.view, &name)?;
                let entry = snapshot.servers().get(&found.server);
                let mirrors = entry.map(|entry| entry.mirrors(&found.tool).to_vec()).unwrap_or_default();
                let tasks = entry.and_then(|entry| Offered::by(entry, Some(&found.tool)));
                Ok(Self { mirrors, tasks, ..Self::named(found) })
            }
            What::Prompt => {
                let name = call.params.text("name").ok_or_else(|| missing("name"))?;
                Ok(Self::named(resolve_prompt(snapshot, call.view, &name)?))
            }
            What::Resource => {
                let uri = call.params.text("uri").ok_or_else(|| missing("uri"))?;
                let (server, uri) = owner(snapshot, learned, call.view, &uri)?;
                Ok(Self::new(server, "uri", uri))
            }
            What::Completion => Self::of_completion(snapshot, learned, call),
            What::Task(_) | What::Tasks => tasks::target(snapshot, call),
        }
    }

    fn named(found: ToolName) -> Self {
        Self::new(found.server, "name", found.tool)
    }

    pub(crate) fn new(server: ServerName, member: &'static str, text: String) -> Self {
        Self { server, member, value: quoted(&text), name: Some(text), mirrors: Vec::new(), tasks: None }
    }

    /// A completion follows the prompt or the template that it belongs to.
    fn of_completion(snapshot: &Snapshot, learned: &Learned, call: &Call<'_>) -> Result<Self, RouteError> {
        let wrong =
            || RouteError::Invalid("completion/complete needs a `ref` to a prompt or a resource".to_owned());
        let raw = call.params.get("ref").ok_or_else(wrong)?;
        let members = Members::parse(raw).map_err(|_| wrong())?;
        let text = |key: &str| members.get(key).and_then(json::text);
        let (server, key, own) = match text("type").as_deref() {
            Some("ref/prompt") => {
                let found = resolve_prompt(snapshot, call.view, &text("name").ok_or_else(wrong)?)?;
                (found.server, "name", found.tool)
            }
            Some("ref/resource") => {
                let (server, uri) = owner(snapshot, learned, call.view, &text("uri").ok_or_else(wrong)?)?;
                (server, "uri", uri)
            }
            _ => return Err(wrong()),
        };
        let (own, mut value) = (quoted(&own), Vec::new());
        let swapped = members.iter().map(|(k, v)| (k, if k == key { own.as_str() } else { v }));
        json::write_object(swapped, &mut value);
        let value = String::from_utf8_lossy(&value).into_owned();
        Ok(Self { server, member: "ref", value, name: None, mirrors: Vec::new(), tasks: None })
    }

    /// A resource that was asked for under another URI than its server's is shown under that one.
    pub(crate) fn show_as_asked(&self, params: &Params, reply: &mut Reply) {
        let (Some(own), Some(asked), Reply::Result(raw)) = (&self.name, params.text("uri"), &*reply) else {
            return;
        };
        if *own != asked
            && let Ok(text) = std::str::from_utf8(raw)
            && let Some(shown) = project::contents_as(text, own, &asked)
        {
            *reply = Reply::Result(shown.into());
        }
    }

    /// The headers that repeat arguments of this call.
    pub(crate) fn mirrored(&self, arguments: Option<&str>) -> Vec<(&str, String)> {
        if self.mirrors.is_empty() { Vec::new() } else { mirror::headers(&self.mirrors, arguments) }
    }
}

/// The server that has a resource, and its own name for it. Where nobody is known to have it, a single server with resources
/// is asked: only that one can know.
pub(crate) fn owner(
    snapshot: &Snapshot,
    learned: &Learned,
    view: &View,
    uri: &str,
) -> Result<(ServerName, String), Unresolved> {
    // What a server has linked to is its own, unless a list says otherwise.
    let is_listed = || snapshot.servers().values().any(|entry| entry.has(Kind::Resources, uri));
    if view.alone().is_none()
        && let Some(server) = learned.owner(uri)
        && snapshot.servers().contains_key(&server)
        && view.has_server(&server)
        && !is_listed()
    {
        return Ok((server, uri.to_owned()));
    }
    if let Some(found) = snapshot.resource_owner(view, uri) {
        return Ok((found.server, found.uri));
    }
    let has_some = |entry: &portolan_catalog::Entry| {
        entry.offer().is_some_and(|o| !o.resources.is_empty() || !o.templates.is_empty())
    };
    let seen = snapshot.servers().iter().filter(|(name, _)| view.has_server(name));
    let mut servers = seen.filter(|(_, entry)| has_some(entry)).map(|(name, _)| name);
    match (servers.next(), servers.next()) {
        (Some(only), None) => Ok((only.clone(), uri.to_owned())),
        _ => Err(Unresolved::unknown(Kind::Resources, uri)),
    }
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::write_text(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
