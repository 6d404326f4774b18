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
use crate::pass::{Gate, GateError};
use crate::policy::PolicySet;
use crate::purse::{account_keys, budget_keys, has_purse, in_play, with_accounts};
use event::{Digest, PricesListed, RefusalSubject, SeatCreated, Timestamp};
use fold::Projection;
use fold::ahead::{Ahead, AheadRow};
use fold::approval::{ApprovalRow, Approvals, approval_id};
use fold::class::Classes;
use fold::purse::InPlay;
use fold::refusal::{RefusalRow, Refusals};
use fold::setting::{self, Settings};
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
}

/// Where the rows that a call names by itself are.
struct Places {
    seat: String,
    /// Of a plugin that has routes: its name and the digest of its component.
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
    fn of(gate: &Gate, call: &Call) -> Self {
        let catalogue = gate.parts.catalogue.as_ref();
        let component = component(call, catalogue);
        let approval = component.as_ref().map(|(_, digest)| {
            approval_id(&call.origin, &call.tool, &call.content(), digest).as_str().to_owned()
        });
        Self {
            seat: setting::seat(&call.seat),
            routed: component.filter(|(plugin, _)| !catalogue.routes(plugin).is_empty()),
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
    pub(crate) async fn look(&self, call: &Call, at: Timestamp) -> Result<Looked, GateError> {
        let places = Places::of(self, call);
        let rows = self.parts.record.rows(places.keys()).await?;
        let policy = self.policy_in_force(rows.state(Settings.name(), setting::IN_FORCE)).await?;
        let seat: Option<SeatCreated> = rows.state(Settings.name(), &places.seat);
        let budgets = in_play(&rows, &places.budgets, at);
        let (line, budgets, of_budgets) = self.look_further(seat.as_ref(), budgets).await?;
        let is_paid = !places.budgets.is_empty();
        if is_paid {
            has_purse(&budgets)?;
        }
        let mut refusals = standing(&rows, &places.subjects);
        refusals.extend(of_budgets);
        let looked = Looked {
            policy,
            line,
            prices: if is_paid { rows.state(Settings.name(), setting::PRICES) } else { None },
            refusals,
            approval: places.approval.as_ref().and_then(|id| rows.state(Approvals.name(), id)),
            own: Own::of(call, self.parts.catalogue.as_ref(), &rows),
            ahead: places.ahead.as_ref().and_then(|key| rows.state(Ahead.name(), key)),
            class: class_of(places.class.as_ref().and_then(|key| rows.state(Classes.name(), key))),
            no_grant: places.routed.as_ref().and_then(|(plugin, digest)| no_grant(&rows, plugin, digest)),
            seat,
            budgets,
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
    ) -> Result<(Vec<SeatCreated>, Vec<InPlay>, Vec<RefusalRow>), GateError> {
        let above = seat.and_then(|seat| seat.line.as_ref()).map(setting::seat);
        let name = |one: &InPlay| RefusalSubject::Budget(one.budget.budget.clone());
        let subjects: Vec<RefusalSubject> = budgets.iter().map(name).collect();
        let mut keys: Vec<RowKey> = subjects.iter().map(refusal).collect();
        keys.extend(above.iter().map(|key| RowKey::new(Settings.name(), key)));
        keys.extend(account_keys(&budgets));
        let rows = self.parts.record.rows(keys).await?;
        let above: Option<SeatCreated> = above.and_then(|key| rows.state(Settings.name(), &key));
        let mut line = Vec::new();
        if let Some(above) = above {
            let further = self.line(Some(&above)).await?;
            line = std::iter::once(above).chain(further).take(LINE_SEATS_MAX + 1).collect();
        }
        let (budgets, refusals) = (with_accounts(&rows, budgets), standing(&rows, &subjects));
        rows.were_named()?;
        Ok((line, budgets, refusals))
    }
}
