//! `portolan disconnect`.

use crate::terminal::cli::DisconnectArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::{Failure, terminal};
use serde::Deserialize;
use serde_json::json;
use std::process::ExitCode;

#[derive(Deserialize)]
struct Outcome {
    status: String,
    pending_requests: usize,
}

pub(crate) fn run(args: &DisconnectArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let path = ["aggregator", "servers", &args.server, "disconnect"];
        let ask = Ask::post(&path).body(json!({"force": args.force}).to_string()).patient();
        let what = format!("{} may end its calls", args.server);
        let answer = desk.screen.during(what, desk.rest.ask(ask)).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => {
                let Outcome { status, pending_requests } = answer.read()?;
                let given_up = match pending_requests {
                    0 => String::new(),
                    1 => "; a call was given up".to_owned(),
                    calls => format!("; {calls} calls were given up"),
                };
                desk.screen.line(&format!("{} is {status}{given_up}", args.server))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}
