//! Whom the work of a vacant seat wakes, and what waits for a person.

use super::{HandClock, Office, TOPIC, seat};
use crate::{BURST_WINDOW_MS, Wake, wake, works};
use event::{
    EventId, Fact, PrincipalId, SeatHeld, SeatId, SeatVacated, StreamName, Topic, TurnId, TurnOpened,
};

fn head() -> SeatId {
    SeatId::parse("seat_head").unwrap()
}

impl Office {
    /// The front desk, vacant, below a head whom `holder` holds.
    async fn vacant_below(holder: Option<&str>) -> Self {
        let office = Self::new().await;
        office.seat("head", None, holder).await;
        // The second `seat.created` of one name takes the place of the first.
        office.seat("front-desk", Some("head"), None).await;
        office.vacate("left").await;
        office
    }

    async fn vacate(&self, reason: &str) {
        let principal = PrincipalId::parse("agent_a").unwrap();
        let gone = SeatVacated { seat: seat(), principal, reason: reason.into() };
        self.append(StreamName::new("seat", seat()), gone.into()).await;
    }

    async fn held(&self, holder: &str) {
        let held = SeatHeld { seat: seat(), principal: PrincipalId::parse(holder).unwrap() };
        self.append(StreamName::new("seat", "again"), held.into()).await;
    }

    /// Opens and ends the turn of a wake.
    async fn does(&self, wake: &Wake) -> TurnId {
        let opened = TurnOpened {
            turn: wake.turn(),
            seat: wake.seat.clone(),
            topic: wake.topic.clone(),
            woken_by: wake.asked_by.clone(),
            reply_to: None,
            model: "scripted/story".into(),
            steps_max: 60,
            ms_max: None,
            asked: wake.asked.clone(),
            drill: false,
        };
        self.append(StreamName::new("turn", wake.turn()), Fact::from(opened)).await;
        self.end(&wake.turn()).await;
        wake.turn()
    }
}

/// The wake of `seat` for what was asked of the vacant one.
fn of(seat: SeatId, asked_by: &EventId) -> Wake {
    let asked = (seat == head()).then(self::seat);
    Wake { seat, topic: Topic::parse(TOPIC).unwrap(), asked_by: asked_by.clone(), asked }
}

#[tokio::test]
async fn work_addressed_to_a_vacant_seat_wakes_the_one_that_works_for_it() {
    let office = Office::vacant_below(Some("agent_h")).await;
    let asked = office.at(1_000).ask(TOPIC, "m1").await;
    assert_eq!(office.wakes(&[]).await, [of(head(), &asked)]);
    assert_eq!(works(&office.record, &seat()).await.unwrap().unwrap().seat.seat, head());
}

#[tokio::test]
async fn what_nobody_works_for_waits_and_wakes_the_next_holder() {
    let office = Office::vacant_below(None).await;
    let asked = office.at(1_000).ask(TOPIC, "m1").await;
    assert_eq!(office.wakes(&[]).await, []);
    assert_eq!(works(&office.record, &seat()).await.unwrap(), None);
    office.at(9_000_000).held("agent_b").await;
    assert_eq!(office.wakes(&[]).await, [of(seat(), &asked)]);
}

#[tokio::test]
async fn a_seat_that_a_person_holds_is_not_woken_and_nobody_is_in_its_place() {
    let office = Office::vacant_below(Some("agent_h")).await;
    let asked = office.at(1_000).ask(TOPIC, "m1").await;
    office.held("person_p").await;
    assert_eq!(office.wakes(&[]).await, []);
    office.held("agent_b").await;
    assert_eq!(office.wakes(&[]).await, [of(seat(), &asked)]);
    // Nor does the person's seat take a turn for a vacant one below it.
    let office = Office::vacant_below(Some("person_p")).await;
    office.at(1_000).ask(TOPIC, "m1").await;
    assert_eq!(office.wakes(&[]).await, []);
}

#[tokio::test]
async fn what_was_done_for_a_vacant_seat_is_not_done_again_by_its_next_holder() {
    let office = Office::vacant_below(Some("agent_h")).await;
    let asked = office.at(1_000).ask(TOPIC, "m1").await;
    office.does(&of(head(), &asked)).await;
    assert_eq!(office.at(60_000).wakes(&[]).await, [], "the ask had its turn");
    office.held("agent_b").await;
    assert_eq!(office.wakes(&[]).await, [], "and has it under every holder");
    let newer = office.ask(TOPIC, "m2").await;
    assert_eq!(office.wakes(&[]).await, [of(seat(), &newer)]);
}

#[tokio::test]
async fn a_burst_for_a_vacant_seat_is_one_wake_of_the_one_that_works_for_it() {
    let office = Office::vacant_below(Some("agent_h")).await;
    let asked = office.at(1_000).ask(TOPIC, "m1").await;
    let ended = office.does(&of(head(), &asked)).await;
    let ended = office.turn(&ended).await;
    let newer = office.at(2_000).ask(TOPIC, "m2").await;
    assert_eq!(office.wakes(std::slice::from_ref(&ended)).await, []);
    office.at(1_000 + BURST_WINDOW_MS);
    assert_eq!(office.wakes(&[ended]).await, [of(head(), &newer)]);
}

#[tokio::test]
async fn two_vacant_seats_on_one_topic_wake_the_one_that_works_for_both_once_at_a_time() {
    let office = Office::vacant_below(Some("agent_h")).await;
    office.seat("second", Some("head"), None).await;
    let mut asked = vec![office.at(1_000).ask(TOPIC, "m1").await];
    asked.push(office.ask_of("seat_second", TOPIC, "m2").await);
    let first = office.wakes(&[]).await;
    assert_eq!(first.len(), 1);
    let ended = office.does(&first[0]).await;
    let ended = office.turn(&ended).await;
    office.at(1_000 + BURST_WINDOW_MS);
    let second = office.wakes(&[ended]).await;
    assert_eq!(second.len(), 1);
    asked.retain(|one| *one != first[0].asked_by && *one != second[0].asked_by);
    assert_eq!(asked, [], "each ask had its wake");
}

#[tokio::test]
async fn a_circle_of_vacant_seats_wakes_nobody_and_ends() {
    let office = Office::new().await;
    for (name, stands_in) in [("a", "b"), ("b", "a")] {
        let named = |name: &str| SeatId::parse(&format!("seat_{name}")).unwrap();
        let created = event::SeatCreated {
            seat: named(name),
            role: "assistant".into(),
            department: None,
            line: None,
            grants: Vec::new(),
            accountabilities: Vec::new(),
            stands_in: Some(named(stands_in)),
        };
        office.append(StreamName::new("seat", named(name)), created.into()).await;
    }
    office.at(1_000).ask_of("seat_a", TOPIC, "m1").await;
    let now = record::Clock::now(AsRef::<HandClock>::as_ref(&office.clock));
    assert_eq!(wake(&office.record, now, &[]).await.unwrap(), []);
}
