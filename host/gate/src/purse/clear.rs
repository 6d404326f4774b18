//! Holds that nobody ended: after a quarter of an hour the next append ends them.
//!
//! Released where no paid call began, unknown where one may have. There is no timer: whoever is about to spend
//! looks, whoever runs the office looks, and in between the gate knows before which moment none can be overdue.

use crate::pass::{Gate, GateError};
use crate::story::{Story, hold_abandoned};
use event::{Actor, EventId, HoldId, PrincipalId, Timestamp};
use fold::Projection;
use fold::purse::{HOLD_OPEN_MS_MAX, HoldRow, Holds, is_overdue};
use record::{Append, Decided, RowKey, Rows};
use std::convert::Infallible;
use std::sync::atomic::Ordering;

/// Holds that one append ends: enough for a host that died with every call it could run, and a bound on what the
/// next one pays for it. What remains is ended by the append after.
pub const CLEARED_MAX: usize = 64;

impl Gate {
    /// Ends the holds that are overdue, at most [`CLEARED_MAX`]; says how many that were. Reads nothing while none
    /// can be.
    ///
    /// # Errors
    /// [`GateError::Record`].
    pub async fn clear_holds(&self) -> Result<usize, GateError> {
        let now = self.now();
        if now.0 < self.moments.clear_at.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let open = self.parts.record.ranked(Holds.name(), i64::MIN, CLEARED_MAX).await?;
        let states = open.iter().filter_map(|(key, row)| Some((key, fold::decode::<HoldRow>(Some(row))?)));
        let (mut overdue, mut oldest) = (Vec::new(), None);
        for (key, hold) in states {
            if is_overdue(&hold, now) {
                overdue.extend(HoldId::parse(key).ok());
            } else {
                oldest.get_or_insert(hold.taken_at);
            }
        }
        let ended = if overdue.is_empty() { 0 } else { self.end_overdue(overdue).await? };
        // A hold that is taken from now on is not overdue sooner than one that is taken now.
        if ended == 0 {
            let next = oldest.unwrap_or(now).plus_ms(HOLD_OPEN_MS_MAX);
            self.moments.clear_at.store(next.0, Ordering::Relaxed);
        }
        Ok(ended)
    }

    async fn end_overdue(&self, overdue: Vec<HoldId>) -> Result<usize, GateError> {
        let reads = overdue.iter().map(|id| RowKey::new(Holds.name(), id.as_str())).collect();
        let decided = self
            .parts
            .record
            .decide(reads, move |rows, at| {
                let appends = ends(&overdue, rows, at);
                let count = appends.len();
                Ok::<_, Infallible>((appends, count))
            })
            .await?;
        match decided {
            Decided::Appended { value, .. } => Ok(value),
            Decided::Rejected(never) => match never {},
        }
    }
}

/// The ends of those that are still open, each on its call's own stream.
fn ends(overdue: &[HoldId], rows: &Rows, at: Timestamp) -> Vec<Append> {
    let holds = overdue.iter().filter_map(|id| Some((id, rows.state::<HoldRow>(Holds.name(), id.as_str())?)));
    holds
        .filter(|(_, hold)| is_overdue(hold, at))
        .filter_map(|(id, hold)| {
            let actor = Actor { principal: PrincipalId::gate(), seat: None };
            let cause = EventId::derived(&[&hold.origin.to_string(), "hold.taken"]);
            let end = hold_abandoned(id, &hold, actor, cause)?;
            Some(Append::new(Story::stream(&hold.origin), event::Expected::Any, vec![end]))
        })
        .collect()
}
