//! What the databases keep beside what a record says, and that both keep it in the same columns.

use super::kit::{Place, delivery, on_every_database, proposed, said, stream};
use crate::INLINE_BYTES_MAX;
use event::Expected;
use serde_json::json;

async fn a_large_body_is_kept_once_beside_the_events(place: Place) {
    let record = place.open().await;
    let large = |name: &str| proposed(name, delivery(json!("x".repeat(INLINE_BYTES_MAX))));
    record.append(stream("a"), Expected::Any, vec![large("one"), large("two"), said("small")]).await.unwrap();
    assert_eq!(place.number("select count(*) from blob").await, 1);
    assert_eq!(place.number("select count(blob) from event").await, 2);
}

/// Table, place, name, and whether it may be absent.
type Column = (String, i64, String, bool);

#[tokio::test]
async fn both_databases_have_the_same_columns_in_the_same_order() {
    let (sqlite, postgres) = (Place::sqlite(), Place::postgres());
    drop((sqlite.open().await, postgres.open().await));
    // A primary key is never absent, also where SQLite does not say so of a row's number.
    let sqlite: Vec<Column> = sqlx::query_as(
        "select t.name, c.cid + 1, c.name, c.\"notnull\" = 0 and c.pk = 0 from sqlite_schema t, \
         pragma_table_info(t.name) c where t.type = 'table' order by t.name, c.cid",
    )
    .fetch_all(&mut sqlite.raw().await)
    .await
    .unwrap();
    let postgres: Vec<Column> = sqlx::query_as(
        "select table_name::text, ordinal_position::int8, column_name::text, is_nullable = 'YES' \
         from information_schema.columns where table_schema = current_schema() order by 1, 2",
    )
    .fetch_all(&mut postgres.raw_postgres().await)
    .await
    .unwrap();
    assert_eq!(sqlite.len(), 14 + 2 + 4 + 4 + 2);
    assert_eq!(sqlite, postgres);
}

/// What 100 MB of bodies leave in the log: it is written over once it holds 32 MiB, and not added to for ever.
#[tokio::test]
async fn the_log_beside_a_file_goes_back_into_it() {
    let place = Place::sqlite();
    let record = place.open().await;
    for n in 0..100 {
        let large = proposed(&n.to_string(), delivery(json!(format!("{n}{}", "x".repeat(1_000_000)))));
        record.append(stream("a"), Expected::Any, vec![large]).await.unwrap();
    }
    let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    let (file, log) = (size(place.path()), size(&place.path().with_extension("db-wal")));
    assert!(file > 60_000_000, "{file}");
    assert!((20_000_000..40_000_000).contains(&log), "{log}");
}

on_every_database! {
    a_large_body_is_kept_once_beside_the_events,
}
