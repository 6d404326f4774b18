//! What one store holds: the host's side of one call, made for it and dropped with it.
//!
//! WASI is there and inert. No folder but those granted, no environment, no arguments, no address, no name is given to it;
//! standard output is the log; the clock is the call's recorded time; randomness comes from the call's origin,
//! so that the same call draws the same numbers when it is run again.

use crate::clock::{Elapsed, ElapsedView, Recorded};
use crate::limits::Limits;
use crate::log::Lines;
use crate::meter::Taken;
use crate::outgoing::{Outgoing, Way};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use event::{Directory, Route, Timestamp};
use gate::{Deltas, Verbs};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use vault::Vault;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// What a call is lent beside its limits. [`Lent::nothing`] for one that only asks for definitions.
pub(crate) struct Lent {
    pub(crate) plugin: Arc<str>,
    /// What randomness is drawn from: the call's origin.
    pub(crate) origin: String,
    pub(crate) at: Timestamp,
    pub(crate) settings: Arc<BTreeMap<String, Value>>,
    /// Folders it may see.
    pub(crate) directories: Arc<[Directory]>,
    pub(crate) way: Option<Way>,
    pub(crate) vault: Option<Arc<Vault>>,
    pub(crate) deltas: Option<Arc<dyn Deltas>>,
    /// What of the office it may use.
    pub(crate) verbs: Option<Verbs>,
}

impl Lent {
    pub(crate) fn nothing(plugin: &str) -> Self {
        Self {
            plugin: plugin.into(),
            origin: format!("definitions of {plugin}"),
            at: Timestamp::default(),
            settings: Arc::default(),
            directories: Arc::new([]),
            way: None,
            vault: None,
            deltas: None,
            verbs: None,
        }
    }
}

/// The data of a store.
pub(crate) struct State {
    pub(crate) taken: Taken,
    pub(crate) lines: Lines,
    pub(crate) settings: Arc<BTreeMap<String, Value>>,
    pub(crate) vault: Option<Arc<Vault>>,
    pub(crate) routes: Arc<[Route]>,
    pub(crate) workspace: Option<Arc<str>>,
    pub(crate) deltas: Option<Arc<dyn Deltas>>,
    /// Bytes of deltas that may still be shown.
    pub(crate) deltas_left: usize,
    /// What of the office it may use; nothing once that was given.
    pub(crate) verbs: Option<Verbs>,
    pub(crate) table: ResourceTable,
    wasi: WasiCtx,
    elapsed: Elapsed,
    http: WasiHttpCtx,
    outgoing: Outgoing,
}

impl State {
    pub(crate) fn new(lent: Lent, limits: &Limits) -> Self {
        let lines = Lines::new(&lent.plugin, limits);
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.resources);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(limits.header_bytes);
        Self {
            taken: Taken::new(*limits),
            wasi: wasi(&lines, &lent, limits),
            lines,
            settings: lent.settings,
            vault: lent.vault,
            routes: lent.way.as_ref().map_or_else(|| Arc::new([]) as Arc<[Route]>, |way| way.routes.clone()),
            workspace: lent.way.as_ref().and_then(|way| way.workspace.clone()),
            deltas: lent.deltas,
            deltas_left: limits.output_bytes,
            verbs: lent.verbs,
            table,
            elapsed: Elapsed::default(),
            http,
            outgoing: Outgoing::new(lent.way),
        }
    }

    /// The call's monotonic clock.
    pub(crate) fn elapsed(&mut self) -> ElapsedView<'_> {
        ElapsedView { elapsed: &self.elapsed, table: &mut self.table }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.outgoing, table: &mut self.table, ctx: &mut self.http }
    }
}

/// WASI with nothing but the folders that were granted. Every refusal is spelled out, so that a changed default changes
/// nothing here. A folder that is not there any more is left out, and the operator told: the guest finds none.
fn wasi(lines: &Lines, lent: &Lent, limits: &Limits) -> WasiCtx {
    let mut insecure = drawn_from("insecure", &lent.origin);
    let seed = (u128::from(insecure.next_u64()) << 64) | u128::from(insecure.next_u64());
    let mut builder = WasiCtx::builder();
    for Directory { at, path, write } in lent.directories.iter() {
        let rights = if *write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        if let Err(error) = builder.preopened_dir(path, at, rights) {
            tracing::warn!(plugin = &*lent.plugin, "the granted folder `{path}` cannot be opened: {error:#}");
        }
    }
    builder
        .stdout(lines.clone())
        .stderr(lines.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .socket_addr_check(|_, _| Box::pin(std::future::ready(false)))
        .wall_clock(Recorded(lent.at))
        .secure_random(drawn_from("random", &lent.origin))
        .insecure_random(insecure)
        .insecure_random_seed(seed)
        .max_random_size(limits.random_bytes)
        .build()
}

/// Numbers that depend on the call and what they are for, and on nothing else. Not secret: whoever knows the
/// origin can draw them too, so nothing secret may be made of them.
fn drawn_from(purpose: &str, origin: &str) -> ChaCha20Rng {
    let mut seed = Sha256::new();
    seed.update(purpose.as_bytes());
    seed.update([0]);
    seed.update(origin.as_bytes());
    ChaCha20Rng::from_seed(seed.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::drawn_from;
    use chacha20::rand_core::Rng;

    #[test]
    fn the_same_call_draws_the_same_numbers_and_another_draws_others() {
        let first = |purpose, origin| drawn_from(purpose, origin).next_u64();
        assert_eq!(first("random", "turn_1/1/1"), first("random", "turn_1/1/1"));
        assert_ne!(first("random", "turn_1/1/1"), first("random", "turn_1/1/2"));
        assert_ne!(first("random", "turn_1/1/1"), first("insecure", "turn_1/1/1"));
    }
}
