//! `chancery account`: accounts at other services are connected, listed and taken back.
//!
//! What opens an account goes from the service, or from whoever types it, into the vault, sealed; the record says that
//! it is connected, whose it is and which seats may use it, and nothing that opens it. Taking one back counts from the
//! next call on, in every process. Deliberately absent: whose account a call uses (`gate`).

mod args;
mod browser;
mod keeper;
mod linked;
mod offer;

pub use args::AccountCommand;
pub use keeper::{Accounted, Keeper};
pub use linked::Linked;
pub use offer::offer;

use crate::config::{Config, ServiceConfig};
use crate::owner::{Acting, print_stated};
use crate::seed;
use crate::table::table;
use crate::wire;
use anyhow::{Context, Result, bail, ensure};
use args::{ConnectArgs, RemoveArgs};
use egress::{Egress, SystemResolver};
use event::{
    AccountConnected, AccountDisconnected, DisclosureSet, Fact, PrincipalId, PrincipalKind, StreamName,
};
use fold::Projection;
use fold::decode;
use fold::setting::{self, Settings};
use record::{Record, RowKey};
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use vault::{AccountRef, Accounts, SECRET_BYTES_MAX, Secret, Vault};

/// How long a service may take to answer, in milliseconds.
const ASK_MS_MAX: u64 = 20_000;

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: AccountCommand) -> Result<ExitCode> {
    match command {
        AccountCommand::List => print!("{}", list(config).await?),
        AccountCommand::Connect(args) => connect(config, args).await?,
        AccountCommand::Remove(args) => remove(config, args).await?,
        AccountCommand::Disclose { destinations, nowhere: _, act } => {
            let acting = Acting::open(config, act.as_seat).await?;
            let owner = acting.actor.principal.clone();
            let fact =
                DisclosureSet { owner: owner.clone(), destinations: destinations.into_iter().collect() };
            let stated = acting.state(Vec::new(), move |_, _| Ok(vec![(stream(&owner), Fact::from(fact))]));
            print_stated(&stated.await?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The accounts of an office, beside its record.
///
/// # Errors
/// When the record was opened without keys.
pub fn accounts(config: &Config, record: &Record) -> Result<Accounts> {
    let keyring = record.keyring().context("the record was opened without keys")?;
    Ok(Accounts::new(config.accounts_folder(), keyring.clone()))
}

/// Looks at what opens each account that is connected, so that it is looked for in whatever leaves or comes back.
///
/// # Errors
/// When the record cannot be read.
pub async fn remember(record: &Record, vault: &Vault) -> Result<()> {
    let names = record.row(Settings.name(), setting::ACCOUNTS).await?;
    for key in decode::<BTreeSet<String>>(names.as_ref()).unwrap_or_default() {
        let row = record.row(Settings.name(), &key).await?;
        let Some(connected) = decode::<AccountConnected>(row.as_ref()) else { continue };
        if let Err(error) = vault.get(&event::account_reference(&connected.credential, &connected.owner)) {
            tracing::warn!("{error}");
        }
    }
    Ok(())
}

fn stream(owner: &PrincipalId) -> StreamName {
    StreamName::new("account", owner)
}

/// Every account that is connected, a line each.
async fn list(config: &Config) -> Result<String> {
    let record = config.record.open_read_only().await?;
    let names = record.row(Settings.name(), setting::ACCOUNTS).await?;
    let mut rows = Vec::new();
    for key in decode::<BTreeSet<String>>(names.as_ref()).unwrap_or_default() {
        let row = record.row(Settings.name(), &key).await?;
        let Some(one) = decode::<AccountConnected>(row.as_ref()) else { continue };
        let account = AccountRef { credential: one.credential.clone(), owner: one.owner.clone() };
        let service = config.services.iter().find(|service| service.credential == one.credential);
        let kept = match accounts(config, &record).map(|accounts| accounts.read(&account)) {
            Ok(Ok(Some(kept))) if kept.refresh.is_some() => "renewed by itself".to_owned(),
            Ok(Ok(Some(kept))) => match kept.ends_at_ms {
                Some(ms) => format!("until {}", event::Timestamp(ms)),
                None => "kept".to_owned(),
            },
            Ok(Ok(None)) => "not kept on this host".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let seats: Vec<String> = one.seats.iter().map(ToString::to_string).collect();
        rows.push(vec![
            service.map_or(one.credential.clone(), |service| service.name.clone()),
            one.owner.to_string(),
            if seats.is_empty() { "any".to_owned() } else { seats.join(" ") },
            if one.scopes.is_empty() { "-".to_owned() } else { one.scopes.join(" ") },
            kept,
        ]);
    }
    if rows.is_empty() {
        return Ok("no account is connected\n".to_owned());
    }
    Ok(table(&["SERVICE", "OWNER", "SEATS", "SCOPES", "KEPT"], &rows))
}

/// What a service gave, or somebody typed.
struct Had {
    access: Secret,
    refresh: Option<Secret>,
    lasts_ms: Option<u64>,
    scopes: Vec<String>,
}

async fn connect(config: &Config, args: ConnectArgs) -> Result<()> {
    let service = config.service(&args.service)?;
    let acting = Acting::open(config, args.act.as_seat).await?;
    let by = acting.actor.principal.clone();
    let owner = if args.organisation { PrincipalId::organisation() } else { by.clone() };
    ensure!(
        args.organisation || owner.kind() == PrincipalKind::Person,
        "`{owner}` is no person: set `office.owner` to `person_…`, or say `--organisation`"
    );
    let account = AccountRef { credential: service.credential.clone(), owner: owner.clone() };
    let had = match (service.by_browser(), args.token) {
        (Some(_), false) => {
            let egress = way_out(config, &acting.record)?;
            browser::connect(service, &egress, &owner).await?
        }
        _ => Had { access: typed(service)?, refresh: None, lasts_ms: None, scopes: Vec::new() },
    };
    let now = record::Clock::now(&record::SystemClock);
    let ends = had.lasts_ms.map(|ms| now.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX)).0);
    accounts(config, &acting.record)?.keep(&account, &had.access, had.refresh.as_ref(), ends)?;
    let fact = AccountConnected {
        credential: account.credential,
        owner: owner.clone(),
        by,
        seats: args.seats.into_iter().collect(),
        scopes: had.scopes,
    };
    let stated = acting.state(Vec::new(), move |_, _| Ok(vec![(stream(&owner), Fact::from(fact))]));
    print_stated(&stated.await?);
    Ok(())
}

async fn remove(config: &Config, args: RemoveArgs) -> Result<()> {
    let service = config.services.iter().find(|service| service.name == args.service);
    // One that the configuration no longer names can still be taken back, by its credential.
    let credential = service.map_or(args.service.clone(), |service| service.credential.clone());
    let acting = Acting::open(config, args.act.as_seat).await?;
    let by = acting.actor.principal.clone();
    let owner = match (args.of, args.organisation) {
        (Some(of), _) => of,
        (None, true) => PrincipalId::organisation(),
        (None, false) => by.clone(),
    };
    let account = AccountRef { credential: credential.clone(), owner: owner.clone() };
    let key = setting::account(&credential, &owner);
    let fact = AccountDisconnected { credential, owner: owner.clone(), by, reason: args.reason };
    let reads = vec![RowKey::new(Settings.name(), &key)];
    let reference = account.reference();
    let stated = acting
        .state(reads, move |rows, _| {
            if rows.get(Settings.name(), &key).is_none() {
                bail!("`{reference}` is not connected: `chancery account list` shows what is");
            }
            Ok(vec![(stream(&owner), Fact::from(fact))])
        })
        .await?;
    print_stated(&stated);
    // From here on no call uses it; what opens it is taken away everywhere it is.
    let accounts = accounts(config, &acting.record)?;
    let kept = accounts.read(&account).ok().flatten();
    accounts.forget(&account)?;
    if let (Some(kept), Some(service)) = (kept, service) {
        take_back(config, &acting.record, service, &kept).await;
    }
    Ok(())
}

/// Takes back the account of `owner` at the service that people call `name`, and says how that went.
///
/// # Errors
/// When the record or what is kept cannot be used.
pub async fn disconnect(config: &Config, record: &Record, name: &str, owner: &PrincipalId) -> Result<String> {
    let Some(service) = config.services.iter().find(|service| service.name == name) else {
        return Ok(format!("There is no service `{name}`."));
    };
    let account = AccountRef { credential: service.credential.clone(), owner: owner.clone() };
    let key = setting::account(&account.credential, owner);
    if record.row(Settings.name(), &key).await?.is_none() {
        return Ok(format!("No account of yours at {name} is connected."));
    }
    let fact = AccountDisconnected {
        credential: account.credential.clone(),
        owner: owner.clone(),
        by: owner.clone(),
        reason: "asked for in Slack".to_owned(),
    };
    let append = seed::append_of(seed::fresh_event_id()?, seed::host(), stream(owner), Fact::from(fact));
    record.append_all(vec![append]).await?;
    let accounts = accounts(config, record)?;
    let kept = accounts.read(&account).ok().flatten();
    accounts.forget(&account)?;
    let mut said = format!("I use your account at {name} no more.");
    if let Some(kept) = kept
        && let Err(error) = told(config, record, service, &kept).await
    {
        tracing::warn!(service = name, "a service was not told that a token is taken back: {error:#}");
        said.push_str(" It could not be told: take my access back there too.");
    }
    Ok(said)
}

/// Tells the service, if it can be told. The office uses the account no more, whatever it answers.
async fn take_back(config: &Config, record: &Record, service: &ServiceConfig, kept: &vault::Kept) {
    if service.revoke.is_none() {
        return;
    }
    match told(config, record, service, kept).await {
        Ok(()) => println!("{:<16} {} was told that it opens nothing any more", "", service.name),
        Err(error) => eprintln!(
            "chancery: `{}` was not told ({error:#}): take the office's access back there by hand",
            service.name
        ),
    }
}

async fn told(config: &Config, record: &Record, service: &ServiceConfig, kept: &vault::Kept) -> Result<()> {
    let Some(url) = &service.revoke else { return Ok(()) };
    let egress = way_out(config, record)?;
    let deadline = Instant::now() + Duration::from_millis(ASK_MS_MAX);
    for secret in kept.refresh.iter().chain([&kept.access]) {
        egress.revoke_token(url, &service.client(), secret, deadline).await?;
    }
    Ok(())
}

fn way_out(config: &Config, record: &Record) -> Result<Egress> {
    let vault = wire::vault(config).with_accounts(accounts(config, record)?);
    wire::egress(config, Arc::new(SystemResolver), Arc::new(vault), egress::STARTING_LIMITS)
}

/// A token from standard input. At a terminal it is asked for, and what is typed is not shown.
fn typed(service: &ServiceConfig) -> Result<Secret> {
    let stdin = std::io::stdin();
    let mut line = String::with_capacity(SECRET_BYTES_MAX);
    if stdin.is_terminal() {
        eprint!("token of `{}` (it is not shown): ", service.name);
        let hidden = stty("-echo");
        let read = stdin.lock().read_line(&mut line);
        if hidden {
            stty("echo");
        }
        eprintln!();
        read?;
    } else {
        stdin.lock().take(SECRET_BYTES_MAX as u64 + 1).read_line(&mut line)?;
    }
    let token = line.trim();
    Secret::given(token.to_owned())
        .with_context(|| format!("that is no token: one line of 1 to {SECRET_BYTES_MAX} bytes"))
}

/// Whether the terminal did what it was told.
fn stty(what: &str) -> bool {
    std::process::Command::new("stty").arg(what).status().is_ok_and(|status| status.success())
}
