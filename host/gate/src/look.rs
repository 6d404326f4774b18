//! What a call is judged by, as the record has it: two reads of many rows, and one for each seat further up the line.
//!
//! The first read is of all that the call names by itself; the second of what only that says: accounts of the budgets'
//! present windows, what stands against those budgets, the seat above. Nothing is judged here.

use crate::account::Own;
use crate::admit::{component, subjects};
use crate::call::Call;
use crate::catalogue::EffectClass;
use crate::classify::class_of;
use crate::entities::LINE_SEATS_MAX;
use crate::in_force::no_grant;
use crate::known::Trust;
use crate::pass::{Gate, GateError};
use crate::policy::PolicySet;
use crate::purse::{account_keys, budget_keys, has_purse, in_play, with_accounts};
use crate::ready::Ready;
use event::{Digest, PricesListed, RefusalSubject, SeatCreated, Timestamp};
use fold::ahead::{Ahead, AheadRow};
use fold::approval::{ApprovalRow, Approvals, approval_id};
use fold::class::Classes;
use fold::purse::{Accounts, InPlay};
use fold::refusal::{RefusalRow, Refusals};
use fold::setting::{self, Settings};
use fold::{Projection, Row};
use record::{RowKey, Rows};
use std::sync::Arc;

/// What was found for one call.
pub(crate) struct Looked {
    pub(crate) policy: Arc<PolicySet>,
    pub(crate) seat: Option<SeatCreated>,
    /// The seats above it, nearest first.
    pub(crate) line: Vec<SeatCreated>,
    /// Only for a call that costs something.
    pub(crate) prices: Option<PricesListed>,
    /// Those the call is held on; none when it costs nothing.
    pub(crate) budgets: Vec<InPlay>,
    pub(crate) refusals: Vec<RefusalRow>,
    pub(crate) approval: Option<ApprovalRow>,
    pub(crate) ahead: Option<AheadRow>,
    /// The accounts it may use, and where what is theirs may be told.
    pub(crate) own: Own,
    /// What it was judged to be, when its tool declares no class.
    pub(crate) class: Option<EffectClass>,
    /// Why the plugin may use none of its routes; nothing when it may, or has none.
    pub(crate) no_grant: Option<String>,
    /// The rows all this was made from.
    pub(crate) seen: Seen,
}

/// The rows that a call was judged by, but for the accounts: those are looked at when it begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Vec<(RowKey, Option<Row>)>);

impl Seen {
    fn add(&mut self, rows: &Rows) {
        let seen = rows.iter().filter(|(key, _)| key.projection != Accounts.name());
        self.0.extend(seen.map(|(key, row)| (key.clone(), row.cloned())));
    }

    /// Where they are.
    pub(crate) fn keys(&self) -> impl Iterator<Item = RowKey> {
        self.0.iter().map(|(key, _)| key.clone())
    }

    /// Whether each of them stands in `rows` as it was seen.
    pub(crate) fn stands(&self, rows: &Rows) -> bool {
        self.0.iter().all(|(key, row)| rows.get(key.projection, &key.key) == row.as_ref())
    }
}

/// Where the rows that a call names by itself are.
struct Places {
    seat: String,
    /// Of a plugin that has routes or is given handles: its name and the digest of its component.
    routed: Option<(String, Digest)>,
    approval: Option<String>,
    ahead: Option<String>,
    own: Vec<RowKey>,
    class: Option<String>,
    subjects: Vec<RefusalSubject>,
    /// Names; none when the call costs nothing.
    budgets: Vec<RowKey>,
}

impl Places {
    fn of(gate: &Gate, call: &Call, content: &Digest) -> Self {
        let catalogue = gate.parts.catalogue.as_ref();
        let component = component(call, catalogue);
        let approval = component
            .as_ref()
            .map(|(_, digest)| approval_id(&call.origin, &call.tool, content, digest).as_str().to_owned());
        Self {
            seat: setting::seat(&call.seat),
            routed: component.filter(|(plugin, _)| {
                !catalogue.routes(plugin).is_empty() || !catalogue.handles(&call.tool).is_empty()
            }),
            approval,
            ahead: gate.ahead_key(call),
            own: Own::places(call, catalogue),
            class: gate.class_key(call),
            subjects: subjects(call, catalogue, Vec::new()),
            budgets: budget_keys(call, catalogue),
        }
    }

    fn keys(&self) -> Vec<RowKey> {
        let setting = |key: &str| RowKey::new(Settings.name(), key);
        let mut keys = vec![setting(setting::IN_FORCE), setting(&self.seat)];
        if let Some((plugin, _)) = &self.routed {
            keys.extend([setting(&setting::grant(plugin)), setting(&setting::ungranted(plugin))]);
        }
        if !self.budgets.is_empty() {
            keys.push(setting(setting::PRICES));
        }
        keys.extend(self.budgets.iter().cloned());
        keys.extend(self.own.iter().cloned());
        keys.extend(self.approval.iter().map(|id| RowKey::new(Approvals.name(), id)));
        keys.extend(self.ahead.iter().map(|key| RowKey::new(Ahead.name(), key)));
        keys.extend(self.class.iter().map(|key| RowKey::new(Classes.name(), key)));
        keys.extend(self.subjects.iter().map(refusal));
        keys
    }
}

fn refusal(subject: &RefusalSubject) -> RowKey {
    RowKey::new(Refusals.name(), fold::refusal::key(subject))
}

/// What stands against `subjects`, in their order.
fn standing(rows: &Rows, subjects: &[RefusalSubject]) -> Vec<RefusalRow> {
    let row = |subject| rows.state(Refusals.name(), &fold::refusal::key(subject));
    subjects.iter().filter_map(row).collect()
}

impl Gate {
    /// Looks up what `call` is judged by at `at`.
    ///
    /// # Errors
    /// [`GateError::Record`]; [`GateError::NoPolicy`] and [`GateError::Policy`] when no set decides;
    /// [`GateError::NoPurse`] when a paid call would be held on no budget of the organisation.
    pub(crate) async fn look(&self, ready: &Ready, at: Timestamp, trust: Trust) -> Result<Looked, GateError> {
        let places = Places::of(self, &ready.call, ready.story.content());
        let rows = self.read(places.keys(), trust).await?;
        let mut seen = Seen::default();
        seen.add(&rows);
        let policy = self.policy_in_force(rows.state(Settings.name(), setting::IN_FORCE)).await?;
        let seat: Option<SeatCreated> = rows.state(Settings.name(), &places.seat);
        let budgets = in_play(&rows, &places.budgets, at);
        let (line, budgets, of_budgets) = self.look_further(seat.as_ref(), budgets, trust, &mut seen).await?;
        let is_paid = !places.budgets.is_empty();
        match has_purse(&budgets) {
            Err(_) if is_paid && trust == Trust::Known => {
                return Box::pin(self.look(ready, at, Trust::Record)).await;
            }
            Err(why) if is_paid => return Err(why),
            _ => {}
        }
        let mut refusals = standing(&rows, &places.subjects);
        refusals.extend(of_budgets);
        let looked = Looked {
            policy,
            line,
            prices: if is_paid { rows.state(Settings.name(), setting::PRICES) } else { None },
            refusals,
            approval: places.approval.as_ref().and_then(|id| rows.state(Approvals.name(), id)),
            own: Own::of(&ready.call, self.parts.catalogue.as_ref(), &rows),
            ahead: places.ahead.as_ref().and_then(|key| rows.state(Ahead.name(), key)),
            class: class_of(places.class.as_ref().and_then(|key| rows.state(Classes.name(), key))),
            no_grant: places.routed.as_ref().and_then(|(plugin, digest)| no_grant(&rows, plugin, digest)),
            seat,
            budgets,
            seen,
        };
        rows.were_named()?;
        Ok(looked)
    }

    /// What the first read led to: the line above `seat`, the budgets with what stands on their accounts, and the
    /// refusals of those budgets.
    async fn look_further(
        &self,
        seat: Option<&SeatCreated>,
        budgets: Vec<InPlay>,
        trust: Trust,
        seen: &mut Seen,
    ) -> Result<(Vec<SeatCreated>, Vec<InPlay>, Vec<RefusalRow>), GateError> {
        let mut above = above(seat);
        let name = |one: &InPlay| RefusalSubject::Budget(one.budget.budget.clone());
        let subjects: Vec<RefusalSubject> = budgets.iter().map(name).collect();
        let mut keys: Vec<RowKey> = subjects.iter().map(refusal).collect();
        keys.extend(above.clone());
        keys.extend(account_keys(&budgets));
        let first = self.read(keys, trust).await?;
        seen.add(&first);
        let (mut line, mut further) = (Vec::<SeatCreated>::new(), None);
        while let Some(key) = above.filter(|_| line.len() <= LINE_SEATS_MAX) {
            let rows = further.as_ref().unwrap_or(&first);
            let Some(seat) = rows.state::<SeatCreated>(key.projection, &key.key) else { break };
            above = self::above(Some(&seat));
            line.push(seat);
            if let Some(key) = &above {
                let rows = self.read(vec![key.clone()], trust).await?;
                seen.add(&rows);
                further = Some(rows);
            }
        }
        let (budgets, refusals) = (with_accounts(&first, budgets), standing(&first, &subjects));
        first.were_named()?;
        Ok((line, budgets, refusals))
    }

    async fn read(&self, keys: Vec<RowKey>, trust: Trust) -> Result<Rows, GateError> {
        if trust == Trust::Known
            && let Some(rows) = self.known.of(&keys)
        {
            return Ok(rows);
        }
        let rows = self.parts.record.rows(keys).await?;
        self.known.keep(&rows);
        Ok(rows)
    }
}

/// Where the seat above `seat` is.
fn above(seat: Option<&SeatCreated>) -> Option<RowKey> {
    let above = seat.and_then(|seat| seat.line.as_ref());
    above.map(|above| RowKey::new(Settings.name(), setting::seat(above)))
}
