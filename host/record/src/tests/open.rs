//! Opening: what is refused, and whether the operator is told what to do.

use super::kit::{Place, START, append_each, on_every_store, said, stream};
use crate::{Error, Record, SystemClock};
use event::Expected;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use std::path::Path;
use std::sync::Arc;

async fn refusal(path: &Path) -> String {
    match Record::open_sqlite(path, Arc::new(SystemClock)).await {
        Err(error @ Error::NotOpened { .. }) => {
            let text = error.to_string();
            assert!(text.contains(&path.display().to_string()), "{text}");
            text
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_place_where_no_record_can_be_is_refused_with_what_to_do() {
    let place = Place::sqlite();
    let folder = place.path().parent().unwrap();
    let file = folder.join("file");
    std::fs::write(&file, "x").unwrap();
    for (path, said) in [
        (folder.join("no/such/record.db"), "create it, or name another file"),
        (folder.to_owned(), "name a file in it"),
        (file.join("record.db"), "what should be its folder is a file"),
        // Nobody may create files there, root included.
        (Path::new("/proc/record.db").to_owned(), "name another file"),
    ] {
        let text = refusal(&path).await;
        assert!(text.contains(said), "{text}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_record_is_refused_and_left_as_it_was() {
    let place = Place::sqlite();
    std::fs::write(place.path(), "not a database, and longer than the header of one".repeat(30)).unwrap();
    assert!(refusal(place.path()).await.contains("it is not a database"));

    std::fs::remove_file(place.path()).unwrap();
    let other = SqliteConnectOptions::new().filename(place.path()).create_if_missing(true);
    let mut connection = other.pragma("user_version", "3").connect().await.unwrap();
    sqlx::raw_sql("create table event (x)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let before = std::fs::read(place.path()).unwrap();
    assert!(refusal(place.path()).await.contains("it belongs to another program"));
    assert_eq!(std::fs::read(place.path()).unwrap(), before);
}

#[tokio::test]
async fn a_record_that_a_newer_version_wrote_is_refused() {
    let place = Place::sqlite();
    drop(place.open().await);
    place.run("pragma user_version = 99").await.unwrap();
    assert!(refusal(place.path()).await.contains("update chancery"));
    let reading = Record::open_sqlite_read_only(place.path()).await;
    assert!(reading.unwrap_err().to_string().contains("update chancery"));
}

#[tokio::test]
async fn a_reader_beside_a_server_sees_its_commits_and_writes_nothing() {
    let place = Place::sqlite();
    assert!(
        Record::open_sqlite_read_only(place.path()).await.unwrap_err().to_string().contains("chancery serve")
    );
    let record = place.open().await;
    let reading = Record::open_sqlite_read_only(place.path()).await.unwrap();
    let events = append_each(&record, &["one"]).await;
    assert_eq!(reading.read_all(START, 10).await.unwrap(), events);
    let write = reading.append(stream("a"), Expected::Any, vec![said("two")]).await;
    assert!(matches!(write, Err(Error::Unavailable { .. })), "{write:?}");
    // Without a server, too.
    drop((record, reading));
    let reading = Record::open_sqlite_read_only(place.path()).await.unwrap();
    assert_eq!(reading.verify(None).await.unwrap().events, 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_record_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::sqlite();
    let record = place.open().await;
    append_each(&record, &["one"]).await;
    for file in [place.path().to_owned(), place.path().with_extension("db-wal")] {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn each_new_record_in_memory_is_its_own() {
    let open = || Record::open_memory(Arc::new(SystemClock));
    let (one, two) = (open().await.unwrap(), open().await.unwrap());
    append_each(&one, &["one"]).await;
    assert_eq!((one.head().await.unwrap().0.0, two.head().await.unwrap().0.0), (1, 0));
}

async fn a_new_record_opened_by_many_at_once_is_created_once(place: Place) {
    let place = Arc::new(place);
    let opening: Vec<_> = (0..8)
        .map(|n: i32| {
            let place = Arc::clone(&place);
            tokio::spawn(async move { append_each(&place.open().await, &[&n.to_string()]).await })
        })
        .collect();
    for opened in opening {
        opened.await.unwrap();
    }
    assert_eq!(place.open().await.verify(None).await.unwrap().events, 8);
}

async fn a_record_is_opened_again_with_all_it_had(place: Place) {
    let record = place.open().await;
    let events = append_each(&record, &["one", "two"]).await;
    drop(record);
    assert_eq!(place.open().await.read_all(START, 10).await.unwrap(), events);
}

async fn a_reader_beside_a_host_sees_its_commits_and_writes_nothing(place: Place) {
    let record = place.open().await;
    let reading = place.open_read_only().await;
    let events = append_each(&record, &["one"]).await;
    assert_eq!(reading.read_all(START, 10).await.unwrap(), events);
    let write = reading.append(stream("a"), Expected::Any, vec![said("two")]).await;
    assert!(matches!(write, Err(Error::Unavailable { .. })), "{write:?}");
    assert_eq!(reading.verify(None).await.unwrap().events, 1);
}

on_every_store! {
    a_new_record_opened_by_many_at_once_is_created_once,
    a_record_is_opened_again_with_all_it_had,
    a_reader_beside_a_host_sees_its_commits_and_writes_nothing,
}
