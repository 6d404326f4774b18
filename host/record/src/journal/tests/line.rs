//! One line: canonical, complete, and read back as the same event.

use super::kit::{Desk, START, append, delivery, fill};
use crate::journal::line::{LineFault, line, read};
use event::canonical;
use proptest::prelude::*;
use serde_json::{Value, json};

#[tokio::test]
async fn a_line_is_the_canonical_json_of_its_event_and_reads_back_as_that_event() {
    let desk = Desk::new();
    let record = desk.open().await;
    fill(&record).await;
    let events = record.read_all(START, 10).await.unwrap();
    let stored = record.reader().all(START, 10).await.unwrap();
    assert_eq!((events.len(), stored.len()), (6, 6));
    for (event, stored) in events.into_iter().zip(stored) {
        let line = line(&stored).unwrap();
        assert_eq!(line.as_bytes(), canonical(&event.to_json()), "{}", event.id);
        assert!(!line.contains('\n'));
        assert_eq!(read(&line).unwrap().read().unwrap(), event);
    }
}

#[tokio::test]
async fn the_deepest_body_that_the_record_takes_is_read_from_its_line() {
    let desk = Desk::new();
    let record = desk.open().await;
    let nested = |depth: usize| (0..depth).fold(json!(0), |inner, _| json!([inner]));
    let stream = event::StreamName::new("test", "deep");
    let mut deepest = 0;
    for depth in 100..130 {
        let deep = delivery(&depth.to_string(), nested(depth));
        match record.append(stream.clone(), event::Expected::Any, vec![deep]).await {
            Ok(_) => deepest = depth,
            Err(error) => assert!(matches!(error, crate::Error::Unreadable { .. }), "{error}"),
        }
    }
    assert!((101..129).contains(&deepest), "the parser has a limit: {deepest}");
    for stored in record.reader().all(START, 100).await.unwrap() {
        let back = read(&line(&stored).unwrap()).unwrap();
        assert_eq!(back.read().unwrap(), stored.read().unwrap());
    }
}

#[tokio::test]
async fn a_line_that_is_written_in_another_way_is_none() {
    let desk = Desk::new();
    let record = desk.open().await;
    append(&record, "a", vec![delivery("one", json!("x"))]).await;
    let line = line(&record.reader().all(START, 1).await.unwrap()[0]).unwrap();
    let kind = "\"kind\":\"delivery.received\"";
    for other in [
        format!(" {line}"),
        line.replacen(':', ": ", 1),
        line.replace(kind, "\"kind\":\"delivery\\u002ereceived\""),
        line.replace(&format!("{kind},"), "").replacen('{', &format!("{{{kind},"), 1),
    ] {
        assert_ne!(other, line);
        assert_eq!(read(&other).unwrap_err(), LineFault::Form, "{other}");
    }
    for other in [
        line.replace(kind, &format!("{kind},\"more\":1")),
        line.replace(&format!("{kind},"), ""),
        line.replace(kind, &format!("{kind},{kind}")),
        format!("{line}{line}"),
        String::new(),
    ] {
        assert!(matches!(read(&other), Err(LineFault::Shape(_))), "{other}");
    }
}

fn payload() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_a_body_holds_its_line_reads_back_and_the_chain_holds(payloads in prop::collection::vec(payload(), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let desk = Desk::new();
            let record = desk.open().await;
            for (n, payload) in payloads.into_iter().enumerate() {
                append(&record, "a", vec![delivery(&n.to_string(), payload)]).await;
            }
            record.verify(None).await.unwrap();
            for stored in record.reader().all(START, 10).await.unwrap() {
                let line = line(&stored).unwrap();
                let back = read(&line).unwrap();
                assert_eq!(format!("{back:?}"), format!("{stored:?}"));
                assert_eq!(line.as_bytes(), canonical(&serde_json::from_str(&line).unwrap()), "canonical");
            }
        });
    }
}
