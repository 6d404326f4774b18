//! Which fields of which facts are personal: one table, and the compiler names a kind that it lacks.

use super::Field;
use crate::Fact;
use crate::fact::Fact::{AccountConnected, AccountDisconnected, AccountWanted, DisclosureSet};
use crate::fact::Fact::{
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
use crate::fact::Fact::{ConnectionEnded, ConnectionInstalled, ConnectionRenewed};
use crate::fact::Fact::{EmojiListed, ModeSet, TopicMuted, TopicUnmuted, TriageDecided};
use crate::fact::Fact::{FinishAccepted, InboxDrained, TurnSteered};
use crate::fact::Fact::{MessageDeleted, MessageEdited};
use serde_json::Value;

macro_rules! personal {
    ($($kind:ident { $($field:ident),* })* ; nothing in $($none:ident)*) => {
        impl Fact {
            /// Its personal fields, by name.
            #[must_use]
            pub fn personal(&self) -> Vec<(&'static str, &dyn Field)> {
                match self {
                    $($kind(body) => vec![$((stringify!($field), &body.$field as &dyn Field)),*],)*
                    $($none(_))|* => Vec::new(),
                }
            }

            /// Its personal fields, by name, to be sealed or opened.
            #[must_use]
            pub fn personal_mut(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
                match self {
                    $($kind(body) => vec![$((stringify!($field), &mut body.$field as &mut dyn Field)),*],)*
                    $($none(_))|* => Vec::new(),
                }
            }
        }
    };
}

personal! {
    ApprovalAsked { resource, input, reason }
    ApprovalDenied { reason }
    ApprovalGivenAhead { resource, reason }
    ApprovalWithdrawn { reason }
    CallAdmitted { resource }
    CallClassified { why }
    CallDenied { resource, reason }
    DeliveryReceived { payload }
    EffectFailed { reason }
    EffectIntended { input }
    EffectLeftUnknown { reason }
    EffectCaptured { input }
    EffectRecalled { reason }
    EffectStated { saw }
    MessageEdited { text }
    MessageReceived { text }
    ReceiptRecorded { address }
    RequestAnswered { answer }
    RequestAsked { wanted }
    StepEnded { output }
    StepStarted { input }
    TurnEnded { summary }
    ; nothing in
    ApprovalExpired ApprovalGiven ApprovalSpent BudgetSet CallRefused ConnectionIdentified DeliveryClassified
    EffectSent HoldLeftUnknown HoldReleased HoldSettled HoldStarted HoldTaken MessageMerged MomentPassed MomentSet
    NodeStarted PluginGranted PluginInstalled PluginRevoked PolicyApplied PolicyProposed PolicyRevoked PricesListed
    RefusalLifted RefusalRaised RequestLapsed SeatChanged SeatCreated SeatHeld SeatVacated SubjectShredded TurnOpened
    FinishAccepted InboxDrained TurnSteered MessageDeleted
    PluginProposed PluginRemoved ComponentRevoked CallTried
    ConnectionEnded ConnectionInstalled ConnectionRenewed
    EmojiListed ModeSet TopicMuted TopicUnmuted TriageDecided
    AccountConnected AccountDisconnected AccountWanted DisclosureSet
}

impl Fact {
    /// Whether it brings words that are new to the office. Every other fact derives from words that came before,
    /// and must not outlive them.
    #[must_use]
    pub fn brings_words(&self) -> bool {
        matches!(
            self,
            DeliveryReceived(_)
                | MessageReceived(_)
                | MessageEdited(_)
                | ApprovalDenied(_)
                | ApprovalGivenAhead(_)
                | ApprovalWithdrawn(_)
                | EffectStated(_)
        )
    }

    /// The body for people: open values stand bare, what is sealed stands sealed. Not what its digest covers.
    #[must_use]
    pub fn shown_body(&self) -> Value {
        let mut shown = self.clone();
        for (_, field) in shown.personal_mut() {
            field.show_bare();
        }
        shown.body()
    }
}
