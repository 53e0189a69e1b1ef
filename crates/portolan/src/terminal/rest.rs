//! The REST surface of a running Portolan, from the side that asks.

use crate::Failure;
use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use portolan_model::Origin;
use portolan_outbound::{Options, Outbound, OutboundError, read_body};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;
use url::Url;

/// What is answered without waiting for any server.
const SOON: Duration = Duration::from_secs(30);
/// The largest list that is worth reading whole: some hundred thousand tools.
const LARGEST_ANSWER: usize = 512 << 20;
/// How much of a list is asked for at once.
const PAGE: usize = 500;

/// How the address was found; decides what is said when nothing answers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Somebody gave it.
    Given,
    /// A `portolan serve` left it in its data folder.
    Left,
    /// It is our own: none is running, and the registry is at rest.
    Own,
}

pub(crate) struct Rest {
    outbound: Outbound,
    base: Url,
    found: Found,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RestError {
    #[error("no Portolan is running here: start one with `portolan serve`, or give --url")]
    NotRunning,
    #[error("nothing answers at {base}: {reason}")]
    Silent { base: Url, reason: String },
    #[error("{base} has not answered within {limit:?}")]
    Late { base: Url, limit: Duration },
    /// The server has understood and says no.
    #[error("{message}")]
    Refused { status: StatusCode, message: String },
    #[error("{base} gives an answer that Portolan would not give: {reason}")]
    Strange { base: Url, reason: String },
}

impl RestError {
    /// Whether it may be otherwise in a moment: a Portolan that starts again answers nobody meanwhile.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::NotRunning | Self::Silent { .. } | Self::Late { .. } => true,
            Self::Refused { .. } | Self::Strange { .. } => false,
        }
    }
}

impl From<RestError> for Failure {
    fn from(error: RestError) -> Self {
        Self::Failed(error.into())
    }
}

/// One request: what is asked of which place below `/api/v1`.
pub(crate) struct Ask<'a> {
    method: Method,
    path: &'a [&'a str],
    query: &'a [(&'a str, &'a str)],
    body: Option<String>,
    limit: Option<Duration>,
}

impl<'a> Ask<'a> {
    fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: &[], body: None, limit: Some(SOON) }
    }

    pub(crate) fn get(path: &'a [&'a str]) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: &'a [&'a str]) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) fn put(path: &'a [&'a str]) -> Self {
        Self::new(Method::PUT, path)
    }

    pub(crate) fn delete(path: &'a [&'a str]) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(crate) fn query(self, query: &'a [(&'a str, &'a str)]) -> Self {
        Self { query, ..self }
    }

    pub(crate) fn body(self, json: String) -> Self {
        Self { body: Some(json), ..self }
    }

    /// Portolan's own limits decide how long the answer may take: that of a call, of a connection, of draining.
    pub(crate) fn patient(self) -> Self {
        Self { limit: None, ..self }
    }
}

/// What came back, as it came.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// How long the whole list is of which this is a part.
    total: Option<usize>,
}

impl Answer {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let read = serde_json::from_str(&self.text);
        Ok(read.context("the answer is not what a Portolan of this version gives")?)
    }
}

/// A whole list, each of its entries as it came.
pub(crate) struct List(Vec<Box<RawValue>>);

impl List {
    pub(crate) fn text(&self) -> String {
        let entries: Vec<&str> = self.0.iter().map(|entry| entry.get()).collect();
        format!("[{}]", entries.join(","))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<Vec<T>, Failure> {
        let read: Result<Vec<T>, _> = self.0.iter().map(|entry| serde_json::from_str(entry.get())).collect();
        Ok(read.context("the answer is not what a Portolan of this version gives")?)
    }
}

impl Rest {
    pub(crate) fn new(base: Url, found: Found) -> Result<Self, Failure> {
        let outbound = Outbound::new(Options::default()).context("the HTTP client cannot be set up")?;
        Ok(Self { outbound, base, found })
    }

    /// Whether what is changed there holds only with the next start.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.found == Found::Own
    }

    /// Asks once, and takes every answer but a success for an error.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, RestError> {
        let Ask { method, path, query, body, limit } = ask;
        let mut url = self.place(["api", "v1"].iter().chain(path));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let has_body = body.is_some();
        let mut request = self.request(method, &url, body.unwrap_or_default())?;
        if has_body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.within(limit, self.answer(request)).await
    }

    /// Asks a place outside `/api`.
    pub(crate) async fn ask_outside(&self, path: &str) -> Result<Answer, RestError> {
        let request = self.request(Method::GET, &self.place([path].iter()), String::new())?;
        self.within(Some(SOON), self.answer(request)).await
    }

    /// A whole list, page by page.
    pub(crate) async fn list(&self, path: &[&str], query: &[(&str, &str)]) -> Result<List, RestError> {
        let mut list: Vec<Box<RawValue>> = Vec::new();
        loop {
            let (limit, offset) = (PAGE.to_string(), list.len().to_string());
            let page = [query, &[("limit", limit.as_str()), ("offset", offset.as_str())]].concat();
            let answer = self.ask(Ask::get(path).query(&page)).await?;
            let part: Vec<Box<RawValue>> =
                serde_json::from_str(&answer.text).map_err(|e| self.strange(e.to_string()))?;
            let is_last = part.is_empty();
            list.extend(part);
            if is_last || answer.total.is_none_or(|total| list.len() >= total) {
                return Ok(List(list));
            }
        }
    }

    /// The stream of events after the one of this id, or from now on.
    pub(crate) async fn events(&self, after: Option<&str>) -> Result<Incoming, RestError> {
        let url = self.place(["api", "v1", "aggregator", "events"].iter());
        let mut request = self.request(Method::GET, &url, String::new())?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            headers.insert("last-event-id", after);
        }
        let open = async {
            let response = self.send(request).await?;
            if response.status() == StatusCode::OK {
                return Ok(response.into_body());
            }
            Err(self.refusal(response).await)
        };
        self.within(Some(SOON), open).await
    }

    fn place<'p>(&self, path: impl Iterator<Item = &'p &'p str>) -> Url {
        let mut url = self.base.clone();
        // Only addresses that cannot have a path refuse this, and those were refused when they were given.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    fn request(&self, method: Method, url: &Url, body: String) -> Result<Request<Full<Bytes>>, RestError> {
        let request = Request::builder().method(method).uri(url.as_str()).header(ACCEPT, "application/json");
        request.body(Full::new(Bytes::from(body))).map_err(|e| self.strange(e.to_string()))
    }

    async fn within<T>(
        &self,
        limit: Option<Duration>,
        work: impl Future<Output = Result<T, RestError>>,
    ) -> Result<T, RestError> {
        let Some(limit) = limit else { return work.await };
        let late = || RestError::Late { base: self.base.clone(), limit };
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Answer, RestError> {
        let response = self.send(request).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let total = response.headers().get("x-total-count").and_then(|v| v.to_str().ok()?.parse().ok());
        let body = read_body(response.into_body(), LARGEST_ANSWER).await.map_err(|e| self.silent(&e))?;
        let text = String::from_utf8(body.into()).map_err(|e| self.strange(e.to_string()))?;
        Ok(Answer { text, total })
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, RestError> {
        // Whoever types an address at a terminal may reach it from here anyway.
        self.outbound.send(request, Origin::File).await.map_err(|e| self.silent(&e))
    }

    async fn refusal(&self, response: Response<Incoming>) -> RestError {
        let status = response.status();
        let body = read_body(response.into_body(), LARGEST_ANSWER).await.unwrap_or_default();
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => RestError::Refused { status, message: problem.told() },
            Err(_) => self.strange(format!("HTTP {status} without a reason")),
        }
    }

    fn silent(&self, error: &OutboundError) -> RestError {
        match (self.found, error.was_sent()) {
            (Found::Left, false) => RestError::NotRunning,
            (Found::Given | Found::Own, _) | (Found::Left, true) => {
                RestError::Silent { base: self.base.clone(), reason: error.to_string() }
            }
        }
    }

    fn strange(&self, reason: String) -> RestError {
        RestError::Strange { base: self.base.clone(), reason }
    }
}

/// `application/problem+json`, as far as people read it.
#[derive(Deserialize)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
    #[serde(default)]
    errors: Vec<FieldProblem>,
}

#[derive(Deserialize)]
struct FieldProblem {
    #[serde(default)]
    loc: Vec<Value>,
    msg: String,
}

impl Problem {
    fn told(self) -> String {
        let detail = self.detail.or(self.title).unwrap_or_else(|| "refused without a reason".to_owned());
        let fields: Vec<String> = self.errors.iter().map(FieldProblem::told).collect();
        // A sentence that only repeats the first field says nothing beyond it.
        let lines = match fields.first() {
            Some(first) if detail.starts_with(first.as_str()) => fields,
            Some(_) | None => std::iter::once(detail).chain(fields).collect(),
        };
        super::screen::plain_lines(&lines.join("\n  "))
    }
}

impl FieldProblem {
    fn told(&self) -> String {
        let place: Vec<String> = self.loc.iter().map(part).collect();
        if place.is_empty() { self.msg.clone() } else { format!("{}: {}", place.join("."), self.msg) }
    }
}

/// Places in lists are numbers.
fn part(part: &Value) -> String {
    part.as_str().map_or_else(|| part.to_string(), str::to_owned)
}

/// An address that somebody gave; `whence` says where.
pub(crate) fn address(text: &str, whence: &str) -> Result<Url, Failure> {
    let wrong = |reason: &str| Failure::Wrong(anyhow!("{whence}: {text:?} {reason}"));
    let url = Url::parse(text).map_err(|e| wrong(&format!("is no address: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("is no address of a Portolan: write it as in http://127.0.0.1:7777"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, path: &[&str], expected: &str) {
        let Ok(rest) = Rest::new(Url::parse(base).unwrap(), Found::Given) else { panic!("no client") };
        assert_eq!(rest.place(path.iter()).as_str(), expected);
    }

    #[test]
    fn places_lie_below_the_address_and_names_cannot_leave_theirs() {
        check("http://h:1", &["api", "v1"], "http://h:1/api/v1");
        check("http://h/", &["api"], "http://h/api");
        check("https://h/portolan/", &["api"], "https://h/portolan/api");
        check("http://h", &["servers", "a/b?c d"], "http://h/servers/a%2Fb%3Fc%20d");
    }

    #[test]
    fn a_problem_is_told_with_every_field() {
        let text = r#"{"type":"about:blank","title":"Unprocessable","status":422,"detail":"the request cannot be taken",
            "errors":[{"loc":["body","connection_config","url"],"msg":"no address"},{"loc":["args",0],"msg":"empty"},{"msg":"odd"}]}"#;
        let problem: Problem = serde_json::from_str(text).unwrap();
        assert_eq!(
            problem.told(),
            "the request cannot be taken\n  body.connection_config.url: no address\n  args.0: empty\n  odd"
        );
        let text = r#"{"detail":"body.name: odd (and 1 more)",
            "errors":[{"loc":["body","name"],"msg":"odd"},{"loc":["body","x"],"msg":"unknown"}]}"#;
        let problem: Problem = serde_json::from_str(text).unwrap();
        assert_eq!(problem.told(), "body.name: odd\n  body.x: unknown");
    }

    #[test]
    fn what_is_no_web_address_is_a_wrong_command_line() {
        for bad in ["", "127.0.0.1:7777", "localhost:7777", "ftp://h", "unix:/run/x"] {
            assert!(matches!(address(bad, "--url"), Err(Failure::Wrong(_))), "{bad}");
        }
        assert!(address("http://localhost:7777", "--url").is_ok());
    }
}
