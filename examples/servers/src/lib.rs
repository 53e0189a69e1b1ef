//! What the example servers share: MCP over stdin and stdout, one blocking loop, nothing but std and `serde_json`.

mod revision;
mod tool;

pub use revision::Revision;
pub use tool::{Answer, Args, Refusal, Tool, ToolKind};

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// What makes one server differ from another; the rest of MCP is in [`serve`].
pub trait Toolbox {
    /// The program's name, as the handshake announces it.
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Told to the model once, before it sees any tool.
    const INSTRUCTIONS: &'static str;

    fn tools() -> Vec<Tool>;

    /// Runs a tool whose name is known and whose arguments have been held against its schema's names.
    fn call(&mut self, tool: &str, args: &Args<'_>) -> Result<Answer, Refusal>;
}

/// Answers one message a line until `input` ends, which is how an MCP client tells a stdio server to go.
pub fn serve<T: Toolbox>(toolbox: T, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut server = Server { toolbox, tools: T::tools(), revision: Revision::LATEST };
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(answer) = server.line(&line) {
            // `Value` prints no raw newline, so the message stays on its line.
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// A JSON-RPC error: its code and a sentence.
type Fault = (i64, String);

struct Server<T> {
    toolbox: T,
    tools: Vec<Tool>,
    /// What `initialize` settled on.
    revision: Revision,
}

impl<T: Toolbox> Server<T> {
    fn line(&mut self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(Value::Array(batch)) => self.batch(&batch),
            Ok(message) => self.message(&message),
            Err(error) => Some(failure(&Value::Null, (PARSE_ERROR, format!("not JSON: {error}")))),
        }
    }

    /// Several messages in one array: only revision 2025-03-26 had them.
    fn batch(&mut self, batch: &[Value]) -> Option<Value> {
        if !self.revision.has_batches() || batch.is_empty() {
            let why = format!("revision {} takes one message a line, not an array", self.revision.as_str());
            return Some(failure(&Value::Null, (INVALID_REQUEST, why)));
        }
        let answers: Vec<Value> = batch.iter().filter_map(|message| self.message(message)).collect();
        (!answers.is_empty()).then_some(Value::Array(answers))
    }

    /// Requests are answered; notifications, and answers to questions that were never asked, are not.
    fn message(&mut self, message: &Value) -> Option<Value> {
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let fault = (INVALID_REQUEST, "a message needs a `method`".to_owned());
            return (!is_answer).then(|| failure(message.get("id").unwrap_or(&Value::Null), fault));
        };
        let id = message.get("id")?;
        if !(id.is_string() || id.is_number()) {
            let fault = (INVALID_REQUEST, "an `id` is a string or a number".to_owned());
            return Some(failure(&Value::Null, fault));
        }
        let params = message.get("params").unwrap_or(&Value::Null);
        Some(match self.request(method, params) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(fault) => failure(id, fault),
        })
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        match method {
            "initialize" => Ok(self.initialize(params)),
            "ping" => Ok(json!({})),
            "tools/list" => {
                let tools: Vec<Value> = self.tools.iter().map(|tool| tool.describe(self.revision)).collect();
                Ok(json!({ "tools": tools }))
            }
            "tools/call" => self.call(params),
            unknown => Err((METHOD_NOT_FOUND, format!("{} has no method {unknown:?}", T::NAME))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        // A client that asks for a revision we do not know is offered our latest and may hang up.
        self.revision = wanted.and_then(Revision::parse).unwrap_or(Revision::LATEST);
        let mut info = json!({ "name": T::NAME, "version": env!("CARGO_PKG_VERSION") });
        if self.revision.has_titles() {
            info["title"] = T::TITLE.into();
        }
        json!({
            "protocolVersion": self.revision.as_str(),
            "capabilities": { "tools": {} },
            "serverInfo": info,
            "instructions": T::INSTRUCTIONS,
        })
    }

    /// A call that cannot be meant is a protocol error; one that is meant but wrong is answered with a text that
    /// the model can read and act on.
    fn call(&mut self, params: &Value) -> Result<Value, Fault> {
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            return Err((INVALID_PARAMS, "`params.name` must be the name of a tool".to_owned()));
        };
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
            return Err((INVALID_PARAMS, format!("unknown tool {name:?}; there are {}", known.join(", "))));
        };
        let outcome =
            Args::read(tool, params.get("arguments")).and_then(|args| self.toolbox.call(name, &args));
        Ok(match outcome {
            Ok(answer) => answer.into_result(self.revision),
            Err(refusal) => refusal.into_result(),
        })
    }
}

fn failure(id: &Value, (code, message): Fault) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
