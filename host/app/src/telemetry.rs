//! The exporter of traces: follows the record, and sends what has ended to a collector of OpenTelemetry: each step of a
//! turn, then the turn, and the duties of the host.
//!
//! Off unless `[telemetry]` says where. The record is the queue: what a collector did not take is sent again, in order,
//! also after a restart, and nothing waits for it. One host exports at a time, under a lease. Ids are derived from what
//! a span is about, so that one that is sent twice is one.
//!
//! Deliberately absent: words of anybody (see `span`), what has not ended, metrics and logs, and history from before the
//! exporter was first switched on.

mod duty;
mod span;
mod wire;

use crate::config::{Config, TelemetryConfig};
use crate::lease::renewed;
use crate::serve::news;
use crate::turn::Told;
use crate::wire::{Office, egress, vault};
use anyhow::{Context, Result};
use bytes::Bytes;
use egress::{Egress, Limits, STARTING_LIMITS, SystemResolver};
use event::{Event, Fact, GlobalPosition, Route, RoutePath, TurnId};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Method, Request};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The name of the lease, and of the cursor.
const NAME: &str = "telemetry";
/// Events looked at in one go.
const PAGE_EVENTS: usize = 500;
/// How long one request may take, in milliseconds: a collector is near.
const SEND_MS: u64 = 10_000;
/// First and longest pause after a collector did not take something, in milliseconds; each is twice the one before.
const PAUSE_MS: u64 = 1_000;
const PAUSE_MS_MAX: u64 = 60_000;
/// How long a request that is under way may go on after the office was told to stop, in milliseconds.
const STOP_GRACE_MS: u64 = 2_000;
/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const PROTOBUF: &str = "application/x-protobuf";

/// How one trace was received.
#[derive(Debug, PartialEq, Eq)]
enum Received {
    /// It was taken, or will never be.
    Done,
    /// The collector cannot now; it may say for how long, in milliseconds.
    Later(Option<u64>),
}

struct Collector {
    egress: Egress,
    route: Route,
    url: String,
    service: String,
}

impl Collector {
    fn new(config: &Config, telemetry: &TelemetryConfig) -> Result<Self> {
        let url = telemetry.url()?;
        let mut config = config.clone();
        // A collector on this machine is reached because this setting names it, and by nobody else.
        config.egress.loopback = telemetry.loopback()?.iter().map(ToString::to_string).collect();
        let limits = Limits { head_ms: SEND_MS, body_bytes_max: ANSWER_BYTES_MAX, ..STARTING_LIMITS };
        let route = Route {
            methods: vec![Method::POST.to_string()],
            origin: url.origin().to_string(),
            path: RoutePath::Whole(url.path_and_query().path().to_owned()),
            credential: telemetry.credential.clone(),
        };
        let vault = Arc::new(vault(&config));
        let egress = egress(&config, Arc::new(SystemResolver), vault, limits)?;
        Ok(Self { egress, route, url: url.to_string(), service: telemetry.service.clone() })
    }

    async fn send(&self, body: Vec<u8>) -> Result<Received> {
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, PROTOBUF)
            .header(ACCEPT, PROTOBUF)
            .header(USER_AGENT, concat!("chancery/", env!("CARGO_PKG_VERSION")))
            .body(Bytes::from(body))?;
        let deadline = Instant::now() + Duration::from_millis(SEND_MS);
        let sent = match self.egress.send(request, std::slice::from_ref(&self.route), deadline).await {
            Ok(sent) => sent,
            Err(refused) => {
                let error = format!("{:#}", anyhow::Error::from(refused));
                tracing::warn!(error, "the collector of traces was not reached; it is tried again");
                return Ok(Received::Later(None));
            }
        };
        // The protocol's own list of what may be sent again.
        if matches!(sent.status.as_u16(), 429 | 502 | 503 | 504) {
            let after = sent.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            tracing::warn!(
                status = sent.status.as_u16(),
                "the collector of traces is busy; it is tried again"
            );
            return Ok(Received::Later(after.map(|seconds: u64| seconds.saturating_mul(1_000))));
        }
        if !sent.status.is_success() {
            let status = sent.status.as_u16();
            tracing::warn!(
                status,
                "the collector refuses a trace, which is not sent again: look at `[telemetry] otlp`"
            );
        } else if let Some((spans, why)) = wire::rejected(&sent.body) {
            tracing::warn!(spans, why, "the collector did not take all of a trace");
        }
        Ok(Received::Done)
    }
}

/// Exports until `stop` says so; at once done where nothing is configured.
///
/// # Errors
/// When the configured collector is none that could be reached. What goes wrong later is logged and tried again.
pub async fn keep(office: Arc<Office>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let Some(telemetry) = &office.config.telemetry else { return Ok(()) };
    let collector = Collector::new(&office.config, telemetry).context("`[telemetry]`")?;
    let mut head = office.record.news();
    let mut pause_ms = PAUSE_MS;
    let mut looked = GlobalPosition(0);
    while news(&mut head, &mut stop).await {
        let wait_ms = match look(&office, &collector, &mut looked, &stop).await {
            Ok(Received::Done) => {
                pause_ms = PAUSE_MS;
                continue;
            }
            Ok(Received::Later(wait_ms)) => wait_ms.unwrap_or(pause_ms).min(PAUSE_MS_MAX),
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "traces wait to be exported");
                pause_ms
            }
        };
        pause_ms = pause_ms.saturating_mul(2).min(PAUSE_MS_MAX);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
    Ok(())
}

/// Exports what ended since the cursor. `looked` is how far this host has looked.
async fn look(
    office: &Office,
    collector: &Collector,
    looked: &mut GlobalPosition,
    stop: &watch::Receiver<bool>,
) -> Result<Received> {
    if *looked == GlobalPosition(0) {
        *looked = begin(office).await?;
    }
    loop {
        let page = office.record.read_all(*looked, PAGE_EVENTS).await?;
        let Some(last) = page.last().map(|event| event.global_position) else { return Ok(Received::Done) };
        if page.iter().any(|event| is_end(event).is_some() || duty::may_close(event)) {
            match export(office, collector, &page, stop).await? {
                Received::Done => {}
                later @ Received::Later(_) => return Ok(later),
            }
        }
        *looked = last;
    }
}

/// Where to go on; the end of the record where nothing was ever exported.
async fn begin(office: &Office) -> Result<GlobalPosition> {
    let cursor = office.record.cursor(NAME).await?;
    if cursor != GlobalPosition(0) {
        return Ok(cursor);
    }
    let (head, _) = office.record.head().await?;
    office.record.set_cursor(NAME, head).await?;
    Ok(head)
}

/// What an event ends of a turn.
fn is_end(event: &Event) -> Option<(&TurnId, Option<(u32, u32)>)> {
    match &event.fact {
        Fact::StepEnded(body) => Some((&body.turn, Some((body.step, body.attempt)))),
        Fact::TurnEnded(body) => Some((&body.turn, None)),
        _ => None,
    }
}

/// Spans of one trace that are sent together.
struct Parcel {
    /// Where the last of what they are about stands.
    at: GlobalPosition,
    spans: Spans,
}

enum Spans {
    /// Of a turn: those that are due.
    Turn(TurnId, span::Due),
    /// Of a duty: its trace, and itself.
    Duty([u8; 16], Box<span::Span>),
}

/// What ended in `page`, in its order: what stands side by side of one turn together.
async fn parcels(office: &Office, page: &[Event], after: GlobalPosition) -> Result<Vec<Parcel>> {
    let mut parcels: Vec<Parcel> = Vec::new();
    for event in page.iter().filter(|event| event.global_position > after) {
        let at = event.global_position;
        if let Some((turn, of_try)) = is_end(event) {
            let same =
                parcels.last_mut().filter(|last| matches!(&last.spans, Spans::Turn(of, _) if of == turn));
            if same.is_none() {
                parcels.push(Parcel { at, spans: Spans::Turn(turn.clone(), span::Due::default()) });
            }
            if let Some(Parcel { at: newest, spans: Spans::Turn(_, due) }) = parcels.last_mut() {
                *newest = at;
                due.tries.extend(of_try);
                due.whole |= of_try.is_none();
            }
        } else if duty::may_close(event)
            && let Some((trace, span)) = duty::span(&office.record, event).await?
        {
            parcels.push(Parcel { at, spans: Spans::Duty(trace, Box::new(span)) });
        }
    }
    Ok(parcels)
}

async fn export(
    office: &Office,
    collector: &Collector,
    page: &[Event],
    stop: &watch::Receiver<bool>,
) -> Result<Received> {
    let ttl_ms = office.config.office.lease_ms;
    let Some(lease) = office.record.lease(NAME, &office.node, ttl_ms).await? else {
        // Another host exports. It is looked again, in case it dies.
        return Ok(Received::Later(None));
    };
    let work = async {
        // Another host may have come further.
        for Parcel { at, spans } in parcels(office, page, office.record.cursor(NAME).await?).await? {
            let Some(body) = request(office, collector, &spans).await? else { continue };
            let sent = tokio::select! {
                sent = collector.send(body) => sent?,
                // It is sent again at the next start, under the same ids.
                () = waited_after(stop.clone()) => Received::Later(None),
            };
            match sent {
                Received::Done => office.record.set_cursor(NAME, at).await?,
                later @ Received::Later(_) => return Ok(later),
            }
        }
        Ok(Received::Done)
    };
    let done = tokio::select! {
        done = work => done,
        () = renewed(office, &lease, ttl_ms) => Ok(Received::Later(None)),
    };
    if let Err(error) = office.record.release(lease).await {
        tracing::debug!(%error, "the lease on traces ends by itself");
    }
    done
}

/// Returns a while after the office was told to stop.
async fn waited_after(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(Duration::from_millis(STOP_GRACE_MS)).await;
}

/// One request to the collector; nothing where there is no span in it.
async fn request(office: &Office, collector: &Collector, spans: &Spans) -> Result<Option<Vec<u8>>> {
    let exporter = wire::Exporter {
        service: &collector.service,
        version: env!("CARGO_PKG_VERSION"),
        node: &office.node,
    };
    let (trace, spans) = match spans {
        Spans::Turn(turn, due) => {
            let told = Told::read(&office.record, Some(turn.as_str())).await?;
            (span::trace_id(turn), span::spans(&told, due))
        }
        Spans::Duty(trace, span) => (*trace, vec![span.as_ref().clone()]),
    };
    Ok((!spans.is_empty()).then(|| wire::request(&exporter, &trace, &spans)))
}
