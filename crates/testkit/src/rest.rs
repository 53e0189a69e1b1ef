//! A client of the REST surface: any request, and answers that are easy to judge.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::DEADLINE;
use crate::client::{EventStream, Pending};

/// What every path of the surface itself begins with.
const API: &str = "/api/v1";

/// A client of one gateway. Paths are those below `/api/v1`, unless they say otherwise.
#[derive(Clone)]
pub struct Rest {
    address: String,
    pool: Pool<HttpConnector, Full<Bytes>>,
    headers: HeaderMap,
}

impl Rest {
    pub fn new(address: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let pool = Pool::builder(TokioExecutor::new()).build(connector);
        Self { address: address.to_owned(), pool, headers: HeaderMap::new() }
    }

    /// Sent with every request, and beside others of the same name.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, value.parse().unwrap());
        self
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, &format!("{API}{path}"), None).await
    }

    /// A page outside the API.
    pub async fn page(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, &format!("{API}{path}"), Some(body.to_string())).await
    }

    /// A POST that says nothing.
    pub async fn post_nothing(&self, path: &str) -> Answer {
        self.send(Method::POST, &format!("{API}{path}"), None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, &format!("{API}{path}"), Some(body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, &format!("{API}{path}"), Some(body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, &format!("{API}{path}"), None).await
    }

    /// Any request to any path. A body goes out as JSON, unless a header of the client's own says what else it is.
    pub async fn send(&self, method: Method, path: &str, body: Option<String>) -> Answer {
        let shown = format!("{method} {path}");
        let response = self.open(method, path, body).await;
        let (head, body) = response.into_parts();
        let read = tokio::time::timeout(DEADLINE, body.collect()).await;
        let body = read.unwrap_or_else(|_| panic!("the answer to {shown} has no end")).unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { request: shown, status: head.status.as_u16(), headers: head.headers, body }
    }

    /// What happens, after the event of this id or from now on. It is subscribed to when this returns.
    pub async fn events(&self, after: Option<u64>) -> EventStream {
        let client = match after {
            Some(id) => self.clone().header("last-event-id", &id.to_string()),
            None => self.clone(),
        };
        let response = client.open(Method::GET, &format!("{API}/aggregator/events"), None).await;
        assert_eq!(response.status(), 200, "no stream of events");
        Pending::read(response, None, |_| {})
    }

    async fn open(&self, method: Method, path: &str, body: Option<String>) -> Response<Incoming> {
        let shown = format!("{method} {path}");
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        if body.is_some() && !self.headers.contains_key("content-type") {
            request = request.header("content-type", "application/json");
        }
        let mut request = request.body(Full::from(body.unwrap_or_default())).unwrap();
        for (name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        let response = tokio::time::timeout(DEADLINE, self.pool.request(request)).await;
        let response = response.unwrap_or_else(|_| panic!("no answer to {shown} within {DEADLINE:?}"));
        response.unwrap_or_else(|error| panic!("{shown} failed: {error:?}"))
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked.
    pub request: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// An answer with this status and without a body.
    #[track_caller]
    pub fn empty(&self, status: u16) {
        assert_eq!((self.status, self.body.as_str()), (status, ""), "{self:?}");
    }

    /// The problem that it is, with everything that every problem has.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(problem["error_code"], code, "{self:?}");
        assert_eq!(problem["status"], status, "{self:?}");
        for member in ["type", "title", "detail"] {
            let is_said = problem[member].as_str().is_some_and(|text| !text.is_empty());
            assert!(is_said, "{member} is missing in {self:?}");
        }
        problem
    }

    /// The ways to the fields that a 422 complains of, each joined by dots.
    #[track_caller]
    pub fn wrong_fields(&self) -> Vec<String> {
        let problem = self.problem(422, "VALIDATION_ERROR");
        let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("no errors in {self:?}"));
        let way = |error: &Value| {
            assert!(error["msg"].as_str().is_some_and(|msg| !msg.is_empty()), "{self:?}");
            let parts = error["loc"].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
            parts.collect::<Vec<_>>().join(".")
        };
        errors.iter().map(way).collect()
    }
}
