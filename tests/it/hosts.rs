//! Two hosts on one record: what both are told happens once.

use event::{Event, Fact};
use tests::Kit;
use tests::slack::message;

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_hosts_on_one_record_are_told_is_answered_once_by_one_of_them() {
    let kit = Kit::on_postgres().await;
    let (here, there) = (kit.open().await, kit.open().await);
    assert_ne!(here.built.node, there.built.node);
    for n in 1..=3 {
        let ts = format!("170000000{n}.000100");
        let hello = message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, "<@U0BOT> hello");
        // Slack sends a second time when it missed the first answer, and a proxy may choose the other host.
        let (first, second) = tokio::join!(here.deliver(&hello), there.deliver(&hello));
        assert_eq!((first, second), (200, 200));
    }
    here.until_turns_ended(3).await;
    let events = there.until_classified().await;
    assert_eq!(events, here.events().await, "both read one record");
    assert_eq!(count(&events, "message.received"), 3);
    assert_eq!(count(&events, "turn.opened"), 3);
    let mut asked: Vec<_> = kit.slack.posts().iter().map(|post| post["thread_ts"].clone()).collect();
    asked.sort_by_key(ToString::to_string);
    assert_eq!(asked, ["1700000001.000100", "1700000002.000100", "1700000003.000100"]);
    assert!(events.iter().zip(1..).all(|(event, place)| event.global_position.0 == place), "no gap");
    let nodes = events.iter().filter(|event| matches!(event.fact, Fact::NodeStarted(_))).count();
    assert_eq!(nodes, 2);
    there.stop().await;
    // Whoever is left goes on.
    let more = message("Ev4", "C01GEN", "U01ALICE", "1700000004.000100", "<@U0BOT> hello");
    assert_eq!(here.deliver(&more).await, 200);
    here.until_turns_ended(4).await;
    let live = here.built.record.rows_digest().await.unwrap();
    here.built.record.rebuild().await.unwrap();
    assert_eq!(here.built.record.rows_digest().await.unwrap(), live);
    here.built.record.verify(None).await.unwrap();
    here.stop().await;
}
