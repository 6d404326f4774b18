//! Opening: what is refused, and whether the operator is told what to do and no secret is told.

use crate::tests::kit::{Place, append_each};
use crate::{Error, Record, SystemClock};
use std::sync::Arc;

async fn refusal(url: &str) -> String {
    match Record::open_postgres(url, Arc::new(SystemClock)).await {
        Err(error @ Error::NotOpened { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_url_that_leads_nowhere_is_refused_with_what_to_do_and_without_its_password() {
    let place = Place::postgres();
    let url = place.address();
    let (user, rest) = url.split_once('@').unwrap();
    let (host, schema) = rest.split_once('?').unwrap();
    let password = user.rsplit(':').next().unwrap();
    let (server, _) = host.split_once('/').unwrap();
    for (wrong, said) in [
        ("mysql://a:hunter2@b/c".to_owned(), "postgres://user:password@host:port/database"),
        (url.replace(password, "hunter2"), "check user and password"),
        (format!("{user}@{server}/no_such_database"), "create it with `createdb`"),
        (format!("{user}@127.0.0.1:1/x?{schema}"), "start it, or check host and port"),
        (format!("{url}&sslmode=require"), "no secure connection"),
        (format!("{user}@{host}?options[search_path]=no_such_schema"), "names no schema"),
    ] {
        let told = refusal(&wrong).await;
        assert!(told.contains(said), "{told}");
        assert!(!told.contains("hunter2") && !told.contains(password), "{told}");
    }
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let place = Place::postgres();
    place.run("create table event (x int)").await.unwrap();
    assert!(refusal(&place.address()).await.contains("another program"));
    let reading = Record::open_postgres_read_only(&place.address()).await;
    assert!(reading.unwrap_err().to_string().contains("another program"));
    assert_eq!(place.number("select count(*) from pg_tables where schemaname = current_schema()").await, 1);
}

#[tokio::test]
async fn a_database_without_a_record_or_with_a_newer_one_is_refused() {
    let place = Place::postgres();
    let reading = Record::open_postgres_read_only(&place.address()).await;
    assert!(reading.unwrap_err().to_string().contains("`chancery serve` creates it"));
    append_each(&place.open().await, &["one"]).await;
    let comment = |count: u32| format!("comment on table event is 'record of chancery, migrations: {count}'");
    place.run(&comment(99)).await.unwrap();
    assert!(refusal(&place.address()).await.contains("update chancery"));
    place.run(&comment(2)).await.unwrap();
    let reading = Record::open_postgres_read_only(&place.address()).await;
    assert!(reading.unwrap_err().to_string().contains("brings it up to date"));
}
