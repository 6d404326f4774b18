//! The run loop: follow the record, classify, wake, lease, run; and the HTTP front beside it.
//!
//! There is one queue: the record. Each loop looks at it when it has news and a few times a second besides, so
//! whatever another process appended, or an earlier one left undone, is found.

use crate::config::Config;
use crate::lease::renewed;
use crate::wire::Office;
use crate::{live, seed, subject, workspaces};
use anyhow::{Context, Result};
use attention::Wake;
use converse::reply_to;
use event::{
    Event, EventId, Expected, Fact, Label, MessageReceived, NodeStarted, PlaceKind, Proposed, SeatId,
    StreamName, TurnId,
};
use fold::Projection;
use fold::message::{TopicRow, Topics};
use fold::signal::{SignalRow, Signals};
use fold::turn::TurnRow;
use front::slack::socket::Line;
use record::Lease;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{self, JoinSet};
use tokio::time::Instant;
use turn::{Opening, Ran, RealPace, TurnParts};

/// How often the loops look without news: what another process appended is found within this time.
const LOOK_MS: u64 = 250;
/// How long running turns may finish after the office was told to stop; the rest goes on at the next start.
const STOP_GRACE_MS: u64 = 5_000;
/// How long a turn that stopped with an error waits before it is run again. Counted on a clock that nobody sets.
const AGAIN_MS: u64 = 5_000;
/// Recently ended turns kept for the burst window.
const RECENT_TURNS_MAX: usize = 1_000;
/// The system seat whose duties the host does.
pub const SYSTEM_SEAT: &str = "seat_system";

/// Writes down that this process works on the record, and learns who the office is on Slack.
///
/// # Errors
/// When the record cannot be used, or Slack says that the token is not good and nobody is known from before.
pub async fn start(office: &Office) -> Result<()> {
    let started = Proposed {
        id: seed::fresh_event_id()?,
        actor: seed::host(),
        cause: None,
        label: Label::host(),
        fact: NodeStarted { node: office.node.clone(), version: env!("CARGO_PKG_VERSION").to_owned() }.into(),
    };
    let cause = started.id.clone();
    office.record.append(StreamName::new("node", &office.node), Expected::NoStream, vec![started]).await?;
    subject::mend(&office.record).await?;
    office.gate.clear_holds().await?;
    if office.config.slack.is_some() {
        workspaces::identify_all(office, &cause).await?;
    }
    Ok(())
}

/// Classifies, wakes and runs until `stop` says so.
///
/// # Errors
/// When one of the loops cannot go on.
pub async fn run(office: Arc<Office>, stop: watch::Receiver<bool>) -> Result<()> {
    let cards = crate::cards::keep(office.clone(), stop.clone());
    let effects = crate::effects::keep(office.clone(), stop.clone());
    let plugins = crate::plugin::follow::keep(office.clone(), stop.clone());
    let steering = crate::steering::keep(office.clone(), stop.clone());
    let triage = crate::triage::keep(office.clone(), stop.clone());
    let traces = crate::telemetry::keep(office.clone(), stop.clone());
    let classes = classify(office.clone(), stop.clone());
    let workspaces = workspaces::keep(office.clone(), stop.clone());
    let rest = async { tokio::try_join!(traces, workspaces) };
    tokio::try_join!(classes, cards, effects, plugins, steering, triage, rest, turns(office, stop))?;
    Ok(())
}

/// One socket: of which app, and how it is.
pub type Socket<T> = (Option<String>, T);
/// Who keeps each says how it is.
pub type Kept = Vec<Socket<watch::Sender<Line>>>;
/// Who watches hears how each is.
pub type Heard = Vec<Socket<watch::Receiver<Line>>>;

/// The sockets that `config` wants.
#[must_use]
pub fn sockets(config: &Config) -> (Kept, Heard) {
    let one = |app: Option<String>| {
        let (tell, heard) = watch::channel(Line::default());
        ((app.clone(), tell), (app, heard))
    };
    config.sockets().into_iter().map(one).unzip()
}

/// Keeps Slack's sockets open until `stop` says so; at once done where deliveries come over HTTP alone. Where Slack says
/// that there will be none for a workspace's own app, that one is given up and the others go on.
///
/// # Errors
/// When Slack says that there will be none for the office's one app.
pub async fn socket(office: Arc<Office>, sockets: Kept, stop: watch::Receiver<bool>) -> Result<()> {
    let mut kept = JoinSet::new();
    for (app, line) in sockets {
        let door =
            crate::socket::Sockets::of(&office.config, Arc::new(egress::SystemResolver), app.as_deref())?;
        let inbox = front::Inbox::new(office.record.clone(), event::PrincipalId::host());
        let (speaks, stop) = (speaks(&office.config, app.clone()), stop.clone());
        kept.spawn(async move {
            let told = line.clone();
            let kept = front::slack::socket::keep(Arc::new(door), (inbox, speaks), line, stop).await;
            match (app, kept) {
                (_, Ok(())) => Ok(()),
                (None, Err(why)) => Err(anyhow::anyhow!("no socket to Slack: {why}")),
                (Some(team), Err(why)) => {
                    tracing::error!(team, why, "no socket for the app of this workspace, which is not heard");
                    told.send_modify(|line| line.problem = Some(why));
                    Ok(())
                }
            }
        });
    }
    while let Some(done) = kept.join_next().await {
        done.context("a socket to Slack broke off")??;
    }
    Ok(())
}

/// For which workspaces an app speaks: for its own, or, as the office's one, for all that have none of their own.
fn speaks(config: &Config, app: Option<String>) -> front::slack::socket::Speaks {
    let own: BTreeSet<String> =
        config.slack.iter().flat_map(|slack| &slack.workspaces).map(|one| one.team.clone()).collect();
    Arc::new(move |team| match &app {
        Some(app) => app == team,
        None => !own.contains(team),
    })
}

/// Waits for news of the record, at most [`LOOK_MS`]; false when it is time to stop.
pub(crate) async fn news(
    news: &mut watch::Receiver<event::GlobalPosition>,
    stop: &mut watch::Receiver<bool>,
) -> bool {
    if *stop.borrow() {
        return false;
    }
    tokio::select! {
        _ = stop.changed() => !*stop.borrow(),
        changed = news.changed() => {
            if changed.is_err() {
                tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
            }
            true
        }
        () = tokio::time::sleep(Duration::from_millis(LOOK_MS)) => true,
    }
}

async fn classify(office: Arc<Office>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let mut head = office.record.news();
    let host = event::PrincipalId::host();
    loop {
        match converse::step(&office.record, &host, &office.front_desk, &office.manner).await {
            Ok(0) => {
                if !news(&mut head, &mut stop).await {
                    return Ok(());
                }
            }
            Ok(_) => {}
            Err(error) if may_pass(&error) => {
                tracing::warn!(%error, "deliveries wait to be classified");
                tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
            }
            Err(error) => return Err(error).context("deliveries cannot be classified"),
        }
    }
}

pub(crate) fn may_pass(error: &record::Error) -> bool {
    matches!(error, record::Error::Unavailable { .. })
}

/// What the turn loop keeps between two looks; all of it can be lost.
#[derive(Default)]
struct Running {
    tasks: JoinSet<(TurnId, Result<(), turn::Error>)>,
    /// Turns running here, and the task of each.
    here: BTreeMap<TurnId, task::Id>,
    /// Turns that may not be tried before a moment.
    later: BTreeMap<TurnId, Instant>,
    /// Turns seen lately, open or ended: the burst window is counted from their opening.
    recent: BTreeMap<TurnId, TurnRow>,
}

async fn turns(office: Arc<Office>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let mut head = office.record.news();
    let parts = Arc::new(TurnParts {
        record: office.record.clone(),
        catalogue: office.gate.catalogue().clone(),
        pace: Arc::new(RealPace),
        office: office.config.office.name.clone(),
        answer_tools: &[converse::TOOL_SLACK, converse::TOOL_TERMINAL],
        hidden_families: office.config.office.hidden_families.clone(),
        readable: converse::readable,
        is_progress: converse::is_progress,
        files: Some(turn::Files {
            tool: converse::TOOL_SLACK_FILE,
            argument: converse::SLACK_FILE_ARGUMENT,
            of: converse::attached,
        }),
        deltas: None,
        door: office.gate.clone(),
    });
    let mut running = Running::default();
    while news(&mut head, &mut stop).await {
        running.collect(office.now());
        if let Err(error) = look(&office, &parts, &mut running).await {
            if !error.downcast_ref::<record::Error>().is_some_and(may_pass) {
                return Err(error).context("turns cannot be run");
            }
            tracing::warn!(%error, "turns wait for the record");
        }
    }
    let finish = async { while running.tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(Duration::from_millis(STOP_GRACE_MS), finish).await.is_err() {
        tracing::info!("turns still running go on at the next start");
    }
    Ok(())
}

impl Running {
    /// Takes note of the turns that stopped, and forgets what no longer matters.
    fn collect(&mut self, now: event::Timestamp) {
        while let Some(stopped) = self.tasks.try_join_next() {
            match stopped {
                Ok((turn, Ok(()))) => {
                    self.here.remove(&turn);
                }
                Ok((turn, Err(error))) => {
                    tracing::warn!(%turn, error = format!("{:#}", anyhow::Error::from(error)), "a turn stopped; it will be run again");
                    self.here.remove(&turn);
                    self.postpone(turn);
                }
                Err(error) => {
                    tracing::error!(%error, "a turn's task broke; it goes on when its lease has ended");
                    let broken = self.here.extract_if(.., |_, task| *task == error.id());
                    let broken: Vec<TurnId> = broken.map(|(turn, _)| turn).collect();
                    broken.into_iter().for_each(|turn| self.postpone(turn));
                }
            }
        }
        self.later.retain(|_, at| *at > Instant::now());
        self.recent.retain(|_, row| attention::is_in_window(row, now));
        while self.recent.len() > RECENT_TURNS_MAX {
            self.recent.pop_first();
        }
    }

    /// Leaves `turn` alone for a while.
    fn postpone(&mut self, turn: TurnId) {
        self.later.insert(turn, Instant::now() + Duration::from_millis(AGAIN_MS));
    }
}

/// One look: open turns for whoever should wake, and take up every open turn that nobody runs.
async fn look(office: &Arc<Office>, parts: &Arc<TurnParts<gate::Gate>>, running: &mut Running) -> Result<()> {
    let now = office.now();
    attention::pass_moments(&office.record, now).await?;
    if let Err(error) = office.gate.clear_holds().await {
        tracing::warn!(%error, "overdue holds wait to be ended");
    }
    let mut open = attention::open_turns(&office.record).await?;
    let mut known: Vec<TurnRow> = running.recent.values().cloned().collect();
    known.extend(open.iter().cloned());
    for wake in attention::wake(&office.record, now, &known).await? {
        if let Some(row) = open_turn(office, wake).await? {
            running.recent.insert(row.turn.clone(), row.clone());
            open.push(row);
        }
    }
    for row in open {
        let room = running.here.len() < office.config.office.turns_max;
        let free = !running.here.contains_key(&row.turn) && !running.later.contains_key(&row.turn);
        if room && free && row.ending.is_none() && takes_turns(office, &row.seat).await? {
            take_up(office, parts, running, row).await?;
        }
    }
    Ok(())
}

/// Whether the seat takes its turns itself now: one that was vacated, or that a person holds, leaves them open for its
/// next holder.
async fn takes_turns(office: &Office, seat: &SeatId) -> Result<bool> {
    let works = attention::works(&office.record, seat).await?;
    Ok(works.is_some_and(|works| works.seat.seat == *seat && works.takes_turns()))
}

async fn open_turn(office: &Office, wake: Wake) -> Result<Option<TurnRow>> {
    let asked = office.record.event(&wake.asked_by).await?;
    let drill = office.config.office.drill || wants_drill(office, &wake, asked.as_ref()).await?;
    let mut asking = None;
    let place = match asked {
        Some(Event { fact: Fact::MessageReceived(message), .. }) => {
            Some(asking.insert(message).place.clone())
        }
        // Whoever looks again, or hears what became of a request, answers where the topic stands.
        Some(Event {
            fact: Fact::MomentPassed(_) | Fact::RequestAnswered(_) | Fact::RequestLapsed(_),
            ..
        }) => {
            let topic = office.record.row(Topics.name(), wake.topic.as_str()).await?;
            fold::decode::<TopicRow>(topic.as_ref()).map(|topic| topic.place)
        }
        _ => None,
    };
    let mut reply_to = place.as_ref().and_then(reply_to);
    if let (Some(reply), Some(message)) = (reply_to.as_mut(), &asking)
        && reply.tool == converse::TOOL_SLACK
    {
        reply.destination = live::streamed(&office.config, message, reply.destination.take());
    }
    let opening = Opening {
        wake,
        reply_to,
        model: office.config.office.model.clone(),
        steps_max: office.config.office.steps_max,
        ms_max: Some(office.config.office.turn_ms_max),
        drill,
    };
    match turn::open(&office.record, opening).await {
        Ok(row) => Ok(Some(row)),
        Err(turn::Error::Unavailable(error) | turn::Error::Record(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether anything that the turn would answer asks for a drill: what is said beside it is then tried in the drill too.
async fn wants_drill(office: &Office, wake: &Wake, asked: Option<&Event>) -> Result<bool> {
    if asks_a_drill(office, asked).await? {
        return Ok(true);
    }
    let seat = wake.asked.as_ref().unwrap_or(&wake.seat);
    let row = office.record.row(Signals.name(), &fold::signal::key(seat, &wake.topic)).await?;
    let samples = fold::decode::<SignalRow>(row.as_ref()).map(|row| row.samples).unwrap_or_default();
    for sample in samples.iter().filter(|sample| **sample != wake.asked_by) {
        if asks_a_drill(office, office.record.event(sample).await?.as_ref()).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an edit of a message asks for a drill where the message did not.
async fn is_made_a_drill(office: &Office, event: &Event, message: &MessageReceived) -> Result<bool> {
    let Some(topic) = message.place.topic() else { return Ok(false) };
    let topic = office.record.row(Topics.name(), topic.as_str()).await?;
    let topic: Option<TopicRow> = fold::decode(topic.as_ref());
    let edit = topic.and_then(|topic| topic.edits.into_iter().find(|edit| edit.message == event.id));
    let edits = office.record.events_at(&edit.into_iter().map(|edit| edit.at).collect::<Vec<_>>()).await?;
    let asks = |event: &Event| matches!(&event.fact, Fact::MessageEdited(body) if office.manner.asks_a_drill(body.text.text()));
    Ok(edits.iter().any(asks))
}

/// Whether what was said asks for a drill: at a terminal by the way it was started, in Slack by how it was classified.
async fn asks_a_drill(office: &Office, asked: Option<&Event>) -> Result<bool> {
    let Some(event) = asked else { return Ok(false) };
    if let Fact::MessageReceived(message) = &event.fact
        && message.place.kind != PlaceKind::Terminal
        && (office.manner.asks_a_drill(message.text.text())
            || is_made_a_drill(office, event, message).await?)
    {
        return Ok(true);
    }
    let Some(delivery) = &event.cause else { return Ok(false) };
    let classified = EventId::derived(&["delivery.classified", delivery.as_str()]);
    if let Some(Fact::DeliveryClassified(body)) =
        office.record.event(&classified).await?.map(|event| event.fact)
        && body.reason == converse::Reason::Drill.word()
    {
        return Ok(true);
    }
    Ok(match office.record.event(delivery).await?.map(|event| event.fact) {
        Some(Fact::DeliveryReceived(delivery)) => converse::asks_a_drill(&delivery),
        _ => false,
    })
}

async fn take_up(
    office: &Arc<Office>,
    parts: &Arc<TurnParts<gate::Gate>>,
    running: &mut Running,
    row: TurnRow,
) -> Result<()> {
    let name = format!("turn/{}", row.turn);
    let Some(lease) = office.record.lease(&name, &office.node, office.config.office.lease_ms).await? else {
        // Another runs it, or ran it and died: its lease says so until it ends.
        running.postpone(row.turn);
        return Ok(());
    };
    let (office, parts, turn) = (office.clone(), parts.clone(), row.turn.clone());
    let task = running.tasks.spawn(async move {
        let ran = run_leased(&office, &parts, &turn, lease).await;
        (turn, ran)
    });
    running.here.insert(row.turn, task.id());
    Ok(())
}

/// Runs a turn and keeps its lease meanwhile. A lease that cannot be renewed ends the run at its next append.
async fn run_leased(
    office: &Arc<Office>,
    parts: &TurnParts<gate::Gate>,
    turn: &TurnId,
    lease: Lease,
) -> Result<(), turn::Error> {
    let fence = lease.fence();
    let ttl_ms = office.config.office.lease_ms;
    let ran = tokio::select! {
        ran = turn::run(parts, turn, fence) => ran,
        () = renewed(office, &lease, ttl_ms) => return Ok(()),
        () = live::beside(office, turn) => return Ok(()),
    };
    if let Ok(Ran::Waits(_)) = &ran
        && let Err(error) = live::waits(office, turn).await
    {
        tracing::debug!(%turn, error = format!("{error:#}"), "nobody sees that the turn waits");
    }
    if let Err(error) = office.record.release(lease).await {
        tracing::debug!(%turn, %error, "the lease of a turn ends by itself");
    }
    ran.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::Running;
    use event::{Timestamp, TurnId};

    #[tokio::test]
    async fn a_turn_whose_task_broke_is_run_again() {
        let mut running = Running::default();
        let turn = TurnId::derived(&["a"]);
        let task = running.tasks.spawn(async { panic!("a fault of the host") });
        running.here.insert(turn.clone(), task.id());
        while !running.here.is_empty() {
            tokio::task::yield_now().await;
            running.collect(Timestamp(0));
        }
        assert!(running.later.contains_key(&turn));
    }
}
