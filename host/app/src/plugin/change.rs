//! Which version of a plugin there is: installing, updating, going back, removing.
//!
//! Always holds: what is stated was looked at whole before: the component is here under its digest, its signature was
//! judged, it loads beside the others, and the policies in force load beside what it offers. A version that asks for
//! more than the one in force is stated as waiting.

use super::args::InstallArgs;
use super::fetch;
use super::grant::{Granting, granting};
use super::load::{self, Recorded};
use super::lock::{Lock, Locked};
use super::source::Pinned;
use super::store::{Component, Store};
use super::{signature, stream, tell};
use crate::config::Config;
use crate::owner::{Acting, print_stated};
use crate::policy::sets;
use crate::seat::ActArgs;
use anyhow::{Context, Result, bail, ensure};
use component::Wanted;
use event::{Digest, Event, Fact, PluginGranted, PluginInstalled, PluginProposed, PluginRemoved, Position};
use fold::{plugin as rules, setting};
use gate::Catalogue;
use gate::policy::{PolicySet, naming, offered};
use record::{Record, RowKey, Rows};
use std::process::ExitCode;

/// Most versions of one plugin that are looked through for the one before.
const HISTORY_EVENTS_MAX: usize = 10_000;

/// Installs a plugin.
///
/// # Errors
/// Why not, and what to do next.
pub async fn install(config: &Config, args: InstallArgs) -> Result<ExitCode> {
    let pinned = args.source.context("name what to install")?;
    let component = fetch::component(config, &pinned, args.digest.as_ref()).await?;
    let name = component.artifact.manifest.name.clone();
    let acting = Acting::open(config, args.act.as_seat).await?;
    not_configured(config, &name)?;
    if let Some(one) = load::one_recorded(&acting.record, &name).await? {
        if one.installed.digest == component.artifact.digest {
            Store::of(config).keep(&component)?;
            println!("{name} {} is installed already", one.installed.version);
            return Ok(ExitCode::SUCCESS);
        }
        bail!(
            "`{name}` is installed from another component: `chancery plugin update {name} {}`",
            pinned.source
        );
    }
    let version = version(config, &acting.record, &component, &pinned).await?;
    print!("{}", tell::asks(&version));
    let granted = match args.grant {
        true => Some(granting(&version, None, &Granting::whole(String::new()))?),
        false => None,
    };
    Store::of(config).keep(&component)?;
    state(config, &acting, None, version, granted).await?;
    Ok(ExitCode::SUCCESS)
}

/// Installs exactly what the lock file says, and grants what stands there.
///
/// # Errors
/// Why not, and what to do next. What was installed before the first that is not stays.
pub async fn install_locked(config: &Config, act: ActArgs) -> Result<ExitCode> {
    let lock = Lock::read(&config.installs.lock)?.with_context(|| {
        format!(
            "there is no lock file `{}`; a command that installs writes it",
            config.installs.lock.display()
        )
    })?;
    let acting = Acting::open(config, act.as_seat).await?;
    for locked in &lock.plugins {
        not_configured(config, &locked.name)?;
        locked_one(config, &acting, locked)
            .await
            .with_context(|| format!("`{}` of the lock file", locked.name))?;
    }
    println!("{} plugins are here as the lock file says", lock.plugins.len());
    Ok(ExitCode::SUCCESS)
}

async fn locked_one(config: &Config, acting: &Acting, locked: &Locked) -> Result<()> {
    let store = Store::of(config);
    let pinned: Pinned = locked.source.parse()?;
    let component = match store.component(&locked.name, &locked.digest) {
        Ok(component) => component,
        Err(_) => fetch::component(config, &pinned, Some(&locked.digest)).await?,
    };
    ensure!(
        component.artifact.manifest.name == locked.name,
        "it is the plugin `{}`",
        component.artifact.manifest.name
    );
    store.keep(&component)?;
    match load::one_recorded(&acting.record, &locked.name).await? {
        Some(one) if one.installed.digest == locked.digest => return Ok(()),
        Some(one) => bail!(
            "the record has {} in force and not {}, and it is what counts: `chancery plugin update {}` or `rollback` \
             changes it",
            one.installed.digest.short(),
            locked.digest.short(),
            locked.name
        ),
        None => {}
    }
    let version = version(config, &acting.record, &component, &pinned).await?;
    let wish = Granting {
        routes: Some(locked.routes.clone()),
        handles: Some(locked.handles.clone()),
        ..Granting::whole("as the lock file says".to_owned())
    };
    let granted = if locked.granted { Some(granting(&version, None, &wish)?) } else { None };
    state(config, acting, None, version, granted).await
}

/// Installs another version, or lets it wait.
///
/// # Errors
/// Why not, and what to do next.
pub async fn update(config: &Config, name: &str, source: Option<Pinned>, act: ActArgs) -> Result<ExitCode> {
    let acting = Acting::open(config, act.as_seat).await?;
    let one = needed(config, &acting.record, name).await?;
    let pinned = source.map_or_else(|| one.installed.source.parse(), Ok)?;
    let component = fetch::component(config, &pinned, None).await?;
    let found = &component.artifact;
    ensure!(found.manifest.name == name, "`{}` is the plugin `{}`", pinned.source, found.manifest.name);
    if found.digest == one.installed.digest {
        println!("{name} {} is the newest there", one.installed.version);
        return Ok(ExitCode::SUCCESS);
    }
    let version = version(config, &acting.record, &component, &pinned).await?;
    Store::of(config).keep(&component)?;
    let more = rules::more(&one.installed, one.granted.as_ref(), &version);
    if more.is_empty() {
        let granted = one.granted.map(|granted| PluginGranted { digest: version.digest.clone(), ..granted });
        state(config, &acting, Some(one.installed.digest), version, granted).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let (plugin, base) = (name.to_owned(), one.installed.digest.clone());
    let stated = acting.state(vec![plugin_row(name)], move |rows, _| {
        still(rows, &plugin, Some(&base))?;
        Ok(vec![(stream(&plugin), Fact::from(PluginProposed { version, more }))])
    });
    print_stated(&stated.await?);
    println!(
        "{} {} goes on; chancery plugin grant {name} --reason … lets the new one in",
        name, one.installed.version
    );
    Ok(ExitCode::SUCCESS)
}

/// Goes back to the version before.
///
/// # Errors
/// When there is none that could run.
pub async fn rollback(config: &Config, name: &str, act: ActArgs) -> Result<ExitCode> {
    let acting = Acting::open(config, act.as_seat).await?;
    let one = needed(config, &acting.record, name).await?;
    let events = acting.record.read_stream(&stream(name), Position(1), HISTORY_EVENTS_MAX).await?;
    let (version, granted) = before(&events, &one.installed.digest).with_context(|| {
        format!("the record has no version of `{name}` before {}", one.installed.digest.short())
    })?;
    let component = Store::of(config).component(name, &version.digest)?;
    let named = format!("the component {} of `{name}`", version.digest.short());
    signature::check(&config.installs, &named, component.artifact.bytes(), component.signature.as_deref())?;
    let wanted = Wanted { artifact: component.artifact, grant: granted.clone() };
    fits(config, &acting.record, name, Some(wanted)).await?;
    state(config, &acting, Some(one.installed.digest), version, granted).await?;
    Ok(ExitCode::SUCCESS)
}

/// The newest version of a plugin's history that is neither `now` nor revoked, and what it was granted last, unless
/// that was taken back while it was in force.
fn before(events: &[Event], now: &Digest) -> Option<(PluginInstalled, Option<PluginGranted>)> {
    let revoked: Vec<&Digest> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::ComponentRevoked(body) => Some(&body.digest),
            _ => None,
        })
        .collect();
    let mut found: Option<(PluginInstalled, Option<PluginGranted>)> = None;
    let mut current = None::<&PluginInstalled>;
    for event in events {
        let granted = match &event.fact {
            Fact::PluginInstalled(body) => {
                current = Some(body);
                None
            }
            Fact::PluginGranted(body) => Some(body),
            Fact::PluginRevoked(_) => None,
            Fact::PluginRemoved(_) => {
                (current, found) = (None, None);
                continue;
            }
            _ => continue,
        };
        let Some(version) = current.filter(|version| !version.source.is_empty()) else { continue };
        if version.digest != *now && !revoked.contains(&&version.digest) {
            let granted = granted.filter(|granted| granted.digest == version.digest);
            found = Some((version.clone(), granted.cloned()));
        }
    }
    found
}

/// Removes a plugin.
///
/// # Errors
/// When policies or the office's model need it, naming them.
pub async fn remove(config: &Config, name: String, reason: String, act: ActArgs) -> Result<ExitCode> {
    let acting = Acting::open(config, act.as_seat).await?;
    let one = needed(config, &acting.record, &name).await?;
    if let Some((applied, _)) = sets::in_force(&acting.record).await? {
        let named = naming(&applied.files, &one.installed.tools).map_err(|problems| {
            anyhow::anyhow!("the policies in force cannot be read: {} problems", problems.len())
        })?;
        ensure!(
            named.is_empty(),
            "policies name tools of `{name}` and would not load without them: {}; apply a set without them first, or \
             take back what it may reach with `chancery plugin revoke {name}`",
            named.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
        );
    }
    let model = &config.office.model;
    ensure!(
        !one.installed.tools.contains(model),
        "`office.model` is `{model}`, which it offers: name another first"
    );
    let base = one.installed.digest;
    let stated = acting.state(vec![plugin_row(&name)], move |rows, _| {
        still(rows, &name, Some(&base))?;
        Ok(vec![(stream(&name), Fact::from(PluginRemoved { plugin: name, reason }))])
    });
    print_stated(&stated.await?);
    relock(config, &acting.record).await?;
    Ok(ExitCode::SUCCESS)
}

/// The component as the record would have it, once it was seen to load beside the others.
async fn version(
    config: &Config,
    record: &Record,
    component: &Component,
    pinned: &Pinned,
) -> Result<PluginInstalled> {
    let artifact = &component.artifact;
    let named = format!("`{}`", pinned.source);
    let signed_by =
        signature::check(&config.installs, &named, artifact.bytes(), component.signature.as_deref())?;
    let name = &artifact.manifest.name;
    let wanted = Wanted { artifact: artifact.clone(), grant: None };
    let offers = fits(config, record, name, Some(wanted)).await?;
    Ok(PluginInstalled {
        offers,
        source: pinned.source.clone().absolute().to_string(),
        asks: artifact.asks(),
        imports: artifact.imports.clone(),
        directories: artifact.directories(),
        handles: artifact.manifest.handles(),
        graphql_reads: artifact.manifest.operations(),
        signed_by,
        ..artifact.installed()
    })
}

/// What the plugin called `name` would offer as `wanted`, when all plugins and the policies in force would load with it.
pub(super) async fn fits(
    config: &Config,
    record: &Record,
    name: &str,
    wanted: Option<Wanted>,
) -> Result<Vec<event::ToolOffered>> {
    let plugins = load::prospect(config, record, name, wanted).await?;
    if let Some((applied, revoked)) = sets::in_force(record).await? {
        PolicySet::load(&applied.files, &plugins.named(), &plugins.models(), &revoked).with_context(|| {
            format!("the policies in force would not load beside this version of `{name}`: apply a set that fits both first")
        })?;
    }
    Ok(plugins.tools().iter().filter(|tool| tool.plugin == name).map(|tool| offered(tool)).collect())
}

/// States that `version` is in force from now on, with what it is granted, and writes the lock file.
pub(super) async fn state(
    config: &Config,
    acting: &Acting,
    base: Option<Digest>,
    version: PluginInstalled,
    granted: Option<PluginGranted>,
) -> Result<()> {
    let name = version.plugin.clone();
    let is_granted = granted.is_some() || version.world == "guard";
    let stated = acting.state(vec![plugin_row(&name)], {
        let name = name.clone();
        move |rows, _| {
            still(rows, &name, base.as_ref())?;
            let facts = std::iter::once(Fact::from(version)).chain(granted.map(Fact::from));
            Ok(facts.map(|fact| (stream(&name), fact)).collect())
        }
    });
    print_stated(&stated.await?);
    if !is_granted {
        println!("it reaches nothing yet: chancery plugin grant {name} --reason …");
    }
    relock(config, &acting.record).await
}

/// Writes the lock file as the record has it now.
pub(super) async fn relock(config: &Config, record: &Record) -> Result<()> {
    Lock::of(&load::recorded(record).await?).write(&config.installs.lock)
}

fn plugin_row(name: &str) -> RowKey {
    RowKey::new("setting", setting::plugin(name))
}

/// That the version a change was made from is in force still, in the transaction that states the change.
fn still(rows: &Rows, name: &str, base: Option<&Digest>) -> Result<()> {
    let now: Option<PluginInstalled> = rows.state("setting", &setting::plugin(name));
    let now = now.filter(|now| !now.source.is_empty()).map(|now| now.digest);
    ensure!(now.as_ref() == base, "`{name}` became another while this was looked at: try again");
    Ok(())
}

/// A plugin that a command installed.
pub(super) async fn needed(config: &Config, record: &Record, name: &str) -> Result<Recorded> {
    not_configured(config, name)?;
    load::one_recorded(record, name).await?.with_context(|| {
        format!("no plugin `{}` is installed; `chancery plugin list` shows each", name.escape_debug())
    })
}

fn not_configured(config: &Config, name: &str) -> Result<()> {
    ensure!(
        config.plugins.iter().all(|plugin| plugin.name != name),
        "`{name}` is a plugin of the configuration, whose `file` says which version runs: change it there, or take its \
         [[plugin]] out and install it by command"
    );
    Ok(())
}
