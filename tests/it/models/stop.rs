//! Text is heard while it is written, and a call that nobody waits for any more ends at once, wherever it stands.

use super::*;
use gate::Deltas;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Keeps what it hears, and says stop when the test does.
struct Ear {
    heard: Mutex<String>,
    words: watch::Sender<usize>,
    stop: watch::Receiver<bool>,
}

#[async_trait::async_trait]
impl Deltas for Ear {
    fn write(&self, text: &str) {
        self.heard.lock().unwrap().push_str(text);
        self.words.send_modify(|count| *count += 1);
    }

    async fn stopped(&self) {
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }
}

fn ear() -> (Arc<Ear>, watch::Sender<bool>) {
    let (say, stop) = watch::channel(false);
    (Arc::new(Ear { heard: Mutex::default(), words: watch::Sender::new(0), stop }), say)
}

#[tokio::test]
async fn text_is_heard_before_the_answer_has_ended() {
    for api in APIS {
        let provider = Provider::serve().await;
        let office = kit(api, &provider, "").await.open().await;
        let mut plays = api.answer("First half, second half", None);
        // The last event but a few of the text: what comes before it is heard while the server waits.
        let first = plays
            .iter()
            .position(|play| matches!(play, Play::Bytes(b) if b.windows(11).any(|w| w == b"First half,")))
            .unwrap();
        plays.insert(first + 1, Play::Wait);
        provider.plays(plays);
        let (ear, _say) = ear();
        let (gate, hears, asks) =
            (office.built.gate.clone(), ear.clone(), call(&office, asked(api, "hi"), 1).await);
        let passing = tokio::spawn(async move { gate.pass(asks, Some(hears)).await });
        ear.words.subscribe().wait_for(|count| *count >= 1).await.unwrap();
        assert!(!passing.is_finished(), "{api:?}: heard before the end");
        assert!("First half, second half".starts_with(&*ear.heard.lock().unwrap()));
        provider.go_on();
        assert!(matches!(passing.await.unwrap().unwrap(), Passed::Done { .. }));
        assert_eq!(*ear.heard.lock().unwrap(), "First half, second half", "{api:?}");
        office.stop().await;
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_hangs_up_and_counts_in_full() {
    for at_first_byte in [true, false] {
        let provider = Provider::serve().await;
        let api = Api::Messages;
        let office = kit(api, &provider, "").await.open().await;
        let mut plays = api.answer("A long story", None);
        let place = if at_first_byte { 0 } else { 4 };
        plays.truncate(place);
        plays.push(Play::Silence);
        provider.plays(plays);
        let (ear, say) = ear();
        let (gate, hears, asks) =
            (office.built.gate.clone(), ear.clone(), call(&office, asked(api, "hi"), 1).await);
        let passing = tokio::spawn(async move { gate.pass(asks, Some(hears)).await });
        match at_first_byte {
            true => {
                while provider.requests().is_empty() {
                    tokio::task::yield_now().await
                }
            }
            false => {
                ear.words.subscribe().wait_for(|count| *count >= 1).await.unwrap();
            }
        }
        say.send_replace(true);
        let passed = passing.await.unwrap().unwrap();
        let Passed::Failed { failure, .. } = passed else { panic!("{passed:?}") };
        assert_eq!(failure.kind, FailureKind::Stopped, "{}", failure.message);
        provider.hung_up().await;
        assert_eq!(hold(&office).await.0, "unknown", "what it cost by then nobody says");
        office.stop().await;
    }
}
