//! Restoring: the same record, or nothing.

use super::kit::{
    Desk, START, add, append, columns, count, delivery, export, files, fill, last_file, open, say,
};
use crate::{Error, JournalError, Record, RestoreError, Restored, SystemClock};
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

async fn restore(record: &Record, folder: &Path) -> Result<Restored, RestoreError> {
    record.restore(folder, &watch::Sender::new(0), watch::Sender::new(0)).await
}

#[tokio::test]
async fn a_restored_record_is_the_original_byte_for_byte_and_goes_on() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    let second = open(&desk.path("restored.sqlite")).await;
    let (read, folded) = (watch::Sender::new(0), watch::Sender::new(0));
    let restored = second.restore(&desk.journal, &read, folded.clone()).await.unwrap();
    assert_eq!((restored.head.global_position.0, *read.borrow(), *folded.borrow()), (6, 6, 6));
    assert_eq!(columns(&desk.path("restored.sqlite")).await, columns(&desk.file).await);
    assert_eq!(second.rows_digest().await.unwrap(), record.rows_digest().await.unwrap());
    assert_eq!(second.head().await.unwrap(), record.head().await.unwrap());

    say(&second, &["seven"]).await;
    assert_eq!(second.verify(None).await.unwrap().events, 7);
    // A retry of what was appended to the original is known to the restored one.
    say(&second, &["one"]).await;
    assert_eq!(count(&second).await, 7);
}

#[tokio::test]
async fn the_file_of_a_restored_record_that_has_ended_is_all_of_it() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    let target = open(&desk.path("target.sqlite")).await;
    restore(&target, &desk.journal).await.unwrap();
    target.ended().await;
    std::fs::copy(desk.path("target.sqlite"), desk.path("moved.sqlite")).unwrap();
    assert_eq!(columns(&desk.path("moved.sqlite")).await, columns(&desk.file).await);
}

#[tokio::test]
async fn a_record_in_another_store_takes_in_the_same_history() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    let memory = Record::open_memory(Arc::new(SystemClock)).await.unwrap();
    restore(&memory, &desk.journal).await.unwrap();
    assert_eq!(memory.read_all(START, 10).await.unwrap(), record.read_all(START, 10).await.unwrap());
    assert_eq!(memory.rows_digest().await.unwrap(), record.rows_digest().await.unwrap());
    assert!(memory.verify_with_journal(&desk.journal).await.unwrap().verified.anchored);
    // And its journal is the same journal.
    export(&memory, &desk.path("journal of the second")).await;
    assert!(files(&desk.journal) == files(&desk.path("journal of the second")));
}

#[tokio::test]
async fn a_record_that_is_not_empty_is_left_as_it_is() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    let second = open(&desk.path("other.sqlite")).await;
    say(&second, &["mine"]).await;
    let before = columns(&desk.path("other.sqlite")).await;
    match restore(&second, &desk.journal).await {
        Err(RestoreError::Record(Error::NotEmpty { end })) => assert_eq!(end.0, 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(columns(&desk.path("other.sqlite")).await, before);
}

#[tokio::test]
async fn a_journal_that_was_changed_or_cut_restores_nothing_and_says_where() {
    let desk = Desk::new();
    let record = desk.open().await;
    // More than one page, so that a part was taken in before the fault is met.
    for page in 0..3 {
        let events =
            (0..200).map(|n| delivery(&format!("{page} {n}"), json!(format!("{page}-{n}")))).collect();
        append(&record, "a", events).await;
    }
    desk.export(&record).await;
    let path = last_file(&desk.journal);
    let text = std::fs::read_to_string(&path).unwrap();
    let without = |gone: usize| {
        text.lines()
            .enumerate()
            .filter(|(n, _)| *n != gone)
            .map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    for (changed, at) in [
        (text.replace("\"2-150\"", "\"2-15O\""), 551),
        (text.replacen("system_host", "system_hast", 1), 1),
        (without(300), 301),
        (without(599), 0),
        (String::new(), 0),
    ] {
        assert_ne!(changed, text);
        std::fs::write(&path, &changed).unwrap();
        let target = open(&desk.path(&format!("{at}.sqlite"))).await;
        match restore(&target, &desk.journal).await {
            Err(RestoreError::Journal(JournalError::Damaged { line, .. })) => assert_eq!(line, at),
            other => panic!("{at}: {other:?}"),
        }
        assert_eq!(count(&target).await, 0, "nothing stays");
    }
    std::fs::write(&path, &text).unwrap();
    let target = open(&desk.path("551.sqlite")).await;
    restore(&target, &desk.journal).await.expect("the same target, once the journal is mended");
    assert_eq!(count(&target).await, 600);
}

#[tokio::test]
async fn a_line_after_the_head_is_left_out_and_a_folder_without_a_head_is_no_journal() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    add(&last_file(&desk.journal), "{\"actor\":{\"princ");
    let target = open(&desk.path("target.sqlite")).await;
    restore(&target, &desk.journal).await.unwrap();
    assert_eq!(columns(&desk.path("target.sqlite")).await, columns(&desk.file).await);

    std::fs::remove_file(desk.journal.join("head")).unwrap();
    let target = open(&desk.path("again.sqlite")).await;
    let absent = restore(&target, &desk.journal).await;
    assert!(matches!(absent, Err(RestoreError::Journal(JournalError::Absent(_)))), "{absent:?}");
}

#[tokio::test]
async fn a_journal_of_a_restored_record_is_the_same_journal() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    let second = open(&desk.path("second.sqlite")).await;
    restore(&second, &desk.journal).await.unwrap();
    export(&second, &desk.path("journal of the second")).await;
    assert!(files(&desk.journal) == files(&desk.path("journal of the second")));
    // The first journal goes on with the second record.
    say(&second, &["seven"]).await;
    desk.export(&second).await;
    second.verify_with_journal(&desk.journal).await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_history_is_restored_as_it_was(calls in prop::collection::vec((0..4_u8, 1..5_usize, any::<String>()), 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let desk = Desk::new();
            let record = desk.open().await;
            for (n, (stream, events, text)) in calls.into_iter().enumerate() {
                let event = |k| delivery(&format!("{n} {k}"), json!(text));
                append(&record, &stream.to_string(), (0..events).map(event).collect()).await;
            }
            desk.export(&record).await;
            let target = open(&desk.path("target.sqlite")).await;
            restore(&target, &desk.journal).await.unwrap();
            assert_eq!(columns(&desk.path("target.sqlite")).await, columns(&desk.file).await);
            assert_eq!(target.rows_digest().await.unwrap(), record.rows_digest().await.unwrap());
        });
    }
}
