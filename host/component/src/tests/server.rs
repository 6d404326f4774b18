//! A server on loopback that keeps every request it was sent, and behaves as told.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request once it has read it.
#[derive(Clone, Copy)]
pub(super) enum Manner {
    /// Answers `200` with this body.
    Answers(&'static str),
    /// Answers a redirect to this address.
    Redirects(&'static str),
    /// Answers what this makes of the whole request: all that follows `HTTP/1.1 `.
    Makes(fn(&str) -> String),
    /// Says nothing and keeps the connection.
    IsSilent,
    /// Ends the connection.
    HangsUp,
}

pub(super) struct Server {
    pub(super) origin: String,
    requests: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        let serving = tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                match manner {
                    Manner::IsSilent => silent.push(stream),
                    Manner::HangsUp => drop(stream),
                    Manner::Makes(answer_to) => {
                        let rest = answer_to(&kept.lock().unwrap().last().cloned().unwrap_or_default());
                        answer(&mut stream, &rest).await;
                    }
                    Manner::Answers(body) => {
                        answer(
                            &mut stream,
                            &format!("200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
                        )
                        .await
                    }
                    Manner::Redirects(to) => {
                        answer(
                            &mut stream,
                            &format!("302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
                        )
                        .await;
                    }
                }
            }
        });
        Self { origin, requests, serving }
    }

    /// Every request so far, head and body, in lower case.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4_096];
    loop {
        let length = stream.read(&mut buffer).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..length]).to_lowercase());
        if length == 0
            || text.split_once("\r\n\r\n").is_some_and(|(head, body)| body.len() >= length_of_body(head))
        {
            return text;
        }
    }
}

fn length_of_body(head: &str) -> usize {
    let mut lines = head.lines().filter_map(|line| line.strip_prefix("content-length: "));
    lines.next_back().and_then(|value| value.parse().ok()).unwrap_or(0)
}

async fn answer(stream: &mut TcpStream, rest: &str) {
    let _ = stream.write_all(format!("HTTP/1.1 {rest}").as_bytes()).await;
    let _ = stream.shutdown().await;
}
