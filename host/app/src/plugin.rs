//! `chancery plugin`: what is configured and granted, and taking a grant back or giving it anew.
//!
//! A revoked grant stays revoked: a start with the same configuration does not give it again, and says so.

use crate::config::Config;
use crate::look;
use crate::owner::{Acting, print_stated};
use crate::seat::ActArgs;
use crate::wire;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use event::{Fact, PluginGranted, PluginRevoked, StreamName};
use fold::setting;
use record::RowKey;
use std::process::ExitCode;

/// Look at the plugins, take their grants back and give them anew.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List the configured plugins with digest, world, tools and grants.
    List,
    /// Take back what a plugin was granted: from its next call on it reaches nothing.
    Revoke {
        /// The plugin.
        plugin: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Grant a plugin what the configuration says, anew after it was revoked.
    Grant {
        /// The plugin.
        plugin: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: PluginCommand) -> Result<ExitCode> {
    match command {
        PluginCommand::List => return look::plugin_list(config).await,
        PluginCommand::Revoke { plugin, reason, act } => {
            let acting = Acting::open(config, act.as_seat).await?;
            let key = setting::grant(&plugin);
            let stated = acting.state(vec![RowKey::new("setting", key.clone())], move |rows, _| {
                if rows.state::<PluginGranted>("setting", &key).is_none() {
                    bail!(
                        "the record holds no grant for `{}`; `chancery plugin list` shows each",
                        plugin.escape_debug()
                    );
                }
                Ok(vec![(stream(&plugin), Fact::from(PluginRevoked { plugin, reason }))])
            });
            print_stated(&stated.await?);
            println!("it reaches nothing from its next call on, and a start does not grant it again");
        }
        PluginCommand::Grant { plugin, reason, act } => {
            let mut installed = wire::install(config).await?;
            let granted = installed.grants.remove(&plugin).with_context(|| {
                format!("no [[plugin]] of the configuration is called `{}`", plugin.escape_debug())
            })?;
            let granted = PluginGranted { reason, ..granted };
            let acting = Acting::open(config, act.as_seat).await?;
            let stated =
                acting.state(Vec::new(), move |_, _| Ok(vec![(stream(&plugin), Fact::from(granted))]));
            print_stated(&stated.await?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn stream(plugin: &str) -> StreamName {
    StreamName::new("plugin", plugin)
}
