//! The next-moment queue, on a real record.

use super::{HandClock, Office, seat};
use crate::{next_moment, open_turns, pass_moments, wake};
use event::{
    Event, Fact, GlobalPosition, MomentSet, RequestAnswered, RequestAsked, RequestId, SeatId, StreamName,
    Timestamp, Topic,
};
use record::Record;
use std::sync::Arc;

fn topic() -> Topic {
    Topic::parse("licence").unwrap()
}

fn legal() -> SeatId {
    SeatId::parse("seat_legal").unwrap()
}

fn request(name: &str) -> RequestId {
    RequestId::derived(&[name])
}

impl Office {
    async fn ask_legal(&self, name: &str, due: i64) {
        let asked = RequestAsked {
            request: request(name),
            asker: seat(),
            holder: legal(),
            topic: topic(),
            wanted: "read the licence".into(),
            due_at: Timestamp(due),
        };
        self.append(StreamName::new("request", request(name)), asked.into()).await;
    }

    async fn facts(&self, kind: &str) -> Vec<Event> {
        let events = self.record.read_all(GlobalPosition(0), 500).await.unwrap();
        events.into_iter().filter(|event| event.fact.kind() == kind).collect()
    }

    async fn woken(&self) -> Vec<SeatId> {
        let open = open_turns(&self.record).await.unwrap();
        let wakes = wake(&self.record, record::Clock::now(&*self.clock), &open).await.unwrap();
        wakes.into_iter().map(|wake| wake.seat).collect()
    }
}

#[tokio::test]
async fn a_request_wakes_its_holder_and_a_lapse_whoever_asked() {
    let office = Office::new().await;
    office.at(10).ask_legal("one", 100).await;
    assert_eq!(office.woken().await, [legal()]);
    assert_eq!(next_moment(&office.record).await.unwrap(), Some(Timestamp(100)));
    assert_eq!(pass_moments(&office.record, Timestamp(99)).await.unwrap(), 0);
    office.at(100);
    assert_eq!(pass_moments(&office.record, Timestamp(100)).await.unwrap(), 1);
    assert_eq!(office.facts("request.lapsed").await.len(), 1);
    assert!(office.woken().await.contains(&seat()));
    // It came once.
    assert_eq!(pass_moments(&office.record, Timestamp(1_000)).await.unwrap(), 0);
    assert_eq!(next_moment(&office.record).await.unwrap(), None);
}

#[tokio::test]
async fn an_answer_in_time_leaves_nothing_to_lapse() {
    let office = Office::new().await;
    office.at(10).ask_legal("one", 100).await;
    let answered = RequestAnswered {
        request: request("one"),
        by: legal(),
        topic: topic(),
        asker: seat(),
        answer: "MIT".into(),
    };
    office.at(50).append(StreamName::new("request", request("one")), answered.into()).await;
    assert_eq!(pass_moments(&office.record, Timestamp(1_000)).await.unwrap(), 0);
    assert!(office.woken().await.contains(&seat()), "who asked hears of the answer");
}

#[tokio::test]
async fn a_later_moment_of_the_same_seat_and_topic_takes_the_place_of_the_earlier() {
    let office = Office::new().await;
    for at in [100, 200] {
        let set = MomentSet { seat: seat(), topic: topic(), at: Timestamp(at) };
        office.at(10).append(StreamName::new("moment", format!("{}|{}", seat(), topic())), set.into()).await;
    }
    assert_eq!(pass_moments(&office.record, Timestamp(150)).await.unwrap(), 0);
    office.at(200);
    assert_eq!(pass_moments(&office.record, Timestamp(200)).await.unwrap(), 1);
    let passed = office.facts("moment.passed").await;
    assert!(
        matches!(&passed[..], [Event { fact: Fact::MomentPassed(body), .. }] if body.at == Timestamp(200))
    );
    assert_eq!(office.woken().await, [seat()]);
}

#[tokio::test]
async fn moments_outlive_the_process_and_come_once_though_two_hosts_look() {
    let office = Office::new().await;
    for n in 0..40 {
        office.at(10).ask_legal(&n.to_string(), 100 + n).await;
    }
    // Two other hosts on the same file, which have never seen a request asked.
    let clock = Arc::new(HandClock::default());
    clock.0.store(500, std::sync::atomic::Ordering::SeqCst);
    let path = office.path();
    let one = Record::open_sqlite(&path, clock.clone()).await.unwrap();
    let other = Record::open_sqlite(&path, clock).await.unwrap();
    let (a, b) = tokio::join!(pass_moments(&one, Timestamp(500)), pass_moments(&other, Timestamp(500)));
    assert_eq!(a.unwrap() + b.unwrap(), 40);
    assert_eq!(office.facts("request.lapsed").await.len(), 40);
}
