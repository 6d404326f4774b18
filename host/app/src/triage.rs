//! Triage: each message that may be spoken about is weighed once, and what was decided is done.
//!
//! Two followers of the record, each with a cursor and a lease of its own: what people use with a click (a command, their
//! Home, a form that opens within three seconds) never waits for a model. The small model is asked through the gate, as a
//! duty of the system seat, with its hold and its account like any other call. A message whose words are gone, one
//! that waited too long, and one in a channel where the office is quiet cost nothing. Who addressed the office is
//! answered whatever goes wrong here; who did not is left alone.
//!
//! Deliberately absent: any rule about when to speak (`converse::triage`).

mod assistant;
mod emoji;
mod form;
mod home;
mod mode;
mod slash;
mod weigh;

use crate::lease::renewed;
use crate::serve::{may_pass, news};
use crate::wire::Office;
use anyhow::Result;
use converse::triage::scene::{self, Weighing};
use converse::triage::{self, Scene, Word};
use converse::{Arrival, Manner, Reason};
use event::{
    Choice, Class, ConnectionIdentified, DeliveryClassified, DeliveryReceived, Event, Expected, Fact,
    GlobalPosition, PrincipalId, StreamName, Topic, TriageDecided, TurnOpened,
};
use record::{Append, Decided, Fence};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// What a follower does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Weighs messages, and does what was decided.
    Weighs,
    /// Answers what people use with a click.
    Answers,
}

impl Work {
    /// The name of its cursor and its lease.
    fn name(self) -> &'static str {
        match self {
            Self::Weighs => "triage",
            Self::Answers => "people",
        }
    }

    fn does(self, concern: &Concern) -> bool {
        let is_used = match concern {
            Concern::Home(_)
            | Concern::Chosen(_)
            | Concern::Form(_)
            | Concern::Question(_)
            | Concern::Slash(_)
            | Concern::Assistant(_) => true,
            Concern::Message(_)
            | Concern::Reaction(_)
            | Concern::Ack(_)
            | Concern::Emoji
            | Concern::Seen(_) => false,
        };
        is_used == (self == Self::Answers)
    }
}

/// Events read in one go: bounds the messages that are in work at once.
const EVENTS_MAX: usize = 128;
/// Messages weighed at a time: a small model answers in about a second, and a busy minute has about this many.
const AT_ONCE: usize = 4;
/// How old a message that nobody addressed to the office may be: whoever speaks later speaks into another talk.
const STALE_MS: i64 = 600_000;
/// How long to leave work alone that another host does, or the record could not take, in milliseconds.
const AGAIN_MS: u64 = 1_000;
/// Events that concern nobody here after which the cursor is moved all the same: bounds what a start reads again.
const UNSAVED_MAX: u64 = 1_024;
/// How often to look whether steering has come as far as a message, and how long to wait between two looks, in
/// milliseconds: five seconds in all.
const STEERING_LOOKS_MAX: usize = 250;
/// See [`STEERING_LOOKS_MAX`].
const STEERING_LOOK_MS: u64 = 20;

/// Weighs messages, and answers what people use, until `stop` says so.
///
/// # Errors
/// When the record cannot be used at the start. What goes wrong later is logged and tried again.
pub async fn keep(office: Arc<Office>, stop: watch::Receiver<bool>) -> Result<()> {
    begin(&office).await?;
    tokio::join!(follow(office.clone(), Work::Weighs, stop.clone()), follow(office, Work::Answers, stop));
    Ok(())
}

/// Where a record has been followed by [`Work::Weighs`] alone, that is where [`Work::Answers`] begins: nobody's command
/// of old is done again. The first event of a record is the host's own.
async fn begin(office: &Office) -> Result<()> {
    let (record, answers) = (&office.record, Work::Answers.name());
    if record.cursor(answers).await? == GlobalPosition::default() {
        let weighed = record.cursor(Work::Weighs.name()).await?;
        record.set_cursor(answers, weighed.max(GlobalPosition(1))).await?;
    }
    Ok(())
}

async fn follow(office: Arc<Office>, work: Work, mut stop: watch::Receiver<bool>) {
    let mut head = office.record.news();
    let mut follower =
        Follower { office, work, read: GlobalPosition::default(), saved: GlobalPosition::default() };
    while news(&mut head, &mut stop).await {
        if let Err(error) = follower.catch_up(&stop).await {
            tracing::warn!(work = work.name(), error = format!("{error:#}"), "people and messages wait");
            pause(AGAIN_MS, &mut stop).await;
        }
    }
}

/// Waits, or less long when it is time to stop.
async fn pause(ms: u64, stop: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// What an event is to this follower.
enum Concern {
    /// A message that may be spoken about.
    Message(DeliveryClassified),
    /// A reaction, which may mute.
    Reaction(DeliveryClassified),
    /// What was decided: an emoji to be put.
    Ack(TriageDecided),
    /// The workspace's emoji may be others now.
    Emoji,
    /// A turn began about a message.
    Seen(TurnOpened),
    /// A slash command.
    Slash(DeliveryClassified),
    /// Somebody opened the Home tab.
    Home(DeliveryClassified),
    /// Somebody chose something on it.
    Chosen(DeliveryClassified),
    /// Somebody wants the form in which the office is asked something.
    Form(DeliveryClassified),
    /// Somebody asks something with it.
    Question(DeliveryClassified),
    /// Somebody opened a thread of the assistant view.
    Assistant(DeliveryClassified),
}

fn concern(event: &Event, manner: &Manner) -> Option<Concern> {
    match &event.fact {
        Fact::DeliveryClassified(body) => {
            let may_speak = body.message.is_some() && body.asks.is_none() && body.topic.is_some();
            match body.class {
                Class::Explicit if may_speak => Some(Concern::Message(body.clone())),
                Class::Passive if may_speak && manner.weighs => Some(Concern::Message(body.clone())),
                _ => of_reason(body),
            }
        }
        Fact::TriageDecided(body) if body.choice == Choice::Ack => Some(Concern::Ack(body.clone())),
        Fact::TurnOpened(body) => Some(Concern::Seen(body.clone())),
        Fact::ConnectionIdentified(_) if manner.weighs => Some(Concern::Emoji),
        Fact::DeliveryReceived(body) if manner.weighs && body.event == "emoji_changed" => {
            Some(Concern::Emoji)
        }
        _ => None,
    }
}

/// What a delivery that is no message to be weighed is to this follower.
fn of_reason(body: &DeliveryClassified) -> Option<Concern> {
    let concern = match Reason::ALL.iter().find(|reason| body.reason == reason.word())? {
        Reason::Reaction => Concern::Reaction,
        Reason::AssistantOpened => Concern::Assistant,
        Reason::AppHome => Concern::Home,
        Reason::HomeSetting => Concern::Chosen,
        Reason::FormWanted => Concern::Form,
        Reason::FormQuestion => Concern::Question,
        Reason::SlashCommand => Concern::Slash,
        _ => return None,
    };
    Some(concern(body.clone()))
}

struct Follower {
    office: Arc<Office>,
    work: Work,
    /// What it has read.
    read: GlobalPosition,
    /// What its cursor says.
    saved: GlobalPosition,
}

impl Follower {
    /// What an event is to this one.
    fn concern(&self, event: &Event) -> Option<Concern> {
        concern(event, &self.office.manner).filter(|concern| self.work.does(concern))
    }

    /// Goes past every event there is.
    async fn catch_up(&mut self, stop: &watch::Receiver<bool>) -> Result<()> {
        let record = self.office.record.clone();
        if self.read == GlobalPosition::default() {
            self.saved = record.cursor(self.work.name()).await?;
            self.read = self.saved;
        }
        while !*stop.borrow() {
            let events = record.read_all(self.read, EVENTS_MAX).await?;
            let Some(last) = events.last().map(|event| event.global_position) else { break };
            if events.iter().any(|event| self.concern(event).is_some()) {
                if !self.under_lease(&events, stop).await? {
                    return Ok(());
                }
                record.set_cursor(self.work.name(), last).await?;
                self.saved = last;
            } else if last.0.saturating_sub(self.saved.0) >= UNSAVED_MAX {
                record.set_cursor(self.work.name(), last).await?;
                self.saved = last;
            }
            self.read = last;
        }
        Ok(())
    }

    /// Does what `events` ask for, unless another host is at it; whether it was done.
    async fn under_lease(&self, events: &[Event], stop: &watch::Receiver<bool>) -> Result<bool> {
        let (record, ttl_ms) = (&self.office.record, self.office.config.office.lease_ms);
        let Some(lease) = record.lease(self.work.name(), &self.office.node, ttl_ms).await? else {
            pause(AGAIN_MS, &mut stop.clone()).await;
            return Ok(false);
        };
        // Another host may have done these before this one got the lease; doing them again is doing nothing.
        let fence = lease.fence();
        let done = tokio::select! {
            done = self.work(events, &fence) => done.map(|()| true),
            () = renewed(&self.office, &lease, ttl_ms) => Ok(false),
        };
        if let Err(error) = record.release(lease).await {
            tracing::debug!(%error, "the lease on triage ends by itself");
        }
        done
    }

    /// Whoever addressed the office first, then the rest, a few at a time.
    async fn work(&self, events: &[Event], fence: &Fence) -> Result<()> {
        let mut asked = Vec::new();
        let mut rest = Vec::new();
        for event in events {
            match self.concern(event) {
                Some(Concern::Message(body)) if body.class == Class::Explicit => {
                    asked.push((event.clone(), Concern::Message(body)));
                }
                Some(concern) => rest.push((event.clone(), concern)),
                None => {}
            }
        }
        let (room, mut tasks) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
        for (event, concern) in asked.into_iter().chain(rest) {
            let desk = Desk { office: self.office.clone(), fence: fence.clone() };
            let room = room.clone();
            tasks.spawn(async move {
                let _permit = room.acquire().await;
                desk.handle(&event, concern).await
            });
        }
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok(Ok(())) => {}
                Ok(Err(error)) if passes(&error) => return Err(error),
                // Trying again would not help, and whatever comes behind it would wait for ever.
                Ok(Err(error)) => tracing::error!(error = format!("{error:#}"), "a message was not weighed"),
                Err(error) => tracing::error!(%error, "the weighing of a message broke"),
            }
        }
        Ok(())
    }
}

/// Whether the same may work later, here or at another host.
fn passes(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let record = cause.downcast_ref::<record::Error>();
        record.is_some_and(|error| may_pass(error) || matches!(error, record::Error::LeaseLost { .. }))
    })
}

/// What one piece of work is done with.
struct Desk {
    office: Arc<Office>,
    fence: Fence,
}

impl Desk {
    async fn handle(&self, event: &Event, concern: Concern) -> Result<()> {
        match concern {
            Concern::Message(body) => self.message(event, &body).await,
            Concern::Reaction(body) => self.reaction(event, &body).await,
            Concern::Ack(body) => weigh::react(self, event, &body).await,
            Concern::Emoji => emoji::list(self, event).await,
            Concern::Home(body) => home::opened(self, event, &body).await,
            Concern::Chosen(body) => home::chosen(self, event, &body).await,
            Concern::Form(body) => form::wanted(self, event, &body).await,
            Concern::Question(body) => form::asked(self, event, &body).await,
            Concern::Slash(body) => slash::used(self, event, &body).await,
            Concern::Assistant(body) => assistant::suggested(self, event, &body).await,
            Concern::Seen(body) => {
                weigh::seen(self, event, &body).await?;
                assistant::named(self, event, &body).await
            }
        }
    }

    /// Who the office is where `delivery` came from.
    async fn own(&self, delivery: &DeliveryReceived) -> Result<Option<ConnectionIdentified>> {
        Ok(converse::own(&self.office.record, &Arrival::of(delivery)).await?)
    }

    /// Who the office is in the workspace that `topic` stands in.
    async fn own_of(&self, topic: Option<&Topic>) -> Result<Option<ConnectionIdentified>> {
        let Some(team) = topic.and_then(Topic::workspace) else { return Ok(None) };
        Ok(converse::own_in(&self.office.record, converse::SOURCE_SLACK, team).await?)
    }

    async fn message(&self, classified: &Event, body: &DeliveryClassified) -> Result<()> {
        let record = &self.office.record;
        if let Some(message) = &body.message
            && record.event(&triage::scene::id(message)).await?.is_some()
        {
            return Ok(());
        }
        if let Some(message) = &body.message
            && self.steers_a_turn(classified, message).await?
        {
            return Ok(());
        }
        let age_ms = self.office.now().since_ms(classified.at);
        if body.class == Class::Passive && age_ms > STALE_MS {
            return Ok(());
        }
        let user = self.own_of(body.topic.as_ref()).await?.map(|own| own.user).unwrap_or_default();
        let Some(scene) = triage::scene(record, body, &user).await? else { return Ok(()) };
        let weighing = match self.before(&scene).await? {
            Some(word) => Weighing::None(word),
            None if scene.is_erased() => Weighing::None(Word::NotAsked),
            None => weigh::ask(self, classified, &scene).await?,
        };
        self.decide(scene, weighing).await
    }

    /// Whether the message is a running turn's: what people say into one is not weighed. Steering is quick; when it does
    /// not come, the message is weighed.
    async fn steers_a_turn(&self, classified: &Event, message: &event::EventId) -> Result<bool> {
        for _ in 0..STEERING_LOOKS_MAX {
            let at = classified.global_position;
            if let Some(steers) = converse::is_steered(&self.office.record, message, at).await? {
                return Ok(steers);
            }
            tokio::time::sleep(Duration::from_millis(STEERING_LOOK_MS)).await;
        }
        Ok(false)
    }

    /// The rule that decides without a model, when one does.
    async fn before(&self, scene: &Scene) -> Result<Option<Word>> {
        let (scene_is, manner) = (scene.clone(), self.office.manner.clone());
        let look = self.office.record.decide(triage::reads(scene), move |rows, at| {
            let found = scene::decided_before(&scene_is, &manner, rows, at);
            Ok::<_, Infallible>((Vec::new(), found))
        });
        match look.await? {
            Decided::Appended { value, .. } => Ok(value.map(|found| found.word)),
            Decided::Rejected(never) => match never {},
        }
    }

    async fn decide(&self, scene: Scene, weighing: Weighing) -> Result<()> {
        let (manner, desk) = (self.office.manner.clone(), self.office.front_desk.clone());
        let (reads, fence) = (triage::reads(&scene), self.fence.clone());
        let decided = self.office.record.decide(reads, move |rows, at| {
            let stream = StreamName::new("triage", &scene.channel);
            let host = PrincipalId::host();
            let fact = triage::decided(&scene, &manner, &weighing, (&host, &desk), (rows, at));
            let append = Append { stream, expected: Expected::Any, events: vec![fact], fence: Some(fence) };
            Ok::<_, Infallible>((vec![append], ()))
        });
        match decided.await {
            Ok(_) | Err(record::Error::IdTaken { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn reaction(&self, event: &Event, body: &DeliveryClassified) -> Result<()> {
        let record = &self.office.record;
        let Some(delivery) = record.event(&body.delivery).await? else { return Ok(()) };
        let Fact::DeliveryReceived(received) = &delivery.fact else { return Ok(()) };
        let Some(own) = self.own(received).await? else { return Ok(()) };
        let Some(mute) = converse::mute::mute(received, &own, &self.office.manner) else { return Ok(()) };
        let Some((topic, _)) = scene::topic_of_message(record, &mute.message).await? else { return Ok(()) };
        let stream = StreamName::new("topic", &topic);
        let fact = converse::mute::fact(&mute, topic, delivery.id.clone(), &PrincipalId::host());
        tracing::debug!(%event.id, muted = !mute.taken_back, "a thread was muted by an emoji, or that taken back");
        match record.append(stream, Expected::Any, vec![fact]).await {
            Ok(_) | Err(record::Error::IdTaken { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
