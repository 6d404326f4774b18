//! A person's yes: asked for before anything is held, answered by someone policy lets, used once.
//!
//! Always holds: what is shown is what runs, by digest; the asking and the answer stand in the record, so a
//! restart forgets neither; the answer is taken only from a person whose seat the policies let answer for this
//! tool, and they are asked at the moment of the answer. Deliberately absent: cards and buttons; whoever draws
//! one hands its click to [`Gate::answer`].

use crate::account::AccountKind;
use crate::call::Call;
use crate::catalogue::{EffectClass, Resource};
use crate::pass::{Gate, GateError};
use crate::policy::{Asked, Flow, OriginKind};
use crate::ready::Ready;
use crate::schema::APPROVE;
use crate::verdict::Asking;
use event::{
    Actor, ApprovalAsked, ApprovalGivenAhead, ApprovalId, ApprovalWithdrawn, Digest, Event, EventId,
    Expected, Fact, Integrity, Label, Personal, PrincipalId, Proposed, SeatCreated, SeatId, StreamName,
    Timestamp,
};
use fold::ahead::{Ahead, AheadRow, CannotGiveAhead};
use fold::approval::{ApprovalRow, ApprovalState, Approvals, CannotApprove, Command, stream};
use fold::seat::{SeatState, Seats};
use fold::{Projection, decode};
use record::{Append, Decided, Foreseen, RowKey, Rows};
use serde_json::json;
use std::collections::BTreeMap;

/// How long a call waits for a yes when nothing else is said: a quarter of an hour (mechanisms, section 5).
pub const WAIT_MS: i64 = 15 * 60 * 1_000;
/// The longest wait that may be set: a script may wait for days, and a month is no answer.
pub const WAIT_MS_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Seats looked through for those a person holds: far above any office, and a bound on one answer's work.
const SEATS_MAX: usize = 10_000;

/// How long a call waits for a person's yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalTimes {
    /// For a class that is not named, in milliseconds.
    pub wait_ms: i64,
    /// By effect class of the tool, in milliseconds.
    pub by_class: BTreeMap<EffectClass, i64>,
}

impl Default for ApprovalTimes {
    fn default() -> Self {
        Self { wait_ms: WAIT_MS, by_class: BTreeMap::new() }
    }
}

impl ApprovalTimes {
    /// When a call of this class, asked for at `at`, expires.
    #[must_use]
    pub fn expires_at(&self, class: EffectClass, at: Timestamp) -> Timestamp {
        let wait_ms = self.by_class.get(&class).copied().unwrap_or(self.wait_ms);
        Timestamp(at.0.saturating_add(wait_ms.clamp(1, WAIT_MS_MAX)))
    }
}

/// What a person answers to a call that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, to exactly what was shown.
    Yes,
    /// No, and why; the reason may be empty.
    No(String),
}

/// Why an answer is not taken. Each is something to tell the person who gave it.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The approval stands otherwise.
    #[error(transparent)]
    Approval(#[from] CannotApprove),
    /// A yes ahead, or its end, is not to be.
    #[error(transparent)]
    Ahead(#[from] CannotGiveAhead),
    /// The words that were shown are gone with their person: nobody says yes to what cannot be read.
    #[error("what was asked was erased: it can be denied, and not approved")]
    Erased,
    /// No seat this person holds may answer it.
    #[error("`{by}` may not answer for this call: {reason}")]
    NotEntitled {
        /// Who.
        by: PrincipalId,
        /// What the policies said, or that they hold no seat.
        reason: String,
    },
    /// The gate could not be used.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<record::Error> for AnswerError {
    fn from(error: record::Error) -> Self {
        Self::Gate(error.into())
    }
}

/// What a person is asked, once however often its call is passed.
pub(crate) struct Question {
    pub(crate) approval: ApprovalId,
    append: Append,
    expires_at: Timestamp,
}

impl Question {
    fn row(&self) -> RowKey {
        RowKey::new(Approvals.name(), self.approval.as_str())
    }

    /// Counts in what [`Question::decide`] looks at and appends.
    pub(crate) fn count_in(&self, foreseen: &mut Foreseen) {
        foreseen.rows.push(self.row());
        foreseen.count_in(std::slice::from_ref(&self.append));
    }

    /// What is appended, and when no answer becomes a no.
    pub(crate) fn decide(self, rows: &Rows) -> (Option<Append>, Timestamp) {
        let RowKey { projection, key } = self.row();
        match rows.state::<ApprovalRow>(projection, &key) {
            Some(stands) => (None, stands.expires_at),
            None => (Some(self.append), self.expires_at),
        }
    }
}

impl Gate {
    /// Where what was given ahead to the seat of `call` is, for its tool on its resource.
    pub(crate) fn ahead_key(&self, call: &Call) -> Option<String> {
        let crate::Payload::Tool(input) = &call.payload else { return None };
        let catalogue = &self.parts.catalogue;
        let spec = catalogue.tool(&call.tool)?;
        let resource = catalogue.resource(&spec, input).ok()?;
        Some(fold::ahead::key(&call.seat, &call.tool, &Digest::of(resource.text().as_bytes())))
    }

    /// What the person said who said no to it; rows hold none of their words, so their event is asked.
    pub(crate) async fn said_no(&self, approval: Option<&ApprovalRow>) -> Result<Option<String>, GateError> {
        let no = approval.filter(|row| matches!(row.state, ApprovalState::Denied { .. }));
        let Some(row) = no else { return Ok(None) };
        let event = self.parts.record.event(&answer_id(&row.approval, DENIED)).await?;
        match event.map(|event| event.fact) {
            Some(Fact::ApprovalDenied(denied)) => Ok(denied.reason.value().cloned()),
            _ => Ok(None),
        }
    }

    /// Where an approval stands.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn approval(&self, id: &ApprovalId) -> Result<Option<ApprovalRow>, GateError> {
        Ok(decode(self.parts.record.row(Approvals.name(), id.as_str()).await?.as_ref()))
    }

    /// What a person is asked about the call.
    pub(crate) fn question(&self, ready: &Ready, asking: Asking) -> Question {
        let (call, approval) = (&ready.call, asking.approval.clone());
        let expires_at = self.parts.approvals.expires_at(asking.effect, self.parts.clock.now());
        let fact = asked(call, asking, expires_at);
        let append = Append {
            stream: stream(&call.origin),
            expected: Expected::Any,
            events: vec![ready.story.approval("approval.asked", fact.into())],
            fence: call.fence.clone(),
        };
        Question { approval, append, expires_at }
    }

    /// Takes a person's answer to a call that waits. Saying the same twice is refused as answered before.
    ///
    /// # Errors
    /// [`AnswerError`], for whoever answered.
    pub async fn answer(
        &self,
        approval: &ApprovalId,
        by: &PrincipalId,
        answer: Answer,
    ) -> Result<Event, AnswerError> {
        let row = self.approval(approval).await?.ok_or(CannotApprove::NotAsked)?;
        let asked = self.asked_as(&row).await?;
        if answer == Answer::Yes && asked.input.value().is_none() {
            return Err(AnswerError::Erased);
        }
        let (seat, policies) = match &row.discloses {
            // Whose it is, is no question to policies.
            Some(owner) if owner == by => (None, Vec::new()),
            Some(owner) => return Err(CannotApprove::OwnersAlone(owner.clone()).into()),
            None => {
                let (seat, policies) = self.entitled(&row, &asked, by).await?;
                (Some(seat), policies)
            }
        };
        let actor = Actor { principal: by.clone(), seat: seat.clone() };
        let (what, command) = match answer {
            Answer::Yes => {
                let content = asked.content.clone();
                (GIVEN, Command::Give { by: by.clone(), seat, content, policies })
            }
            Answer::No(reason) => (DENIED, Command::Deny { by: by.clone(), seat, reason }),
        };
        let cause = self.parts.record.event(&row.asked_as).await?.ok_or(CannotApprove::NotAsked)?;
        let (now, key, origin) = (self.parts.clock.now(), approval.as_str().to_owned(), row.origin.clone());
        let id = answer_id(approval, what);
        let reads = vec![RowKey::new(Approvals.name(), &key)];
        let decided = self
            .parts
            .record
            .decide(reads, move |rows, _| {
                let stands: Option<ApprovalRow> = rows.state(Approvals.name(), &key);
                let fact = fold::approval::decide(stands.as_ref(), command, now)?;
                let event = Proposed { id, actor, cause: Some(cause.id), label: cause.label, fact };
                let stream = stream(&origin);
                let append = Append { stream, expected: Expected::Any, events: vec![event], fence: None };
                Ok::<_, CannotApprove>((vec![append], ()))
            })
            .await?;
        match decided {
            Decided::Appended { events, .. } => {
                events.into_iter().next().ok_or_else(|| CannotApprove::NotAsked.into())
            }
            Decided::Rejected(why) => Err(why.into()),
        }
    }

    /// Says yes ahead to every later call of the seat that asked, to the same tool on the same resource: a repeated
    /// yes made a narrow grant. With `exact`, only with exactly the arguments that were shown.
    ///
    /// # Errors
    /// [`AnswerError`], for whoever said it.
    pub async fn give_ahead(
        &self,
        approval: &ApprovalId,
        by: &PrincipalId,
        exact: bool,
        until: Option<Timestamp>,
        reason: &str,
    ) -> Result<Event, AnswerError> {
        let (row, asked, by_seat) = self.about_ahead(approval, by).await?;
        let fact = ApprovalGivenAhead {
            seat: row.seat.clone(),
            tool: row.tool.clone(),
            resource_digest: resource_digest(&asked)?,
            resource: asked.resource.clone(),
            content: exact.then(|| row.content.clone()),
            until,
            by: by.clone(),
            by_seat,
            reason: Personal::of(reason.to_owned(), [by.clone()]),
        };
        let (digest, seat) = (fact.resource_digest.clone(), fact.by_seat.clone());
        self.decide_ahead(&row, &digest, by, seat, fold::ahead::Command::Give(fact)).await
    }

    /// Withdraws what was given ahead for the call that `approval` asked for.
    ///
    /// # Errors
    /// [`AnswerError`], for whoever said it.
    pub async fn withdraw_ahead(
        &self,
        approval: &ApprovalId,
        by: &PrincipalId,
        reason: &str,
    ) -> Result<Event, AnswerError> {
        let (row, asked, by_seat) = self.about_ahead(approval, by).await?;
        let fact = ApprovalWithdrawn {
            seat: row.seat.clone(),
            tool: row.tool.clone(),
            resource_digest: resource_digest(&asked)?,
            by: by.clone(),
            by_seat,
            reason: Personal::of(reason.to_owned(), [by.clone()]),
        };
        let (digest, seat) = (fact.resource_digest.clone(), fact.by_seat.clone());
        self.decide_ahead(&row, &digest, by, seat, fold::ahead::Command::Withdraw(fact)).await
    }

    /// What a yes given ahead, or its end, is about, and the seat in which `by` may say it.
    async fn about_ahead(
        &self,
        approval: &ApprovalId,
        by: &PrincipalId,
    ) -> Result<(ApprovalRow, ApprovalAsked, SeatId), AnswerError> {
        let row = self.approval(approval).await?.ok_or(CannotApprove::NotAsked)?;
        let asked = self.asked_as(&row).await?;
        if row.discloses.is_some() {
            let reason = "a yes to tell others what is one's own counts for that call alone".to_owned();
            return Err(AnswerError::NotEntitled { by: by.clone(), reason });
        }
        let (seat, _) = self.entitled(&row, &asked, by).await?;
        Ok((row, asked, seat))
    }

    /// Appends what follows, on what stands for the seat, tool and resource. Said again at another moment, it is
    /// another event.
    async fn decide_ahead(
        &self,
        row: &ApprovalRow,
        resource: &Digest,
        by: &PrincipalId,
        seat: SeatId,
        command: fold::ahead::Command,
    ) -> Result<Event, AnswerError> {
        let now = self.parts.clock.now();
        let key = fold::ahead::key(&row.seat, &row.tool, resource);
        let (stream, approval, cause) =
            (StreamName::new("ahead", &row.seat), row.approval.clone(), row.asked_as.clone());
        let actor = Actor { principal: by.clone(), seat: Some(seat) };
        let reads = vec![RowKey::new(Ahead.name(), &key)];
        let decided = self
            .parts
            .record
            .decide(reads, move |rows, _| {
                let stands: Option<AheadRow> = rows.state(Ahead.name(), &key);
                let fact = fold::ahead::decide(stands.as_ref(), command, now)?;
                let id = EventId::derived(&[approval.as_str(), fact.kind(), &now.to_string()]);
                let event = Proposed { id, actor, cause: Some(cause), label: Label::host(), fact };
                let append = Append { stream, expected: Expected::Any, events: vec![event], fence: None };
                Ok::<_, CannotGiveAhead>((vec![append], ()))
            })
            .await?;
        match decided {
            Decided::Appended { events, .. } => {
                events.into_iter().next().ok_or_else(|| CannotApprove::NotAsked.into())
            }
            Decided::Rejected(why) => Err(why.into()),
        }
    }

    /// What was asked, in full.
    ///
    /// # Errors
    /// When there is no such approval, or the record cannot be read.
    pub async fn asked_as(&self, row: &ApprovalRow) -> Result<ApprovalAsked, AnswerError> {
        match self.parts.record.event(&row.asked_as).await?.map(|event| event.fact) {
            Some(Fact::ApprovalAsked(asked)) => Ok(asked),
            _ => Err(CannotApprove::NotAsked.into()),
        }
    }

    /// The first seat of this person that the policies let answer, and those policies.
    async fn entitled(
        &self,
        row: &ApprovalRow,
        asked: &ApprovalAsked,
        by: &PrincipalId,
    ) -> Result<(SeatId, Vec<String>), AnswerError> {
        let about = About {
            asker: Some(&row.seat),
            tool: &asked.tool,
            resource: asked.resource.text(),
            effect: EffectClass::of_word(&asked.effect),
            origin: &row.origin,
        };
        self.entitled_to(&about, by).await
    }

    /// The first seat of this person that the policies let answer for such a call, and those policies.
    pub(crate) async fn entitled_to(
        &self,
        about: &About<'_>,
        by: &PrincipalId,
    ) -> Result<(SeatId, Vec<String>), AnswerError> {
        let policy = self.policy().await?;
        let asker: Option<SeatCreated> = match about.asker {
            Some(asker) => self.setting(&fold::setting::seat(asker)).await?,
            None => None,
        };
        let asker_role = asker.map(|seat| seat.role).unwrap_or_default();
        let plugin = self.plugin_of(about.tool);
        let resource = Resource::Plugin(plugin.clone());
        let input = json!({
            "tool": about.tool, "resource": about.resource, "asker_role": asker_role,
            "asker": about.asker.map(SeatId::as_str).unwrap_or_default(),
        });
        let mut reason = "they hold no seat of this office".to_owned();
        for seat in self.seats_of(by).await? {
            let line = self.line(Some(&seat)).await?;
            let line: Vec<&SeatCreated> = line.iter().collect();
            let decision = policy.decide(&Asked {
                seat: &seat,
                line: &line,
                tool: APPROVE,
                resource: &resource,
                plugin: &plugin,
                input: &input,
                effect: about.effect.unwrap_or(EffectClass::Privileged),
                origin_kind: OriginKind::from(about.origin),
                flow: Flow::Unknown,
                integrity: Integrity::Trusted,
                account: AccountKind::None,
                account_of: String::new(),
                approved: true,
                granted_text: Vec::new(),
            });
            if decision.allowed {
                return Ok((seat.seat, decision.policies));
            }
            reason = decision.reason;
        }
        Err(AnswerError::NotEntitled { by: by.clone(), reason })
    }

    fn plugin_of(&self, tool: &str) -> String {
        let catalogue = &self.parts.catalogue;
        let tool_plugin = catalogue.tool(tool).map(|spec| spec.plugin.clone());
        tool_plugin.or_else(|| catalogue.model(tool).map(|spec| spec.plugin.clone())).unwrap_or_default()
    }

    async fn seats_of(&self, by: &PrincipalId) -> Result<Vec<SeatCreated>, GateError> {
        let rows = self.parts.record.ranked(Seats.name(), i64::MIN, SEATS_MAX).await?;
        let states = rows.iter().filter_map(|(_, row)| decode::<SeatState>(Some(row)));
        Ok(states.filter(|state| state.holder.as_ref() == Some(by)).map(|state| state.seat).collect())
    }
}

/// What somebody is to answer for: who may is asked of the policies.
pub(crate) struct About<'a> {
    /// The seat that made the call, where it is known.
    pub(crate) asker: Option<&'a SeatId>,
    pub(crate) tool: &'a str,
    /// What the call touches.
    pub(crate) resource: &'a str,
    /// What the tool may do outside; a tool that nobody knows any more may do anything.
    pub(crate) effect: Option<EffectClass>,
    pub(crate) origin: &'a event::Origin,
}

/// What a yes given ahead is held against. Erased words name no resource.
fn resource_digest(asked: &ApprovalAsked) -> Result<Digest, AnswerError> {
    asked.resource.value().map(|text| Digest::of(text.as_bytes())).ok_or(AnswerError::Erased)
}

const GIVEN: &str = "approval.given";
const DENIED: &str = "approval.denied";

/// The name of an answer: the same answer twice is one event.
fn answer_id(approval: &ApprovalId, what: &str) -> EventId {
    EventId::derived(&[approval.as_str(), what])
}

fn asked(call: &Call, asking: Asking, expires_at: Timestamp) -> ApprovalAsked {
    ApprovalAsked {
        approval: asking.approval,
        origin: call.origin.clone(),
        seat: call.seat.clone(),
        topic: call.topic.clone(),
        tool: call.tool.clone(),
        resource: call.personal(asking.resource.text().to_owned()),
        input: call.personal(call.input().clone()),
        content: call.content(),
        component: asking.component,
        effect: asking.effect.word().to_owned(),
        policies: asking.policies,
        reason: call.personal(asking.reason),
        discloses: asking.discloses,
        expires_at,
    }
}
