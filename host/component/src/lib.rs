//! The hands: runs WebAssembly guests within limits, and gives them nothing that was not admitted.
//!
//! A plugin is one component with its manifest inside ([`Artifact`]). [`Plugins::load`] compiles it, links it,
//! asks it once what it offers, and checks that against manifest and grant. [`Hands`] implements the gate's
//! `Reach`, `Catalogue` and `Guards`: each call gets a fresh store on the one [`Engine`], ends by running time, memory or
//! wall clock at the latest ([`Limits`]), and reaches the world by one hook on `egress` alone.
//!
//! What always holds: a guest that spins, grows, recurses, floods or lies harms its own call and no other; WASI
//! is linked and inert; whether a request left, and what was read, is the host's own account.
//!
//! Deliberately absent: any decision about whether a call may be made, the record, the file system.

mod account;
mod artifact;
mod bindings;
mod catalogue;
mod clock;
mod code;
mod compile;
mod convert;
mod engine;
mod guards;
mod guest;
mod hands;
mod limits;
mod link;
mod load_error;
mod log;
mod manifest;
mod meter;
mod offer;
mod office;
mod outgoing;
mod plain;
mod plugin;
mod recall;
mod route;
mod schema;
mod state;
#[cfg(test)]
mod tests;

pub use artifact::{Artifact, ArtifactError, COMPONENT_BYTES_MAX, IMPORTS_MAX, embed};
pub use catalogue::{Plugins, Wanted};
pub use code::CodeError;
pub use compile::{
    Bounds, COMPILE, COMPILE_ENVIRONMENT, CompileError, Compiler, STARTING_BOUNDS, compile_to_output,
};
pub use engine::{Engine, EngineError, EngineParts};
pub use hands::Hands;
pub use limits::{Limits, Pool, TICK_MS};
pub use link::REPEATS_GUESTS;
pub use load_error::LoadError;
pub use manifest::{
    ANY_ORIGIN, MANIFEST_BYTES_MAX, Manifest, ManifestError, ModelEntry, NAME_BYTES_MAX, RouteEntry, SECTION,
    SUMMARY_BYTES_MAX, ToolEntry, World,
};
pub use offer::DESCRIPTION_BYTES_MAX;
pub use outgoing::Clock;
pub use plugin::Loaded;
pub use schema::SCHEMA_BYTES_MAX;
