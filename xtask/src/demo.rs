//! `cargo xtask demo`: a gateway over the example servers, called once for everyone to see, then left running.

mod gateway;
mod http;
mod mcp;

use crate::program;
use anyhow::{Result, bail};
use gateway::Gateway;
use mcp::Client;
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// What the example configuration calls its servers.
const SERVERS: [&str; 2] = ["notes", "units"];

/// The servers start in milliseconds; on a machine that is busy building they may take a while.
const LIST_TRIES: u32 = 150;
const LIST_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    OnCtrlC,
    /// For tests: everything is shown, then the gateway is stopped.
    AfterTheCalls,
}

#[derive(Debug)]
pub struct Options<'a> {
    pub listen: &'a str,
    pub ending: Ending,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { listen: "127.0.0.1:7777", ending: Ending::OnCtrlC }
    }
}

/// Builds, starts, lists, calls one tool of each server, and says where to point a client.
pub fn run(root: &Path, options: &Options<'_>) -> Result<()> {
    println!("Building Portolan and two example servers. The first time takes a minute or two.");
    program::run(root, "cargo build --package portolan --package portolan-examples --bins")?;
    let gateway = Gateway::start(root, options.listen)?;
    println!("\nPortolan serves examples/servers.json at {}/mcp.", gateway.url());

    let mut client = Client::connect(gateway.authority())?;
    let tools = list_when_complete(&mut client)?;
    println!("Behind that one address are {} tools of {} servers:\n", tools.len(), SERVERS.len());
    for tool in &tools {
        println!("  {:<20} {}", name_of(tool), first_sentence(tool));
    }
    println!("\nOne call to each server:\n");
    show_call(&mut client, &tools, "add_note", &json!({ "text": "Try Portolan", "tags": ["first"] }))?;
    show_call(&mut client, &tools, "convert", &json!({ "value": 26.2, "from": "mi", "to": "km" }))?;
    if options.ending == Ending::AfterTheCalls {
        return Ok(());
    }
    println!("{}", invitation(gateway.url()));
    gateway.wait()
}

/// A gateway answers its lists at once with what is there, so a server that is still starting joins a moment later.
fn list_when_complete(client: &mut Client) -> Result<Vec<Value>> {
    let mut seen = Vec::new();
    for _ in 0..LIST_TRIES {
        seen = client.tools()?;
        let has = |server: &str| seen.iter().any(|tool| name_of(tool).starts_with(server));
        if SERVERS.iter().all(|server| has(server)) {
            return Ok(seen);
        }
        thread::sleep(LIST_PAUSE);
    }
    let names: Vec<&str> = seen.iter().map(name_of).collect();
    bail!("the example servers did not all come up; listed were: {}", names.join(", "))
}

/// Calls the tool that ends in `tool`, whatever name style this client was shown.
fn show_call(client: &mut Client, tools: &[Value], tool: &str, arguments: &Value) -> Result<()> {
    let Some(name) = tools.iter().map(name_of).find(|name| name.ends_with(tool)) else {
        bail!("no {tool} among the tools");
    };
    let result = client.call(name, arguments)?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    println!("  {name} {arguments}\n    → {text}");
    if result["isError"] == true {
        bail!("{name} answered with an error");
    }
    Ok(())
}

fn name_of(tool: &Value) -> &str {
    tool["name"].as_str().unwrap_or_default()
}

fn first_sentence(tool: &Value) -> &str {
    let text = tool["description"].as_str().unwrap_or_default();
    text.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

fn invitation(url: &str) -> String {
    format!(
        "\nPoint any MCP client at {url}/mcp (Streamable HTTP), for example:\n\n  \
         {{ \"mcpServers\": {{ \"portolan\": {{ \"type\": \"http\", \"url\": \"{url}/mcp\" }} }} }}\n\n\
         Add servers of your own to examples/servers.json: they join while this runs. Ctrl-C ends it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_shown_up_to_its_first_full_stop() {
        let tool = json!({ "name": "units.convert", "description": "Convert 1.5 km. And more." });
        assert_eq!(first_sentence(&tool), "Convert 1.5 km.");
        assert_eq!(first_sentence(&json!({ "name": "x" })), "");
    }
}
