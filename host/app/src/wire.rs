//! Everything built once, in layer order: record, vault, egress, component, settings, gate.
//!
//! Nothing here decides anything; it only says which part is given to which.

use crate::config::{Config, SecretSource};
use crate::seed;
use anyhow::{Context, Result, bail};
use component::{Artifact, Engine, EngineParts, Hands, Plugins, Pool};
use egress::{Egress, EgressConfig, Origin, Resolve};
use event::{Digest, PluginGranted, SeatId, Timestamp};
use fold::setting;
use gate::policy::{Case, PolicySet};
use gate::{Catalogue, Gate, GateParts};
use record::{Clock, Record};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vault::{SigningKeys, Source, Vault};

/// What a whole office does not decide for itself: the clock and the names of the network. Tests give others.
pub struct Ports {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// What turns host names into addresses.
    pub resolver: Arc<dyn Resolve>,
}

impl Ports {
    /// The system's own.
    #[must_use]
    pub fn system() -> Self {
        Self { clock: Arc::new(record::SystemClock), resolver: Arc::new(egress::SystemResolver) }
    }
}

/// The plugins of a configuration, loaded, with what the operator grants them.
pub struct Installed {
    /// Each configured file, by plugin.
    pub artifacts: BTreeMap<String, Artifact>,
    /// The grants, by plugin.
    pub grants: BTreeMap<String, PluginGranted>,
    /// The engine they run on.
    pub engine: Arc<Engine>,
    /// The plugins, ready to be called.
    pub plugins: Plugins,
}

/// A whole office, built and not yet running.
pub struct Office {
    /// What it was built from.
    pub config: Config,
    /// The one history.
    pub record: Record,
    /// The one door.
    pub gate: Arc<Gate>,
    /// What can be called.
    pub hands: Arc<Hands>,
    /// The seat that answers people.
    pub front_desk: SeatId,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// This process, as leases and `node.started` name it.
    pub node: String,
}

impl Office {
    /// Builds an office: opens the record, loads the plugins, puts the settings in force.
    ///
    /// # Errors
    /// One line that says what is missing or wrong, and where.
    pub async fn build(config: Config, ports: Ports) -> Result<Self> {
        let Ports { clock, resolver } = ports;
        let record = config.record.open(clock.clone()).await?;
        let vault = Arc::new(vault(&config));
        let egress = Arc::new(egress(&config, resolver, vault.clone())?);
        let installed = install(&config).await?;
        put_in_force(&config, &record, &installed).await?;
        let reading = clock.clone();
        let hands = Arc::new(Hands::new(
            installed.engine,
            installed.plugins,
            egress,
            vault,
            Arc::new(move || reading.now()) as component::Clock,
        ));
        let budgets = seed::budgets(&config)?.into_iter().filter_map(|want| match want.fact {
            event::Fact::BudgetSet(set) => Some(set.budget),
            _ => None,
        });
        let gate = Gate::new(GateParts {
            record: record.clone(),
            catalogue: hands.clone(),
            reach: hands.clone(),
            clock: clock.clone(),
            budgets: budgets.collect(),
            headroom: config.purse.headroom,
        })
        .await?;
        if hands.model(&config.office.model).is_none() {
            bail!("`office.model` is `{}`, and no configured plugin offers that model", config.office.model);
        }
        let front_desk = SeatId::parse(&config.office.front_desk)?;
        let node = format!("node-{}", seed::fresh_event_id()?.as_str().trim_start_matches("evt_"));
        Ok(Self { config, record, gate: Arc::new(gate), hands, front_desk, clock, node })
    }

    /// Now, by the office's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn source(source: &SecretSource) -> Source {
    match source {
        SecretSource::Env(name) => Source::Env(name.clone()),
        SecretSource::File(path) => Source::File(path.clone()),
    }
}

/// The credentials a configuration names, each read now, so that a missing one is known before it is needed.
#[must_use]
pub fn vault(config: &Config) -> Vault {
    let vault =
        Vault::new(config.credentials.iter().map(|(name, from)| (name.clone(), source(from))).collect());
    for missing in vault.read_all() {
        tracing::warn!("{missing}");
    }
    vault
}

/// Slack's signing secrets, when the configuration has a `[slack]`.
///
/// # Errors
/// When one is missing or empty: a server without a secret would believe anybody.
pub fn signing_keys(config: &Config) -> Result<Option<SigningKeys>> {
    let Some(slack) = &config.slack else { return Ok(None) };
    let sources: Vec<Source> = slack.signing_secrets.iter().map(source).collect();
    SigningKeys::load(&sources).map(Some).context("`slack.signing_secrets`")
}

fn egress(config: &Config, resolver: Arc<dyn Resolve>, vault: Arc<Vault>) -> Result<Egress> {
    let loopback = config
        .egress
        .loopback
        .iter()
        .map(|text| Origin::parse(text).with_context(|| format!("`{text}` in `[egress] loopback`")))
        .collect::<Result<Vec<Origin>>>()?;
    let parts = EgressConfig { loopback, injections: BTreeMap::new(), limits: egress::STARTING_LIMITS };
    Egress::new(parts, resolver, vault).context("`[egress]`")
}

/// Reads, compiles and loads the configured plugins with the operator's grants.
///
/// # Errors
/// The first plugin that is missing, is not what its manifest says, or does not load.
pub async fn install(config: &Config) -> Result<Installed> {
    let mut artifacts = BTreeMap::new();
    for plugin in &config.plugins {
        artifacts.insert(plugin.name.clone(), artifact(&plugin.name, &plugin.file)?);
    }
    let digests: BTreeMap<String, Digest> =
        artifacts.iter().map(|(name, artifact)| (name.clone(), artifact.digest.clone())).collect();
    let grants = seed::grants(config, &digests)?;
    let engine = Engine::new(EngineParts {
        pool: Pool::for_small_machine(),
        code_folder: Some(config.cache_folder()),
    })?;
    let files: Vec<PathBuf> = config.plugins.iter().map(|plugin| plugin.file.clone()).collect();
    let plugins = Plugins::load(&engine, &files, &grants).await?;
    Ok(Installed { artifacts, grants, engine, plugins })
}

fn artifact(name: &str, file: &Path) -> Result<Artifact> {
    let bytes = std::fs::read(file).with_context(|| {
        format!("the plugin `{name}` is missing: `{}` cannot be read; build the guests with `cargo xtask guests`, or mend `file`", file.display())
    })?;
    let artifact = Artifact::read(bytes).with_context(|| format!("`{}` is not a plugin", file.display()))?;
    if artifact.manifest.name != name {
        bail!(
            "`{}` is the plugin `{}`, and the configuration calls it `{name}`",
            file.display(),
            artifact.manifest.name
        );
    }
    Ok(artifact)
}

/// The policy set of the configuration, loaded against the installed plugins, its cases run.
///
/// # Errors
/// The first fault with file, line and column, or the first case that does not come out as it says.
pub fn policies(config: &Config, plugins: &Plugins) -> Result<(Digest, Vec<event::PolicyText>)> {
    let texts = seed::policy_files(&config.policies)?;
    let cases = policy_cases(&config.policies)?;
    let set = PolicySet::load_with_cases(&texts, &tools_of(plugins), &models_of(plugins), &cases)
        .with_context(|| format!("the policies in `{}` do not load", config.policies.display()))?;
    Ok((set.digest().clone(), texts))
}

/// The tools of a set of plugins, in order of name.
#[must_use]
pub fn tools_of(plugins: &Plugins) -> Vec<Arc<gate::ToolSpec>> {
    plugins.tools()
}

/// The models of a set of plugins, in order of name.
#[must_use]
pub fn models_of(plugins: &Plugins) -> Vec<Arc<gate::ModelSpec>> {
    plugins.models()
}

/// The cases under `cases/ALLOW` and `cases/DENY`, in order of name; none when there is no such folder.
///
/// # Errors
/// When a file cannot be read or is no case.
pub fn policy_cases(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for verdict in ["ALLOW", "DENY"] {
        let folder = folder.join("cases").join(verdict);
        if !folder.is_dir() {
            continue;
        }
        let listing =
            std::fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        let mut paths = listing
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<Vec<PathBuf>>>()
            .with_context(|| format!("cannot read `{}`", folder.display()))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            cases.push(Case::parse(&format!("{verdict}/{file}"), &text)?);
        }
    }
    Ok(cases)
}

async fn put_in_force(config: &Config, record: &Record, installed: &Installed) -> Result<()> {
    let (digest, texts) = policies(config, &installed.plugins)?;
    let mut wanted = Vec::new();
    for (name, artifact) in &installed.artifacts {
        wanted.push(seed::Wanted::new(setting::plugin(name), "plugin", name, artifact.installed()));
    }
    for (name, grant) in &installed.grants {
        wanted.push(seed::Wanted::new(setting::grant(name), "plugin", name, grant.clone()));
    }
    wanted.extend(seed::seats(config)?);
    wanted.extend(seed::budgets(config)?);
    wanted.push(seed::prices(&config.prices)?);
    wanted.push(seed::policy(digest, texts));
    let changed = seed::put_in_force(record, wanted).await?;
    tracing::info!(changed, "settings in force");
    Ok(())
}
