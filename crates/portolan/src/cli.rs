//! The command line.

use clap::{Args, Parser, Subcommand};
use portolan_config::Flags;
use std::path::PathBuf;

/// One endpoint for any number of MCP servers.
///
/// Without a verb, Portolan is itself an MCP server over stdio that shows the tools of every server in --config.
#[derive(Debug, Parser)]
#[command(name = "portolan", disable_version_flag = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) aggregate: AggregateArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Serve every server over HTTP at one address
    Serve(ServeArgs),
    /// Print the effective settings and where each came from
    Config(ConfigArgs),
    /// Check the configuration and start each server once: what is wrong, and how to mend it
    Doctor(DoctorArgs),
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
    /// Print JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}
