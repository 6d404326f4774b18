//! Why a plugin does not load: for an operator, who reads what to do next.

use crate::artifact::ArtifactError;
use crate::compile::CompileError;
use crate::manifest::World;
use event::Digest;
use std::io;

/// Why a plugin does not load. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its file cannot be read.
    #[error("the plugin file `{path}` cannot be read: check the path and its rights")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Its file is no plugin.
    #[error("`{path}` is not a plugin")]
    NotAPlugin {
        /// The file.
        path: String,
        /// Why not.
        source: ArtifactError,
    },
    /// It imports an interface that nobody knows.
    #[error(
        "the plugin `{plugin}` imports `{interface}`, which nobody here offers: a plugin of its world is offered {offered}"
    )]
    UnknownInterface {
        /// The plugin.
        plugin: String,
        /// The interface.
        interface: String,
        /// What is offered.
        offered: String,
    },
    /// It is a guard and imports something.
    #[error(
        "the guard `{plugin}` imports `{interface}`, and a guard is offered nothing: it looks at the call it is given; \
         rebuild it without that import"
    )]
    GuardImports {
        /// The guard.
        plugin: String,
        /// The interface.
        interface: String,
    },
    /// It is a guard and was granted something.
    #[error(
        "the guard `{plugin}` was given {what}, and a guard has no use for it: take it out of its `[[plugin]]` in the \
         configuration"
    )]
    GuardGranted {
        /// The guard.
        plugin: String,
        /// What it was given.
        what: &'static str,
    },
    /// It was granted a folder that its manifest does not ask for.
    #[error(
        "the plugin `{plugin}` was granted the folder `{at}` {rights}, and its manifest does not ask for that: take it \
         out of its `[[plugin]]` in the configuration"
    )]
    FolderNotAsked {
        /// The plugin.
        plugin: String,
        /// The folder, by the plugin's name for it.
        at: String,
        /// What it was granted for.
        rights: &'static str,
    },
    /// It was granted something of the office that its manifest does not ask for.
    #[error(
        "the plugin `{plugin}` was granted the handle `{handle}`, and its manifest does not ask for that: take it out of \
         its `[[plugin]]` in the configuration"
    )]
    HandleNotAsked {
        /// The plugin.
        plugin: String,
        /// The handle.
        handle: &'static str,
    },
    /// It is given the office's own, and was granted a way out beside it.
    #[error(
        "the plugin `{plugin}` is given handles of the office and was granted a route: what reads the record has no way \
         out; take the routes out of its `[[plugin]]`"
    )]
    HandlesAndRoute {
        /// The plugin.
        plugin: String,
    },
    /// It does not start, though it compiles.
    #[error("the guard `{plugin}` does not start: {reason}; leave it out, or use a version that starts")]
    NotStarted {
        /// The guard.
        plugin: String,
        /// What happened.
        reason: String,
    },
    /// There are more guards than every call can wait for.
    #[error("there are more than {max} guards, and every call waits for all that see it: leave some out")]
    TooManyGuards {
        /// The most.
        max: usize,
    },
    /// It does not compile.
    #[error("the plugin `{plugin}` does not compile: rebuild it without the features this engine leaves out")]
    Compile {
        /// The plugin.
        plugin: String,
        /// What the compiler says.
        #[source]
        source: CompileError,
    },
    /// Compiling it takes more time or memory than it may.
    #[error(
        "compiling the plugin `{plugin}` takes more than {wall_s} s or {memory_mib} MiB: whoever built it may make its \
         functions smaller, and `[plugins] compile_ms` and `compile_mib` allow more"
    )]
    TooCostly {
        /// The plugin.
        plugin: String,
        /// The bound on time, in seconds.
        wall_s: u64,
        /// The bound on memory, in mebibytes.
        memory_mib: u64,
    },
    /// Nothing compiled it.
    #[error("the plugin `{plugin}` could not be compiled; that is this host's trouble and not the plugin's")]
    NotCompiled {
        /// The plugin.
        plugin: String,
        /// What went wrong.
        #[source]
        source: CompileError,
    },
    /// It does not export its world, or imports something by another type.
    #[error(
        "the plugin `{plugin}` does not fit the world `{world}` its manifest names: rebuild it against this WIT"
    )]
    OtherWorld {
        /// The plugin.
        plugin: String,
        /// The world.
        world: World,
        /// What does not fit.
        #[source]
        source: wasmtime::Error,
    },
    /// Its manifest says that it can read back its effects, and it exports nothing that does.
    #[error(
        "the manifest of `{plugin}` says `recall = true`, and it does not export `chancery:tool/recalls`: export it, or \
         take that out"
    )]
    NoRecall {
        /// The plugin.
        plugin: String,
        /// What is missing.
        #[source]
        source: wasmtime::Error,
    },
    /// It did not say what it offers, or something else than its manifest.
    #[error("the plugin `{plugin}` does not define what its manifest says: {reason}")]
    Definitions {
        /// The plugin.
        plugin: String,
        /// What is wrong.
        reason: String,
    },
    /// The operator's grant is for another component.
    #[error(
        "the plugin `{plugin}` changed since it was granted: the grant is for {granted}, the file is {found}; look at \
         what it asks for and grant it anew"
    )]
    OtherDigest {
        /// The plugin.
        plugin: String,
        /// What the grant is for.
        granted: Digest,
        /// What was found.
        found: Digest,
    },
    /// Two plugins offer the same.
    #[error("`{name}` is offered by two plugins, `{first}` and `{second}`: leave one of them out")]
    Twice {
        /// The plugin, tool or model.
        name: String,
        /// One plugin's file or name.
        first: String,
        /// The other's.
        second: String,
    },
}
