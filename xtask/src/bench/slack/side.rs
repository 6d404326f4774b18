//! The other side of the bench: a Slack that says who the office is and takes whatever it posts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::json;

use crate::stop::Stop;

/// A running one. It ends with the program.
pub struct Side {
    /// `http://127.0.0.1:port`.
    pub origin: String,
}

impl Side {
    /// Starts it.
    ///
    /// # Errors
    /// When this machine gives no port.
    pub fn start() -> Result<Self, Stop> {
        let listener =
            TcpListener::bind("127.0.0.1:0").map_err(|e| Stop::because("a port for the other side", e))?;
        let address = listener.local_addr().map_err(|e| Stop::because("a port for the other side", e))?;
        let posted = Arc::new(AtomicU64::new(0));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let posted = posted.clone();
                thread::spawn(move || answered(stream, &posted));
            }
        });
        Ok(Self { origin: format!("http://{address}") })
    }
}

/// Answers one request; the host makes each over a connection of its own.
fn answered(mut stream: TcpStream, posted: &AtomicU64) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0_u64;
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).ok()?;
    let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let answer = match path.rsplit('/').next().unwrap_or_default() {
        "auth.test" => {
            json!({"ok": true, "team_id": "T0BENCH", "user_id": "U0BOT", "bot_id": "B0BOT", "user": "chancery"})
        }
        "chat.postMessage" => {
            let number = posted.fetch_add(1, Ordering::Relaxed);
            let ts = format!("1797000000.{number:06}");
            json!({"ok": true, "channel": asked.get("channel"), "ts": ts,
                "message": {"ts": ts, "thread_ts": asked.get("thread_ts")}})
        }
        _ => json!({"ok": true, "messages": [], "has_more": false, "emoji": {}}),
    };
    let text = answer.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(text.as_bytes()).ok()
}
