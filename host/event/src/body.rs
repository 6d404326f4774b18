//! The bodies of the facts, one file a subject. Shapes only: rules about them live in `fold`.

mod conversation;
mod effect;
mod gate;
mod office;
mod purse;
mod request;
mod turn;

pub use conversation::{
    Author, Class, DeliveryClassified, DeliveryReceived, MessageMerged, MessageReceived, Place, PlaceKind,
};
pub use effect::{EffectFailed, EffectIntended, EffectLeftUnknown, EffectSent, ReceiptRecorded};
pub use gate::{CallAdmitted, CallDenied, CallRefused, DeniedBy};
pub use office::{
    BudgetSet, ConnectionIdentified, NodeStarted, Period, PluginGranted, PluginInstalled, PolicyApplied,
    PolicyText, Price, PricesListed, Route, SeatCreated, SeatHeld,
};
pub use purse::{Account, HoldLeftUnknown, HoldReleased, HoldSettled, HoldStarted, HoldTaken, Usage};
pub use request::{MomentPassed, MomentSet, RequestAnswered, RequestAsked, RequestLapsed};
pub use turn::{ReplyTo, StepEnded, StepKind, StepOutcome, StepStarted, TurnEnded, TurnEnding, TurnOpened};
