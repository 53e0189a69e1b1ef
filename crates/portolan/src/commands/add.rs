//! `portolan add`: registers a server with a running Portolan.

use crate::Failure;
use crate::terminal::cli::{AddArgs, RemoteTransport};
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::terminal::{self, servers::Server};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &AddArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let ask = Ask::post(&["aggregator", "servers"]).body(draft(args).to_string());
        let answer = desk.rest.ask(ask).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => {
                let server: Server = answer.read()?;
                let next = if args.no_connect {
                    format!("connect it with `portolan connect {}`", server.name)
                } else {
                    "it is connecting: `portolan list` shows how that goes".to_owned()
                };
                desk.screen.line(&format!("{} is registered; {next}", server.name))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The server as the REST surface takes it.
fn draft(args: &AddArgs) -> Value {
    let (transport, config) = match (&args.address, args.command.split_first()) {
        (Some(address), _) => {
            let transport = args.transport.unwrap_or_else(|| transport_of(address));
            let config = json!({"url": address, "headers": object(&args.header)});
            (transport.as_str(), config)
        }
        (None, Some((command, rest))) => {
            let mut config = json!({"command": command, "args": rest, "env": object(&args.env)});
            if let Some(cwd) = &args.cwd {
                config["cwd"] = json!(cwd);
            }
            ("STDIO", config)
        }
        // The command line has one of the two.
        (None, None) => ("STDIO", Value::Null),
    };
    let mut draft = json!({
        "name": args.name,
        "transport_type": transport,
        "connection_config": config,
        "auto_connect": !args.no_connect,
    });
    if let Some(description) = &args.description {
        draft["description"] = json!(description);
    }
    draft
}

fn object(pairs: &[(String, String)]) -> Value {
    let pairs: Map<String, Value> = pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    Value::Object(pairs)
}

/// What an address says by its own name: servers of the older transport are by custom at `/sse`.
pub(crate) fn transport_of(address: &str) -> RemoteTransport {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    if path.trim_end_matches('/').ends_with("/sse") { RemoteTransport::Sse } else { RemoteTransport::Http }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn args(line: &[&str]) -> AddArgs {
        let cli = Cli::try_parse_from([&["portolan", "add"], line].concat()).unwrap();
        match cli.verb {
            Some(Verb::Add(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(line: &[&str], expected: &Value) {
        assert_eq!(draft(&args(line)), *expected);
    }

    #[test]
    fn a_program_is_what_follows_the_two_dashes() {
        check(
            &["files", "--env", "A=${B}", "--cwd", "/d", "--", "npx", "-y", "--no-connect"],
            &json!({
                "name": "files", "transport_type": "STDIO", "auto_connect": true,
                "connection_config": {"command": "npx", "args": ["-y", "--no-connect"], "env": {"A": "${B}"}, "cwd": "/d"},
            }),
        );
    }

    #[test]
    fn an_address_is_http_unless_it_or_somebody_says_otherwise() {
        let draft = |transport: &str, url: &str| {
            json!({
                "name": "web", "transport_type": transport, "auto_connect": true,
                "connection_config": {"url": url, "headers": {}},
            })
        };
        check(&["web", "https://h/mcp"], &draft("HTTP", "https://h/mcp"));
        check(&["web", "https://h/sse?x=/mcp"], &draft("SSE", "https://h/sse?x=/mcp"));
        check(&["web", "https://h/sse", "--transport", "http"], &draft("HTTP", "https://h/sse"));
        check(&["web", "--transport", "SSE", "https://h/"], &draft("SSE", "https://h/"));
    }

    #[test]
    fn headers_and_words_come_along() {
        check(
            &[
                "web",
                "--header",
                "A=b=c",
                "--header",
                "D=",
                "--description",
                "x y",
                "--no-connect",
                "http://h",
            ],
            &json!({
                "name": "web", "transport_type": "HTTP", "auto_connect": false, "description": "x y",
                "connection_config": {"url": "http://h", "headers": {"A": "b=c", "D": ""}},
            }),
        );
    }

    #[test]
    fn a_command_line_that_means_two_things_or_none_is_refused() {
        for line in [
            &["one"][..],
            &["one", "http://h", "--", "npx"],
            &["one", "--header", "A=b", "--", "npx"],
            &["one", "--env", "A=b", "http://h"],
            &["one", "--header", "A", "http://h"],
            &["one", "--transport", "stdio", "http://h"],
        ] {
            let line = [&["portolan", "add"], line].concat();
            assert_eq!(Cli::try_parse_from(&line).map(drop).unwrap_err().exit_code(), 2, "{line:?}");
        }
    }
}
