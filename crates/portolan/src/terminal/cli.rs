//! The command line of the verbs that talk to a running Portolan.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What every verb that talks to a running Portolan takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where and how")]
pub(crate) struct Shared {
    /// The Portolan to talk to; else PORTOLAN_URL, else the one that `portolan serve` runs here
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Print JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// The data folder of the Portolan that runs here
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The settings file, instead of the one in the user's configuration folder
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// What the server is to be called: lower-case letters, digits, `-` and `_`
    pub(crate) name: String,
    /// The address of a server that runs elsewhere
    #[arg(value_name = "URL", required_unless_present = "command")]
    pub(crate) address: Option<String>,
    /// A header of every request to it; may be given again. `${NAME}` stands for a secret
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "command", value_parser = pair)]
    pub(crate) header: Vec<(String, String)>,
    /// How it is spoken to; else `sse` where the address ends in /sse, and `http` anywhere else
    #[arg(
        long,
        value_name = "sse|http",
        conflicts_with = "command",
        ignore_case = true,
        hide_possible_values = true
    )]
    pub(crate) transport: Option<RemoteTransport>,
    /// A variable of the program's environment; may be given again. `${NAME}` stands for a secret
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "address", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// The folder that the program starts in
    #[arg(long, value_name = "DIR", conflicts_with = "address")]
    pub(crate) cwd: Option<String>,
    /// What the server is for, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Only register it: `portolan connect` connects it
    #[arg(long)]
    pub(crate) no_connect: bool,
    /// A program that is started here, and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "address")]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RemoteTransport {
    Http,
    Sse,
}

impl RemoteTransport {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Sse => "SSE",
        }
    }
}

/// `NAME=VALUE`, split at the first `=`.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write it as NAME=VALUE"),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those in this state
    #[arg(long, ignore_case = true)]
    pub(crate) status: Option<Status>,
    /// Go on showing what changes, until Ctrl-C; one line of JSON an event where it is no terminal
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    Connected,
    Connecting,
    Degraded,
    Disconnected,
    Error,
}

impl Status {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "CONNECTED",
            Self::Connecting => "CONNECTING",
            Self::Degraded => "DEGRADED",
            Self::Disconnected => "DISCONNECTED",
            Self::Error => "ERROR",
        }
    }
}

/// One server and nothing else.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The server's name or id
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The server's name or id
    pub(crate) server: String,
    /// Wait until it is connected, or until that has failed
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct DisconnectArgs {
    /// The server's name or id
    pub(crate) server: String,
    /// Cancel the calls that are under way instead of letting them end
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The server's name or id
    pub(crate) server: String,
    /// Cancel the calls that are under way instead of letting them end
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Only those of this server
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What is to be done, in plain words
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// How many tools are wanted
    #[arg(long, default_value_t = 10, value_name = "COUNT")]
    pub(crate) limit: usize,
    /// Only tools of this server; may be given several times
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Vec<String>,
    /// Only tools that have this skill; may be given several times
    #[arg(long, value_name = "SKILL")]
    pub(crate) skill: Vec<String>,
    /// hybrid (the default), direct, or hierarchical: skills first, then the tools within them
    #[arg(long, value_name = "WAY")]
    pub(crate) strategy: Option<String>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool: `server.tool`, or its own name where only one server has it
    pub(crate) tool: String,
    /// `key=text` (a number, a list and so on where the tool wants one), `key:=JSON`, `key=@FILE`
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object; `@FILE` reads a file, `-` standard input
    #[arg(long, value_name = "JSON", conflicts_with = "arguments", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Start the servers of this file for this one call, whether or not a Portolan is running
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) config: Option<PathBuf>,
    /// The server that is meant, where several have the tool
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// What is to be known, in plain words
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Only this server; may be given several times, or as a list with commas
    #[arg(long, visible_alias = "servers", value_name = "SERVER", value_delimiter = ',')]
    pub(crate) server: Vec<String>,
    /// How many results are wanted: 10 to 100, 30 if nothing is said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100))]
    pub(crate) max_results: Option<u32>,
    /// Start the servers of this file for this one question, whether or not a Portolan is running
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The server's name or id
    pub(crate) connector: String,
    /// What is to be known or done, in plain words
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// What is known already
    #[arg(long, value_name = "TEXT")]
    pub(crate) context: Option<String>,
    /// How many calls of tools the agent may make: 1 to 100, else as the settings say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_tools: Option<u32>,
    /// Let the agent call tools that destroy something
    #[arg(long)]
    pub(crate) allow_destructive: bool,
    /// Start the server from this file for this one question, whether or not a Portolan is running
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The server's name or id
    pub(crate) server: String,
    /// How many entries, the latest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    #[command(subcommand)]
    pub(crate) verb: SecretVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretVerb {
    /// Set a secret, from a pipe or by typing it unseen
    #[command(
        after_help = "Examples:\n  portolan secret set GITHUB_TOKEN\n  pass github | portolan secret set GITHUB_TOKEN"
    )]
    Set(SecretNameArgs),
    /// List the names of all secrets, and which servers use them
    #[command(after_help = "Example:\n  portolan secret list")]
    List(SecretListArgs),
    /// Forget a secret
    #[command(after_help = "Example:\n  portolan secret remove GITHUB_TOKEN")]
    Remove(SecretNameArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SecretNameArgs {
    /// The secret's name, as in `${NAME}`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct SecretListArgs {
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// One program, or any file in the shape of Claude Desktop's; else all programs that are found
    #[arg(long, value_name = "claude|cursor|vscode|windsurf|zed|codex|FILE")]
    pub(crate) from: Option<String>,
    /// Only show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The verb, as in `add` or `secret set`; else the page of Portolan itself
    pub(crate) verb: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_ends_its_name_at_the_first_equals_sign() {
        assert_eq!(pair("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("A="), Ok(("A".to_owned(), String::new())));
        assert!(pair("A").is_err() && pair("=b").is_err());
    }
}
