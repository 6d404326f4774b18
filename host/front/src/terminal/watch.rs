//! What the record says about one session, as a fold: which of its events a person at the terminal is shown.

use converse::{TERMINAL_ROOT, TERMINAL_TEAM, TOOL_TERMINAL, card};
use event::personal::ERASED;
use event::{
    AccountWanted, ApprovalAsked, ApprovalId, CallAdmitted, CallDenied, CallRefused, EffectId,
    EffectIntended, Event, Fact, Origin, Place, PlaceKind, Steering, Topic, TurnEnded, TurnEnding, TurnId,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The office's own words.
    Said(String),
    /// What happens meanwhile.
    Status(String),
}

/// What is known about one session so far.
pub struct Watch {
    session: String,
    topic: Option<Topic>,
    /// What is about to be said here, by the effect that says it.
    intended: BTreeMap<EffectId, String>,
    /// Turns about this session that have not ended.
    running: BTreeSet<TurnId>,
    /// Whether something was said here that no turn has opened for.
    waits: bool,
    /// What waits for a person's yes here, oldest first.
    asked: Vec<ApprovalId>,
    /// Whether it can be answered here.
    answers: bool,
}

impl Watch {
    /// Watches the session of this name from now on; `answers` is whether what waits for a yes can be answered here.
    pub fn new(session: &str, answers: bool) -> Self {
        let place = Place {
            kind: PlaceKind::Terminal,
            team: TERMINAL_TEAM.to_owned(),
            channel: session.to_owned(),
            ts: TERMINAL_ROOT.to_owned(),
            thread_ts: None,
        };
        Self {
            session: session.to_owned(),
            topic: place.topic(),
            intended: BTreeMap::new(),
            running: BTreeSet::new(),
            waits: false,
            asked: Vec::new(),
            answers,
        }
    }

    /// What waits for a person's yes here, newest first.
    pub fn asked(&self) -> Option<&ApprovalId> {
        self.asked.last()
    }

    /// Whether nothing waits for a turn and no turn runs.
    pub fn is_idle(&self) -> bool {
        !self.waits && self.running.is_empty()
    }

    /// Takes in one event; what of it is shown.
    pub fn see(&mut self, event: &Event) -> Option<Shown> {
        match &event.fact {
            Fact::MessageReceived(body) => {
                self.waits |= body.place.kind == PlaceKind::Terminal && body.place.channel == self.session;
                None
            }
            Fact::TurnOpened(body) if Some(&body.topic) == self.topic.as_ref() => {
                self.waits = false;
                self.running.insert(body.turn.clone());
                Some(Shown::Status("at work".to_owned()))
            }
            Fact::TurnEnded(body) => self.turn_ended(body),
            // What is said into a running turn waits until that turn has taken it up, and needs no turn of its own then.
            Fact::TurnSteered(body) if self.running.contains(&body.turn) => {
                self.waits |= body.steering != Steering::Ignore;
                None
            }
            Fact::InboxDrained(body) if self.running.contains(&body.turn) => {
                self.waits = false;
                Some(Shown::Status("it has read what you said meanwhile".to_owned()))
            }
            Fact::ApprovalAsked(body) if self.is_ours(&body.origin) => Some(self.waits_for_yes(body)),
            Fact::ApprovalGiven(body) => self.decided(&body.approval, &event.fact),
            Fact::ApprovalDenied(body) => self.decided(&body.approval, &event.fact),
            Fact::ApprovalExpired(body) => self.decided(&body.approval, &event.fact),
            Fact::CallAdmitted(body) => self.admitted(body),
            Fact::CallDenied(body) => self.denied(body),
            Fact::CallRefused(body) => self.refused(body),
            Fact::AccountWanted(body) => self.account_wanted(body),
            Fact::EffectIntended(body) => self.effect_intended(body),
            Fact::EffectSent(body) => self.intended.remove(&body.effect).map(Shown::Said),
            Fact::EffectCaptured(body) => self.captured(&body.tool, body.input.json()),
            Fact::EffectFailed(body) => self.not_said(&body.effect, body.reason.text()),
            Fact::EffectLeftUnknown(body) => self.not_said(&body.effect, body.reason.text()),
            _ => None,
        }
    }

    fn turn_ended(&mut self, ended: &TurnEnded) -> Option<Shown> {
        if !self.running.remove(&ended.turn) {
            return None;
        }
        let how = match ended.ending {
            TurnEnding::Answered => return None,
            TurnEnding::Silent => return Some(Shown::Status("nothing to say".to_owned())),
            TurnEnding::Refused => "the turn was refused",
            TurnEnding::DeniedAgain => "the turn ended: the same call was denied twice",
            TurnEnding::StepsSpent => "the turn ended: its steps ran out",
            TurnEnding::Failed => "the turn failed",
            TurnEnding::Stopped => "the turn was stopped",
            TurnEnding::OutOfTime => "the turn ended: its time ran out",
        };
        let summary = ended.summary.text().trim();
        let status = if summary.is_empty() { how.to_owned() } else { format!("{how}: {summary}") };
        Some(Shown::Status(status))
    }

    /// The card, and how to answer it.
    fn waits_for_yes(&mut self, asked: &ApprovalAsked) -> Shown {
        let input = asked.input.value();
        let arguments = input.map(|input| serde_json::to_string_pretty(input).unwrap_or_default());
        let card = card::text(asked, arguments.as_deref().unwrap_or(ERASED));
        let here = if self.answers { "/approve or /deny, or elsewhere: " } else { "" };
        let id = &asked.approval;
        self.asked.push(id.clone());
        Shown::Status(format!("{card}\n  {here}chancery approve {id}, chancery deny {id}"))
    }

    fn decided(&mut self, approval: &ApprovalId, fact: &Fact) -> Option<Shown> {
        let at = self.asked.iter().position(|asked| asked == approval)?;
        self.asked.remove(at);
        card::outcome(fact, None).map(Shown::Status)
    }

    /// What it does meanwhile: the tools it calls, and not the model it thinks with or the answer itself.
    fn admitted(&self, admitted: &CallAdmitted) -> Option<Shown> {
        let CallAdmitted { origin, tool, resource, .. } = admitted;
        let is_tool = tool.contains('.') && !tool.contains('/') && tool != TOOL_TERMINAL;
        (is_tool && self.is_ours(origin)).then(|| Shown::Status(format!("{tool} {}", resource.text())))
    }

    fn denied(&self, denied: &CallDenied) -> Option<Shown> {
        self.is_ours(&denied.origin)
            .then(|| Shown::Status(format!("denied {}: {}", denied.tool, denied.reason)))
    }

    /// What to run, for whoever sits here: nobody else reads it.
    fn account_wanted(&self, wanted: &AccountWanted) -> Option<Shown> {
        let AccountWanted { origin, tool, service, .. } = wanted;
        let how = format!(
            "{tool} goes with your account at {service}, which is not connected: chancery account connect {service}"
        );
        self.is_ours(origin).then_some(Shown::Status(how))
    }

    fn refused(&self, refused: &CallRefused) -> Option<Shown> {
        self.is_ours(&refused.origin)
            .then(|| Shown::Status(format!("refused {}: {}", refused.tool, refused.reason)))
    }

    fn effect_intended(&mut self, intended: &EffectIntended) -> Option<Shown> {
        let text = self.said_here(&intended.tool, intended.input.json())?;
        self.intended.insert(intended.effect.clone(), text);
        None
    }

    /// What a drill would have said here.
    fn captured(&self, tool: &str, input: &Value) -> Option<Shown> {
        self.said_here(tool, input).map(|text| Shown::Said(format!("(a drill) {text}")))
    }

    /// The text of a call that says something in this session.
    fn said_here(&self, tool: &str, input: &Value) -> Option<String> {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let here = tool == TOOL_TERMINAL && text("session") == Some(self.session.as_str());
        here.then(|| text("text").unwrap_or_default().to_owned())
    }

    fn not_said(&mut self, effect: &EffectId, reason: &str) -> Option<Shown> {
        self.intended.remove(effect).map(|_| Shown::Status(format!("an answer was not shown: {reason}")))
    }

    fn is_ours(&self, origin: &Origin) -> bool {
        origin.turn().is_some_and(|turn| self.running.contains(turn))
    }
}
