//! Whether every answer reaches its caller: many clients with the same ids over many servers at once.

use crate::http_client::{HttpClient, Session};
use crate::lab::{Behind, Lab, Served, tools_when};
use crate::load::{self, Ids, Plan, Tool};
use crate::procs;
use crate::report::Section;
use crate::rpc::is_echo_tool;
use anyhow::{Context, Result, ensure};
use std::time::Duration;

/// Servers of each kind.
const SERVERS: usize = 10;
const CLIENTS: usize = 200;

/// What 50,000 calls must not take, even on a machine that others use.
const LIMIT: Duration = Duration::from_secs(90);

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let calls = lab.effort.pick(10_000, 50_000);
    let mut echoes = Vec::new();
    let mut behind: Vec<Behind> = Vec::new();
    for number in 0..SERVERS {
        let (pipe, http) = (format!("p{number}"), format!("h{number}"));
        behind.push(lab.behind_stdio(&pipe, &["--sign", "--name", &pipe]));
        let echo = lab.echo(&["--sign", "--name", &http]).await?;
        behind.push(Lab::behind_http(&http, echo.address));
        echoes.push(echo);
    }
    let gateway = lab.gateway(&behind).await?;
    let title = format!(
        "{calls} calls from {CLIENTS} clients, all with the same ids, over 10 stdio and 10 HTTP servers"
    );
    let mut section = Section::new("correctness", title, &["calls", "errors", "mismatches", "calls/s"]);
    let tools = signed_tools(&gateway).await?;
    let before = procs::descriptors(gateway.running.pid);

    let own = open_sessions(&gateway, CLIENTS).await?;
    let plan = |sessions: &[Session], callers, calls| -> Result<Plan> {
        let (sessions, tools) = (sessions.to_vec(), tools.clone());
        Ok(Plan { target: gateway.target()?, sessions, tools, callers, calls, limit: LIMIT, ids: Ids::Same })
    };
    let runs = [
        ("a session for each client", plan(&own, CLIENTS, calls)?),
        ("one session for 64 callers, same ids", plan(&own[..1], 64, calls / 10)?),
    ];
    for (label, plan) in runs {
        let asked = plan.calls;
        let outcome = load::many(plan).await?;
        let counts = [outcome.calls() as f64, outcome.errors as f64, outcome.mismatches as f64];
        section.row(label, counts.into_iter().chain([outcome.per_second()]).map(Some));
        section.account(label, &outcome);
        let missing = asked.saturating_sub(outcome.calls() + outcome.errors + outcome.mismatches);
        if missing > 0 {
            section.failure =
                Some(format!("{missing} of {asked} calls were not made: too many errors or too slow"));
        }
    }
    let (errors, mismatches) = (section.errors as f64, section.mismatches as f64);
    section.at_most("errors", (errors, ""), 0.0);
    section.at_most("mismatched replies", (mismatches, ""), 0.0);

    close_sessions(&gateway, own).await?;
    report_descriptors(&gateway, before, &mut section).await;
    gateway.stop().await;
    for echo in echoes {
        echo.stop().await;
    }
    Ok(section)
}

/// The echo tool of every server, with the signature that its answers must carry.
async fn signed_tools(gateway: &Served) -> Result<Vec<Tool>> {
    let mut client = HttpClient::open(gateway.target()?).await?;
    let names = tools_when(&mut client, 2 * SERVERS).await?;
    client.close().await?;
    let tools: Vec<Tool> = names.iter().filter(|name| is_echo_tool(name)).map(|name| signed(name)).collect();
    ensure!(tools.len() == 2 * SERVERS, "{} echo tools are listed, not {}", tools.len(), 2 * SERVERS);
    Ok(tools)
}

/// The server's name is what stands before the separator of any style.
fn signed(name: &str) -> Tool {
    let server: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
    Tool { signature: Some(format!("\"from {server}\"")), ..Tool::unsigned(name) }
}

async fn open_sessions(gateway: &Served, count: usize) -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    let mut client = HttpClient::open(gateway.target()?).await?;
    sessions.push(client.session());
    while sessions.len() < count {
        client.reopen().await.with_context(|| format!("session {}", sessions.len() + 1))?;
        sessions.push(client.session());
    }
    Ok(sessions)
}

async fn close_sessions(gateway: &Served, sessions: Vec<Session>) -> Result<()> {
    for session in sessions {
        HttpClient::join(gateway.target()?, session).close().await?;
    }
    Ok(())
}

/// Connections to HTTP servers may stay pooled, so sockets are told apart; the rest must be as before.
async fn report_descriptors(gateway: &Served, before: (usize, usize), section: &mut Section) {
    let mut after = procs::descriptors(gateway.running.pid);
    for _ in 0..20 {
        if after.0 <= before.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        after = procs::descriptors(gateway.running.pid);
    }
    section.note(format!(
        "descriptors of the gateway: {} before ({} sockets), {} after ({} sockets)",
        before.0, before.1, after.0, after.1
    ));
    section.at_most(
        "descriptors other than sockets, after - before",
        ((after.0 - after.1).saturating_sub(before.0 - before.1) as f64, ""),
        0.0,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_follows_the_server_in_every_name_style() {
        for name in ["p3.echo", "p3:echo", "p3__echo"] {
            assert_eq!(signed(name).signature.as_deref(), Some("\"from p3\""), "{name}");
        }
    }
}
