//! What the host offers a guest: one linker for each world, made once.
//!
//! A component gets what its world names, WASI 0.2, and `wasi:http`; an interface that nobody knows is an
//! error that names it, before anything is compiled. Linking WASI grants nothing: see [`crate::state`]. A guard gets
//! nothing at all.
//! The monotonic clock is our own, in place of the one that shows the machine's.

use crate::bindings::{credentials, deltas, log, office, settings};
use crate::clock::HasElapsed;
use crate::log::Level;
use crate::manifest::World;
use crate::route::credential_in;
use crate::state::State;
use futures_util::FutureExt;
use vault::AccountRef;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;

/// What the targets begin with whose lines at the level of a trace repeat all that guests hand to WASI, addresses and
/// bodies of requests among them: whoever keeps a log leaves those lines out.
pub const REPEATS_GUESTS: &str = "wasmtime_wasi";

/// Interfaces of WASI 0.2 that are linked in every world, by package.
const WASI: [(&str, &[&str]); 7] = [
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stderr",
            "stdin",
            "stdout",
            "terminal-input",
            "terminal-output",
            "terminal-stderr",
            "terminal-stdin",
            "terminal-stdout",
        ],
    ),
    ("wasi:clocks", &["monotonic-clock", "wall-clock"]),
    ("wasi:filesystem", &["preopens", "types"]),
    ("wasi:http", &["outgoing-handler", "types"]),
    ("wasi:io", &["error", "poll", "streams"]),
    ("wasi:random", &["insecure", "insecure-seed", "random"]),
    (
        "wasi:sockets",
        &[
            "instance-network",
            "ip-name-lookup",
            "network",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
        ],
    ),
];
/// The line of WASI that is linked; a guest may be built against any release of it.
const WASI_LINE: &str = "0.2.";
/// The one version of our own packages there is.
const OWN_VERSION: &str = "0.1.0";

/// The linkers.
pub(crate) struct Linkers {
    pub(crate) tool: Linker<State>,
    pub(crate) model: Linker<State>,
    /// With nothing in it, and so it stays.
    pub(crate) guard: Linker<State>,
}

impl Linkers {
    pub(crate) fn new(engine: &wasmtime::Engine) -> wasmtime::Result<Self> {
        let mut tool = common(engine)?;
        office::add_to_linker::<_, HasSelf<State>>(&mut tool, |state| state)?;
        let mut model = common(engine)?;
        deltas::add_to_linker::<_, HasSelf<State>>(&mut model, |state| state)?;
        Ok(Self { tool, model, guard: Linker::new(engine) })
    }
}

fn common(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<_, HasElapsed>(&mut linker, State::elapsed)?;
    linker.allow_shadowing(false);
    log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    settings::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    credentials::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// Whether `import`, such as `wasi:io/poll@0.2.6`, is something a component of `world` can be given.
pub(crate) fn is_offered(world: World, import: &str) -> bool {
    if world == World::Guard {
        return false;
    }
    let Some((path, version)) = import.split_once('@') else { return false };
    let Some((package, interface)) = path.split_once('/') else { return false };
    match package {
        "chancery:types" => version == OWN_VERSION && interface == "types",
        "chancery:host" => version == OWN_VERSION && own(world).contains(&interface),
        _ => {
            let mut packages = WASI.iter();
            version.starts_with(WASI_LINE)
                && packages.any(|(name, interfaces)| *name == package && interfaces.contains(&interface))
        }
    }
}

/// What is offered in `world`, for people.
pub(crate) fn offered(world: World) -> String {
    let own = own(world).iter().map(|interface| format!("chancery:host/{interface}@{OWN_VERSION}"));
    let wasi = WASI.iter().map(|(package, _)| format!("{package}@{WASI_LINE}x"));
    own.chain(wasi).collect::<Vec<_>>().join(", ")
}

fn own(world: World) -> &'static [&'static str] {
    match world {
        World::Tool => &["log", "settings", "credentials", "office"],
        World::Plain => &["log", "settings", "credentials"],
        World::Model => &["log", "settings", "credentials", "deltas"],
        World::Guard => &[],
    }
}

impl log::Host for State {
    fn write(&mut self, level: log::Level, line: String) {
        let level = match level {
            log::Level::Debug => Level::Debug,
            log::Level::Info => Level::Info,
            log::Level::Warn => Level::Warn,
        };
        self.lines.write(level, &line);
    }
}

impl settings::Host for State {
    fn get(&mut self, key: String) -> Option<String> {
        self.settings.get(&key).map(ToString::to_string)
    }
}

impl credentials::Host for State {
    /// Asks the vault for the value, and drops it unseen: a reference without a value is not a credential.
    fn exists(&mut self, reference: String) -> bool {
        // A guest knows neither owners nor workspaces: whose account it is was decided when the call was admitted.
        let mut named = self.routes.iter().filter_map(|route| route.credential.as_deref());
        let named = named.find(|named| AccountRef::plain(named) == reference);
        let named = named.map(|named| credential_in(named, self.workspace.as_deref()));
        let vault = self.vault.as_ref();
        named.is_some_and(|named| vault.is_some_and(|vault| vault.get(&named).is_ok()))
    }
}

impl deltas::Host for State {
    fn write(&mut self, text: String) -> deltas::Next {
        let Some(deltas) = &self.deltas else { return deltas::Next::GoOn };
        match self.deltas_left.checked_sub(text.len()) {
            // A hole in the text would be worse than its end.
            None => self.deltas_left = 0,
            Some(left) => {
                self.deltas_left = left;
                if !text.is_empty() {
                    deltas.write(&text);
                }
            }
        }
        match deltas.stopped().now_or_never() {
            Some(()) => deltas::Next::Stop,
            None => deltas::Next::GoOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_offered, offered};
    use crate::manifest::World;

    #[test]
    fn an_interface_is_offered_by_world_and_version() {
        for (world, import, wanted) in [
            (World::Tool, "chancery:host/log@0.1.0", true),
            (World::Tool, "chancery:host/deltas@0.1.0", false),
            (World::Tool, "chancery:host/office@0.1.0", true),
            (World::Plain, "chancery:host/office@0.1.0", false),
            (World::Model, "chancery:host/office@0.1.0", false),
            (World::Model, "chancery:host/deltas@0.1.0", true),
            (World::Tool, "chancery:host/log@0.2.0", false),
            (World::Tool, "chancery:types/types@0.1.0", true),
            (World::Tool, "wasi:http/outgoing-handler@0.2.12", true),
            (World::Tool, "wasi:http/incoming-handler@0.2.12", false),
            (World::Tool, "wasi:io/poll@0.3.0", false),
            (World::Tool, "wasi:io/poll", false),
            (World::Tool, "wasi:keyvalue/store@0.2.0", false),
            (World::Tool, "acme:beam/teleport@1.0.0", false),
            (World::Tool, "beam", false),
            (World::Guard, "chancery:host/log@0.1.0", false),
            (World::Guard, "chancery:types/types@0.1.0", false),
            (World::Guard, "wasi:io/poll@0.2.6", false),
        ] {
            assert_eq!(is_offered(world, import), wanted, "{import}");
        }
    }

    #[test]
    fn what_is_offered_can_be_read() {
        let text = offered(World::Model);
        assert!(text.starts_with("chancery:host/log@0.1.0") && text.contains("wasi:http@0.2.x"), "{text}");
        assert!(!offered(World::Tool).contains("deltas"));
    }
}
