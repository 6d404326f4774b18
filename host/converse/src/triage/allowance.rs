//! How often the office may speak unasked in a channel: allowances by the hour and priority, gaps and slots.
//!
//! A message draws on the allowance of its own priority or, when that is spent, of a lower one whose conditions hold
//! too: so nothing that is more pressing is allowed less.
//!
//! Source of the starting figures: what the released company brain allows (12 an hour in all, of them 4 summons, 6
//! urgent or normal and 2 low; 3 minutes between normal ones; a low one needs a quarter of an hour of quiet; 6
//! investigations, 2 at once; 30 emoji).

use event::{Choice, Mode, Priority, Spent};

/// What a mode allows within an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Everything that is said.
    pub all: u32,
    /// Where somebody goes on talking with the office.
    pub summons: u32,
    /// Urgent and normal.
    pub general: u32,
    /// Low.
    pub low: u32,
    /// Investigations.
    pub investigations: u32,
    /// Investigations at once.
    pub slots: u32,
    /// Emoji.
    pub acks: u32,
    /// The least time between two normal ones, in milliseconds.
    pub gap_ms: i64,
    /// How long nobody has spoken before a low one, in milliseconds.
    pub quiet_ms: i64,
}

const MINUTE_MS: i64 = 60_000;

/// What `mode` allows: nothing when it is quiet, and never less than a quieter one.
#[must_use]
pub fn allowance(mode: Mode) -> Allowance {
    let proactive = Allowance {
        all: 12,
        summons: 4,
        general: 6,
        low: 2,
        investigations: 6,
        slots: 2,
        acks: 30,
        gap_ms: 3 * MINUTE_MS,
        quiet_ms: 15 * MINUTE_MS,
    };
    match mode {
        Mode::Quiet => Allowance {
            all: 0,
            summons: 0,
            general: 0,
            low: 0,
            investigations: 0,
            slots: 0,
            acks: 0,
            ..proactive
        },
        Mode::Reserved => {
            Allowance { all: 6, general: 3, low: 1, investigations: 3, slots: 1, acks: 10, ..proactive }
        }
        Mode::Proactive => proactive,
        Mode::Eager => Allowance {
            all: 24,
            summons: 8,
            general: 12,
            low: 6,
            investigations: 12,
            slots: 4,
            acks: 60,
            gap_ms: MINUTE_MS,
            quiet_ms: 5 * MINUTE_MS,
        },
    }
}

/// Whether the allowance of exactly `priority` has room and its conditions hold.
fn has_room(priority: Priority, spent: &Spent, allowed: &Allowance) -> bool {
    let gap = spent.since_spoken_ms.is_none_or(|since| since >= allowed.gap_ms);
    let quiet = spent.since_person_ms.is_none_or(|since| since >= allowed.quiet_ms);
    match priority {
        Priority::Low => spent.low < allowed.low && gap && quiet,
        Priority::Normal => spent.general < allowed.general && gap,
        Priority::Urgent => spent.general < allowed.general,
        Priority::Summons => spent.summons < allowed.summons,
    }
}

/// What `choice` counts as when it may be made: the priority whose allowance it draws on. Nothing when it may not.
#[must_use]
pub fn counts_as(choice: Choice, priority: Priority, spent: &Spent, allowed: &Allowance) -> Option<Priority> {
    let within = [Priority::Summons, Priority::Urgent, Priority::Normal, Priority::Low];
    let draws = within.into_iter().filter(|one| *one <= priority).find(|one| has_room(*one, spent, allowed));
    match choice {
        Choice::Pass => Some(priority),
        Choice::Ack => (spent.acks < allowed.acks).then_some(priority),
        Choice::Answer => draws.filter(|_| spent.all < allowed.all),
        Choice::Investigate => {
            let slot = spent.investigations < allowed.investigations
                && spent.investigating < allowed.slots
                && spent.all < allowed.all;
            // What cannot wait is looked into as long as anything may be said at all.
            let urgent = (priority >= Priority::Urgent).then_some(priority);
            if slot { draws.or(urgent) } else { None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{allowance, counts_as};
    use event::{Choice, Mode, Priority, Spent};

    #[test]
    fn each_priority_has_an_allowance_of_its_own_and_may_draw_on_a_lower_one() {
        let allowed = allowance(Mode::Proactive);
        let of = |choice, priority, spent: Spent| counts_as(choice, priority, &spent, &allowed);
        let quiet = Spent { since_person_ms: Some(allowed.quiet_ms), ..Spent::default() };
        assert_eq!(of(Choice::Answer, Priority::Low, quiet), Some(Priority::Low));
        let talk = Spent { since_person_ms: Some(1), ..Spent::default() };
        assert_eq!(of(Choice::Answer, Priority::Low, talk), None, "people are talking");
        assert_eq!(of(Choice::Answer, Priority::Normal, talk), Some(Priority::Normal));
        let just = Spent { since_spoken_ms: Some(1), ..talk };
        assert_eq!(of(Choice::Answer, Priority::Normal, just), None, "it has only just spoken");
        assert_eq!(of(Choice::Answer, Priority::Urgent, just), Some(Priority::Urgent));
        let general = Spent { general: allowed.general, ..quiet };
        assert_eq!(of(Choice::Answer, Priority::Urgent, general), Some(Priority::Low));
        assert_eq!(of(Choice::Answer, Priority::Summons, general), Some(Priority::Summons));
        let all = Spent { all: allowed.all, ..quiet };
        assert_eq!(of(Choice::Answer, Priority::Summons, all), None, "nothing beats the ceiling");
    }

    #[test]
    fn an_investigation_needs_a_slot_and_an_urgent_one_nothing_but_that_and_the_ceiling() {
        let allowed = allowance(Mode::Proactive);
        let spent = Spent { general: allowed.general, since_person_ms: Some(1), ..Spent::default() };
        assert_eq!(counts_as(Choice::Investigate, Priority::Normal, &spent, &allowed), None);
        assert!(counts_as(Choice::Investigate, Priority::Urgent, &spent, &allowed).is_some());
        let held = Spent { investigating: allowed.slots, ..Spent::default() };
        assert_eq!(counts_as(Choice::Investigate, Priority::Urgent, &held, &allowed), None);
    }

    #[test]
    fn a_quiet_channel_allows_nothing() {
        let allowed = allowance(Mode::Quiet);
        for choice in [Choice::Ack, Choice::Investigate, Choice::Answer] {
            assert_eq!(counts_as(choice, Priority::Summons, &Spent::default(), &allowed), None);
        }
    }
}
