//! The whole way out, against servers on this machine and resolvers that never ask anyone. This file holds the
//! kit; the tests are sorted by when a request ends: before anyone is dialled, with an answer, or in between.

mod answer;
mod before;
mod flow;
mod outcome;

use crate::{
    Egress, EgressConfig, Injection, Limits, Opened, Origin, Piece, Refused, Resolve, STARTING_LIMITS, Sent,
    Times,
};
use async_trait::async_trait;
use bytes::Bytes;
use event::{Route, RoutePath};
use http::Request;
use rustls::pki_types::CertificateDer;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vault::{Source, Vault};

const SECRET: &str = "s3cret/of+the.host";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// Answers every name with these addresses.
struct Fixed(Vec<IpAddr>);

#[async_trait]
impl Resolve for Fixed {
    async fn resolve(&self, _host: &str, _port: u16) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}

/// Never answers.
struct Silent;

#[async_trait]
impl Resolve for Silent {
    async fn resolve(&self, _host: &str, _port: u16) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

/// One request to make, with everything around it; each test changes what it is about.
struct Case {
    request: http::request::Builder,
    body: &'static str,
    routes: Vec<Route>,
    loopback: Vec<String>,
    secret: String,
    /// Whether the vault knows all values already, as after a start of the host.
    all_read: bool,
    injections: BTreeMap<String, Injection>,
    limits: Limits,
    resolve: Arc<dyn Resolve>,
    deadline_ms: u64,
    trusted: Option<CertificateDer<'static>>,
}

impl Case {
    /// A granted `GET {origin}/page` with a credential, the origin on the loopback list.
    fn get(origin: &str) -> Self {
        Self {
            request: Request::get(format!("{origin}/page")),
            body: "",
            routes: vec![Route {
                methods: vec!["GET".to_owned(), "POST".to_owned()],
                origin: origin.to_owned(),
                path: RoutePath::Below("/page".to_owned()),
                credential: Some("key".to_owned()),
            }],
            loopback: vec![origin.to_owned()],
            secret: SECRET.to_owned(),
            all_read: false,
            injections: BTreeMap::new(),
            limits: STARTING_LIMITS,
            resolve: Arc::new(Fixed(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])),
            deadline_ms: 10_000,
            trusted: None,
        }
    }

    async fn send(self) -> Result<Sent, Refused> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, &self.secret).unwrap();
        let vault = Vault::new(BTreeMap::from([("key".to_owned(), Source::File(path))]));
        let loopback = self.loopback.iter().map(|text| Origin::parse(text).unwrap()).collect();
        if self.all_read {
            assert!(vault.read_all().is_empty());
        }
        let config = EgressConfig { loopback, injections: self.injections, limits: self.limits };
        let mut egress = Egress::new(config, self.resolve, Arc::new(vault)).unwrap();
        if let Some(certificate) = self.trusted {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(certificate).unwrap();
            egress.tls = crate::connection::tls(roots).unwrap();
        }
        let request = self.request.body(Bytes::from_static(self.body.as_bytes())).unwrap();
        let deadline = Instant::now() + Duration::from_millis(self.deadline_ms);
        // On a task of its own, as the host does it.
        tokio::spawn(async move { egress.send(request, &self.routes, deadline).await }).await.unwrap()
    }

    /// The whole body and the digest of a stream, or why there is none; with the pieces it came in.
    async fn flow(
        self,
        times: impl FnOnce(Instant) -> Times,
    ) -> (Vec<String>, Result<event::Digest, Refused>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, &self.secret).unwrap();
        let vault = Vault::new(BTreeMap::from([("key".to_owned(), Source::File(path))]));
        let loopback = self.loopback.iter().map(|text| Origin::parse(text).unwrap()).collect();
        let config = EgressConfig { loopback, injections: self.injections, limits: self.limits };
        let egress = Egress::new(config, self.resolve, Arc::new(vault)).unwrap();
        let request = self.request.body(Bytes::from_static(self.body.as_bytes())).unwrap();
        let times = times(Instant::now() + Duration::from_millis(self.deadline_ms));
        let mut pieces = Vec::new();
        let mut flowing = match egress.open(request, &self.routes, times).await {
            Ok(Opened::Flowing(flowing)) => flowing,
            Ok(Opened::Whole(sent)) => return (vec!["whole".to_owned()], Ok(sent.sha256)),
            Err(refused) => return (pieces, Err(refused)),
        };
        loop {
            match flowing.next().await.unwrap() {
                Ok(Piece::Bytes(bytes)) => pieces.push(String::from_utf8_lossy(&bytes).into_owned()),
                Ok(Piece::End { sha256, bytes }) => {
                    assert_eq!(bytes, pieces.concat().len() as u64);
                    assert!(flowing.next().await.is_none());
                    return (pieces, Ok(sha256));
                }
                Err(refused) => {
                    assert!(flowing.next().await.is_none());
                    return (pieces, Err(refused));
                }
            }
        }
    }

    async fn refused(self) -> Refused {
        self.send().await.unwrap_err()
    }
}

/// A server for one connection. It reads one request, writes `answer`, and drops the connection, or keeps it
/// open and silent when `stays`. Joining it gives what it read.
async fn serve(answer: impl Into<Vec<u8>>, stays: bool) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let answer = answer.into();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        // The other side may hang up before it has all: that is for its test to judge.
        let _ = stream.write_all(&answer).await;
        if stays {
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        request
    });
    (origin, served)
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = String::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.unwrap_or(0);
        read.push_str(&String::from_utf8_lossy(&piece[..count]));
        let Some((head, body)) = read.split_once("\r\n\r\n") else {
            if count == 0 {
                return read;
            }
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if count == 0 || body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return read;
        }
    }
}

/// An origin nobody may dial: a listener that tells whether anyone did.
async fn untouched() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (format!("http://{}", listener.local_addr().unwrap()), listener)
}

async fn assert_untouched(listener: TcpListener) {
    let dialled = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(dialled.is_err(), "somebody dialled");
}
