//! Seats: what one may call, what may become of it, and who does its work while it is vacant.
//!
//! Work is addressed to the seat, never to the holder. Source of the rules: mechanisms, section 2; the third seed
//! document on seats.

use crate::authority::LINE_SEATS_MAX;
use crate::projection::{Projection, Row, decode};
use event::{
    Event, Fact, PrincipalId, PrincipalKind, SeatChanged, SeatCreated, SeatHeld, SeatId, SeatVacated,
};
use serde::{Deserialize, Serialize};

/// The most things one seat answers for: more is two seats.
pub const ACCOUNTABILITIES_MAX: usize = 5;
/// Longest text of an accountability, a role or a reason, in bytes: a sentence or two.
pub const TEXT_BYTES_MAX: usize = 500;
/// The most grants of one seat: far above any role, and a bound on what each call looks through.
pub const GRANTS_MAX: usize = 200;
/// The most seats that are listed at once: far above any office, and a bound on what one look reads.
pub const SEATS_MAX: usize = 5_000;
/// The seat of the owner, above which there is nobody: it alone changes policies that are not the organisation's own.
pub const OWNER: &str = "seat_owner";
/// The grant to call every tool and model. Policy still decides each call.
pub const EVERY_TOOL: &str = "*";

/// Whether `seat` was granted `tool`: by its name, by its family as `family.*`, or as every tool.
#[must_use]
pub fn holds_grant(seat: &SeatCreated, tool: &str) -> bool {
    seat.grants.iter().any(|grant| gives(grant, tool))
}

/// Whether `grant` gives `tool`. A grant to state facts (`record:…`) gives no tool.
#[must_use]
pub fn gives(grant: &str, tool: &str) -> bool {
    let in_family = |grant: &str| {
        let family = grant.strip_suffix('*').filter(|family| family.ends_with('.'));
        family.is_some_and(|family| tool.len() > family.len() && tool.starts_with(family))
    };
    grant == EVERY_TOOL || grant == tool || in_family(grant)
}

/// A seat as the record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatState {
    /// What it is.
    pub seat: SeatCreated,
    /// Who holds it; nobody while it is vacant.
    pub holder: Option<PrincipalId>,
}

impl SeatState {
    /// Whether it takes turns by itself: only an agent does. What waits for a person waits for the person.
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.kind() == PrincipalKind::Agent)
    }

    /// The seat that does its work while nobody holds it.
    #[must_use]
    pub fn next(&self) -> Option<&SeatId> {
        self.seat.stands_in.as_ref().or(self.seat.line.as_ref())
    }
}

/// Every seat under its id, all of one rank, so that they can be listed. Holds [`SeatState`]s.
pub struct Seats;

impl Projection for Seats {
    fn name(&self) -> &'static str {
        "seat"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        let seat = match &event.fact {
            Fact::SeatCreated(body) => &body.seat,
            Fact::SeatChanged(body) => &body.now.seat,
            Fact::SeatHeld(body) => &body.seat,
            Fact::SeatVacated(body) => &body.seat,
            _ => return Vec::new(),
        };
        vec![seat.as_str().to_owned()]
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let before = decode::<SeatState>(row.as_ref());
        let holder = before.as_ref().and_then(|before| before.holder.clone());
        let after = match (&event.fact, before) {
            (Fact::SeatCreated(body), _) => SeatState { seat: body.clone(), holder },
            (Fact::SeatChanged(body), _) => SeatState { seat: body.now.clone(), holder },
            (Fact::SeatHeld(body), Some(before)) => {
                SeatState { holder: Some(body.principal.clone()), ..before }
            }
            (Fact::SeatVacated(_), Some(before)) => SeatState { holder: None, ..before },
            _ => return row,
        };
        Some(Row::of(&after, Some(0)))
    }
}

/// What somebody wants done with a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Make it.
    Create(SeatCreated),
    /// Make it this from now on, and say why.
    Change(SeatCreated, String),
    /// Let a principal hold it.
    Hold(PrincipalId),
    /// Let nobody hold it, and say why.
    Vacate(String),
}

/// Why it cannot be done. Each is something another wish would mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotSeat {
    /// There is one of that name.
    #[error("the seat `{0}` exists: change it instead")]
    Exists(SeatId),
    /// There is none of that name.
    #[error("there is no such seat: create it first")]
    Missing,
    /// It is so already.
    #[error("nothing would change")]
    SameAsBefore,
    /// Nobody holds it.
    #[error("nobody holds the seat `{0}`")]
    Vacant(SeatId),
    /// It answers for too much.
    #[error("a seat answers for at most {ACCOUNTABILITIES_MAX} things, not {0}: make two seats")]
    Accountabilities(usize),
    /// A text is empty or too long.
    #[error("{what} is between 1 and {TEXT_BYTES_MAX} bytes, not {bytes}")]
    Text {
        /// Which.
        what: &'static str,
        /// Its length.
        bytes: usize,
    },
    /// It has too many grants.
    #[error("a seat has at most {GRANTS_MAX} grants, not {0}: grant a family as `web.*`")]
    Grants(usize),
    /// A grant that could never give anything.
    #[error("`{0}` is not a grant: name a tool, a family as `web.*`, or `record:<kind>`")]
    Grant(String),
    /// It would stand in for itself.
    #[error("`{0}` cannot stand in for itself")]
    OwnStandIn(SeatId),
    /// It names a seat that is not there.
    #[error("`{seat}` names `{named}`, and there is no such seat: create it first")]
    NamesNobody {
        /// The seat.
        seat: SeatId,
        /// The one it reports to, or that stands in for it.
        named: SeatId,
    },
    /// Seats that are made together report to one another.
    #[error("`{seat}` would report to itself through `{through}`: take one `line` out")]
    Circle {
        /// One of them.
        seat: SeatId,
        /// The one it reports to.
        through: SeatId,
    },
}

/// What follows from a wish, or why nothing does.
///
/// # Errors
/// [`CannotSeat`], for whoever wished it.
pub fn decide(state: Option<&SeatState>, command: Command) -> Result<Fact, CannotSeat> {
    match (command, state) {
        (Command::Create(seat), None) => checked(seat).map(Fact::from),
        (Command::Create(seat), Some(_)) => Err(CannotSeat::Exists(seat.seat)),
        (_, None) => Err(CannotSeat::Missing),
        (Command::Change(now, reason), Some(state)) => {
            text("a reason", &reason)?;
            if now == state.seat {
                return Err(CannotSeat::SameAsBefore);
            }
            Ok(SeatChanged { now: checked(now)?, reason }.into())
        }
        (Command::Hold(principal), Some(state)) => {
            if state.holder.as_ref() == Some(&principal) {
                return Err(CannotSeat::SameAsBefore);
            }
            Ok(SeatHeld { seat: state.seat.seat.clone(), principal }.into())
        }
        (Command::Vacate(reason), Some(state)) => {
            text("a reason", &reason)?;
            let seat = state.seat.seat.clone();
            let principal = state.holder.clone().ok_or(CannotSeat::Vacant(seat.clone()))?;
            Ok(SeatVacated { seat, principal, reason }.into())
        }
    }
}

/// Whether every seat that `seat` names is there: the one it reports to, and the one that stands in for it.
///
/// # Errors
/// [`CannotSeat::NamesNobody`].
pub fn names_known(seat: &SeatCreated, known: impl Fn(&SeatId) -> bool) -> Result<(), CannotSeat> {
    match seat.line.iter().chain(&seat.stands_in).find(|named| !known(named)) {
        None => Ok(()),
        Some(named) => Err(CannotSeat::NamesNobody { seat: seat.seat.clone(), named: named.clone() }),
    }
}

/// Seats that are made together, each after the one it reports to.
///
/// `known` says which seats stand already.
///
/// # Errors
/// [`CannotSeat::NamesNobody`], [`CannotSeat::Circle`].
pub fn line_order(
    seats: Vec<SeatCreated>,
    known: impl Fn(&SeatId) -> bool,
) -> Result<Vec<SeatCreated>, CannotSeat> {
    for seat in &seats {
        names_known(seat, |named| known(named) || seats.iter().any(|one| one.seat == *named))?;
    }
    let (mut ordered, mut left): (Vec<SeatCreated>, Vec<SeatCreated>) = (Vec::new(), seats);
    while !left.is_empty() {
        let waits = |seat: &SeatCreated| left.iter().any(|one| Some(&one.seat) == seat.line.as_ref());
        let (later, now): (Vec<_>, Vec<_>) = left.iter().cloned().partition(waits);
        if now.is_empty() {
            // Each of these reports to another of them: following the line from any comes to a circle.
            return Err(circle(&later));
        }
        ordered.extend(now);
        left = later;
    }
    Ok(ordered)
}

fn circle(seats: &[SeatCreated]) -> CannotSeat {
    let above = |seat: &SeatId| seats.iter().find(|one| one.seat == *seat).and_then(|one| one.line.clone());
    let first = seats.first().map(|one| one.seat.clone());
    // After as many steps as there are seats, the walk is inside the circle.
    let within = (0..seats.len()).fold(first, |at, _| at.as_ref().and_then(above));
    let through = within.as_ref().and_then(above);
    match (within, through) {
        (Some(seat), Some(through)) => CannotSeat::Circle { seat, through },
        _ => CannotSeat::Missing,
    }
}

fn text(what: &'static str, text: &str) -> Result<(), CannotSeat> {
    match text.trim().len() {
        1..=TEXT_BYTES_MAX => Ok(()),
        bytes => Err(CannotSeat::Text { what, bytes }),
    }
}

fn checked(seat: SeatCreated) -> Result<SeatCreated, CannotSeat> {
    text("a role", &seat.role)?;
    if seat.accountabilities.len() > ACCOUNTABILITIES_MAX {
        return Err(CannotSeat::Accountabilities(seat.accountabilities.len()));
    }
    for one in &seat.accountabilities {
        text("an accountability", one)?;
    }
    if seat.grants.len() > GRANTS_MAX {
        return Err(CannotSeat::Grants(seat.grants.len()));
    }
    if let Some(grant) = seat.grants.iter().find(|grant| !is_grant(grant)) {
        return Err(CannotSeat::Grant(grant.clone()));
    }
    if seat.stands_in.as_ref() == Some(&seat.seat) {
        return Err(CannotSeat::OwnStandIn(seat.seat));
    }
    Ok(seat)
}

/// Whether `grant` could give something: `*`, a name, a family, facts of a kind, or a role to hand on.
fn is_grant(grant: &str) -> bool {
    if grant == EVERY_TOOL || grant == crate::authority::EVERY_FACT {
        return true;
    }
    if let Some(kind) = grant.strip_prefix("record:") {
        return Fact::KINDS.iter().any(|(known, _)| *known == kind);
    }
    if let Some(role) = grant.strip_prefix(crate::authority::A_ROLE) {
        return text("a role", role).is_ok();
    }
    let name = grant.strip_suffix(".*").unwrap_or(grant);
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':');
    !name.is_empty() && name.len() <= TEXT_BYTES_MAX && name.bytes().all(plain)
}

/// Who does the work of `seat`: itself while someone holds it; else the seat that stands in for it, or the one it
/// reports to, and so on; nobody when that ends at a vacant seat or turns in a circle.
///
/// `look` gives a seat as the record has it.
///
/// # Errors
/// Whatever `look` answers.
pub fn works<E>(
    seat: &SeatId,
    mut look: impl FnMut(&SeatId) -> Result<Option<SeatState>, E>,
) -> Result<Option<SeatId>, E> {
    let mut at = seat.clone();
    // A circle of stand-ins ends here: it is as long a way as any line.
    for _ in 0..LINE_SEATS_MAX {
        let Some(state) = look(&at)? else { return Ok(None) };
        if state.holder.is_some() {
            return Ok(Some(at));
        }
        let Some(next) = state.next() else { return Ok(None) };
        at = next.clone();
    }
    Ok(None)
}

#[cfg(test)]
mod wishes;

#[cfg(test)]
mod tests {
    use super::{
        ACCOUNTABILITIES_MAX, CannotSeat, Command, SeatState, decide, holds_grant, line_order, works,
    };
    use event::{Fact, PrincipalId, SeatCreated, SeatId};
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn named(name: &str) -> SeatId {
        SeatId::parse(&format!("seat_{name}")).unwrap()
    }

    fn seat(name: &str, grants: &[&str]) -> SeatCreated {
        SeatCreated {
            seat: named(name),
            role: "assistant".into(),
            department: None,
            line: None,
            grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
            accountabilities: Vec::new(),
            stands_in: None,
        }
    }

    #[test]
    fn a_grant_covers_its_tool_or_its_family_and_nothing_that_only_looks_alike() {
        let seat = seat("a", &["web.*", "slack.post", "record:*"]);
        for (tool, held) in [
            ("web.fetch", true),
            ("slack.post", true),
            ("slack.react", false),
            ("webhook.send", false),
            ("we", false),
            ("web", false),
            ("web.", false),
            ("record", false),
        ] {
            assert_eq!(holds_grant(&seat, tool), held, "{tool}");
        }
    }

    fn held(seat: SeatCreated, holder: Option<&str>) -> SeatState {
        SeatState { seat, holder: holder.map(|name| PrincipalId::parse(name).unwrap()) }
    }

    #[test]
    fn a_seat_is_made_once_and_changed_with_a_reason() {
        let stands = held(seat("a", &[]), Some("agent_a"));
        let made = decide(None, Command::Create(seat("a", &["web.*"])));
        assert!(matches!(made, Ok(Fact::SeatCreated(_))));
        let twice = decide(Some(&stands), Command::Create(seat("a", &[])));
        assert_eq!(twice, Err(CannotSeat::Exists(named("a"))));
        assert_eq!(decide(None, Command::Vacate("gone".into())), Err(CannotSeat::Missing));
        let same = decide(Some(&stands), Command::Change(seat("a", &[]), "why".into()));
        assert_eq!(same, Err(CannotSeat::SameAsBefore));
        let mute = decide(Some(&stands), Command::Change(seat("a", &["web.*"]), " ".into()));
        assert!(matches!(mute, Err(CannotSeat::Text { .. })));
        let changed = decide(Some(&stands), Command::Change(seat("a", &["web.*"]), "it reads".into()));
        assert!(matches!(changed, Ok(Fact::SeatChanged(_))));
        assert!(matches!(decide(Some(&stands), Command::Vacate("left".into())), Ok(Fact::SeatVacated(_))));
        let vacant = held(seat("a", &[]), None);
        assert_eq!(
            decide(Some(&vacant), Command::Vacate("left".into())),
            Err(CannotSeat::Vacant(named("a")))
        );
    }

    #[test]
    fn what_a_seat_could_never_be_is_refused() {
        let mut many = seat("a", &[]);
        many.accountabilities = vec!["it answers".into(); ACCOUNTABILITIES_MAX + 1];
        let own = SeatCreated { stands_in: Some(named("a")), ..seat("a", &[]) };
        let no_role = SeatCreated { role: String::new(), ..seat("a", &[]) };
        let wrong =
            [many, own, no_role, seat("a", &["record:seat.closed"]), seat("a", &["we b"]), seat("a", &[""])];
        for seat in wrong {
            assert!(decide(None, Command::Create(seat.clone())).is_err(), "{seat:?}");
        }
        assert!(
            decide(
                None,
                Command::Create(seat("a", &["*", "record:*", "record:seat.held", "scripted/story"]))
            )
            .is_ok()
        );
    }

    #[test]
    fn seats_made_together_come_after_those_they_report_to() {
        let below = |name: &str, line: &str| SeatCreated { line: Some(named(line)), ..seat(name, &[]) };
        let known = |id: &SeatId| *id == named("owner");
        let made = line_order(vec![below("c", "b"), below("b", "a"), below("a", "owner")], known).unwrap();
        assert_eq!(
            made.iter().map(|one| &one.seat).collect::<Vec<_>>(),
            [&named("a"), &named("b"), &named("c")]
        );
        let nobody = line_order(vec![below("a", "gone")], known);
        assert_eq!(nobody, Err(CannotSeat::NamesNobody { seat: named("a"), named: named("gone") }));
        let stand_in = SeatCreated { stands_in: Some(named("gone")), ..seat("a", &[]) };
        assert!(line_order(vec![stand_in], known).is_err());
    }

    #[test]
    fn seats_made_together_in_a_circle_are_refused_naming_two_of_the_circle() {
        let below = |name: &str, line: &str| SeatCreated { line: Some(named(line)), ..seat(name, &[]) };
        let made = line_order(vec![below("tail", "a"), below("a", "b"), below("b", "a")], |_| false);
        let Err(CannotSeat::Circle { seat, through }) = made else { panic!("{made:?}") };
        assert!([(named("a"), named("b")), (named("b"), named("a"))].contains(&(seat, through)));
    }

    fn who(seats: &[SeatState], asked: &str) -> Option<SeatId> {
        let look = |id: &SeatId| Ok::<_, Infallible>(seats.iter().find(|one| one.seat.seat == *id).cloned());
        match works(&named(asked), look) {
            Ok(seat) => seat,
            Err(never) => match never {},
        }
    }

    #[test]
    fn the_work_of_a_vacant_seat_goes_to_its_stand_in_then_up_its_line() {
        let line = |name: &str, line: &str, stands_in: Option<&str>| SeatCreated {
            line: Some(named(line)),
            stands_in: stands_in.map(named),
            ..seat(name, &[])
        };
        let office = [
            held(line("a", "head", Some("b")), None),
            held(line("b", "head", None), None),
            held(seat("head", &[]), Some("person_h")),
            held(line("c", "nobody", None), None),
            held(seat("nobody", &[]), None),
        ];
        assert_eq!(who(&office, "a"), Some(named("head")));
        assert_eq!(who(&office, "head"), Some(named("head")));
        assert_eq!(who(&office, "c"), None);
        assert_eq!(who(&office, "unknown"), None);
    }

    proptest! {
        #[test]
        fn the_search_for_who_works_ends(stand_ins in proptest::collection::vec(proptest::option::of(0_usize..8), 8)) {
            let name = |n: usize| format!("s{n}");
            let office: Vec<SeatState> = stand_ins
                .iter()
                .enumerate()
                .map(|(n, to)| held(SeatCreated { stands_in: to.map(|to| named(&name(to))), ..seat(&name(n), &[]) }, None))
                .collect();
            prop_assert_eq!(who(&office, "s0"), None);
        }
    }
}
