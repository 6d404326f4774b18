//! Accepting connections: HTTP/1.1, a bounded number at once, each for a bounded time, and an orderly end.
//!
//! The limits are what keeps a slow or hostile peer from taking the connections Slack needs. TLS is the
//! business of the proxy or tunnel in front; it must not buffer for longer than [`HEADER_READ_MS_MAX`].

use crate::crowd::{Crowd, Place};
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Connections at once. Each may hold one body in memory, so this bounds that memory too. When all are taken,
/// whoever is of the least use makes room.
pub const CONNECTIONS_MAX: usize = 128;
/// How long a request's head may take to arrive, also on a connection that was idle.
pub const HEADER_READ_MS_MAX: u64 = 15_000;
/// After this time a connection answers what it has begun and ends; a peer that wants more connects again.
pub const CONNECTION_MS_MAX: u64 = 300_000;
/// How long requests that have begun may take once the host stops.
pub const DRAIN_MS_MAX: u64 = 5_000;
/// How often room is looked for while every slot is taken.
const ROOM_LOOK_MS: u64 = 5;
/// Pause after a failed accept, such as when file handles run out, so that the loop does not spin.
const ACCEPT_PAUSE_MS: u64 = 100;

/// Serves `router` on `listener` until `stop` is done, then lets requests that have begun finish.
///
/// # Errors
/// When the listener has no address any more; a failing connection ends alone.
pub async fn listen(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) -> io::Result<()> {
    listener.local_addr()?;
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let crowd = Arc::new(Crowd::default());
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let next = async {
            // First the slot: what is not accepted waits in the kernel and costs no memory here.
            let slot = slot(&slots, &crowd).await;
            (slot, accept(&listener, &crowd).await)
        };
        let (slot, stream) = tokio::select! {
            biased;
            () = &mut stop => break,
            next = next => next,
        };
        let serving = serve_connection(stream, router.clone(), ended.clone(), crowd.enter());
        connections.spawn(async move {
            serving.await;
            drop(slot);
        });
        while connections.try_join_next().is_some() {}
    }
    ending.send_replace(true);
    let drain = async { while connections.join_next().await.is_some() {} };
    if timeout(Duration::from_millis(DRAIN_MS_MAX), drain).await.is_err() {
        tracing::warn!("connections were cut: they did not end in time");
    }
    Ok(())
}

/// A slot: a free one, or one that somebody is made to give up.
async fn slot(slots: &Arc<Semaphore>, crowd: &Crowd) -> Option<OwnedSemaphorePermit> {
    loop {
        let free = Arc::clone(slots).acquire_owned();
        if let Ok(slot) = timeout(Duration::from_millis(ROOM_LOOK_MS), free).await {
            return slot.ok();
        }
        crowd.make_room(Instant::now());
    }
}

async fn accept(listener: &TcpListener, crowd: &Crowd) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a connection was not accepted");
                // File handles may have run out before the slots did.
                crowd.make_room(Instant::now());
                sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, router: Router, mut ended: watch::Receiver<bool>, place: Place) {
    let router = TowerToHyperService::new(router);
    let place = &place;
    let service = service_fn(|request: Request<Incoming>| {
        let is_post = request.method() == Method::POST;
        let answering = router.call(request);
        async move {
            let answer = answering.await;
            if is_post && answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                place.was_of_use();
            }
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEADER_READ_MS_MAX))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let enough = async {
        tokio::select! {
            () = sleep(Duration::from_millis(CONNECTION_MS_MAX)) => {}
            _ = ended.wait_for(|ended| *ended) => {}
        }
    };
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = place.asked_to_leave() => return,
        () = enough => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                outcome = connection => outcome,
                () = place.asked_to_leave() => return,
                () = sleep(Duration::from_millis(DRAIN_MS_MAX)) => return,
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS_MAX, listen};
    use axum::Router;
    use axum::routing::{get, post};
    use std::net::SocketAddr;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    async fn start() -> (SocketAddr, oneshot::Sender<()>, JoinHandle<std::io::Result<()>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .route("/", get(|| async { "here" }))
            .route("/slow", post(|body: String| async move { format!("got {}", body.len()) }));
        let serving = tokio::spawn(listen(listener, router, async {
            let _ = stopped.await;
        }));
        (address, stop, serving)
    }

    async fn until(stream: &mut TcpStream, end: &str) -> String {
        let mut answer = String::new();
        while !answer.ends_with(end) {
            let mut bytes = [0; 1024];
            let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut bytes))
                .await
                .unwrap()
                .unwrap();
            assert!(read > 0, "{answer}");
            answer.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        answer
    }

    #[tokio::test]
    async fn a_request_that_has_begun_is_answered_when_the_host_stops_and_no_other_is_taken() {
        let (address, stop, serving) = start().await;
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        until(&mut idle, "here").await;

        let mut busy = TcpStream::connect(address).await.unwrap();
        busy.write_all(
            b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\n",
        )
        .await
        .unwrap();
        until(&mut busy, "100 Continue\r\n\r\n").await;
        stop.send(()).unwrap();
        let mut end = Vec::new();
        idle.read_to_end(&mut end).await.unwrap();
        assert!(end.is_empty(), "an idle connection just ends");
        busy.write_all(b"body").await.unwrap();
        assert!(until(&mut busy, "got 4").await.starts_with("HTTP/1.1 200"));
        serving.await.unwrap().unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn who_takes_every_place_and_says_nothing_keeps_nobody_out() {
        let (address, stop, serving) = start().await;
        let mut useful = TcpStream::connect(address).await.unwrap();
        let ask = b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody";
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS_MAX - 1 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        useful.write_all(ask).await.unwrap();
        until(&mut useful, "got 4").await;
        for _ in 0..CONNECTIONS_MAX - 1 {
            let mut half = TcpStream::connect(address).await.unwrap();
            half.write_all(b"POST /slow HTTP/1.1\r\n").await.unwrap();
            silent.push(half);
        }
        let began = tokio::time::Instant::now();
        let mut newcomer = TcpStream::connect(address).await.unwrap();
        newcomer.write_all(ask).await.unwrap();
        until(&mut newcomer, "got 4").await;
        assert!(began.elapsed() < Duration::from_secs(3), "Slack would have given up");
        useful.write_all(ask).await.unwrap();
        until(&mut useful, "got 4").await;
        drop(silent);
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
    }
}
