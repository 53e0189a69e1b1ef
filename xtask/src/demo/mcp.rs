//! As much of an MCP client as the demo needs: a handshake, `tools/list` and `tools/call` over Streamable HTTP.

use super::http::{self, Response};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

const REVISION: &str = "2025-11-25";

pub(super) struct Client {
    authority: String,
    session: Option<String>,
    last_id: u64,
}

impl Client {
    /// Shakes hands with the server at `authority`.
    pub(super) fn connect(authority: &str) -> Result<Self> {
        let mut client = Self { authority: authority.to_owned(), session: None, last_id: 0 };
        let info = json!({ "name": "portolan-demo", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": info });
        let (response, _) = client.request("initialize", &params)?;
        client.session = response.header("mcp-session-id").map(str::to_owned);
        client.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Every tool, all pages.
    pub(super) fn tools(&mut self) -> Result<Vec<Value>> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let (_, mut result) = self.request("tools/list", &params)?;
            let Value::Array(page) = result["tools"].take() else {
                bail!("tools/list was answered without tools")
            };
            tools.extend(page);
            let cursor = result["nextCursor"].take();
            if cursor.is_null() {
                return Ok(tools);
            }
            params = json!({ "cursor": cursor });
        }
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", &params).map(|(_, result)| result)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Response, Value)> {
        self.last_id += 1;
        let id = self.last_id;
        let response =
            self.post(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut answer = answer_to(id, &response).with_context(|| format!("{method} was not answered"))?;
        if let Some(error) = answer.get("error") {
            bail!("{method} was refused: {error}");
        }
        let result = answer["result"].take();
        Ok((response, result))
    }

    fn post(&self, message: &Value) -> Result<Response> {
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", REVISION),
        ];
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        let response = http::post(&self.authority, "/mcp", &headers, message.to_string().as_bytes())?;
        if !(200..300).contains(&response.status) {
            bail!("the gateway answered {}: {}", response.status, response.body.trim());
        }
        Ok(response)
    }
}

/// The message with `id`, alone as JSON or among others in a stream of events.
fn answer_to(id: u64, response: &Response) -> Option<Value> {
    let is_stream = response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let texts: Vec<&str> = if is_stream {
        response.body.lines().filter_map(|line| line.strip_prefix("data:")).collect()
    } else {
        vec![&response.body]
    };
    texts
        .into_iter()
        .filter_map(|text| serde_json::from_str::<Value>(text).ok())
        .find(|message| message["id"] == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(kind: &str, body: &str) -> Response {
        Response {
            status: 200,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.to_owned(),
        }
    }

    #[test]
    fn an_answer_is_found_as_json_and_among_events() {
        let alone = response("application/json", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
        assert!(answer_to(2, &alone).is_some());
        assert!(answer_to(3, &alone).is_none());
        let stream = response(
            "text/event-stream; charset=utf-8",
            ": hello\n\nid: 1\ndata:\n\nevent: message\ndata: {\"method\":\"notifications/progress\"}\n\n\
             data: {\"id\":2,\"result\":{\"x\":1}}\r\n\r\n",
        );
        assert_eq!(answer_to(2, &stream).unwrap()["result"]["x"], 1);
    }
}
