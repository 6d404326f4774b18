//! `chancery plugin`: make, look at, install, grant, take back, try.
//!
//! A plugin is named by the configuration, whose grants each start puts on the record, or installed by a command, and
//! then the record alone says which component runs and what it reaches. A revoked grant stays revoked: a start with
//! the same configuration does not give it again, and says so. What a version asks for beyond another is `fold`'s to
//! say, and who may state it the record's.

pub mod args;
mod build;
mod call;
mod change;
mod fetch;
pub mod follow;
mod grant;
mod inspect;
mod list;
pub mod load;
pub mod lock;
mod new;
mod oci;
pub mod signature;
pub mod source;
mod store;
mod tell;
mod verify;

pub use args::PluginCommand;

use crate::config::Config;
use anyhow::Result;
use event::StreamName;
use std::path::Path;
use std::process::ExitCode;

/// Does what the command says, with the configuration at `path`. Making, building and inspecting need none.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(path: &Path, command: PluginCommand) -> Result<ExitCode> {
    let config = || Config::read(path, std::env::vars());
    match command {
        PluginCommand::New { name, lang } => new::write(&name, lang),
        PluginCommand::Build { folder, out } => build::build(&folder, out.as_deref()),
        PluginCommand::Inspect { source, still, json } => {
            let config = if path.exists() { Some(config()?) } else { None };
            inspect::inspect(config.as_ref(), &source, still, json).await
        }
        PluginCommand::List => list::list(&config()?).await,
        PluginCommand::Install(args) if args.locked => change::install_locked(&config()?, args.act).await,
        PluginCommand::Install(args) => change::install(&config()?, args).await,
        PluginCommand::Update { plugin, source, act } => {
            change::update(&config()?, &plugin, source, act).await
        }
        PluginCommand::Rollback { plugin, act } => change::rollback(&config()?, &plugin, act).await,
        PluginCommand::Remove { plugin, reason, act } => {
            change::remove(&config()?, plugin, reason, act).await
        }
        PluginCommand::Grant(args) => grant::grant(&config()?, args).await,
        PluginCommand::Revoke { plugin, reason, for_good, act } => {
            grant::revoke(&config()?, plugin, reason, for_good, act).await
        }
        PluginCommand::Verify => verify::verify(&config()?).await,
        PluginCommand::Call { tool, args, act } => call::call(&config()?, &tool, &args, act).await,
    }
}

pub(crate) fn stream(plugin: &str) -> StreamName {
    StreamName::new("plugin", plugin)
}
