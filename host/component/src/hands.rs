//! The hands: a call that was admitted, run.
//!
//! [`Hands`] answers the gate's two questions, what can be called and what comes of a call. A permit is
//! unpacked here and nowhere else. Whatever a guest does comes back as data: a failure names the limit, and
//! whether a request left is the host's own account.

use crate::account::Account;
use crate::catalogue::Plugins;
use crate::convert;
use crate::engine::Engine;
use crate::guest;
use crate::limits::Limits;
use crate::log::plain;
use crate::manifest::World;
use crate::offer::{Ready, ReadyTool};
use crate::outgoing::{Clock, Way};
use crate::plugin::Loaded;
use crate::state::Lent;
use egress::Egress;
use event::{Digest, Handle, Route, Timestamp};
use gate::{
    Catalogue, Deltas, EffectClass, Failure, FailureKind, InferRequest, ModelSpec, Output, Payload, Permit,
    Reach, Reached, Resource, ToolSpec, Verbs, recall_tool,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;
use vault::Vault;

/// Time enough for a guest to turn a timeout into a failure of its own.
const LAST_WORDS_MS_MAX: u64 = 500;

/// How long a model guest that was told to stop has to hang up and say so. Within a second of the word everything is
/// over, and a guest that waits for its provider's first byte cannot hear the word at all.
const HANG_UP_MS: u64 = 250;
/// What is said of a call that was stopped.
const STOPPED: &str = "it was stopped before the model had answered";

/// Longest reason of the way out that goes with a failure: it may name all routes that were granted.
const REASON_BYTES_MAX: usize = 1024;

/// Runs components. One for the host.
pub struct Hands {
    pub(crate) engine: Arc<Engine>,
    sets: RwLock<Sets>,
    egress: Arc<Egress>,
    vault: Arc<Vault>,
    clock: Clock,
    /// Where people connect accounts, by the credential whose place such an account takes.
    services: BTreeMap<String, String>,
}

/// The plugins that can be called, and those before them: a call that was admitted just before the change finishes on
/// the component it was admitted for.
struct Sets {
    now: Arc<Plugins>,
    before: Option<Arc<Plugins>>,
    revision: u64,
}

/// What a permit comes to: plain parts, so that what runs does not depend on how it was admitted.
pub(crate) struct Request {
    pub(crate) plugin: String,
    pub(crate) digest: Digest,
    pub(crate) tool: String,
    pub(crate) payload: Payload,
    pub(crate) effect: EffectClass,
    pub(crate) routes: Vec<Route>,
    /// The workspace it is made in, for a plugin that works in several.
    pub(crate) workspace: Option<String>,
    /// The effect's name; empty for a read.
    pub(crate) key: String,
    pub(crate) origin: String,
    pub(crate) at: Timestamp,
    pub(crate) deltas: Option<Arc<dyn Deltas>>,
    pub(crate) verbs: Option<Verbs>,
}

impl Hands {
    /// Hands that run `plugins` on `engine`. `clock` is the host's, for the time of a reading.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        plugins: Plugins,
        egress: Arc<Egress>,
        vault: Arc<Vault>,
        clock: Clock,
    ) -> Self {
        let sets = Sets { now: Arc::new(plugins), before: None, revision: 0 };
        Self { engine, sets: RwLock::new(sets), egress, vault, clock, services: BTreeMap::new() }
    }

    /// The same hands, where people connect accounts at `services`: what they call each, by the credential whose place
    /// an account of theirs takes.
    #[must_use]
    pub fn with_services(self, services: BTreeMap<String, String>) -> Self {
        Self { services, ..self }
    }

    /// The plugins that can be called now.
    #[must_use]
    pub fn plugins(&self) -> Arc<Plugins> {
        self.sets.read().unwrap_or_else(PoisonError::into_inner).now.clone()
    }

    /// Takes another set of plugins. Calls that run keep the set they began with, and one that was admitted just
    /// before still finds its component.
    pub fn replace(&self, plugins: Plugins) {
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut sets.now, Arc::new(plugins));
        sets.before = Some(before);
        sets.revision = sets.revision.wrapping_add(1);
    }

    /// Where credentials are: what services give to the office is kept there.
    #[must_use]
    pub fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// The way out that calls go by.
    #[must_use]
    pub fn egress(&self) -> &Arc<Egress> {
        &self.egress
    }

    /// The engine they run on.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The component that was admitted, from the set of now or the one before it.
    pub(crate) fn admitted_component(&self, plugin: &str, digest: &Digest) -> Option<Arc<Loaded>> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::iter::once(&sets.now).chain(&sets.before);
        all.find_map(|set| set.get(plugin).filter(|loaded| loaded.digest() == digest).cloned())
    }

    pub(crate) async fn run(&self, request: Request) -> Reached {
        let account = Account::default();
        let ran = self.admitted(request, &account).await;
        let settled = account.settle();
        let outcome = ran.map_err(|failure| explained(failure, settled.refused));
        Reached { outcome, request_sent: settled.request_sent, readings: settled.readings }
    }

    async fn admitted(&self, request: Request, account: &Account) -> Result<Output, Failure> {
        let loaded = self.admitted_component(&request.plugin, &request.digest).ok_or_else(|| {
            let (plugin, digest) = (&request.plugin, request.digest.short());
            failed(
                FailureKind::Unavailable,
                format!("the component {digest} of `{plugin}` that was admitted is not loaded any more"),
            )
        })?;
        let loaded = loaded.as_ref();
        let limits = loaded.limits(&self.engine);
        let deadline = Instant::now() + Duration::from_millis(limits.wall_ms);
        let lent = self.lend(&request, loaded, limits, deadline, account);
        match (&loaded.ready, request.payload) {
            (Ready::Tool { recall: Some(_), .. }, Payload::Tool(input))
                if request.tool == recall_tool(&request.plugin) =>
            {
                self.call_recall(loaded, &input, lent, deadline).await
            }
            (Ready::Tool { tools, .. }, Payload::Tool(input)) if tools.contains_key(&request.tool) => {
                self.call_tool(loaded, &request.tool, &input, request.key, lent, deadline).await
            }
            (Ready::Model { .. }, Payload::Infer(asked)) => {
                self.call_model(loaded, &request.tool, asked.into_inner(), lent, deadline).await
            }
            (Ready::Plain { pre, tools }, Payload::Tool(input)) if tools.contains_key(&request.tool) => {
                let tool = tools.get(&request.tool).ok_or_else(|| not_offered(&request.tool))?;
                self.call_plain(pre, tool, &input, lent, deadline).await
            }
            _ => Err(failed(
                FailureKind::Guest,
                format!("`{}` does not offer `{}`", request.plugin, request.tool),
            )),
        }
    }

    fn lend(
        &self,
        request: &Request,
        loaded: &Loaded,
        limits: &Limits,
        deadline: Instant,
        account: &Account,
    ) -> Lent {
        let workspace = request.workspace.as_deref().filter(|_| loaded.manifest().workspaces);
        let way = Way {
            plugin: request.plugin.as_str().into(),
            egress: self.egress.clone(),
            routes: request.routes.clone().into(),
            operations: loaded.manifest().operations().into(),
            effect: request.effect,
            deadline: deadline - Duration::from_millis(last_words_ms(limits)),
            clock: self.clock.clone(),
            account: account.clone(),
            limits: *limits,
            flows: matches!(loaded.ready, Ready::Model { .. }),
            workspace: workspace.map(Into::into),
        };
        Lent {
            plugin: request.plugin.as_str().into(),
            origin: request.origin.clone(),
            at: request.at,
            settings: loaded.settings.clone(),
            directories: loaded.directories.clone(),
            way: Some(way),
            vault: Some(self.vault.clone()),
            deltas: request.deltas.clone(),
            verbs: request.verbs.clone(),
        }
    }

    async fn call_tool(
        &self,
        loaded: &Loaded,
        name: &str,
        input: &Value,
        key: String,
        lent: Lent,
        deadline: Instant,
    ) -> Result<Output, Failure> {
        use crate::bindings::tool::exports::chancery::tool::tools::ToolCall;
        let Ready::Tool { pre, tools, .. } = &loaded.ready else { return Err(not_offered(name)) };
        let tool = tools.get(name).ok_or_else(|| not_offered(name))?;
        let limits = loaded.limits(&self.engine);
        let call = ToolCall { tool: name.to_owned(), input: input.to_string(), key };
        if call.input.len() > limits.input_bytes {
            let message = format!("the input of `{name}` is longer than {} bytes", limits.input_bytes);
            return Err(failed(FailureKind::InvalidInput, message));
        }
        let pre = pre.clone();
        let ran = guest::run(&self.engine, World::Tool, lent, deadline, move |store| {
            Box::pin(async move {
                let tool = pre.instantiate_async(&mut *store).await?;
                tool.chancery_tool_tools().call_call(store, &call).await
            })
        });
        match ran.await.map_err(|ended| ended.failure(name, limits))? {
            Err(failure) => Err(convert::tool_failure(failure, limits)),
            Ok(text) => output(tool, &text, limits).map(Output::Tool).map_err(|reason| {
                failed(
                    FailureKind::Guest,
                    format!("`{name}` answered outside its schema or limits: {reason}"),
                )
            }),
        }
    }

    async fn call_model(
        &self,
        loaded: &Loaded,
        name: &str,
        asked: InferRequest,
        lent: Lent,
        deadline: Instant,
    ) -> Result<Output, Failure> {
        let Ready::Model { pre, .. } = &loaded.ready else { return Err(not_offered(name)) };
        let limits = loaded.limits(&self.engine);
        let request = convert::request(&loaded.manifest().name, asked);
        if convert::request_bytes(&request) > limits.input_bytes {
            let message =
                format!("the conversation for `{name}` is longer than {} bytes", limits.input_bytes);
            return Err(failed(FailureKind::TooLong, message));
        }
        let (pre, deltas) = (pre.clone(), lent.deltas.clone());
        let ran = guest::run(&self.engine, World::Model, lent, deadline, move |store| {
            Box::pin(async move {
                let model = pre.instantiate_async(&mut *store).await?;
                model.chancery_model_inference().call_infer(store, &request).await
            })
        });
        let ran = tokio::select! {
            biased;
            ran = ran => ran,
            () = left_alone(deltas.as_deref()) => return Err(failed(FailureKind::Stopped, STOPPED.to_owned())),
        };
        match ran.map_err(|ended| ended.failure(name, limits))? {
            Err(failure) => convert::model_failure(failure, limits),
            Ok(response) => convert::response(response, limits).map(Output::Model).map_err(|reason| {
                failed(FailureKind::Guest, format!("`{name}` answered outside its limits: {reason}"))
            }),
        }
    }
}

/// Returns when nobody has waited for the answer for [`HANG_UP_MS`].
async fn left_alone(deltas: Option<&dyn Deltas>) {
    let Some(deltas) = deltas else { return std::future::pending().await };
    deltas.stopped().await;
    tokio::time::sleep(Duration::from_millis(HANG_UP_MS)).await;
}

/// How long before its end a call's requests end: so that the guest can still say what happened.
fn last_words_ms(limits: &Limits) -> u64 {
    LAST_WORDS_MS_MAX.min(limits.wall_ms / 10)
}

/// The output, if it is JSON within its limits that fits the tool's schema.
pub(crate) fn output(tool: &ReadyTool, text: &str, limits: &Limits) -> Result<Value, String> {
    if text.len() > limits.output_bytes {
        return Err(format!("{} bytes, and {} is the most", text.len(), limits.output_bytes));
    }
    let value = convert::json(text)?;
    tool.output.check(&value)?;
    Ok(value)
}

/// A guest is told a code; the way out's own reason goes with the failure, for the model and the person who read
/// it, when a refusal was the last thing that happened there.
fn explained(failure: Failure, refused: Option<String>) -> Failure {
    let Some(reason) = refused else { return failure };
    let message = format!("{} (the way out says: {})", failure.message, plain(&reason, REASON_BYTES_MAX));
    Failure { message, ..failure }
}

pub(crate) fn not_offered(name: &str) -> Failure {
    failed(FailureKind::Guest, format!("`{name}` is not offered by the component that was admitted"))
}

pub(crate) fn failed(kind: FailureKind, message: String) -> Failure {
    Failure { kind, message, retry_after_ms: None }
}

#[async_trait::async_trait]
impl Reach for Hands {
    async fn reach(&self, permit: Permit) -> Reached {
        self.run(Request {
            plugin: permit.plugin().to_owned(),
            digest: permit.digest().clone(),
            tool: permit.tool().to_owned(),
            payload: permit.payload().clone(),
            effect: permit.effect(),
            routes: permit.routes().to_vec(),
            workspace: permit.workspace().map(str::to_owned),
            key: permit.effect_id().map(|id| id.as_str().to_owned()).unwrap_or_default(),
            origin: permit.origin().to_string(),
            at: permit.at(),
            deltas: permit.deltas().cloned(),
            verbs: permit.verbs().cloned(),
        })
        .await
    }
}

/// The plugins that can be called now, asked in their own words.
impl Catalogue for Hands {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.plugins().tools()
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        self.plugins().models()
    }

    fn named(&self) -> Vec<Arc<ToolSpec>> {
        self.plugins().named()
    }

    fn revision(&self) -> u64 {
        self.sets.read().unwrap_or_else(PoisonError::into_inner).revision
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.plugins().tool(name)
    }

    fn model(&self, name: &str) -> Option<Arc<ModelSpec>> {
        self.plugins().model(name)
    }

    fn routes(&self, plugin: &str) -> Vec<Route> {
        self.plugins().routes(plugin)
    }

    fn service(&self, credential: &str) -> Option<String> {
        self.services.get(credential).cloned()
    }

    fn handles(&self, tool: &str) -> Vec<Handle> {
        self.plugins().handles(tool)
    }

    fn call_ms_max(&self, name: &str) -> Option<u64> {
        let plugins = self.plugins();
        let tool = plugins.tool(name).map(|tool| tool.plugin.clone());
        let plugin = tool.or_else(|| plugins.model(name).map(|model| model.plugin.clone()))?;
        Some(plugins.get(&plugin)?.limits(&self.engine).wall_ms)
    }

    fn resource(&self, tool: &ToolSpec, input: &Value) -> Result<Resource, String> {
        self.plugins().resource(tool, input)
    }

    fn check_input(&self, tool: &ToolSpec, input: &Value) -> Result<(), String> {
        self.plugins().check_input(tool, input)
    }
}
