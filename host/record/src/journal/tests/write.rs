//! The files: the same for the same record, whole after any interruption, and never another history's.

use super::kit::{Desk, START, add, append, columns, count, delivery, export, files, fill, last_file, say};
use crate::{Fault, Journal, JournalError};
use event::GlobalPosition;
use serde_json::json;

#[tokio::test]
async fn the_same_record_gives_the_same_files_however_many_runs_write_them() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    // Nine files of two bodies each, and one line that is alone.
    for n in 0..19 {
        append(&record, "large", vec![delivery(&format!("large {n}"), json!("y".repeat(2_100_000)))]).await;
        if n % 5 == 0 {
            desk.export(&record).await;
        }
    }
    desk.export(&record).await;
    export(&record, &desk.path("at once")).await;
    let (many, one) = (files(&desk.journal), files(&desk.path("at once")));
    assert_eq!(many.keys().collect::<Vec<_>>(), one.keys().collect::<Vec<_>>());
    assert!(many == one, "the files differ");
    assert!(one.len() > 8, "{:?}", one.keys());
    let (end, chain) = record.head().await.unwrap();
    assert_eq!(one["head"], format!("{end}:{}\n", chain.unwrap()).into_bytes());
    let lines: Vec<u8> =
        one.into_iter().filter(|(name, _)| name != "head").flat_map(|(_, text)| text).collect();
    let events = record.read_all(START, 100).await.unwrap();
    let wanted: Vec<u8> =
        events.iter().flat_map(|event| [event::canonical(&event.to_json()), vec![b'\n']].concat()).collect();
    assert!(lines == wanted, "every event has its line, in order");
}

#[tokio::test]
async fn what_an_interruption_left_after_the_head_is_cut_off_and_written_again() {
    for left in ["{\"actor\":{\"princ", "\0\0\0\0", "{}\n{}\n", "\n"] {
        let desk = Desk::new();
        let record = desk.open().await;
        fill(&record).await;
        desk.export(&record).await;
        let before = files(&desk.journal);
        add(&last_file(&desk.journal), left);
        say(&record, &["seven"]).await;
        desk.export(&record).await;
        export(&record, &desk.path("fresh")).await;
        assert!(files(&desk.journal) == files(&desk.path("fresh")), "{left:?}");
        assert_ne!(files(&desk.journal), before);
    }
}

#[tokio::test]
async fn a_new_file_that_has_no_whole_line_yet_is_begun_again() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    let before = files(&desk.journal);
    for text in ["", "{\"actor\""] {
        std::fs::write(desk.journal.join("000000000007.jsonl"), text).unwrap();
        desk.export(&record).await;
        assert!(files(&desk.journal) == before, "{text:?}");
    }
}

#[tokio::test]
async fn lines_that_were_written_whole_before_the_head_was_are_kept() {
    let desk = Desk::new();
    let record = desk.open().await;
    say(&record, &["one", "two"]).await;
    desk.export(&record).await;
    let head = std::fs::read(desk.journal.join("head")).unwrap();
    say(&record, &["three"]).await;
    desk.export(&record).await;
    let whole = files(&desk.journal);
    // As after a kill between the lines and the head; then as in a journal that never had one.
    std::fs::write(desk.journal.join("head"), head).unwrap();
    assert_eq!(Journal::open(&desk.journal, &record).await.unwrap().end(), GlobalPosition(3));
    assert!(files(&desk.journal) == whole);
    std::fs::remove_file(desk.journal.join("head")).unwrap();
    assert_eq!(Journal::open(&desk.journal, &record).await.unwrap().end(), GlobalPosition(3));
    assert!(files(&desk.journal) == whole);
}

#[tokio::test]
async fn a_line_up_to_the_head_that_was_changed_is_named_and_nothing_is_written() {
    let desk = Desk::new();
    let record = desk.open().await;
    say(&record, &["one", "two", "three"]).await;
    desk.export(&record).await;
    let path = last_file(&desk.journal);
    let text = std::fs::read_to_string(&path).unwrap();
    let cut = text.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    let two = format!("{:?}", "two");
    for (damaged, at) in [(text.replace(&two, "\"tow\""), 2), (text.replacen("{", "[", 1), 1), (cut, 0)] {
        std::fs::write(&path, &damaged).unwrap();
        let before = files(&desk.journal);
        match Journal::open(&desk.journal, &record).await {
            Err(JournalError::Damaged { line, .. }) => assert_eq!(line, at),
            other => panic!("{at}: {other:?}"),
        }
        assert!(files(&desk.journal) == before);
    }
}

#[tokio::test]
async fn a_folder_that_holds_another_history_is_left_as_it_is() {
    let (desk, other) = (Desk::new(), Desk::new());
    let (record, stranger) = (desk.open().await, other.open().await);
    say(&record, &["one", "two"]).await;
    say(&stranger, &["one"]).await;
    desk.export(&record).await;
    let before = files(&desk.journal);
    let cut = Journal::open(&desk.journal, &stranger).await;
    assert!(
        matches!(cut, Err(JournalError::Cut { record: GlobalPosition(1), journal: GlobalPosition(2) })),
        "{cut:?}"
    );
    say(&stranger, &["another two", "three"]).await;
    let differs = Journal::open(&desk.journal, &stranger).await;
    assert!(matches!(differs, Err(JournalError::Differs(GlobalPosition(2)))), "{differs:?}");
    assert!(files(&desk.journal) == before);
}

#[tokio::test]
async fn one_process_at_a_time_writes_a_journal() {
    let desk = Desk::new();
    let record = desk.open().await;
    let first = Journal::open(&desk.journal, &record).await.unwrap();
    let second = Journal::open(&desk.journal, &record).await;
    assert!(matches!(second, Err(JournalError::InUse(_))), "{second:?}");
    drop(first);
    Journal::open(&desk.journal, &record).await.unwrap();
}

#[tokio::test]
async fn an_event_that_was_changed_around_the_triggers_never_reaches_the_journal() {
    let desk = Desk::new();
    let record = desk.open().await;
    say(&record, &["one"]).await;
    let mut journal = Journal::open(&desk.journal, &record).await.unwrap();
    journal.catch_up(&record, |_| ()).await.unwrap();
    say(&record, &["two", "three"]).await;
    let before = columns(&desk.file).await;
    desk.tamper("update event set body = replace(body, 'two', 'tow') where global_position = 2").await;
    assert_ne!(columns(&desk.file).await, before);
    for _ in 0..2 {
        match journal.catch_up(&record, |_| ()).await {
            Err(JournalError::Event { global_position, fault, .. }) => {
                assert_eq!((global_position, fault), (GlobalPosition(2), Fault::Digest));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(journal.end(), GlobalPosition(1));
    }
    assert_eq!(count(&record).await, 3);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let desk = Desk::new();
    let record = desk.open().await;
    std::fs::write(&desk.journal, "a file").unwrap();
    match Journal::open(&desk.journal, &record).await {
        Err(JournalError::System { path, tried, .. }) => {
            assert_eq!((path, tried), (desk.journal.clone(), "made"))
        }
        other => panic!("{other:?}"),
    }
}
