//! What the office does about a message: pure, whole numbers alone, and monotone.
//!
//! More usefulness, confidence or urgency never lead to a quieter choice, more noise or interruption cost never to a
//! louder one, and a more forward mode never to a quieter one. Each choice weighs what the formula says; the loudest
//! that reaches its threshold and has room in its allowance is made.

use crate::triage::allowance::{Allowance, allowance, counts_as};
use event::{Choice, Class, Mode, Priority, Scores, Signs, Spent, Thresholds, Weighed};

/// The formula's number: it goes up whenever a figure below changes, so that the record says by which it was.
pub const FORMULA: u16 = 1;

/// From where on something is urgent.
const URGENT: u8 = 70;
/// Below this usefulness, what is not urgent is of low priority.
const NORMAL: u8 = 60;
/// How much sooner the office speaks to whoever goes on talking with it.
const FOLLOWS: u8 = 20;
/// How much later it speaks where others are named.
const NAMES_OTHERS: u8 = 15;
/// An explicit message at or below these gets an emoji when one fits: it is light.
const LIGHT_USEFULNESS: u8 = 25;
const LIGHT_URGENCY: u8 = 40;
const LIGHT_INVESTIGATION: u8 = 40;
const LIGHT_FIT: u8 = 70;
/// An explicit question that is not sure enough is looked into first when looking is worth this.
const CHECK_VALUE: u8 = 50;
const CHECK_CONFIDENCE: u8 = 50;
/// No choice weighs this much.
const NEVER: u8 = 101;

macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident $word:literal,)+) => {
        /// Which rule decided.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Word {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Word {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The stable word that the record keeps.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// What it means, in one sentence for people.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

words! {
    /// A program has got the office to speak as often in a row as it may.
    HopsSpent "hops-spent",
    /// The thread is muted.
    Muted "muted",
    /// A turn of the office about it is open, and takes what is said there.
    TurnOpen "turn-open",
    /// In a quiet channel the office answers whoever addresses it and nobody else.
    QuietChannel "quiet-channel",
    /// Somebody else has spoken in the thread since.
    RepliedTo "replied-to",
    /// The office has spoken there as often as it may within an hour.
    AllowanceSpent "allowance-spent",
    /// The message waited so long that the moment has passed.
    Stale "stale",
    /// No model weighs messages in this office.
    NoModel "no-model",
    /// The model was not asked: policy, purse or a standing refusal said no.
    NotAsked "not-asked",
    /// The model did not answer, or not in time.
    NoScores "no-scores",
    /// The model answered in another form than it was asked for.
    MalformedScores "malformed-scores",
    /// The model says that it has been answered.
    Answered "answered",
    /// The model says that it is meant for somebody else.
    ForOthers "for-others",
    /// The figures decided.
    Scores "scores",
    /// The figures would have spoken, and the allowance had no room.
    NoRoom "no-room",
    /// It addresses the office, and so is answered.
    Asked "asked",
    /// It addresses the office and needs no more than an emoji.
    Light "light",
    /// It addresses the office, which had better look before it answers.
    Check "check",
}

/// What is decided on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The class of the message: explicit or passive.
    pub class: Class,
    /// The mode of its channel.
    pub mode: Mode,
    /// What else is known.
    pub signs: &'a Signs,
    /// How often the office has spoken there.
    pub spent: &'a Spent,
    /// How often in a row a program may get it to speak.
    pub hops_max: u32,
}

/// What was decided, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the office does.
    pub choice: Choice,
    /// Which rule decided.
    pub word: Word,
    /// What it counts as.
    pub priority: Priority,
}

/// From where on each choice is made in `mode`, whatever else is known.
#[must_use]
pub fn thresholds(mode: Mode, signs: &Signs) -> Thresholds {
    let (answer, investigate, ack, confidence) = match mode {
        Mode::Quiet => {
            return Thresholds { answer: NEVER, investigate: NEVER, ack: NEVER, confidence: NEVER };
        }
        Mode::Reserved => (70, 70, 75, 70),
        Mode::Proactive => (55, 60, 65, 60),
        Mode::Eager => (45, 50, 55, 50),
    };
    let moved = |at: u8| {
        let sooner = if signs.follows_office { at.saturating_sub(FOLLOWS) } else { at };
        if signs.names_others { sooner.saturating_add(NAMES_OTHERS).min(100) } else { sooner }
    };
    Thresholds { answer: moved(answer), investigate: moved(investigate), ack: moved(ack), confidence }
}

/// What each choice weighs.
///
/// An answer: 0.45 usefulness + 0.25 confidence + 0.20 urgency + 0.10 (100 − interruption cost) − 0.30 noise. An
/// investigation: 0.50 its value + 0.30 urgency + 0.20 usefulness − 0.20 noise. An emoji: its fit − 0.10 noise.
#[must_use]
pub fn weigh(scores: &Scores) -> Weighed {
    let parts = |parts: &[(i32, u8)]| {
        let sum: i32 = parts.iter().map(|(share, score)| share * i32::from(*score)).sum();
        u8::try_from((sum / 100).clamp(0, 100)).unwrap_or(0)
    };
    let s = scores;
    Weighed {
        formula: FORMULA,
        answer: parts(&[
            (45, s.usefulness),
            (25, s.confidence),
            (20, s.urgency),
            (10, 100_u8.saturating_sub(s.interruption_cost)),
            (-30, s.noise),
        ]),
        investigate: parts(&[
            (50, s.investigation_value),
            (30, s.urgency),
            (20, s.usefulness),
            (-20, s.noise),
        ]),
        ack: parts(&[(100, s.reaction_fit), (-10, s.noise)]),
    }
}

/// How pressing it is to speak.
#[must_use]
pub fn priority(class: Class, signs: &Signs, scores: Option<&Scores>) -> Priority {
    match scores {
        _ if class == Class::Explicit || signs.follows_office => Priority::Summons,
        Some(scores) if scores.urgency >= URGENT => Priority::Urgent,
        Some(scores) if scores.usefulness >= NORMAL => Priority::Normal,
        _ => Priority::Low,
    }
}

/// What is decided before a model is asked, when anything is.
#[must_use]
pub fn before(case: &Case<'_>) -> Option<Found> {
    let found = |choice, word| Some(Found { choice, word, priority: priority(case.class, case.signs, None) });
    let signs = case.signs;
    if signs.by_program && signs.hops >= case.hops_max {
        return found(Choice::Pass, Word::HopsSpent);
    }
    if case.class == Class::Explicit {
        return if signs.turn_open { found(Choice::Answer, Word::TurnOpen) } else { None };
    }
    let allowed = allowance(case.mode);
    match () {
        () if signs.muted => found(Choice::Pass, Word::Muted),
        () if signs.turn_open => found(Choice::Pass, Word::TurnOpen),
        () if case.mode == Mode::Quiet => found(Choice::Pass, Word::QuietChannel),
        () if signs.replied_to => found(Choice::Pass, Word::RepliedTo),
        () if case.spent.all >= allowed.all && case.spent.acks >= allowed.acks => {
            found(Choice::Pass, Word::AllowanceSpent)
        }
        () => None,
    }
}

/// What is decided when there are no scores: whoever addressed the office is answered, nobody else is.
#[must_use]
pub fn outcome(case: &Case<'_>, word: Word) -> Found {
    let choice = if case.class == Class::Explicit { Choice::Answer } else { Choice::Pass };
    Found { choice, word, priority: priority(case.class, case.signs, None) }
}

/// What is decided on `scores`.
#[must_use]
pub fn evaluate(case: &Case<'_>, scores: &Scores) -> Found {
    let priority = priority(case.class, case.signs, Some(scores));
    if case.class == Class::Explicit {
        let (choice, word) = explicit(scores);
        return Found { choice, word, priority };
    }
    let of = |word| Found { choice: Choice::Pass, word, priority };
    match () {
        () if case.signs.answered => of(Word::Answered),
        () if case.signs.for_others => of(Word::ForOthers),
        () => passive(case, scores, priority),
    }
}

/// An explicit message is answered, unless an emoji is all it needs. There is no silence: whatever a model thinks,
/// somebody asked.
fn explicit(scores: &Scores) -> (Choice, Word) {
    let light = scores.usefulness <= LIGHT_USEFULNESS
        && scores.urgency <= LIGHT_URGENCY
        && scores.investigation_value <= LIGHT_INVESTIGATION
        && scores.reaction_fit >= LIGHT_FIT;
    if light {
        (Choice::Ack, Word::Light)
    } else if scores.confidence < CHECK_CONFIDENCE && scores.investigation_value >= CHECK_VALUE {
        (Choice::Investigate, Word::Check)
    } else {
        (Choice::Answer, Word::Asked)
    }
}

fn passive(case: &Case<'_>, scores: &Scores, priority: Priority) -> Found {
    let (weighed, from) = (weigh(scores), thresholds(case.mode, case.signs));
    let allowed: Allowance = allowance(case.mode);
    let reaches = [
        (Choice::Answer, weighed.answer >= from.answer && scores.confidence >= from.confidence),
        (Choice::Investigate, weighed.investigate >= from.investigate),
        (Choice::Ack, weighed.ack >= from.ack),
    ];
    let wanted = reaches.iter().find(|(_, reaches)| *reaches).map(|(choice, _)| *choice);
    let made = reaches
        .iter()
        .filter(|(_, reaches)| *reaches)
        .find_map(|(choice, _)| Some((*choice, counts_as(*choice, priority, case.spent, &allowed)?)));
    match (wanted, made) {
        (_, Some((choice, priority))) => Found { choice, word: Word::Scores, priority },
        (Some(_), None) => Found { choice: Choice::Pass, word: Word::NoRoom, priority },
        (None, None) => Found { choice: Choice::Pass, word: Word::Scores, priority },
    }
}

#[cfg(test)]
mod labelled;
#[cfg(test)]
mod tests;
