//! The one closed table of event kinds. A kind is `noun.past`; a fold that matches on [`Fact`] is told by
//! the compiler when a kind is added.

use crate::body::{AccountConnected, AccountDisconnected, AccountWanted, DisclosureSet};
use crate::body::{
    ApprovalAsked, ApprovalDenied, ApprovalExpired, ApprovalGiven, ApprovalGivenAhead, ApprovalSpent,
    ApprovalWithdrawn, BudgetSet, CallAdmitted, CallClassified, CallDenied, CallRefused, CallTried,
    ComponentRevoked, ConnectionIdentified, DeliveryClassified, DeliveryReceived, EffectCaptured,
    EffectFailed, EffectIntended, EffectLeftUnknown, EffectRecalled, EffectSent, EffectStated,
    HoldLeftUnknown, HoldReleased, HoldSettled, HoldStarted, HoldTaken, MessageMerged, MessageReceived,
    MomentPassed, MomentSet, NodeStarted, PluginGranted, PluginInstalled, PluginProposed, PluginRemoved,
    PluginRevoked, PolicyApplied, PolicyProposed, PolicyRevoked, PricesListed, ReceiptRecorded,
    RefusalLifted, RefusalRaised, RequestAnswered, RequestAsked, RequestLapsed, SeatChanged, SeatCreated,
    SeatHeld, SeatVacated, StepEnded, StepStarted, SubjectShredded, TurnEnded, TurnOpened,
};
use crate::body::{ConnectionEnded, ConnectionInstalled, ConnectionRenewed};
use crate::body::{EmojiListed, ModeSet, TopicMuted, TopicUnmuted, TriageDecided};
use crate::body::{FinishAccepted, InboxDrained, TurnSteered};
use crate::body::{MessageDeleted, MessageEdited};
use serde_json::Value;

/// A kind, schema number or body that this host does not know.
#[derive(Debug, thiserror::Error)]
pub enum UnknownKind {
    /// The kind is not in the table, or its schema number is newer than this host.
    #[error("the event kind `{kind}` with schema {schema} is not known to this version of chancery")]
    Kind {
        /// The kind as written.
        kind: String,
        /// Its schema number.
        schema: u16,
    },
    /// The body does not have the shape of its kind.
    #[error("the body of a `{kind}` event does not have the shape of its kind")]
    Body {
        /// The kind as written.
        kind: String,
        /// What did not fit.
        source: serde_json::Error,
    },
}

macro_rules! facts {
    ($($(#[$doc:meta])* $kind:literal $schema:literal $name:ident,)*) => {
        /// What happened: one body for each kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Fact {
            $($(#[$doc])* $name($name),)*
        }

        impl Fact {
            /// Every kind with its newest schema number, in the order of the table.
            pub const KINDS: &[(&str, u16)] = &[$(($kind, $schema),)*];

            /// The kind: `noun.past`.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// The number of the shape of the body.
            #[must_use]
            pub fn schema(&self) -> u16 {
                match self { $(Self::$name(_) => $schema,)* }
            }

            /// The body as JSON.
            #[must_use]
            pub fn body(&self) -> Value {
                // Bodies hold strings, integers, lists and maps keyed by strings: always expressible.
                match self { $(Self::$name(body) => serde_json::to_value(body).unwrap_or(Value::Null),)* }
            }

            /// Reads a body of `kind`; one of an older schema is read as the newest.
            ///
            /// # Errors
            /// [`UnknownKind::Kind`] when the table has no such kind and schema, [`UnknownKind::Body`] when the
            /// body has another shape.
            pub fn read(kind: &str, schema: u16, body: Value) -> Result<Self, UnknownKind> {
                let (schema, body) = crate::upcast::newest(kind, schema, body);
                match (kind, schema) {
                    $(($kind, $schema) => serde_json::from_value(body)
                        .map(Self::$name)
                        .map_err(|source| UnknownKind::Body { kind: kind.to_owned(), source }),)*
                    _ => Err(UnknownKind::Kind { kind: kind.to_owned(), schema }),
                }
            }

            /// The same from the text of a body, with nothing in between where its shape is the newest.
            ///
            /// # Errors
            /// As [`Fact::read`]; [`UnknownKind::Body`] also when the text is no JSON.
            pub fn read_text(kind: &str, schema: u16, body: &str) -> Result<Self, UnknownKind> {
                let unfit = |source| UnknownKind::Body { kind: kind.to_owned(), source };
                match (kind, schema) {
                    $(($kind, $schema) => serde_json::from_str(body).map(Self::$name).map_err(unfit),)*
                    _ => Self::read(kind, schema, serde_json::from_str(body).map_err(unfit)?),
                }
            }
        }

        $(impl From<$name> for Fact {
            fn from(body: $name) -> Self {
                Self::$name(body)
            }
        })*
    };
}

facts! {
    /// A host process began to work.
    "node.started" 1 NodeStarted,
    /// A seat exists.
    "seat.created" 1 SeatCreated,
    /// A seat is another from now on.
    "seat.changed" 1 SeatChanged,
    /// A principal holds a seat.
    "seat.held" 1 SeatHeld,
    /// Nobody holds a seat.
    "seat.vacated" 1 SeatVacated,
    /// Another set of policies is proposed.
    "policy.proposed" 1 PolicyProposed,
    /// A set of policies is in force.
    "policy.applied" 1 PolicyApplied,
    /// A permit counts no more, in any set.
    "policy.revoked" 1 PolicyRevoked,
    /// A price list is in force.
    "prices.listed" 1 PricesListed,
    /// A budget has a limit.
    "budget.set" 1 BudgetSet,
    /// A plugin is known by digest.
    "plugin.installed" 1 PluginInstalled,
    /// The operator granted a plugin what it may reach.
    "plugin.granted" 1 PluginGranted,
    /// What a plugin was granted is taken back.
    "plugin.revoked" 1 PluginRevoked,
    /// Who the office is on a connected service.
    "connection.identified" 1 ConnectionIdentified,
    /// The office was installed in a workspace.
    "connection.installed" 1 ConnectionInstalled,
    /// The token of a workspace was exchanged for the next.
    "connection.renewed" 1 ConnectionRenewed,
    /// The office is no longer in a workspace.
    "connection.ended" 1 ConnectionEnded,
    /// Something arrived from outside, as it came.
    "delivery.received" 1 DeliveryReceived,
    /// What a delivery asks, and why.
    "delivery.classified" 1 DeliveryClassified,
    /// Somebody said something.
    "message.received" 1 MessageReceived,
    /// A second delivery of the same message said more about it.
    "message.merged" 1 MessageMerged,
    /// Somebody changed what they had said.
    "message.edited" 1 MessageEdited,
    /// A message was taken back.
    "message.deleted" 1 MessageDeleted,
    /// A seat asked another for something.
    "request.asked" 1 RequestAsked,
    /// The holder answered.
    "request.answered" 1 RequestAnswered,
    /// The moment passed without an answer.
    "request.lapsed" 1 RequestLapsed,
    /// A seat will look again at a moment.
    "moment.set" 1 MomentSet,
    /// A moment came.
    "moment.passed" 1 MomentPassed,
    /// A turn began.
    "turn.opened" 1 TurnOpened,
    /// A turn ended.
    "turn.ended" 2 TurnEnded,
    /// A try of a step began.
    "step.started" 1 StepStarted,
    /// A step has its output.
    "step.ended" 1 StepEnded,
    /// A message came into a running turn.
    "turn.steered" 1 TurnSteered,
    /// A turn took up what lay in its inbox.
    "inbox.drained" 1 InboxDrained,
    /// A turn's finish stands.
    "finish.accepted" 1 FinishAccepted,
    /// One call was let through.
    "call.admitted" 1 CallAdmitted,
    /// No to one call.
    "call.denied" 1 CallDenied,
    /// A standing no to a subject was met.
    "call.refused" 1 CallRefused,
    /// A model judged what a call may do outside.
    "call.classified" 1 CallClassified,
    /// A subject is refused from now on.
    "refusal.raised" 1 RefusalRaised,
    /// A refusal stands no more.
    "refusal.lifted" 1 RefusalLifted,
    /// A call waits for a person's yes.
    "approval.asked" 1 ApprovalAsked,
    /// A person said yes.
    "approval.given" 1 ApprovalGiven,
    /// A person said no.
    "approval.denied" 1 ApprovalDenied,
    /// Nobody answered in time: a no.
    "approval.expired" 1 ApprovalExpired,
    /// The one use of an approval.
    "approval.spent" 1 ApprovalSpent,
    /// A person said yes ahead to every later call of one seat to one tool on one resource.
    "approval.given-ahead" 1 ApprovalGivenAhead,
    /// What was given ahead counts no more.
    "approval.withdrawn" 1 ApprovalWithdrawn,
    /// Money was set aside.
    "hold.taken" 1 HoldTaken,
    /// The paid call began.
    "hold.started" 1 HoldStarted,
    /// The figure is known and charged.
    "hold.settled" 1 HoldSettled,
    /// The money was given back: no paid call happened.
    "hold.released" 1 HoldReleased,
    /// The figure is not known and counts in full.
    "hold.left-unknown" 1 HoldLeftUnknown,
    /// A change outside is about to be tried.
    "effect.intended" 1 EffectIntended,
    /// The change happened.
    "effect.sent" 1 EffectSent,
    /// The change did not happen.
    "effect.failed" 1 EffectFailed,
    /// Whether the change happened is not known.
    "effect.left-unknown" 1 EffectLeftUnknown,
    /// In a drill: what would have been sent, and was not.
    "effect.captured" 1 EffectCaptured,
    /// An effect was read back.
    "effect.recalled" 1 EffectRecalled,
    /// A person said whether the change happened.
    "effect.stated" 1 EffectStated,
    /// What a read left behind.
    "receipt.recorded" 1 ReceiptRecorded,
    /// A person's keys are destroyed: nobody reads their words again.
    "subject.shredded" 1 SubjectShredded,
    /// A version of a plugin asks for more than it has, and waits.
    "plugin.proposed" 1 PluginProposed,
    /// A plugin is no longer there.
    "plugin.removed" 1 PluginRemoved,
    /// A component is never run again.
    "component.revoked" 1 ComponentRevoked,
    /// A person tries a tool by hand.
    "call.tried" 1 CallTried,
    /// What is done about one message, and all that decided it.
    "triage.decided" 1 TriageDecided,
    /// A channel has another mode.
    "mode.set" 1 ModeSet,
    /// A thread does not want the office to speak unasked.
    "topic.muted" 1 TopicMuted,
    /// A thread is no longer muted by somebody.
    "topic.unmuted" 1 TopicUnmuted,
    /// The emoji that a workspace made itself.
    "emoji.listed" 1 EmojiListed,
    /// Somebody's account at another service may be used.
    "account.connected" 1 AccountConnected,
    /// An account is not used any more.
    "account.disconnected" 1 AccountDisconnected,
    /// A call lacks an account of whoever asked for it.
    "account.wanted" 1 AccountWanted,
    /// A person says where may be told what was read with their accounts.
    "disclosure.set" 1 DisclosureSet,
}

#[cfg(test)]
mod tests {
    use super::Fact;

    #[test]
    fn a_kind_is_a_noun_and_a_past_and_says_what_it_ends() {
        for (kind, _) in Fact::KINDS {
            let (noun, past) = kind.split_once('.').unwrap();
            assert!(!noun.is_empty() && past.split('-').next().unwrap().len() > 2, "{kind}");
            for vague in ["closed", "processed", "handled", "done"] {
                assert!(!past.contains(vague), "{kind}");
            }
        }
    }

    #[test]
    fn an_unknown_kind_is_an_error_and_not_a_guess() {
        assert!(Fact::read("seat.closed", 1, serde_json::json!({})).is_err());
        assert!(Fact::read("seat.held", 2, serde_json::json!({})).is_err());
        assert!(Fact::read("seat.held", 1, serde_json::json!({"seat": 7})).is_err());
    }
}
