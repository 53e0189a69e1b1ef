//! The command line.

use crate::terminal::cli::{
    AddArgs, AgentsArgs, AskArgs, CallArgs, CompletionsArgs, ConnectArgs, DisconnectArgs, EventsArgs,
    HistoryArgs, ImportArgs, ListArgs, ManArgs, QueryArgs, RemoveArgs, SearchArgs, SecretArgs, ServerArgs,
    ToolsArgs,
};
use clap::{Args, Parser, Subcommand};
use portolan_config::Flags;
use std::path::PathBuf;

/// One endpoint for any number of MCP servers.
///
/// Without a verb, Portolan is itself an MCP server over stdio that shows the tools of every server in --config.
#[derive(Debug, Parser)]
#[command(name = "portolan", disable_version_flag = true, args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  portolan --config servers.json
  portolan serve
  portolan add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) aggregate: AggregateArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Serve every server over HTTP at one address
    #[command(after_help = "Examples:
  portolan serve
  portolan serve --config servers.json --listen 127.0.0.1:8080")]
    Serve(ServeArgs),
    /// Bring in the servers that other programs have configured
    #[command(after_help = "Examples:
  portolan import --dry-run
  portolan import --from cursor
  portolan import --from ./mcp.json --yes

The other programs' files are only read. A value that needs ${NAME} takes it from your environment.")]
    Import(ImportArgs),
    /// Register a server: a program that is started, or an address
    #[command(after_help = "Examples:
  portolan add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  portolan add github --header 'Authorization=Bearer ${GITHUB_TOKEN}' https://api.githubcopilot.com/mcp/

`portolan secret set GITHUB_TOKEN` sets what ${GITHUB_TOKEN} stands for.")]
    Add(AddArgs),
    /// List the servers
    #[command(after_help = "Examples:
  portolan list
  portolan list --status error
  portolan list --watch")]
    List(ListArgs),
    /// Show one server in full
    #[command(after_help = "Examples:
  portolan show github
  portolan show github --json")]
    Show(ServerArgs),
    /// Connect a server
    #[command(after_help = "Examples:
  portolan connect github
  portolan connect github --wait")]
    Connect(ConnectArgs),
    /// Disconnect a server; it stays registered
    #[command(after_help = "Examples:
  portolan disconnect github
  portolan disconnect github --force")]
    Disconnect(DisconnectArgs),
    /// Disconnect a server and connect it anew
    #[command(after_help = "Example:
  portolan reconnect github --wait")]
    Reconnect(ConnectArgs),
    /// Ask a server for its tools again
    #[command(after_help = "Example:
  portolan refresh github")]
    Refresh(ServerArgs),
    /// Remove a server and everything that is kept about it
    #[command(after_help = "Examples:
  portolan remove github
  portolan remove github --yes --force")]
    Remove(RemoveArgs),
    /// List tools
    #[command(after_help = "Examples:
  portolan tools
  portolan tools github")]
    Tools(ToolsArgs),
    /// Find tools by what they do
    #[command(after_help = "Examples:
  portolan search open an issue and tell the team
  portolan search 'read a file' --server files --limit 3 --json")]
    Search(SearchArgs),
    /// Call a tool
    #[command(after_help = "Examples:
  portolan call github.search_issues query='is:open label:bug' perPage=5
  portolan call github.create_issue title=Hello labels:='[\"bug\"]' body=@report.md
  portolan call files.read_file --args '{\"path\": \"notes.txt\"}' --config servers.json

The text of the answer is printed; --json prints all of it. A tool that reports an error ends with code 1.")]
    Call(CallArgs),
    /// Ask many servers one question
    #[command(after_help = "Examples:
  portolan query when is the next release
  portolan query 'who wrote the importer?' --server git --server notes
  portolan query 'open bugs' --config servers.json --json

Only what changes nothing is called. What the servers say is ranked, the best first.")]
    Query(QueryArgs),
    /// Ask the agent of one server, which chooses among the server's tools
    #[command(after_help = "Examples:
  portolan ask github which issues are open
  portolan ask notes 'remove the note about bees' --allow-destructive
  portolan ask files 'what is in the report?' --config servers.json

Without a model in the settings it goes by search and calls only what changes nothing. A question that fails ends with
code 1.")]
    Ask(AskArgs),
    /// List the agents of the servers, and what each has done
    #[command(after_help = "Examples:
  portolan agents
  portolan agents --json")]
    Agents(AgentsArgs),
    /// Show what has become of a server over time
    #[command(after_help = "Examples:
  portolan history github
  portolan history github --limit 10 --json")]
    History(HistoryArgs),
    /// Follow what happens, until Ctrl-C
    #[command(after_help = "Examples:
  portolan events
  portolan events --json | jq .server_name")]
    Events(EventsArgs),
    /// Set, list and remove what `${NAME}` stands for in registered servers
    #[command(after_help = "Examples:
  portolan secret set GITHUB_TOKEN
  portolan secret list")]
    Secret(SecretArgs),
    /// Print the effective settings and where each came from
    #[command(after_help = "Examples:
  portolan config
  portolan config --json")]
    Config(ConfigArgs),
    /// Say what is wrong with this set-up and how to mend it; with --config, start each of its servers once
    #[command(after_help = "Examples:
  portolan doctor
  portolan doctor --config servers.json")]
    Doctor(DoctorArgs),
    /// Print what a shell needs to complete Portolan's command line
    #[command(after_help = "Examples:
  portolan completions bash > ~/.local/share/bash-completion/completions/portolan
  portolan completions fish > ~/.config/fish/completions/portolan.fish")]
    Completions(CompletionsArgs),
    /// Print the manual page of Portolan or of a verb
    #[command(after_help = "Examples:
  portolan man > portolan.1
  portolan man secret set > portolan-secret-set.1")]
    Man(ManArgs),
}

/// What every verb that runs the gateway takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The servers: a file in the shape of Claude Desktop's or VS Code's
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The settings file, instead of the one in the user's configuration folder
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Log everything
    #[arg(long)]
    pub(crate) debug: bool,
    /// How tools are named towards clients
    #[arg(long, value_name = "auto|dot|colon|safe")]
    pub(crate) names: Option<String>,
    /// The name that is announced to clients
    #[arg(long)]
    pub(crate) name: Option<String>,
}

impl Common {
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            settings: self.settings.clone(),
            config: self.config.clone(),
            names: self.names.clone(),
            name: self.name.clone(),
            debug: self.debug,
            ..Flags::default()
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AggregateArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Alone: print Portolan's version. With a value: the version that is announced to clients
    #[arg(long, value_name = "VERSION", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, alone and with a value are three things to clap")]
    pub(crate) version: Option<Option<String>>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The address to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// The folder of the database and its key
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Print JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The data folder of the Portolan that runs here
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}
