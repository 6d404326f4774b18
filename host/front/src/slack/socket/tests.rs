//! The connection as Slack plays it: the other side of a pipe that speaks the real protocol.

use super::{Bytes, Door, DoorError, Line, Opened, keep};
use crate::Inbox;
use event::{Fact, GlobalPosition, PrincipalId};
use futures_util::{SinkExt, StreamExt};
use record::{Record, SystemClock};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// A door that opens onto pipes, after as many failures as it was given.
struct Pipes {
    failures: Mutex<VecDeque<DoorError>>,
    sides: mpsc::Sender<DuplexStream>,
}

impl Door for Pipes {
    fn open(&self) -> Pin<Box<dyn Future<Output = Result<Opened, DoorError>> + Send + '_>> {
        Box::pin(async move {
            if let Some(failure) = self.failures.lock().unwrap().pop_front() {
                return Err(failure);
            }
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            self.sides.send(theirs).await.unwrap();
            let stream: Box<dyn Bytes> = Box::new(ours);
            Ok(Opened { stream, address: "ws://slack.test/link/?ticket=1".to_owned() })
        })
    }
}

struct Office {
    record: Record,
    sides: mpsc::Receiver<DuplexStream>,
    line: watch::Receiver<Line>,
    stop: watch::Sender<bool>,
    kept: JoinHandle<Result<(), String>>,
}

/// Slack's side of one connection.
struct Side(WebSocketStream<DuplexStream>);

impl Side {
    async fn say(&mut self, said: Value) {
        self.0.send(Message::text(said.to_string())).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                _ => continue,
            }
        }
    }

    async fn ended(&mut self) {
        while let Some(Ok(message)) = self.0.next().await {
            if matches!(message, Message::Close(_)) {
                return;
            }
        }
    }
}

impl Office {
    async fn open(failures: Vec<DoorError>) -> Self {
        let record = Record::open_memory(Arc::new(SystemClock)).await.unwrap();
        let record = record.with_keyring(vault::Keyring::in_memory(1));
        let (tell, sides) = mpsc::channel(8);
        let door = Arc::new(Pipes { failures: Mutex::new(failures.into()), sides: tell });
        let inbox = Inbox::new(record.clone(), PrincipalId::host());
        let (stop, stopped) = watch::channel(false);
        let (said, line) = watch::channel(Line::default());
        let kept = tokio::spawn(keep(door, (inbox, Arc::new(|_| true)), said, stopped));
        Self { record, sides, line, stop, kept }
    }

    async fn side(&mut self) -> Side {
        Side(accept_async(self.sides.recv().await.unwrap()).await.unwrap())
    }

    async fn greeted(&mut self) -> Side {
        let mut side = self.side().await;
        side.say(json!({"type": "hello", "num_connections": 1})).await;
        side
    }

    async fn deliveries(&self) -> Vec<(String, u32)> {
        let events = self.record.read_all(GlobalPosition(0), 100).await.unwrap();
        let of = |event: event::Event| match event.fact {
            Fact::DeliveryReceived(body) => Some((body.kind, body.retry)),
            _ => None,
        };
        events.into_iter().filter_map(of).collect()
    }

    async fn stop(self) -> Result<(), String> {
        self.stop.send_replace(true);
        self.kept.await.unwrap()
    }
}

fn envelope(id: &str, event_id: &str, retry: u32) -> Value {
    json!({"type": "events_api", "envelope_id": id, "accepts_response_payload": false, "retry_attempt": retry,
        "retry_reason": "", "payload": {"type": "event_callback", "team_id": "T1", "event_id": event_id,
            "event": {"type": "message", "channel": "C1", "user": "U1", "ts": "1.0", "text": "hello"}}})
}

#[tokio::test]
async fn an_envelope_is_acknowledged_once_its_delivery_is_on_the_record_and_a_second_time_without_a_second_delivery()
 {
    let mut office = Office::open(vec![]).await;
    let mut side = office.greeted().await;
    side.say(envelope("a", "Ev1", 0)).await;
    assert_eq!(side.hear().await, json!({"envelope_id": "a"}));
    assert_eq!(
        office.deliveries().await,
        [("event_callback".to_owned(), 0)],
        "it stands when the word is given"
    );
    side.say(envelope("b", "Ev1", 1)).await;
    assert_eq!(side.hear().await, json!({"envelope_id": "b"}));
    assert_eq!(office.deliveries().await.len(), 1);
    assert_eq!((office.line.borrow().acknowledged, office.line.borrow().counted), (2, Some(1)));
    office.stop().await.unwrap();
    side.ended().await;
}

#[tokio::test]
async fn clicks_and_commands_come_the_same_way_and_what_cannot_be_read_is_acknowledged_and_left() {
    let mut office = Office::open(vec![]).await;
    let mut side = office.greeted().await;
    for (id, kind, payload) in [
        ("a", "interactive", json!({"type": "block_actions", "team": {"id": "T1"}, "trigger_id": "secret"})),
        ("b", "slash_commands", json!({"command": "/ask", "text": "hi", "team_id": "T1", "token": "legacy"})),
        ("c", "events_api", json!("no object")),
    ] {
        side.say(json!({"type": kind, "envelope_id": id, "payload": payload})).await;
        assert_eq!(side.hear().await["envelope_id"], id);
    }
    let kinds: Vec<String> = office.deliveries().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["block_actions", "slash_command"]);
    let events = office.record.read_all(GlobalPosition(0), 100).await.unwrap();
    let text = format!("{events:?}");
    assert!(
        !text.contains("legacy") && !text.contains("\"secret\""),
        "capabilities are kept out as over HTTP"
    );
    office.stop().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_is_to_be_renewed_is_read_until_its_successor_has_said_hello_and_after() {
    let mut office = Office::open(vec![]).await;
    let mut first = office.greeted().await;
    first.say(json!({"type": "disconnect", "reason": "refresh_requested"})).await;
    let mut second = office.side().await;
    first.say(envelope("a", "Ev1", 0)).await;
    assert_eq!(first.hear().await["envelope_id"], "a", "the old one is still read");
    second.say(json!({"type": "hello", "num_connections": 2})).await;
    second.say(envelope("b", "Ev1", 1)).await;
    assert_eq!(second.hear().await["envelope_id"], "b");
    first.say(envelope("c", "Ev2", 0)).await;
    assert_eq!(first.hear().await["envelope_id"], "c");
    assert_eq!(office.line.borrow().connections, 2);
    drop(first);
    second.say(envelope("d", "Ev3", 0)).await;
    assert_eq!(second.hear().await["envelope_id"], "d");
    assert_eq!(office.deliveries().await.len(), 3);
    office.stop().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_breaks_is_replaced_and_what_was_not_acknowledged_comes_again() {
    let later = DoorError::Later { why: "a cloud".to_owned(), wait_ms: None };
    let mut office = Office::open(vec![later]).await;
    let mut first = office.greeted().await;
    first.say(envelope("a", "Ev1", 0)).await;
    first.hear().await;
    drop(first);
    let mut second = office.greeted().await;
    second.say(envelope("b", "Ev1", 1)).await;
    assert_eq!(second.hear().await["envelope_id"], "b");
    assert_eq!(office.deliveries().await.len(), 1);
    office.stop().await.unwrap();
}

#[tokio::test]
async fn when_socket_mode_is_switched_off_it_says_so_and_knocks_no_more() {
    let mut office = Office::open(vec![]).await;
    let mut side = office.greeted().await;
    side.say(json!({"type": "disconnect", "reason": "link_disabled"})).await;
    let why = office.kept.await.unwrap().unwrap_err();
    assert!(why.contains("switched off"), "{why}");
    let shut = Office::open(vec![DoorError::Shut("the token is not good".to_owned())]).await;
    assert_eq!(shut.kept.await.unwrap().unwrap_err(), "the token is not good");
}
