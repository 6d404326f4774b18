//! The bodies of the facts, one file a subject. Shapes only: rules about them live in `fold`.

mod account;
mod approval;
mod connection;
mod conversation;
mod effect;
mod gate;
mod office;
mod purse;
mod refusal;
mod request;
mod seat;
mod steering;
mod subject;
mod triage;
mod turn;

pub use account::{AccountConnected, AccountDisconnected, AccountWanted, DisclosureSet, account_reference};
pub use approval::{
    ApprovalAsked, ApprovalDenied, ApprovalExpired, ApprovalGiven, ApprovalGivenAhead, ApprovalSpent,
    ApprovalWithdrawn,
};
pub use connection::{ConnectionEnded, ConnectionInstalled, ConnectionRenewed};
pub use conversation::{
    Author, Class, DeliveryClassified, DeliveryReceived, MessageDeleted, MessageEdited, MessageMerged,
    MessageReceived, Place, PlaceKind,
};
pub use effect::{
    EffectCaptured, EffectFailed, EffectIntended, EffectLeftUnknown, EffectRecalled, EffectSent,
    EffectStated, ReadBack, ReceiptRecorded,
};
pub use gate::{CallAdmitted, CallClassified, CallDenied, CallRefused, DeniedBy};
pub use office::{
    BudgetSet, CallTried, ComponentRevoked, ConnectionIdentified, Directory, DirectoryAsked, Handle,
    LongContext, NodeStarted, Period, PluginGranted, PluginInstalled, PluginProposed, PluginRemoved,
    PluginRevoked, PolicyApplied, PolicyProposed, PolicyRevoked, PolicyText, Price, PricesListed, Route,
    ToolOffered,
};
pub use purse::{
    Account, AppliesTo, HoldLeftUnknown, HoldReleased, HoldSettled, HoldStarted, HoldTaken, Usage, WorstCase,
};
pub use refusal::{RefusalLifted, RefusalRaised, RefusalSubject};
pub use request::{MomentPassed, MomentSet, RequestAnswered, RequestAsked, RequestLapsed};
pub use seat::{SeatChanged, SeatCreated, SeatHeld, SeatVacated};
pub use steering::{FinishAccepted, InboxDrained, InboxItem, Steering, TurnSteered};
pub use subject::SubjectShredded;
pub use triage::{
    Choice, EmojiListed, Mode, ModeSet, Priority, Scores, Signs, Spent, Thresholds, TopicMuted, TopicUnmuted,
    TriageDecided, Weighed,
};
pub use turn::{ReplyTo, StepEnded, StepKind, StepOutcome, StepStarted, TurnEnded, TurnEnding, TurnOpened};
