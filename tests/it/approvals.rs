//! What waits for a person's yes, from the command line beside a running office.

use crate::cards::{asks, count, kit, runs};
use event::{Event, Fact};
use std::path::Path;
use tests::host::run;

fn done(config: &Path, arguments: &[&str]) -> String {
    let output = run(config, arguments);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

fn newest(events: &[Event]) -> String {
    let asked = events.iter().rev().find_map(|event| match &event.fact {
        Fact::ApprovalAsked(asked) => Some(asked.approval.to_string()),
        _ => None,
    });
    asked.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_answers_ahead_and_takes_it_back_from_the_command_line() {
    let kit = kit().await;
    let office = kit.open().await;
    let config = kit.write();
    assert!(done(&config, &["approval", "list"]).contains("nothing waits"));

    office.deliver(&asks(1)).await;
    let events = office.until("the call waits", |events| count(events, "approval.asked") == 1).await;
    let first = newest(&events);
    let listed = done(&config, &["approval", "list"]);
    assert!(listed.contains(&first) && listed.contains("shredder.erase"), "{listed}");
    let shown = done(&config, &["approval", "show", &first]);
    assert!(shown.contains("Bob <!channel>") && shown.contains("consequential-asks"), "{shown}");
    assert_eq!(runs(&office.events().await), 0);
    let given = done(&config, &["approve", &first]);
    assert!(given.contains("yes by person_slack.T01TEST.U01OWNER"), "{given}");
    office.until_turns_ended(1).await;
    assert_eq!(runs(&office.events().await), 1);

    done(&config, &["approval", "ahead", &first, "--reason", "it is asked every day"]);
    office.deliver(&asks(2)).await;
    let events = office.until_turns_ended(2).await;
    assert_eq!((runs(&events), count(&events, "approval.asked")), (2, 1));

    done(&config, &["approval", "withdraw", &first, "--reason", "no more"]);
    office.deliver(&asks(3)).await;
    let events = office.until("the call waits again", |events| count(events, "approval.asked") == 2).await;
    let second = newest(&events);
    assert_ne!(second, first);
    done(&config, &["deny", &second, "--reason", "not today"]);
    let events = office.until_turns_ended(3).await;
    assert_eq!(runs(&events), 2);
    let told = kit.slack.posts().iter().any(|post| post["text"].to_string().contains("not today"));
    assert!(told, "whoever asked is told why");

    let again = run(&config, &["approve", &second]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("answered before"), "{again:?}");
    let counted = done(&config, &["approval", "count"]);
    let line = counted.lines().find(|line| line.contains("U01OWNER")).unwrap();
    assert_eq!(line.split_whitespace().skip(2).collect::<Vec<_>>(), ["1", "1"], "{counted}");
    office.stop().await;
}
