//! Accounts kept usable: before a call uses one whose token ends, a new token is had for it.
//!
//! It stands between the gate and the hands. Always holds: one host at a time asks for a new token, since services take
//! the old one back; an account that its service does not know any more is disconnected, and the record says so.
//! Deliberately absent: whose account a call uses (`gate`), and any value of one (`vault`, `egress`).

use crate::config::ServiceConfig;
use crate::seed;
use async_trait::async_trait;
use egress::{Egress, Granted, NotGranted, Shown};
use event::{AccountDisconnected, Fact, PrincipalId, PrincipalKind, Route, StreamName};
use gate::{Failure, FailureKind, Permit, Reach, Reached};
use record::{Clock, Record};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use vault::{AccountRef, Kept, Vault};

/// How long before its end a token counts as ended, in milliseconds: a call may take that long.
const EARLY_MS: i64 = 60_000;
/// How long a service may take to give a new one, in milliseconds.
const RENEW_MS_MAX: u64 = 10_000;
/// How long a host may keep others from asking, in milliseconds.
const LEASE_MS: i64 = 20_000;
/// How often another host is looked after that asks just now.
const LOOK_MS: u64 = 250;
/// The status by which a service says that it does not take a token (RFC 9110, section 15.5.2).
const UNAUTHORIZED: u16 = 401;

/// The hands, and what keeps accounts usable.
pub struct Accounted {
    hands: Arc<dyn Reach>,
    keeper: Keeper,
}

/// What keeps accounts usable.
pub struct Keeper {
    /// The office's vault.
    pub vault: Arc<Vault>,
    /// The way out.
    pub egress: Arc<Egress>,
    /// The services where accounts are.
    pub services: Vec<ServiceConfig>,
    /// The one history.
    pub record: Record,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// One renewal at a time in this process.
    pub renewing: tokio::sync::Mutex<()>,
    /// Accounts whose token a service did not take although it should last.
    pub untaken: Mutex<BTreeSet<AccountRef>>,
}

impl Accounted {
    /// The same hands, with accounts kept usable.
    #[must_use]
    pub fn new(hands: Arc<dyn Reach>, keeper: Keeper) -> Self {
        Self { hands, keeper }
    }
}

#[async_trait]
impl Reach for Accounted {
    async fn reach(&self, permit: Permit) -> Reached {
        let used = permit.routes().iter().filter_map(|route| route.credential.as_deref());
        let used: BTreeSet<AccountRef> = used.filter_map(AccountRef::parse).collect();
        for account in &used {
            if let Err(failure) = self.keeper.usable(account).await {
                return Reached { outcome: Err(failure), request_sent: false, readings: Vec::new() };
            }
        }
        let lacks = self.keeper.lacks(permit.routes());
        let mut reached = self.hands.reach(permit).await;
        if let (Err(failure), Some(service), false) = (&mut reached.outcome, lacks, reached.request_sent)
            && failure.kind == FailureKind::NotAllowed
        {
            failure.message.push_str(&format!("; {}", gate::how_to_connect(&service)));
            failure.kind = FailureKind::NoAccount(service);
        }
        if reached.readings.iter().any(|reading| reading.status == UNAUTHORIZED) {
            self.keeper.untaken().extend(used);
        }
        reached
    }
}

impl Keeper {
    /// The service where whoever asks could connect an account that a call on `routes` would be made with, when there is
    /// nothing to make it with.
    fn lacks(&self, routes: &[Route]) -> Option<String> {
        let mut named = routes.iter().filter_map(|route| route.credential.as_deref());
        let lacking = named.find(|credential| !self.vault.has(credential))?;
        let service = self.services.iter().find(|service| service.credential == lacking)?;
        Some(service.name.clone())
    }

    /// Makes sure that a call can use `account`.
    ///
    /// # Errors
    /// Why it cannot, for a model and a person.
    pub async fn usable(&self, account: &AccountRef) -> Result<(), Failure> {
        let kept = self.kept(account)?;
        let untaken = self.untaken().contains(account);
        if self.lasts(&kept) && !(untaken && kept.refresh.is_some()) {
            return Ok(());
        }
        let service = self.services.iter().find(|service| service.credential == account.credential);
        let url = service.and_then(|service| service.token.as_deref());
        let (Some(service), Some(url), true) = (service, url, kept.refresh.is_some()) else {
            // Without a way to renew it, what is kept is tried as long as it may last.
            return if self.lasts(&kept) { Ok(()) } else { Err(self.ended(account)) };
        };
        let _one = self.renewing.lock().await;
        let deadline = Instant::now() + Duration::from_millis(RENEW_MS_MAX);
        let name = format!("account/{}", account.reference());
        let lease = loop {
            // Another may have renewed it while this one waited.
            let kept = self.kept(account)?;
            if self.lasts(&kept) && !self.untaken().contains(account) {
                return Ok(());
            }
            match self.record.lease(&name, "accounts", LEASE_MS).await {
                Ok(Some(lease)) => break lease,
                Ok(None) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
                }
                Ok(None) => return Err(later("another host asks for a new token and is not done")),
                Err(error) => return Err(later(&error.to_string())),
            }
        };
        let renewed = self.renew(account, service, url, deadline).await;
        if let Err(error) = self.record.release(lease).await {
            tracing::debug!(%error, "the lease of an account ends by itself");
        }
        renewed
    }

    async fn renew(
        &self,
        account: &AccountRef,
        service: &ServiceConfig,
        url: &str,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let kept = self.kept(account)?;
        let Some(refresh) = &kept.refresh else { return Err(self.ended(account)) };
        let asked = self.egress.ask_token(url, &service.client(), &Shown::Refresh(refresh), deadline).await;
        match asked {
            Ok(granted) => {
                self.keep(account, &granted, &kept)?;
                self.untaken().remove(account);
                tracing::info!(account = account.reference(), "a new token was had");
                Ok(())
            }
            Err(error) if error.is_final() => {
                tracing::warn!(account = account.reference(), %error, "the service does not know the account any more");
                self.disconnect(account, &error).await;
                Err(self.ended(account))
            }
            // What is kept may still be taken.
            Err(error) if self.lasts(&kept) => {
                tracing::warn!(account = account.reference(), %error, "no new token was had");
                Ok(())
            }
            Err(error) => Err(later(&format!("`{}` gave no new token: {error}", service.name))),
        }
    }

    fn keep(&self, account: &AccountRef, granted: &Granted, before: &Kept) -> Result<(), Failure> {
        let lasts = granted.lasts_ms.and_then(|ms| i64::try_from(ms).ok());
        let ends_at = lasts.map(|ms| self.clock.now().plus_ms(ms).0);
        // A service that says no other way to renew it goes on taking the one it gave.
        let refresh = granted.refresh.as_ref().or(before.refresh.as_ref());
        let accounts = self.vault.accounts().ok_or_else(|| self.ended(account))?;
        accounts.keep(account, &granted.access, refresh, ends_at).map_err(|error| later(&error.to_string()))
    }

    /// Writes down that the account opens nothing any more, and forgets what opened it.
    async fn disconnect(&self, account: &AccountRef, why: &NotGranted) {
        let fact = AccountDisconnected {
            credential: account.credential.clone(),
            owner: account.owner.clone(),
            by: PrincipalId::host(),
            reason: format!("its service does not take it any more: {why}"),
        };
        let stated = async {
            let stream = StreamName::new("account", &account.owner);
            let append = seed::append_of(seed::fresh_event_id()?, seed::host(), stream, Fact::from(fact));
            self.record.append_all(vec![append]).await?;
            if let Some(accounts) = self.vault.accounts() {
                accounts.forget(account)?;
            }
            anyhow::Ok(())
        };
        if let Err(error) = stated.await {
            tracing::warn!("an account that opens nothing could not be disconnected: {error:#}");
        }
    }

    fn kept(&self, account: &AccountRef) -> Result<Kept, Failure> {
        let accounts = self.vault.accounts().ok_or_else(|| self.ended(account))?;
        let kept = accounts.read(account).map_err(|error| later(&error.to_string()))?;
        kept.ok_or_else(|| self.ended(account))
    }

    /// The failure of a call whose account opens nothing any more.
    fn ended(&self, account: &AccountRef) -> Failure {
        let is_persons = account.owner.kind() == PrincipalKind::Person;
        let mut services = self.services.iter().filter(|_| is_persons);
        let service = services.find(|service| service.credential == account.credential);
        let mut message = format!(
            "the account `{}` of {} opens nothing any more: its owner has to connect it again",
            account.credential, account.owner
        );
        let kind = match service {
            Some(service) => {
                message.push_str(&format!("; {}", gate::how_to_connect(&service.name)));
                FailureKind::NoAccount(service.name.clone())
            }
            None => FailureKind::NotAllowed,
        };
        Failure { kind, message, retry_after_ms: None }
    }

    fn lasts(&self, kept: &Kept) -> bool {
        kept.ends_at_ms.is_none_or(|ends| ends > self.clock.now().plus_ms(EARLY_MS).0)
    }

    fn untaken(&self) -> std::sync::MutexGuard<'_, BTreeSet<AccountRef>> {
        self.untaken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn later(why: &str) -> Failure {
    Failure { kind: FailureKind::Unavailable, message: why.to_owned(), retry_after_ms: None }
}
