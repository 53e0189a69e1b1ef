//! Tasks, which are calls that are answered before they are done: in the form of 2025-11-25, and in that of the extension
//! of 2026-07-28.

use crate::envelope::Malformed;
use crate::json::{self, Members};
use crate::meta::{RELATED_TASK, TASKS};
use crate::mrtr::InputRequest;
use crate::revision::Revision;
use std::borrow::Cow;
use std::time::Duration;

/// Between a server's name and its own id for a task; no server's name has one.
const MARK: char = '~';

/// How often a task is looked at whose server does not say.
const PAUSE: Duration = Duration::from_secs(1);
/// What servers ask for beyond these would keep a client waiting, or both of us busy.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(30)];

/// A server's own id for a task, as clients of many servers know it.
pub fn shown(server: &str, id: &str) -> String {
    format!("{server}{MARK}{id}")
}

/// The server's name and its own id for the task, of an id as it is shown.
pub fn split(shown: &str) -> Option<(&str, &str)> {
    shown.split_once(MARK)
}

/// The two forms that tasks have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Of 2025-11-25: clients ask for them, poll them, and fetch their results.
    Experimental,
    /// Of 2026-07-28: servers make them, for clients that declare to know them.
    Extension,
}

impl Form {
    /// The form that a revision has, if any.
    pub const fn of(revision: Revision) -> Option<Self> {
        match revision {
            Revision::V2024_11_05 | Revision::V2025_03_26 | Revision::V2025_06_18 => None,
            Revision::V2025_11_25 => Some(Self::Experimental),
            Revision::V2026_07_28 => Some(Self::Extension),
        }
    }

    /// What a member of a task is called in this form, whichever form it came in; `None` for what the form does not have.
    fn key(self, key: &str) -> Option<&str> {
        match (self, key) {
            (Self::Experimental, "ttlMs") => Some("ttl"),
            (Self::Experimental, "pollIntervalMs") => Some("pollInterval"),
            (Self::Experimental, "resultType" | "result" | "error" | "inputRequests") => None,
            (Self::Extension, "ttl") => Some("ttlMs"),
            (Self::Extension, "pollInterval") => Some("pollIntervalMs"),
            (Self::Experimental | Self::Extension, key) => Some(key),
        }
    }
}

/// What a server declares of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Declared {
    /// Tools can be called as tasks of 2025-11-25.
    pub experimental: bool,
    /// Such tasks can be listed.
    pub lists: bool,
    pub extension: bool,
}

impl Declared {
    /// Reads a server's capabilities.
    pub fn read(capabilities: &str) -> Self {
        // Both names end so; most servers have neither.
        if memchr::memmem::find(capabilities.as_bytes(), br#"tasks""#).is_none() {
            return Self::default();
        }
        let all = object(Some(capabilities));
        let tasks = object(all.get("tasks"));
        let tools = object(object(tasks.get("requests")).get("tools"));
        Self {
            experimental: tools.get("call").is_some(),
            lists: tasks.get("list").is_some(),
            extension: object(all.get("extensions")).get(TASKS).is_some(),
        }
    }

    /// Whether a server of this revision means it: a form is only what it is in its own revision.
    pub const fn has(self, revision: Revision) -> bool {
        match Form::of(revision) {
            Some(Form::Experimental) => self.experimental,
            Some(Form::Extension) => self.extension,
            None => false,
        }
    }

    pub const fn has_any(self) -> bool {
        self.experimental || self.extension
    }
}

/// Whether a tool is called as a task of 2025-11-25.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Support {
    #[default]
    Forbidden,
    Optional,
    Required,
}

impl Support {
    /// Reads a tool's definition.
    pub fn read(definition: &str) -> Self {
        if memchr::memmem::find(definition.as_bytes(), b"taskSupport").is_none() {
            return Self::Forbidden;
        }
        let execution = object(object(Some(definition)).get("execution"));
        match execution.get("taskSupport") {
            Some(r#""optional""#) => Self::Optional,
            Some(r#""required""#) => Self::Required,
            _ => Self::Forbidden,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    /// A status that nobody knows is one of work that goes on.
    fn read(raw: &str) -> Self {
        match json::text(raw).as_deref() {
            Some("input_required") => Self::InputRequired,
            Some("completed") => Self::Completed,
            Some("failed") => Self::Failed,
            Some("cancelled") => Self::Cancelled,
            _ => Self::Working,
        }
    }

    pub const fn is_final(self) -> bool {
        match self {
            Self::Working | Self::InputRequired => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }
}

/// A task as its server told of it, in either form.
#[derive(Debug)]
pub struct Task<'a> {
    members: Members<'a>,
    pub id: Cow<'a, str>,
    pub status: Status,
}

impl<'a> Task<'a> {
    /// Reads a task, as `tasks/get` and notifications bring it.
    pub fn parse(raw: &'a str) -> Option<Self> {
        Self::of(Members::parse(raw).ok()?)
    }

    fn of(members: Members<'a>) -> Option<Self> {
        let id = json::text(members.get("taskId")?)?;
        let status = Status::read(members.get("status")?);
        Some(Self { members, id, status })
    }

    /// The task that a call has become, if its result says so. Nearly no result does, which a look at its bytes tells.
    pub fn created(result: &'a str, form: Form) -> Option<Self> {
        memchr::memmem::find(result.as_bytes(), br#""task""#)?;
        let members = Members::parse(result).ok()?;
        match form {
            Form::Experimental => Self::parse(members.get("task")?),
            Form::Extension if members.get("resultType") == Some(r#""task""#) => Self::of(members),
            Form::Extension => None,
        }
    }

    /// A member as raw JSON.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.members.get(key)
    }

    /// How long its server wants to be left alone.
    pub fn pause(&self) -> Duration {
        let raw = self.get("pollIntervalMs").or_else(|| self.get("pollInterval"));
        let given = raw.and_then(|raw| raw.parse::<f64>().ok()).filter(|ms| ms.is_finite() && *ms >= 0.0);
        let [least, most] = PAUSES;
        given.map_or(PAUSE, |ms| Duration::from_secs_f64(ms.min(1e9) / 1e3).clamp(least, most))
    }

    /// How long its server keeps it, if that has an end.
    pub fn keeping(&self) -> Option<Duration> {
        let raw = self.get("ttlMs").or_else(|| self.get("ttl"))?;
        raw.parse().ok().map(Duration::from_millis)
    }

    /// What changes when something has happened to it.
    pub fn mark(&self) -> String {
        let told = ["status", "statusMessage", "lastUpdatedAt"].map(|key| self.get(key).unwrap_or_default());
        told.join(" ")
    }

    /// What its server wants to know, of a task of the extension.
    pub fn requests(&self) -> Result<Vec<InputRequest<'a>>, Malformed> {
        let mut requests = Vec::new();
        let Some(raw) = self.get("inputRequests") else { return Ok(requests) };
        for (key, value) in Members::parse(raw)?.iter() {
            let request = Members::parse(value)?;
            let method = request.get("method").and_then(json::text);
            let method = method.ok_or(Malformed::NotJsonRpc("an input request needs a `method`"))?;
            requests.push(InputRequest { key: key.to_owned(), method, params: request.get("params") });
        }
        Ok(requests)
    }

    /// Writes it in a form, under another id and with members that are new or other, as raw JSON.
    pub fn write(&self, form: Form, id: &str, with: &[(&str, &str)]) -> String {
        let mut own = Vec::new();
        json::write_text(id, &mut own);
        let own = String::from_utf8_lossy(&own).into_owned();
        let is_other = |key: &str| with.iter().any(|(other, _)| *other == key);
        let kept = self.members.iter().filter_map(|(key, value)| {
            let key = form.key(key)?;
            (key != "taskId" && !is_other(key)).then_some((key, value))
        });
        let mut out = Vec::new();
        json::write_object(
            [("taskId", own.as_str())].into_iter().chain(with.iter().copied()).chain(kept),
            &mut out,
        );
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// The result of a call that has become a task of the extension, as 2025-11-25 has it: what the server says beside the task
/// stays beside it.
pub fn write_created(task: &str) -> String {
    let members = object(Some(task));
    let mut inner = Vec::new();
    json::write_object(members.iter().filter(|(key, _)| *key != "_meta"), &mut inner);
    let inner = String::from_utf8_lossy(&inner);
    let mut out = Vec::new();
    let meta = members.get("_meta").map(|meta| ("_meta", meta));
    json::write_object([("task", &*inner)].into_iter().chain(meta), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The task that a message says to belong to, in its result or its params.
pub fn related(raw: &str) -> Option<String> {
    memchr::memmem::find(raw.as_bytes(), RELATED_TASK.as_bytes())?;
    let related = object(object(object(Some(raw)).get("_meta")).get(RELATED_TASK));
    related.get("taskId").and_then(json::text).map(Cow::into_owned)
}

/// The same message belonging to another task, or to none.
pub fn relate<'r>(raw: &'r str, id: Option<&str>) -> Cow<'r, str> {
    if id.is_none() && memchr::memmem::find(raw.as_bytes(), RELATED_TASK.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let Ok(members) = Members::parse(raw) else { return Cow::Borrowed(raw) };
    let before = object(members.get("_meta"));
    let related = id.map(|id| {
        let mut out = br#"{"taskId":"#.to_vec();
        json::write_text(id, &mut out);
        out.push(b'}');
        String::from_utf8_lossy(&out).into_owned()
    });
    let mut meta = Vec::new();
    let kept = before.iter().filter(|(key, _)| *key != RELATED_TASK);
    json::write_object(kept.chain(related.as_deref().map(|related| (RELATED_TASK, related))), &mut meta);
    let meta = String::from_utf8_lossy(&meta);
    let meta = (&*meta != "{}").then_some(("_meta", &*meta));
    let mut out = Vec::with_capacity(raw.len() + 128);
    json::write_object(members.iter().filter(|(key, _)| *key != "_meta").chain(meta), &mut out);
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// What a server asks, belonging to its task by the id that clients of many servers know.
pub fn relate_shown<'r>(asked: &'r str, server: &str) -> Cow<'r, str> {
    match related(asked) {
        Some(own) => relate(asked, Some(&shown(server, &own))),
        None => Cow::Borrowed(asked),
    }
}

/// The answer to what a server has asked with these params, belonging to the task by the server's own id again.
pub fn relate_back<'r>(answer: &'r str, server: &str, asked: Option<&str>) -> Cow<'r, str> {
    let Some(id) = related(answer) else { return Cow::Borrowed(answer) };
    match asked.and_then(related) {
        Some(own) if id == shown(server, &own) => relate(answer, Some(&own)),
        Some(_) | None => Cow::Borrowed(answer),
    }
}

/// The members of an object, or none of anything else.
fn object(raw: Option<&str>) -> Members<'_> {
    raw.and_then(|raw| Members::parse(raw).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
