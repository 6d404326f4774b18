//! What the record says about one session, as a fold: which of its events a person at the terminal is shown.

use converse::{TERMINAL_ROOT, TERMINAL_TEAM, TOOL_TERMINAL};
use event::{
    CallDenied, CallRefused, EffectId, EffectIntended, Event, Fact, Origin, Place, PlaceKind, Topic,
    TurnEnded, TurnEnding, TurnId,
};
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
}

impl Watch {
    /// Watches the session of this name from now on.
    pub fn new(session: &str) -> Self {
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
        }
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
                Some(Shown::Status("…".to_owned()))
            }
            Fact::TurnEnded(body) => self.turn_ended(body),
            Fact::CallDenied(body) => self.denied(body),
            Fact::CallRefused(body) => self.refused(body),
            Fact::EffectIntended(body) => self.effect_intended(body),
            Fact::EffectSent(body) => self.intended.remove(&body.effect).map(Shown::Said),
            Fact::EffectFailed(body) => self.not_said(&body.effect, &body.reason),
            Fact::EffectLeftUnknown(body) => self.not_said(&body.effect, &body.reason),
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
        };
        let summary = ended.summary.trim();
        let status = if summary.is_empty() { how.to_owned() } else { format!("{how}: {summary}") };
        Some(Shown::Status(status))
    }

    fn denied(&self, denied: &CallDenied) -> Option<Shown> {
        self.is_ours(&denied.origin)
            .then(|| Shown::Status(format!("denied {}: {}", denied.tool, denied.reason)))
    }

    fn refused(&self, refused: &CallRefused) -> Option<Shown> {
        self.is_ours(&refused.origin)
            .then(|| Shown::Status(format!("refused {}: {}", refused.tool, refused.reason)))
    }

    fn effect_intended(&mut self, intended: &EffectIntended) -> Option<Shown> {
        let text = |key: &str| intended.input.get(key).and_then(serde_json::Value::as_str);
        if intended.tool == TOOL_TERMINAL && text("session") == Some(self.session.as_str()) {
            self.intended.insert(intended.effect.clone(), text("text").unwrap_or_default().to_owned());
        }
        None
    }

    fn not_said(&mut self, effect: &EffectId, reason: &str) -> Option<Shown> {
        self.intended.remove(effect).map(|_| Shown::Status(format!("an answer was not shown: {reason}")))
    }

    fn is_ours(&self, origin: &Origin) -> bool {
        origin.turn().is_some_and(|turn| self.running.contains(turn))
    }
}
