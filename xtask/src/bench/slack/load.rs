//! A steady load of signed deliveries, and how long each took to be acknowledged.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::stop::Stop;

/// Connections at once: Slack keeps a few open.
const CONNECTIONS: usize = 24;
/// How long one waits for an answer, in seconds: as Slack does.
const ANSWER_S_MAX: u64 = 3;
/// How long a try without an answer waits before the next, in milliseconds.
const AGAIN_MS: u64 = 100;
/// One of so many messages mentions the office.
const MENTION_ONE_IN: u64 = 100;
/// One of so many deliveries comes a second time.
const AGAIN_ONE_IN: u64 = 10;
/// The block that HMAC works on, in bytes (RFC 2104).
const BLOCK_BYTES: usize = 64;

/// What is sent.
#[derive(Clone, Copy)]
pub struct Load {
    /// Deliveries a second.
    pub rate: u32,
    /// For how long, in seconds.
    pub seconds: u32,
    /// The signing secret.
    pub secret: &'static str,
    /// The number of the first.
    pub first: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Deliveries that were sent, each until it was acknowledged.
    pub sent: u64,
    /// Their names.
    pub acknowledged: Vec<String>,
    /// Tries without an answer of 200.
    pub failed: u64,
    /// How long each took that was acknowledged at its first try, in milliseconds, in order.
    times_ms: Vec<f64>,
}

impl Outcome {
    /// The time that this share of them stayed within, in milliseconds.
    pub fn ms(&self, share: f64) -> f64 {
        let last = self.times_ms.len().saturating_sub(1);
        // A share of a length fits a length.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "see above"
        )]
        let at = (last as f64 * share).round() as usize;
        self.times_ms.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// One delivery that should leave at a moment.
struct Parcel {
    number: u64,
    at: Instant,
    tries: u32,
}

struct Done {
    number: u64,
    ms: f64,
    tries: u32,
}

impl Load {
    /// Sends it to `origin`; `meanwhile` is asked several times a second, and may say that the office is elsewhere now.
    ///
    /// # Errors
    /// Whatever `meanwhile` says.
    pub fn run(
        &self,
        origin: &str,
        mut meanwhile: impl FnMut() -> Result<Option<String>, Stop>,
    ) -> Result<Outcome, Stop> {
        let place = Arc::new(RwLock::new(origin.to_owned()));
        let (give, take) = channel::<Parcel>();
        let (tell, told) = channel::<Done>();
        let take = Arc::new(Mutex::new(take));
        for _ in 0..CONNECTIONS {
            let (place, take, tell, give) = (place.clone(), take.clone(), tell.clone(), give.clone());
            let load = *self;
            thread::spawn(move || load.connection(&place, &take, &give, &tell));
        }
        let count = u64::from(self.rate) * u64::from(self.seconds);
        let began = Instant::now();
        let mut outcome = Outcome { sent: count, ..Outcome::default() };
        let mut next = 0;
        while u64::try_from(outcome.acknowledged.len()).unwrap_or(u64::MAX) < count {
            while next < count {
                let at =
                    began + Duration::from_nanos(next.saturating_mul(1_000_000_000) / u64::from(self.rate));
                if at > Instant::now() {
                    break;
                }
                let parcel = Parcel { number: self.first + next, at, tries: 0 };
                give.send(parcel).map_err(|_| Stop::new("every connection broke"))?;
                next += 1;
            }
            if let Some(origin) = meanwhile()?
                && let Ok(mut place) = place.write()
            {
                *place = origin;
            }
            let wait = told.recv_timeout(Duration::from_millis(2));
            for done in wait.into_iter().chain(told.try_iter()) {
                outcome.acknowledged.push(name(done.number));
                outcome.failed += u64::from(done.tries);
                if done.tries == 0 {
                    outcome.times_ms.push(done.ms);
                }
            }
        }
        outcome.times_ms.sort_unstable_by(f64::total_cmp);
        Ok(outcome)
    }

    fn connection(
        &self,
        place: &RwLock<String>,
        take: &Mutex<Receiver<Parcel>>,
        give: &Sender<Parcel>,
        tell: &Sender<Done>,
    ) {
        let mut kept: Option<(String, TcpStream)> = None;
        loop {
            let next = match take.lock() {
                Ok(take) => take.recv(),
                Err(_) => return,
            };
            let Ok(mut parcel) = next else { return };
            let Ok(origin) = place.read().map(|origin| origin.clone()) else { return };
            if kept.as_ref().is_some_and(|(to, _)| *to != origin) {
                kept = None;
            }
            let is_ok = self.send(&origin, &mut kept, parcel.number, parcel.tries) == Some(200);
            if is_ok {
                let ms = parcel.at.elapsed().as_secs_f64() * 1_000.0;
                // One that came is brought again, and is on the record already.
                if parcel.number % AGAIN_ONE_IN == 0 {
                    self.send(&origin, &mut kept, parcel.number, 1);
                }
                let done = Done { number: parcel.number, ms, tries: parcel.tries };
                if tell.send(done).is_err() {
                    return;
                }
                continue;
            }
            kept = None;
            parcel.tries += 1;
            thread::sleep(Duration::from_millis(AGAIN_MS));
            if give.send(parcel).is_err() {
                return;
            }
        }
    }

    fn send(
        &self,
        origin: &str,
        kept: &mut Option<(String, TcpStream)>,
        number: u64,
        tries: u32,
    ) -> Option<u16> {
        let authority = origin.strip_prefix("http://")?;
        if kept.is_none() {
            let stream = TcpStream::connect(authority).ok()?;
            stream.set_nodelay(true).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(ANSWER_S_MAX))).ok()?;
            *kept = Some((origin.to_owned(), stream));
        }
        let (_, stream) = kept.as_mut()?;
        let body = body(number);
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        let signature = hex::encode(hmac(self.secret.as_bytes(), format!("v0:{seconds}:{body}").as_bytes()));
        let retry =
            if tries > 0 { format!("x-slack-retry-num: {}\r\n", tries.min(3)) } else { String::new() };
        let request = format!(
            "POST /slack/events HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             x-slack-request-timestamp: {seconds}\r\nx-slack-signature: v0={signature}\r\n{retry}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        answer(stream)
    }
}

/// The status of an answer, which is read to its end.
fn answer(stream: &mut TcpStream) -> Option<u16> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut length = 0_u64;
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?
            }
            Some(_) => {}
            None => break,
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    Some(status)
}

fn name(number: u64) -> String {
    format!("EvBENCH{number:08}")
}

/// What somebody said, as Slack tells it.
fn body(number: u64) -> String {
    let (channel, user) = (format!("C0BENCH{:02}", number % 40), format!("U0BENCH{:03}", number % 400));
    let is_mention = number % MENTION_ONE_IN == MENTION_ONE_IN - 1;
    let text = if is_mention {
        format!("<@U0BOT> hello {number}")
    } else {
        format!("the figures of batch {number} are in the sheet, third tab")
    };
    let ts = format!("{}.{:06}", 1_796_000_000 + number, number % 1_000_000);
    json!({
        "type": "event_callback", "team_id": "T0BENCH", "api_app_id": "A0BENCH", "event_id": name(number),
        "event_time": 1_796_000_000_u64 + number, "is_ext_shared_channel": false,
        "authorizations": [{"enterprise_id": null, "team_id": "T0BENCH", "user_id": "U0BOT", "is_bot": true,
            "is_enterprise_install": false}],
        "event": {"type": "message", "channel": channel, "channel_type": "channel", "user": user, "team": "T0BENCH",
            "ts": ts, "event_ts": ts, "text": text, "client_msg_id": format!("{number:08x}-0000-4000-8000-000000000000"),
            "blocks": [{"type": "rich_text", "block_id": "b", "elements": [{"type": "rich_text_section",
                "elements": [{"type": "text", "text": text}]}]}]},
    })
    .to_string()
}

/// HMAC-SHA256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK_BYTES];
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::{Outcome, hmac};

    #[test]
    fn the_signature_is_that_of_the_standard() {
        // RFC 4231, test case 2.
        let mac = hex::encode(hmac(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_share_is_the_time_that_so_many_stayed_within() {
        let times_ms = (1..=100).map(f64::from).collect();
        let outcome = Outcome { times_ms, ..Outcome::default() };
        assert_eq!((outcome.ms(0.0), outcome.ms(0.99), outcome.ms(1.0)), (1.0, 99.0, 100.0));
        assert!(Outcome::default().ms(0.5).is_nan());
    }
}
