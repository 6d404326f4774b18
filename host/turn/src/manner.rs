//! In what manner a turn speaks: because somebody asked, or unasked because triage thought it would help.
//!
//! A turn that looks into something nobody asked about reads and does nothing else: no tool that changes anything or
//! reaches people is on offer, so it asks for no approval, connects nothing and writes nothing. It may end without a
//! word, and then nobody knows that it looked.

use event::{Choice, Class, EventId};
use fold::channel::{TriageRow, Triages};
use fold::{Projection, decode};
use gate::EffectClass;
use record::{Error, Record};

/// In what manner a turn speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Somebody asked.
    Asked,
    /// Somebody asked, and it had better look before it answers.
    Checked,
    /// Nobody asked; an answer would probably help.
    Unasked,
    /// Nobody asked; it looks first, and speaks only when it found something.
    Investigation,
}

impl Manner {
    /// As triage decided about the message that woke the turn; whoever was not weighed asked.
    ///
    /// # Errors
    /// As the record's.
    pub async fn of(record: &Record, woken_by: &EventId) -> Result<Self, Error> {
        let row: Option<TriageRow> = decode(record.row(Triages.name(), woken_by.as_str()).await?.as_ref());
        Ok(match row.map(|row| (row.class, row.choice)) {
            Some((Class::Passive, Choice::Investigate)) => Self::Investigation,
            Some((Class::Passive, _)) => Self::Unasked,
            Some((_, Choice::Investigate)) => Self::Checked,
            _ => Self::Asked,
        })
    }

    /// Whether a tool of `effect` is on offer.
    pub fn offers(self, effect: EffectClass) -> bool {
        self != Self::Investigation || effect == EffectClass::Read
    }

    /// Whether nobody asked.
    pub fn is_unasked(self) -> bool {
        matches!(self, Self::Unasked | Self::Investigation)
    }

    /// What a model is told of it; nothing when somebody asked.
    pub fn told(self) -> &'static str {
        match self {
            Self::Asked => "",
            Self::Checked => {
                "\n\nLook before you answer: what was asked can be checked, and a guess would not help."
            }
            Self::Unasked => {
                "\n\nNobody addressed you. You speak because it probably helps: say the one thing that is missing, \
                 in two or three sentences, and ask nothing back. When it turns out that it is known already or that \
                 you are not sure, finish silently."
            }
            Self::Investigation => {
                "\n\nNobody addressed you. Look into it with the tools you have, which only read. When you found \
                 something that the people there can use and do not know, say it in two or three sentences with where \
                 it stands. Otherwise finish silently: never say that you looked and found nothing."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Manner;
    use gate::EffectClass;

    #[test]
    fn an_investigation_is_offered_what_reads_and_nothing_else() {
        for effect in EffectClass::ALL {
            assert_eq!(Manner::Investigation.offers(effect), effect == EffectClass::Read, "{effect:?}");
            assert!(Manner::Unasked.offers(effect) && Manner::Asked.offers(effect));
        }
    }
}
