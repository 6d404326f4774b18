//! Everything built once, in layer order: record, vault, egress, component, settings, gate.
//!
//! Nothing here decides anything; it only says which part is given to which.

use crate::account::{Accounted, Keeper};
use crate::config::{Config, Profile, SecretSource};
use crate::paced::Paced;
use crate::plugin::load;
pub use crate::plugin::load::Installed;
use crate::serve::SYSTEM_SEAT;
use crate::{purse, seed};
use anyhow::{Context, Result, bail};
use component::Hands;
use egress::{Egress, EgressConfig, Injection, Origin, Resolve};
use event::{GlobalPosition, SeatId, Timestamp};
use fold::setting;
use gate::{Catalogue, Classifier, Gate, GateParts};
use record::{Clock, Record};
use std::collections::BTreeMap;
use std::sync::Arc;
use vault::{Signers, SigningKeys, Source, Vault};

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
    /// How it behaves where people talk.
    pub manner: converse::Manner,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// This process, as leases and `node.started` name it.
    pub node: String,
    /// Where the record was when the plugins were loaded.
    pub plugins_at: GlobalPosition,
}

impl Office {
    /// Builds an office: opens the record, loads the plugins, puts the settings in force.
    ///
    /// # Errors
    /// One line that says what is missing or wrong, and where.
    pub async fn build(config: Config, ports: Ports) -> Result<Self> {
        let Ports { clock, resolver } = ports;
        let record = config.record.open(clock.clone()).await?;
        let kept =
            Vault::new(BTreeMap::new()).with_tokens(config.tokens_folder(), config.record.keys.clone());
        let sealed = kept.seal_kept().context("tokens of before, which were not sealed")?;
        if !sealed.is_empty() {
            tracing::info!(tokens = sealed.join(", "), "sealed what an earlier version had kept as it was");
        }
        // What is stated while the plugins load is found by whoever follows from here.
        let (plugins_at, _) = record.head().await?;
        let installed = load::install(&config, Some(&record)).await?;
        put_in_force(&config, &record, &installed).await?;
        let (gate, hands) =
            gate(&config, &record, installed, Ports { clock: clock.clone(), resolver }).await?;
        if let Some((setting, name)) = config.models_named().find(|(_, name)| hands.model(name).is_none()) {
            bail!("{setting} is `{name}`, and no configured plugin offers that model");
        }
        crate::workspaces::remember(&record, hands.vault()).await?;
        let manner = config.manner()?;
        if let Some(model) = config.converse.model.as_ref().filter(|model| hands.model(model).is_none()) {
            bail!("`converse.model` is `{model}`, and no configured plugin offers that model");
        }
        let front_desk = SeatId::parse(&config.office.front_desk)?;
        let node = format!("node-{}", seed::fresh_event_id()?.as_str().trim_start_matches("evt_"));
        Ok(Self { config, record, gate: Arc::new(gate), hands, front_desk, manner, clock, node, plugins_at })
    }

    /// Now, by the office's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// The one door over `record`, and the hands behind it.
///
/// # Errors
/// When the way out cannot be made, or no policy set or budget is in force.
pub async fn gate(
    config: &Config,
    record: &Record,
    installed: Installed,
    ports: Ports,
) -> Result<(Gate, Arc<Hands>)> {
    let Ports { clock, resolver } = ports;
    let vault = match record.keyring() {
        Some(_) => vault(config).with_accounts(crate::account::accounts(config, record)?),
        None => vault(config),
    };
    let vault = Arc::new(vault);
    crate::account::remember(record, &vault).await?;
    let egress = Arc::new(egress(config, resolver, vault.clone(), egress::STARTING_LIMITS)?);
    let reading = clock.clone();
    let services = config.services.iter().map(|one| (one.credential.clone(), one.name.clone())).collect();
    let hands = Hands::new(
        installed.engine,
        installed.plugins,
        egress.clone(),
        vault.clone(),
        Arc::new(move || reading.now()) as component::Clock,
    );
    let hands = Arc::new(hands.with_services(services));
    let keeper = Keeper {
        vault,
        egress,
        services: config.services.clone(),
        record: record.clone(),
        clock: clock.clone(),
        renewing: tokio::sync::Mutex::new(()),
        untaken: std::sync::Mutex::default(),
    };
    let gate = Gate::new(GateParts {
        record: record.clone(),
        catalogue: hands.clone(),
        guards: hands.clone(),
        reach: Arc::new(Accounted::new(Arc::new(Paced::new(hands.clone(), clock.clone())), keeper)),
        clock,
        headroom: config.purse.headroom,
        approvals: config.approvals.times()?,
        drill: config.office.drill,
    })
    .await?
    .with_readable(converse::readable);
    let gate = match config.model(Profile::Classifier) {
        Some(model) => {
            gate.with_classifier(Classifier { seat: SeatId::parse(SYSTEM_SEAT)?, model: model.to_owned() })
        }
        None => gate,
    };
    Ok((gate, hands))
}

pub(crate) fn source(source: &SecretSource) -> Source {
    match source {
        SecretSource::Env(name) => Source::Env(name.clone()),
        SecretSource::File(path) => Source::File(path.clone()),
    }
}

/// The credentials a configuration names, each read now, so that a missing one is known before it is needed.
#[must_use]
pub fn vault(config: &Config) -> Vault {
    let sources =
        config.credentials.iter().map(|(name, credential)| (name.clone(), source(&credential.source)));
    let vault = Vault::new(sources.collect()).with_tokens(config.tokens_folder(), config.record.keys.clone());
    for missing in vault.read_all() {
        tracing::warn!("{missing}");
    }
    vault
}

/// Slack's signing secrets, when the configuration has a `[slack]`.
///
/// # Errors
/// When one is missing or empty: a server without a secret would believe anybody.
pub fn signing_keys(config: &Config) -> Result<Option<Signers>> {
    let Some(slack) = &config.slack else { return Ok(None) };
    let load = |sources: &[SecretSource]| SigningKeys::load(&sources.iter().map(source).collect::<Vec<_>>());
    // Where nothing comes over HTTP there is no `/slack/events`.
    let app = match slack.signing_secrets.as_slice() {
        [] if slack.socket || !slack.workspaces.is_empty() => None,
        secrets => Some(load(secrets).context("`slack.signing_secrets`")?),
    };
    let own = slack.own_secrets().into_iter().map(|(team, secrets)| {
        let keys = load(secrets);
        let keys = keys.with_context(|| format!("the `signing_secrets` of the workspace `{team}`"))?;
        Ok((team.to_owned(), keys))
    });
    let signers = Signers::new(app, own.collect::<Result<_>>()?);
    Ok(signers.map(|signers| signers.with_unsigned(slack.unsigned())))
}

/// The origins of this machine that the configuration opens.
///
/// # Errors
/// The first that is none.
pub fn loopback(config: &Config) -> Result<Vec<Origin>> {
    config
        .egress
        .loopback
        .iter()
        .map(|text| Origin::parse(text).with_context(|| format!("`{text}` in `[egress] loopback`")))
        .collect()
}

/// The way out under this configuration, within `limits`.
///
/// # Errors
/// When an origin that it opens is not of this machine, or TLS cannot be set up.
pub fn egress(
    config: &Config,
    resolver: Arc<dyn Resolve>,
    vault: Arc<Vault>,
    limits: egress::Limits,
) -> Result<Egress> {
    let mut injections = BTreeMap::new();
    for (name, one) in &config.credentials {
        if let Some(header) = &one.header {
            let header =
                header.parse().with_context(|| format!("the `header` of the credential `{name}`"))?;
            injections.insert(name.clone(), Injection::Header(header));
        } else if let Some(user) = &one.user {
            injections.insert(name.clone(), Injection::Basic { user: user.clone() });
        }
    }
    let parts = EgressConfig { loopback: loopback(config)?, injections, limits };
    Egress::new(parts, resolver, vault).context("`[egress]`")
}

/// The plugins there are: those of the configuration, and those that its record, when there is one, has besides.
///
/// # Errors
/// As [`load::install`].
pub async fn install(config: &Config) -> Result<Installed> {
    let record = load::readable(config).await?;
    load::install(config, record.as_ref()).await
}

/// Puts on the record what the configuration says and the record does not have yet.
///
/// # Errors
/// What is wrong with the configuration, or that the record cannot be used.
pub async fn put_in_force(config: &Config, record: &Record, installed: &Installed) -> Result<()> {
    let mut wanted = Vec::new();
    let tools = installed.plugins.tools();
    for (name, artifact) in &installed.artifacts {
        let offers = tools
            .iter()
            .filter(|tool| tool.plugin == *name)
            .map(|tool| gate::policy::offered(tool))
            .collect();
        let fact = event::PluginInstalled { offers, ..artifact.installed() };
        wanted.push(seed::Wanted::new(setting::plugin(name), "plugin", name, fact));
    }
    for (name, grant) in &installed.grants {
        if record.row("setting", &setting::ungranted(name)).await?.is_some() {
            tracing::warn!(
                "the grant of the plugin `{name}` was revoked and is not given again: it reaches nothing until `chancery plugin grant {name} --reason …`"
            );
        }
        wanted.push(seed::Wanted::new(setting::grant(name), "plugin", name, grant.clone()));
    }
    wanted.push(purse::prices(&config.prices)?);
    wanted.extend(crate::policy::first(config, record, installed).await?);
    let opened = seed::first::put_on_record(config, record).await?;
    for difference in &opened.differences {
        tracing::warn!("{difference}");
    }
    if seed::first::front_desk(config, record).await?.is_none_or(|works| !works.takes_turns()) {
        tracing::warn!("`{}` takes no turns: whoever writes to the office waits", config.office.front_desk);
    }
    let budgets = config.budgets()?;
    for name in purse::left_out(record, &budgets).await? {
        tracing::warn!(
            "the budget `{name}` is no longer in the configuration and stands as it is: `chancery purse budget {name} --limit … --reason …` sets it"
        );
    }
    let changed = seed::put_in_force(record, wanted).await? + purse::put(record, budgets).await?;
    tracing::info!(changed, "settings in force");
    Ok(())
}
