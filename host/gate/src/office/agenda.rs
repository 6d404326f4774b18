//! What waits in the conversation that a call is made in: for a person's yes, for an answer, for a moment.

use super::{Given, Here, no, rows_label, unread};
use crate::reach::{Failure, FailureKind};
use event::{ApprovalId, Fact, Position, RequestId, StreamName, Timestamp, Topic};
use fold::approval::{ApprovalRow, Approvals};
use fold::moment::{MomentRow, Moments, look_key};
use fold::request::{RequestRow, Requests};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, decode};
use std::sync::Arc;

/// The most open approvals, and open requests, that are looked through: far more than one office has.
const LOOKED_THROUGH_MAX: usize = 500;
/// The most of each that are told.
const TOLD_MAX: usize = 20;

/// What waits in the conversation that a call is made in.
pub struct Agenda {
    pub(super) given: Arc<Given>,
}

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Calls of the seat that wait for a person's yes.
    pub approvals: Vec<ApprovalWaits>,
    /// Requests that the seat asked, or owes an answer to.
    pub requests: Vec<RequestWaits>,
    /// When the seat looks at this again.
    pub look_again_at: Option<Timestamp>,
    /// How many of its approvals and requests wait in other conversations.
    pub elsewhere: u32,
}

/// A call that waits for a person's yes. Deliberately absent: its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalWaits {
    /// The approval.
    pub approval: ApprovalId,
    /// The tool.
    pub tool: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When no answer becomes a no.
    pub expires_at: Timestamp,
}

/// A request that nobody answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestWaits {
    /// The request.
    pub request: RequestId,
    /// The seat that asks.
    pub asker: String,
    /// The seat that owes an answer.
    pub holder: String,
    /// What is wanted; nothing where that was erased, or not everyone who reads here may read it.
    pub wanted: Option<String>,
    /// When it lapses.
    pub due_at: Timestamp,
}

impl Agenda {
    /// What waits here for the seat that makes the call.
    ///
    /// # Errors
    /// When the call is made in no conversation, or the record cannot be read.
    pub async fn waiting(&self) -> Result<Waiting, Failure> {
        let topic = self.given.topic().and_then(|topic| Some((topic, Here::of(topic)?)));
        let (topic, here) =
            topic.ok_or_else(|| no(FailureKind::NotFound, "this call is made in no conversation"))?;
        self.given.read(&rows_label());
        let mut waiting = Waiting { look_again_at: self.moment(topic).await?, ..Waiting::default() };
        self.approvals(&here, &mut waiting).await?;
        self.requests(&here, &mut waiting).await?;
        Ok(waiting)
    }

    async fn moment(&self, topic: &Topic) -> Result<Option<Timestamp>, Failure> {
        let key = look_key(&self.given.call.seat, topic);
        let row = self.given.record.row(Moments.name(), &key).await.map_err(|error| unread(&error))?;
        Ok(decode::<MomentRow>(row.as_ref()).map(|row| row.at))
    }

    async fn approvals(&self, here: &Here, waiting: &mut Waiting) -> Result<(), Failure> {
        let record = &self.given.record;
        let open = record.ranked(Approvals.name(), i64::MIN, LOOKED_THROUGH_MAX).await;
        let open = open.map_err(|error| unread(&error))?;
        let rows = open.iter().filter_map(|(_, row)| decode::<ApprovalRow>(Some(row)));
        for row in rows.filter(|row| row.seat == self.given.call.seat) {
            let turn = match row.origin.turn() {
                Some(turn) => {
                    record.row(Turns.name(), turn.as_str()).await.map_err(|error| unread(&error))?
                }
                None => None,
            };
            let is_here = decode::<TurnRow>(turn.as_ref()).is_some_and(|turn| here.is_about(&turn.topic));
            if !is_here || waiting.approvals.len() == TOLD_MAX {
                waiting.elsewhere = waiting.elsewhere.saturating_add(1);
                continue;
            }
            let ApprovalRow { approval, tool, asked_at, expires_at, .. } = row;
            waiting.approvals.push(ApprovalWaits { approval, tool, asked_at, expires_at });
        }
        Ok(())
    }

    async fn requests(&self, here: &Here, waiting: &mut Waiting) -> Result<(), Failure> {
        let record = &self.given.record;
        let open = record.ranked(Requests.name(), i64::MIN, LOOKED_THROUGH_MAX).await;
        let open = open.map_err(|error| unread(&error))?;
        let seat = &self.given.call.seat;
        let rows = open.iter().filter_map(|(_, row)| decode::<RequestRow>(Some(row)));
        for asked in rows.map(|row| row.asked).filter(|asked| asked.asker == *seat || asked.holder == *seat) {
            if !here.is_about(&asked.topic) || waiting.requests.len() == TOLD_MAX {
                waiting.elsewhere = waiting.elsewhere.saturating_add(1);
                continue;
            }
            waiting.requests.push(RequestWaits {
                wanted: self.wanted(here, &asked.request).await?,
                asker: asked.asker.as_str().to_owned(),
                holder: asked.holder.as_str().to_owned(),
                due_at: asked.due_at,
                request: asked.request,
            });
        }
        Ok(())
    }

    /// What a request wants, as far as everyone who reads here may read it.
    async fn wanted(&self, here: &Here, request: &RequestId) -> Result<Option<String>, Failure> {
        let stream = StreamName::new("request", request);
        let first = self.given.record.read_stream(&stream, Position(1), 1).await;
        let first = first.map_err(|error| unread(&error))?;
        let Some(event) = first.first().filter(|event| here.may_read(&event.label)) else { return Ok(None) };
        let Fact::RequestAsked(asked) = &event.fact else { return Ok(None) };
        self.given.read_event(event);
        Ok(asked.wanted.value().cloned())
    }
}
