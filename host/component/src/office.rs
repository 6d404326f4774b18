//! Handles of the office, as a guest has them: entries of its own call's table, made once and dropped with the store.
//!
//! What each gives is `gate::office`'s to say; here it only takes the form of `chancery:host/office`. A handle that a
//! guest makes up is in no table, and the engine ends the call.

use crate::bindings::office::{
    ApprovalWaits, Budget, Handles, Holding, Host, HostAgenda, HostPlace, HostPurse, HostSeat, HostWishes,
    Line, Page, RequestWaits, Turn, Waiting,
};
use crate::bindings::types;
use crate::state::State;
use event::{NanoUsd, Timestamp};
use gate::office::{self, Agenda, Place, Purse, Seat, Wishes};
use gate::{Failure, FailureKind};
use wasmtime::component::Resource;
use wasmtime::component::ResourceTable;

type Given<T> = wasmtime::Result<Result<T, types::Failure>>;

impl Host for State {
    async fn given(&mut self) -> wasmtime::Result<Handles> {
        let Some(verbs) = self.verbs.take() else { return Ok(nothing()) };
        // What a guest reads of the office is for whoever asked, and not for the operator's log.
        self.lines.end();
        let table = &mut self.table;
        Ok(Handles {
            place: pushed(table, verbs.place())?,
            seat: pushed(table, verbs.seat())?,
            purse: pushed(table, verbs.purse())?,
            agenda: pushed(table, verbs.agenda())?,
            wishes: pushed(table, verbs.wishes())?,
        })
    }
}

fn nothing() -> Handles {
    Handles { place: None, seat: None, purse: None, agenda: None, wishes: None }
}

fn pushed<T: Send + 'static>(
    table: &mut ResourceTable,
    handle: Option<T>,
) -> wasmtime::Result<Option<Resource<T>>> {
    handle.map(|handle| table.push(handle)).transpose().map_err(Into::into)
}

impl HostPlace for State {
    async fn said(
        &mut self,
        place: Resource<Place>,
        find: Option<String>,
        before: Option<u64>,
        limit: u32,
    ) -> Given<Page> {
        let said = self.table.get(&place)?.said(find.as_deref(), before, limit).await;
        Ok(said.map(page).map_err(failure))
    }

    async fn drop(&mut self, place: Resource<Place>) -> wasmtime::Result<()> {
        self.table.delete(place)?;
        Ok(())
    }
}

impl HostSeat for State {
    async fn all(&mut self, seat: Resource<Seat>) -> Given<Vec<Holding>> {
        let all = self.table.get(&seat)?.all().await;
        Ok(all.map(|all| all.into_iter().map(holding).collect()).map_err(failure))
    }

    async fn turns(&mut self, seat: Resource<Seat>, limit: u32) -> Given<Vec<Turn>> {
        let turns = self.table.get(&seat)?.turns(limit).await;
        Ok(turns.map(|turns| turns.into_iter().map(turn).collect()).map_err(failure))
    }

    async fn drop(&mut self, seat: Resource<Seat>) -> wasmtime::Result<()> {
        self.table.delete(seat)?;
        Ok(())
    }
}

impl HostPurse for State {
    async fn budgets(&mut self, purse: Resource<Purse>) -> Given<Vec<Budget>> {
        let budgets = self.table.get(&purse)?.budgets().await;
        Ok(budgets.map(|budgets| budgets.into_iter().map(budget).collect()).map_err(failure))
    }

    async fn drop(&mut self, purse: Resource<Purse>) -> wasmtime::Result<()> {
        self.table.delete(purse)?;
        Ok(())
    }
}

impl HostAgenda for State {
    async fn waiting(&mut self, agenda: Resource<Agenda>) -> Given<Waiting> {
        let waiting = self.table.get(&agenda)?.waiting().await;
        Ok(waiting.map(self::waiting).map_err(failure))
    }

    async fn drop(&mut self, agenda: Resource<Agenda>) -> wasmtime::Result<()> {
        self.table.delete(agenda)?;
        Ok(())
    }
}

impl HostWishes for State {
    async fn look_again(&mut self, wishes: Resource<Wishes>, minutes: u32) -> Given<i64> {
        let at = self.table.get(&wishes)?.look_again(minutes).await;
        Ok(at.map(|Timestamp(at)| at).map_err(failure))
    }

    async fn ask(
        &mut self,
        wishes: Resource<Wishes>,
        holder: String,
        wanted: String,
        minutes: u32,
    ) -> Given<String> {
        let asked = self.table.get(&wishes)?.ask(&holder, wanted, minutes).await;
        Ok(asked.map(|request| request.as_str().to_owned()).map_err(failure))
    }

    async fn answer(&mut self, wishes: Resource<Wishes>, request: String, answer: String) -> Given<String> {
        let answered = self.table.get(&wishes)?.answer(&request, answer).await;
        Ok(answered.map(|request| request.as_str().to_owned()).map_err(failure))
    }

    async fn drop(&mut self, wishes: Resource<Wishes>) -> wasmtime::Result<()> {
        self.table.delete(wishes)?;
        Ok(())
    }
}

fn page(page: office::Page) -> Page {
    let line = |line: office::Line| Line {
        position: line.position,
        at_ms: line.at.0,
        who: line.who,
        thread: line.thread,
        text: line.text,
    };
    Page { lines: page.lines.into_iter().map(line).collect(), earlier: page.earlier, withheld: page.withheld }
}

fn holding(one: office::Holding) -> Holding {
    let office::Holding {
        seat,
        own,
        role,
        department,
        reports_to,
        holder,
        takes_turns,
        works_for_it,
        answers_for,
    } = one;
    Holding {
        seat,
        is_own: own,
        role,
        department,
        reports_to,
        holder,
        takes_turns,
        works_for_it,
        answers_for,
    }
}

fn turn(turn: office::Turn) -> Turn {
    Turn {
        name: turn.turn.as_str().to_owned(),
        at_ms: turn.opened_at.0,
        woken_by: turn.woken_by,
        ending: turn.ending.word().to_owned(),
        summary: turn.summary,
    }
}

fn budget(one: office::Budget) -> Budget {
    let NanoUsd(limit) = one.limit;
    Budget {
        name: one.budget,
        limit,
        settled: one.settled.0,
        held: one.held.0,
        unknown: one.unknown.0,
        left: one.left.map(|left| left.0),
        resets_at_ms: one.resets_at.map(|at| at.0),
    }
}

fn waiting(waiting: office::Waiting) -> Waiting {
    let approval = |one: office::ApprovalWaits| ApprovalWaits {
        approval: one.approval.as_str().to_owned(),
        tool: one.tool,
        asked_at_ms: one.asked_at.0,
        expires_at_ms: one.expires_at.0,
    };
    let request = |one: office::RequestWaits| RequestWaits {
        request: one.request.as_str().to_owned(),
        asker: one.asker,
        holder: one.holder,
        wanted: one.wanted,
        due_at_ms: one.due_at.0,
    };
    Waiting {
        approvals: waiting.approvals.into_iter().map(approval).collect(),
        requests: waiting.requests.into_iter().map(request).collect(),
        look_again_at_ms: waiting.look_again_at.map(|at| at.0),
        elsewhere: waiting.elsewhere,
    }
}

/// The failure as a guest is told it.
fn failure(failure: Failure) -> types::Failure {
    let kind = match failure.kind {
        FailureKind::InvalidInput => types::FailureKind::InvalidInput,
        FailureKind::NotFound => types::FailureKind::NotFound,
        FailureKind::NotAllowed => types::FailureKind::NotAllowed,
        FailureKind::TooLarge => types::FailureKind::TooLarge,
        _ => types::FailureKind::Unavailable,
    };
    types::Failure { kind, message: failure.message, retry_after_ms: failure.retry_after_ms }
}
