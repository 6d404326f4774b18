//! The journal from the command line, and beside a running office.

use crate::config::Config;
use crate::look;
use crate::progress::shown;
use crate::wire::Office;
use anyhow::{Context, Result};
use event::GlobalPosition;
use record::{Journal, JournalHead, Record, STARTING_PACE, Status, SystemClock};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::watch;

/// Brings the journal in `folder` to the end of the record.
///
/// # Errors
/// When the folder holds the journal of another history, or one of the two cannot be read or written.
pub async fn export(config: &Config, folder: &Path) -> Result<ExitCode> {
    let record = look::open(config).await?;
    let mut journal = Journal::open(folder, &record).await?;
    let (begin, (until, _)) = (journal.end(), record.head().await?);
    let (tell, told) = watch::channel(begin.0);
    let written = |end: GlobalPosition| {
        tell.send_replace(end.0);
    };
    let work = journal.catch_up(&record, written);
    let end = shown("exporting", until.0, &[told], work).await?;
    let (now, _) = record.head().await?;
    println!("{} events written to `{}`: {}", end.0 - begin.0, folder.display(), lag(end, now));
    if let Some(head) = journal.head() {
        println!("head {head}");
    }
    Ok(ExitCode::SUCCESS)
}

fn lag(journal: GlobalPosition, record: GlobalPosition) -> String {
    match record.0.saturating_sub(journal.0) {
        0 => format!("it ends at {record}, where the record ends"),
        behind => format!("it ends at {journal}, {behind} before the record's end"),
    }
}

/// Makes the record `file` from the journal in `folder`.
///
/// # Errors
/// When the journal is damaged, naming file and line, or the record holds events already.
pub async fn restore_to_file(folder: &Path, file: &Path) -> Result<ExitCode> {
    // Before anything is made: a folder without a journal leaves nothing behind.
    let end = JournalHead::read(folder)?;
    let record = Record::open_sqlite(file, Arc::new(SystemClock)).await?;
    take_in(record, folder, &end, format!("`{}`", file.display())).await
}

/// Makes the record that is configured from the journal in `folder`.
///
/// # Errors
/// As [`restore_to_file`].
pub async fn restore(config: &Config, folder: &Path) -> Result<ExitCode> {
    let end = JournalHead::read(folder)?;
    let record = config.record.open(Arc::new(SystemClock)).await?;
    take_in(record, folder, &end, config.record.to_string()).await
}

async fn take_in(record: Record, folder: &Path, end: &JournalHead, place: String) -> Result<ExitCode> {
    let (read, folded) = (watch::Sender::new(0), watch::Sender::new(0));
    let (reading, folding) = (read.subscribe(), folded.subscribe());
    let work = record.restore(folder, &read, folded);
    // Each event is read once and folded once.
    let restored = shown("restoring", 2 * end.global_position.0, &[reading, folding], work).await?;
    // Whoever moves the file next moves all of the record.
    record.ended().await;
    println!("{restored} into {place}");
    println!("head {}", restored.head);
    Ok(ExitCode::SUCCESS)
}

/// Folds all rows again.
///
/// # Errors
/// When the record cannot be written, or an event does not read: the rows are then as they were.
pub async fn rebuild(config: &Config) -> Result<ExitCode> {
    let total = look::open(config).await?.head().await?.0;
    let record = config.record.open(Arc::new(SystemClock)).await?;
    let (tell, told) = watch::channel(0);
    let events = shown("rebuilding", total.0, &[told], record.rebuild_telling(tell)).await?;
    println!("the rows of {events} events are folded again: {}", record.rows_digest().await?);
    record.ended().await;
    Ok(ExitCode::SUCCESS)
}

/// Compares the record with the journal in `folder`, event by event.
///
/// # Errors
/// The first event that is not as it was written, not the journal's, or gone.
pub async fn verify(config: &Config, folder: &Path) -> Result<ExitCode> {
    let compared = look::open(config).await?.verify_with_journal(folder).await?;
    println!("{compared}");
    if let Some(chain) = &compared.verified.chain {
        println!("head {}:{chain}", compared.verified.events);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the office's journal, when it is configured to keep one.
///
/// # Errors
/// When the record is not the one that was journaled: to go on would make two histories of one office.
pub async fn open(office: &Office) -> Result<Option<Journal>> {
    let Some(config) = &office.config.journal else { return Ok(None) };
    let journal = Journal::open(&config.folder, &office.record)
        .await
        .with_context(|| format!("the journal in `{}` cannot be kept", config.folder.display()))?;
    let head = office.record.head().await?.0;
    println!("journal in {}: {}", config.folder.display(), lag(journal.end(), head));
    Ok(Some(journal))
}

/// Keeps `journal` until `end` says that nothing is appended any more, telling how far it is. What is behind then is
/// said, and goes on at the next start.
pub async fn keep(
    journal: Option<Journal>,
    office: &Office,
    tell: watch::Sender<Status>,
    end: watch::Receiver<bool>,
) {
    let (Some(journal), Some(config)) = (journal, &office.config.journal) else { return };
    // It was checked when the configuration was read.
    let remote = config.remote().unwrap_or_default();
    let pushes = remote.is_some();
    let status = tell.subscribe();
    record::keep(journal, office.record.clone(), remote, STARTING_PACE, tell, end).await;
    let (status, Ok((head, _))) = (status.borrow().clone(), office.record.head().await) else { return };
    let behind = if pushes { status.pushes_behind(head) } else { status.lines_behind(head) };
    if behind > 0 {
        tracing::warn!(behind, "the journal is behind the record; it goes on at the next start");
    }
}

#[cfg(test)]
mod tests {
    use super::restore;
    use crate::Config;
    use event::{Actor, EventId, Expected, Label, NodeStarted, PrincipalId, Proposed, StreamName};
    use record::{Journal, Record, SystemClock};
    use std::sync::Arc;

    async fn append(record: &Record, name: &str) {
        let actor = Actor { principal: PrincipalId::host(), seat: None };
        let fact = NodeStarted { node: name.into(), version: "1".into() };
        let id = EventId::derived(&[name]);
        let event = Proposed { id, actor, cause: None, label: Label::host(), fact: fact.into() };
        record.append(StreamName::new("node", name), Expected::Any, vec![event]).await.unwrap();
    }

    #[tokio::test]
    async fn a_journal_becomes_the_record_that_is_configured_on_postgres_when_that_is_empty() {
        let schema = tests_postgres::Schema::new().unwrap_or_else(|why| panic!("{why}"));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("url"), schema.url()).unwrap();
        let path = folder.path().join("chancery.toml");
        let text = "policies = \"p\"\nprices = \"p\"\n[office]\nname = \"T\"\nmodel = \"m\"\n\
                    [record]\npostgres = { file = \"url\" }\n[purse]\nday = \"1.00\"\n";
        std::fs::write(&path, text).unwrap();
        let config = Config::read(&path, []).unwrap();

        let (original, journal) =
            (Record::open_memory(Arc::new(SystemClock)).await.unwrap(), folder.path().join("journal"));
        append(&original, "one").await;
        append(&original, "two").await;
        Journal::open(&journal, &original).await.unwrap().catch_up(&original, |_| ()).await.unwrap();

        restore(&config, &journal).await.unwrap();
        let restored = config.record.open_read_only().await.unwrap();
        assert_eq!(restored.head().await.unwrap(), original.head().await.unwrap());
        restored.verify(None).await.unwrap();
        let again = restore(&config, &journal).await.unwrap_err().to_string();
        assert!(again.contains("holds 2 events already"), "{again}");
    }
}
