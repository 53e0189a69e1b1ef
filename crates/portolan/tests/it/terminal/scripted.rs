//! Answers that the real Portolan does not give, or not in this shape.

use super::Person;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// One request, as far as tests look at it.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// `GET /api/v1/aggregator/servers?limit=1`.
    pub(super) line: String,
    head: String,
    pub(super) body: String,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A server that answers each request as the test says, and closes the connection.
pub(super) struct Scripted {
    url: String,
    seen: Arc<Mutex<Vec<Request>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Scripted {
    pub(super) async fn start(answer: impl Fn(&Request) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let record = seen.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let Some(request) = read(&mut stream).await else { continue };
                let response = answer(&request);
                record.lock().unwrap().push(request);
                stream.get_mut().write_all(response.as_bytes()).await.unwrap_or_default();
                stream.get_mut().shutdown().await.unwrap_or_default();
            }
        });
        Self { url, seen, task }
    }

    /// Somebody who talks to it.
    pub(super) fn person(&self) -> Person {
        Person::new().with("PORTOLAN_URL", &self.url)
    }

    fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|request| request.line.clone()).collect()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let mut request = Request { line, head, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

pub(super) fn event_stream(events: &[(u64, Value)]) -> String {
    let events: Vec<String> =
        events.iter().map(|(id, data)| format!("id: {id}\nevent: any\ndata: {data}\n\n")).collect();
    let events = events.concat();
    format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\nretry: 1\n\n{events}id: 99\nda"
    )
}

#[tokio::test]
async fn a_long_list_is_read_page_by_page_and_printed_as_one() {
    let tool =
        |n: usize| json!({ "name": format!("s.t{n}"), "original_name": format!("t{n}"), "z": 1.0, "a": [] });
    let scripted = Scripted::start(move |request| {
        let query = request.line.split_once('?').unwrap().1;
        let number = |name: &str| -> usize {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
                .unwrap()
        };
        let (limit, offset) = (number("limit"), number("offset"));
        let page: Vec<String> = (offset..(offset + limit).min(1201)).map(|n| tool(n).to_string()).collect();
        response("200 OK", "X-Total-Count: 1201\r\n", &format!("[{}]", page.join(",")))
    })
    .await;
    let listed = scripted.person().does(&["tools"]).await;
    assert_eq!(listed.lines().count(), 1202);
    assert!(listed.ends_with("s.t1200  on\n"), "{}", &listed[listed.len() - 100..]);
    let asked = scripted.lines();
    assert_eq!(asked.len(), 3, "{asked:?}");
    let all = scripted.person().reads(&["tools", "s"]).await;
    assert_eq!(all.as_array().unwrap().len(), 1201);
    assert!(scripted.lines()[3].starts_with("GET /api/v1/aggregator/servers/s/tools?"), "{asked:?}");
}

#[tokio::test]
async fn what_is_sent_is_what_the_command_line_says() {
    let server =
        json!({ "id": "u", "name": "web", "status": "CONNECTING", "transport_type": "SSE" }).to_string();
    let scripted = Scripted::start(move |_| response("201 Created", "", &server)).await;
    let person = scripted.person();
    person
        .does(&["add", "web", "--transport", "sse", "--header", "A=${T}", "http://h/x", "--description", "d"])
        .await;
    person.does(&["remove", "a/b?c", "--force", "--yes"]).await;
    let seen = scripted.seen.lock().unwrap().clone();
    assert_eq!(seen[0].line, "POST /api/v1/aggregator/servers");
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(
        serde_json::from_str::<Value>(&seen[0].body).unwrap(),
        json!({
            "name": "web", "transport_type": "SSE", "description": "d", "auto_connect": true,
            "connection_config": { "url": "http://h/x", "headers": { "A": "${T}" } },
        })
    );
    assert_eq!(seen[1].line, "DELETE /api/v1/aggregator/servers/a%2Fb%3Fc?force=true");
}

#[tokio::test]
async fn what_a_server_wrote_cannot_break_a_table_and_passes_unchanged_where_nobody_reads_it() {
    let scripted = Scripted::start(|request| {
        let odd = "red\u{1b}[31m\nline";
        if request.line.starts_with("POST") {
            let result = json!({ "content": [{ "type": "text", "text": odd }], "isError": false });
            return response("200 OK", "", &result.to_string());
        }
        let server = json!([{ "id": "u", "name": "one", "status": "ERROR", "transport_type": "HTTP", "error_message": odd }]);
        response("200 OK", "X-Total-Count: 1\r\n", &server.to_string())
    })
    .await;
    let listed = scripted.person().does(&["list"]).await;
    assert!(listed.ends_with("  red [31m line\n") && listed.lines().count() == 2, "{listed:?}");
    assert_eq!(scripted.person().does(&["call", "one.echo"]).await, "red\u{1b}[31m\nline\n");
}

#[tokio::test]
async fn something_that_is_no_portolan_is_said_to_be_none() {
    for answer in [
        response("404 Not Found", "", "<html>no such page</html>"),
        response("200 OK", "", "<html>hello</html>"),
        response("302 Found", "Location: http://127.0.0.1:9/\r\n", ""),
    ] {
        let scripted = Scripted::start(move |_| answer.clone()).await;
        scripted.person().fails(&["list"], 1, "gives an answer that Portolan would not give").await;
    }
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let scripted = Scripted::start(|_| {
        let tools: Vec<Value> =
            (0..20_000).map(|n| json!({ "name": format!("s.t{n}"), "original_name": "t" })).collect();
        response("200 OK", "", &json!(tools).to_string())
    })
    .await;
    let mut child = scripted.person().command(&["tools"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert!(first.starts_with("TOOL"), "{first}");
}
