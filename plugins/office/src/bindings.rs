//! `chancery:host/office` for this plugin: generated bindings, and what a call was given as the plain [`Verbs`].
#![allow(missing_docs, unsafe_code, reason = "the generated bindings")]

use crate::verbs::{self, Approval, Budget, Line, Page, Request, Seat, Turn, Verbs, Waiting, not_given};
use guest::{Failure, Kind};

wit_bindgen::generate!({
    path: ["../../wit/types", "../../wit/host"],
    inline: "
        package chancery:office-plugin;

        world with-office {
            import chancery:host/office@0.1.0;
        }
    ",
    generate_all,
});

use chancery::host::office::{self, Handles};
use chancery::types::types;

/// What this call is given.
pub fn given() -> Given {
    Given(office::given())
}

/// The handles of one call.
pub struct Given(Handles);

impl Verbs for Given {
    fn said(&self, find: Option<String>, before: Option<u64>, limit: u32) -> Result<Page, Failure> {
        let place = self.0.place.as_ref().ok_or_else(|| not_given("place"))?;
        let page = place.said(find.as_deref(), before, limit)?;
        let line = |line: office::Line| Line {
            position: line.position,
            at_ms: line.at_ms,
            who: line.who,
            thread: line.thread,
            text: line.text,
        };
        Ok(Page {
            lines: page.lines.into_iter().map(line).collect(),
            earlier: page.earlier,
            withheld: page.withheld,
        })
    }

    fn seats(&self) -> Result<Vec<Seat>, Failure> {
        let seat = self.0.seat.as_ref().ok_or_else(|| not_given("seat"))?;
        let one = |one: office::Holding| Seat {
            seat: one.seat,
            own: one.is_own,
            role: one.role,
            department: one.department,
            reports_to: one.reports_to,
            holder: one.holder,
            takes_turns: one.takes_turns,
            works_for_it: one.works_for_it,
            answers_for: one.answers_for,
        };
        Ok(seat.all()?.into_iter().map(one).collect())
    }

    fn turns(&self, limit: u32) -> Result<Vec<Turn>, Failure> {
        let seat = self.0.seat.as_ref().ok_or_else(|| not_given("seat"))?;
        let one = |one: office::Turn| Turn {
            name: one.name,
            at_ms: one.at_ms,
            woken_by: one.woken_by,
            ending: one.ending,
            summary: one.summary,
        };
        Ok(seat.turns(limit)?.into_iter().map(one).collect())
    }

    fn budgets(&self) -> Result<Vec<Budget>, Failure> {
        let purse = self.0.purse.as_ref().ok_or_else(|| not_given("purse"))?;
        let one = |one: office::Budget| Budget {
            name: one.name,
            limit: one.limit,
            settled: one.settled,
            held: one.held,
            unknown: one.unknown,
            left: one.left,
            resets_at_ms: one.resets_at_ms,
        };
        Ok(purse.budgets()?.into_iter().map(one).collect())
    }

    fn waiting(&self) -> Result<Waiting, Failure> {
        let agenda = self.0.agenda.as_ref().ok_or_else(|| not_given("agenda"))?;
        let waiting = agenda.waiting()?;
        let approval = |one: office::ApprovalWaits| Approval {
            approval: one.approval,
            tool: one.tool,
            asked_at_ms: one.asked_at_ms,
            expires_at_ms: one.expires_at_ms,
        };
        let request = |one: office::RequestWaits| Request {
            request: one.request,
            asker: one.asker,
            holder: one.holder,
            wanted: one.wanted,
            due_at_ms: one.due_at_ms,
        };
        Ok(verbs::Waiting {
            approvals: waiting.approvals.into_iter().map(approval).collect(),
            requests: waiting.requests.into_iter().map(request).collect(),
            look_again_at_ms: waiting.look_again_at_ms,
            elsewhere: waiting.elsewhere,
        })
    }

    fn look_again(&self, minutes: u32) -> Result<i64, Failure> {
        let wishes = self.0.wishes.as_ref().ok_or_else(|| not_given("wishes"))?;
        Ok(wishes.look_again(minutes)?)
    }

    fn ask(&self, seat: &str, wanted: &str, minutes: u32) -> Result<String, Failure> {
        let wishes = self.0.wishes.as_ref().ok_or_else(|| not_given("wishes"))?;
        Ok(wishes.ask(seat, wanted, minutes)?)
    }

    fn answer(&self, request: &str, answer: &str) -> Result<String, Failure> {
        let wishes = self.0.wishes.as_ref().ok_or_else(|| not_given("wishes"))?;
        Ok(wishes.answer(request, answer)?)
    }
}

impl From<types::Failure> for Failure {
    fn from(failure: types::Failure) -> Self {
        let kind = match failure.kind {
            types::FailureKind::InvalidInput => Kind::InvalidInput,
            types::FailureKind::NotFound => Kind::NotFound,
            types::FailureKind::NotAllowed => Kind::NotAllowed,
            types::FailureKind::TooLarge => Kind::TooLarge,
            _ => Kind::Unavailable,
        };
        Self { retry_after_ms: failure.retry_after_ms, ..Self::new(kind, failure.message) }
    }
}
