//! What an operator types after `chancery plugin`.

use super::source::Pinned;
use crate::seat::ActArgs;
use clap::{Args, Subcommand, ValueEnum};
use event::{Digest, Handle};
use std::path::PathBuf;

/// Make, look at, install and grant plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List the plugins with digest, world, tools and grants.
    List,
    /// Write a new plugin into a folder of its name: one tool, its manifest, and how to build it.
    New {
        /// The plugin: lower-case letters, digits and hyphens.
        name: String,
        /// The language it is written in.
        #[arg(long, value_enum, default_value_t = Language::Rust)]
        lang: Language,
    },
    /// Build the plugin in a folder into one `.wasm` file with its manifest inside.
    Build {
        /// The folder, with a `plugin.toml` in it.
        #[arg(default_value = ".", value_name = "DIR")]
        folder: PathBuf,
        /// Where the component is written; `NAME.wasm` in the folder when absent.
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Say what a plugin is, offers, asks for and would be granted. Installs nothing.
    ///
    /// What it offers is asked of it in the sandbox, with nothing granted.
    Inspect {
        /// A file, an `https://` address, or a reference `oci://registry/repository:tag`; each may end in `@sha256:…`.
        source: Pinned,
        /// Run nothing of it: leave out descriptions and schemas.
        #[arg(long)]
        still: bool,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Install a plugin. It reaches nothing until it is granted.
    Install(InstallArgs),
    /// Install the newest version from where a plugin came from, or another. One that asks for more waits.
    Update {
        /// The plugin.
        plugin: String,
        /// Another place; where it came from when absent.
        source: Option<Pinned>,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Grant a plugin what it asks for, or a version that waits; of a plugin of the configuration what stands there.
    Grant(GrantArgs),
    /// Take back what a plugin was granted: from its next call on it reaches nothing.
    Revoke {
        /// The plugin.
        plugin: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Also never run its component again, here or installed anew: there is no way back.
        #[arg(long)]
        for_good: bool,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Go back to the version of a plugin before the one in force, with what that was granted.
    Rollback {
        /// The plugin.
        plugin: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Remove a plugin that a command installed. Refused while policies name its tools.
    Remove {
        /// The plugin.
        plugin: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Check what is installed: files against digests, signatures, and the lock file against the record.
    Verify,
    /// Call a tool by hand, through the gate, in a seat of yours. It is on the record like any other call.
    Call {
        /// The tool, such as `web.fetch`.
        tool: String,
        /// Its arguments: one JSON object.
        #[arg(long, default_value = "{}", value_name = "JSON")]
        args: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
}

/// What a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, for `wasm32-unknown-unknown`.
    Rust,
    /// JavaScript, by componentize-js.
    Js,
    /// Python, by componentize-py.
    Python,
}

/// What to install.
#[derive(Clone, Debug, Args)]
pub struct InstallArgs {
    /// A file, an `https://` address, or a reference `oci://registry/repository:tag`; each may end in `@sha256:…`.
    #[arg(required_unless_present = "locked")]
    pub source: Option<Pinned>,
    /// The digest that the component must have.
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    pub digest: Option<Digest>,
    /// Grant it what it asks for at once.
    #[arg(long)]
    pub grant: bool,
    /// Every plugin of the lock file instead, exactly as it stands there, and grant what stands there.
    #[arg(long, conflicts_with_all = ["source", "digest", "grant"])]
    pub locked: bool,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

/// What to grant.
#[derive(Clone, Debug, Args)]
pub struct GrantArgs {
    /// The plugin.
    pub plugin: String,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// A way out, instead of all it asks for: `'GET,HEAD https://a.example/path CREDENTIAL'`, path and credential as far
    /// as there are any; may be repeated. It must be one that the plugin asks for.
    #[arg(long = "route", value_name = "ROUTE")]
    pub routes: Vec<String>,
    /// What of the office its calls may be given, instead of all it asks for: place, seat, purse, agenda or wishes; may be
    /// repeated.
    #[arg(long = "handle", value_name = "HANDLE", value_parser = handle)]
    pub handles: Vec<Handle>,
    /// A setting as the plugin reads it, never a secret: `key=value`, the value as JSON or as text; may be repeated.
    #[arg(long = "setting", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

fn handle(text: &str) -> Result<Handle, String> {
    Handle::of_word(text)
        .ok_or_else(|| format!("a handle is one of {}", Handle::ALL.map(Handle::word).join(", ")))
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text.strip_prefix("sha256:").unwrap_or(text))
        .ok_or_else(|| "a digest is 64 hexadecimal digits".to_owned())
}
