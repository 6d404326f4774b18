//! Accepting connections: HTTP/1.1, a bounded number at once, each for a bounded time, and an orderly end.
//!
//! The limits are what keeps a slow or hostile peer from taking the connections Slack needs. TLS is the
//! business of the proxy or tunnel in front; it must not buffer for longer than [`HEADER_READ_MS_MAX`].

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Connections at once. Each may hold one body in memory, so this bounds that memory too.
pub const CONNECTIONS_MAX: usize = 128;
/// How long a request's head may take to arrive, also on a connection that was idle.
pub const HEADER_READ_MS_MAX: u64 = 15_000;
/// After this time a connection answers what it has begun and ends; a peer that wants more connects again.
pub const CONNECTION_MS_MAX: u64 = 300_000;
/// How long requests that have begun may take once the host stops.
pub const DRAIN_MS_MAX: u64 = 5_000;
/// Pause after a failed accept, such as when file handles run out, so that the loop does not spin.
const ACCEPT_PAUSE_MS: u64 = 100;

/// Serves `router` on `listener` until `stop` is done, then lets requests that have begun finish.
///
/// # Errors
/// When the listener has no address any more; a failing connection ends alone.
pub async fn listen(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) -> io::Result<()> {
    listener.local_addr()?;
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let stream = tokio::select! {
            biased;
            () = &mut stop => break,
            stream = accept(&listener) => stream,
        };
        let serving = serve_connection(stream, router.clone(), ended.clone());
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

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a connection was not accepted");
                sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, router: Router, mut ended: watch::Receiver<bool>) {
    let service = TowerToHyperService::new(router);
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
        () = enough => {
            connection.as_mut().graceful_shutdown();
            match timeout(Duration::from_millis(DRAIN_MS_MAX), connection).await {
                Ok(outcome) => outcome,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
    }
}
