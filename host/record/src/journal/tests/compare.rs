//! What somebody does to the record around its triggers is found with the journal, and the first event is named.

use super::kit::{Desk, START, fill, last_file, raw, say};
use crate::stored::Stored;
use crate::{CompareError, Fault, JournalError, Record, VerifyError};
use event::{Digest, GlobalPosition};

async fn with_journal() -> (Desk, Record) {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    desk.export(&record).await;
    (desk, record)
}

#[tokio::test]
async fn a_whole_record_holds_its_journal_and_says_how_far_it_is_behind() {
    let (desk, record) = with_journal().await;
    let found = record.verify_with_journal(&desk.journal).await.unwrap();
    assert_eq!(found.to_string(), "6 events: consistent, anchored; the journal holds the same up to 6");
    say(&record, &["seven", "eight"]).await;
    let found = record.verify_with_journal(&desk.journal).await.unwrap();
    assert!(found.to_string().ends_with("up to 6, 2 less"), "{found}");
}

#[tokio::test]
async fn a_byte_changed_around_the_triggers_names_its_event() {
    let (desk, record) = with_journal().await;
    desk.tamper("update event set body = replace(body, 'last', 'lost') where global_position = 6").await;
    match record.verify_with_journal(&desk.journal).await {
        Err(CompareError::Record(VerifyError::Event { global_position, fault, .. })) => {
            assert_eq!((global_position, fault), (GlobalPosition(6), Fault::Digest));
        }
        other => panic!("{other:?}"),
    }
}

/// Writes the history anew from `from` on, each event with a digest and a chain that fit what it says now.
async fn rechain(desk: &Desk, record: &Record, from: u64, change: impl Fn(&mut Stored)) {
    let mut events = record.reader().all(START, 100).await.unwrap();
    let mut chain: Option<Digest> = None;
    let mut raw = raw(&desk.file).await;
    for event in &mut events {
        if event.global_position >= from {
            change(event);
            event.digest = event.content_digest().unwrap().as_str().to_owned();
            event.chain = event.link(chain.as_ref()).unwrap().as_str().to_owned();
            sqlx::query(
                "update event set body = ?, digest = ?, chain = ? where global_position = ? and blob is null",
            )
            .bind(&event.body)
            .bind(&event.digest)
            .bind(&event.chain)
            .bind(event.global_position as i64)
            .execute(&mut raw)
            .await
            .unwrap();
        }
        chain = Digest::parse(&event.chain);
    }
}

#[tokio::test]
async fn a_tail_that_was_written_anew_is_consistent_by_itself_and_named_with_the_journal() {
    let (desk, record) = with_journal().await;
    let triggers = desk.tamper("").await;
    rechain(&desk, &record, 5, |event| {
        event.body = event.body.take().map(|body| body.replace("test", "tost"));
    })
    .await;
    desk.run(&triggers).await;
    assert!(!record.verify(None).await.expect("nothing shows without a witness").anchored);
    match record.verify_with_journal(&desk.journal).await {
        Err(CompareError::Differs { global_position, .. }) => assert_eq!(global_position, GlobalPosition(5)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_tail_that_was_cut_off_names_the_first_event_that_is_gone() {
    let (desk, record) = with_journal().await;
    let gone = record.read_all(GlobalPosition(4), 1).await.unwrap()[0].id.as_str().to_owned();
    let triggers = desk.tamper("delete from event where global_position > 4").await;
    desk.run(&triggers).await;
    record.verify(None).await.expect("nothing shows without a witness");
    match record.verify_with_journal(&desk.journal).await {
        Err(CompareError::Cut { end, journal, id }) => {
            assert_eq!((end, journal, id), (GlobalPosition(4), GlobalPosition(6), gone));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_journal_that_was_changed_is_no_witness_against_the_record() {
    let (desk, record) = with_journal().await;
    let path = last_file(&desk.journal);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"last\"", "\"lost\"")).unwrap();
    match record.verify_with_journal(&desk.journal).await {
        Err(CompareError::Journal(JournalError::Damaged { line, .. })) => assert_eq!(line, 6),
        other => panic!("{other:?}"),
    }
    let nowhere = record.verify_with_journal(&desk.path("nowhere")).await;
    assert!(matches!(nowhere, Err(CompareError::Journal(JournalError::Absent(_)))), "{nowhere:?}");
}
