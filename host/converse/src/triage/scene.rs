//! What the record knows about a message when it is decided on, and the fact that comes of it.
//!
//! The signs are read from who spoke when and where, and from no word of any language. What counts how often the
//! office has spoken is read again inside the append, so that two decisions at once never spend one allowance twice.

use crate::manner::Manner;
use crate::notation::{Piece, mentioned, pieces};
use crate::triage::ask::Said;
use crate::triage::emoji::{FALLBACK, resolve};
use crate::triage::evaluate::{Case, Found, Word, before, evaluate, outcome, thresholds, weigh};
use event::{
    Actor, Author, Choice, DeliveryClassified, EmojiListed, Event, EventId, Fact, GlobalPosition, Label,
    MessageReceived, ModeSet, PlaceKind, PrincipalId, Proposed, SeatId, Signs, Timestamp, Topic,
    TriageDecided, TurnEnding,
};
use fold::channel::{ChannelRow, Channels};
use fold::message::{TopicRow, Topics};
use fold::setting::{self, Settings};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, decode};
use record::{Error, Record, RowKey, Rows};
use std::collections::BTreeSet;

/// The most messages around the one that is weighed: enough to see a talk, few enough to cost little.
const SHOWN_MAX: usize = 12;
/// The most open turns that are looked through: far more than one office runs.
const OPEN_TURNS_MAX: usize = 10_000;

/// What is known about one message.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The `message.received`.
    pub message: Event,
    /// What it is about.
    pub topic: Topic,
    /// The conversation, `T1:C1`.
    pub channel: String,
    /// The workspace.
    pub team: String,
    /// Its class.
    pub class: event::Class,
    /// What the record shows; the thread's mute is read again inside the append.
    pub signs: Signs,
    /// What a model is shown, oldest first, the message itself among it.
    pub shown: Vec<Event>,
}

impl Scene {
    /// What was said.
    #[must_use]
    pub fn body(&self) -> Option<&MessageReceived> {
        match &self.message.fact {
            Fact::MessageReceived(body) => Some(body),
            _ => None,
        }
    }

    /// The label of everything a model is shown.
    #[must_use]
    pub fn label(&self) -> Label {
        Label::join_all(self.shown.iter().map(|event| &event.label))
    }

    /// The persons whose words a model is shown.
    #[must_use]
    pub fn of(&self) -> BTreeSet<PrincipalId> {
        let personal = self.shown.iter().flat_map(|event| event.fact.personal());
        personal.flat_map(|(_, field)| field.subjects()).cloned().collect()
    }

    /// Whether its words can no longer be read.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.body().is_none_or(|body| body.text.value().is_none())
    }
}

/// What the record knows about the message of `classified`; nothing when it has none that could be decided on.
///
/// # Errors
/// As the record's.
pub async fn scene(
    record: &Record,
    classified: &DeliveryClassified,
    office_user: &str,
) -> Result<Option<Scene>, Error> {
    let (Some(id), Some(topic)) = (&classified.message, &classified.topic) else { return Ok(None) };
    let Some(message) = record.event(id).await? else { return Ok(None) };
    let Fact::MessageReceived(body) = &message.fact else { return Ok(None) };
    let row: Option<TopicRow> = decode(record.row(Topics.name(), topic.as_str()).await?.as_ref());
    let thread = record.events_at(&row.map(|row| row.messages).unwrap_or_default()).await?;
    let channel = format!("{}:{}", body.place.team, body.place.channel);
    let mut signs = signs(body, &message, &thread, office_user);
    signs.turn_open = has_open_turn(record, topic).await?;
    let shown = if thread.len() > 1 || body.place.kind == PlaceKind::Im {
        thread
    } else {
        let row: Option<ChannelRow> = decode(record.row(Channels.name(), &channel).await?.as_ref());
        record.events_at(&row.map(|row| row.messages).unwrap_or_default()).await?
    };
    let shown = around(shown, &message);
    let (topic, team, class) = (topic.clone(), body.place.team.clone(), classified.class);
    Ok(Some(Scene { message, topic, channel, team, class, signs, shown }))
}

/// The newest of `events`, the message itself in any case, oldest first.
fn around(events: Vec<Event>, message: &Event) -> Vec<Event> {
    let mut shown: Vec<Event> = events.into_iter().filter(|event| event.id != message.id).collect();
    shown.sort_by_key(|event| event.global_position);
    let surplus = shown.len().saturating_sub(SHOWN_MAX);
    shown.drain(..surplus);
    shown.push(message.clone());
    shown.sort_by_key(|event| event.global_position);
    shown
}

async fn has_open_turn(record: &Record, topic: &Topic) -> Result<bool, Error> {
    let rows = record.ranked(Turns.name(), i64::MIN, OPEN_TURNS_MAX).await?;
    let open = |row: &TurnRow| row.topic == *topic && row.ending.is_none();
    Ok(rows.iter().filter_map(|(_, row)| decode::<TurnRow>(Some(row))).any(|row| open(&row)))
}

/// The signs that follow from who spoke when: of the message itself, and of what stands about its topic.
#[must_use]
pub fn signs(body: &MessageReceived, message: &Event, thread: &[Event], office_user: &str) -> Signs {
    let at = message.global_position;
    let said = |event: &Event| match &event.fact {
        Fact::MessageReceived(body) if !body.author.bot => Some(body.author.clone()),
        _ => None,
    };
    let before: Vec<&Event> = sorted(thread).into_iter().filter(|event| event.global_position < at).collect();
    let after = thread.iter().filter(|event| event.global_position > at).filter_map(said);
    Signs {
        follows_office: follows(&before, &body.author),
        names_others: names_others(body, office_user),
        replied_to: after.into_iter().any(|author| !is_same(&author, &body.author)),
        by_program: body.author.bot,
        hops: if body.author.bot { hops(&before) } else { 0 },
        ..Signs::default()
    }
}

fn sorted(events: &[Event]) -> Vec<&Event> {
    let mut sorted: Vec<&Event> = events.iter().collect();
    sorted.sort_by_key(|event| event.global_position);
    sorted
}

fn is_same(a: &Author, b: &Author) -> bool {
    match (&a.principal, &b.principal) {
        (Some(a), Some(b)) => a == b,
        _ => !a.external.is_empty() && a.external == b.external,
    }
}

fn is_answer(event: &Event) -> bool {
    matches!(&event.fact, Fact::TurnEnded(body) if body.ending == TurnEnding::Answered)
}

/// Whether the office spoke last before, and to this author.
fn follows(before: &[&Event], author: &Author) -> bool {
    // The office's own words come back as a program's message; its answer stands beside them.
    let person = |event: &&&Event| matches!(&event.fact, Fact::MessageReceived(body) if !body.author.bot);
    let Some(at) = before.iter().rposition(|event| is_answer(event)) else { return false };
    let (until, since) = before.split_at(at);
    let nobody_since = !since.iter().any(|event| person(&event));
    let to = until.iter().rev().find(|event| person(event));
    nobody_since
        && to.is_some_and(|event| match &event.fact {
            Fact::MessageReceived(body) => is_same(&body.author, author),
            _ => false,
        })
}

/// How often the office has answered in the thread since a person last spoke there.
fn hops(before: &[&Event]) -> u32 {
    let person = |event: &&&Event| matches!(&event.fact, Fact::MessageReceived(body) if !body.author.bot);
    let answers = before.iter().rev().take_while(|event| !person(event)).filter(|event| is_answer(event));
    u32::try_from(answers.count()).unwrap_or(u32::MAX)
}

fn names_others(body: &MessageReceived, office_user: &str) -> bool {
    let other = |piece| match piece {
        Piece::Entity(entity) => {
            mentioned(entity).is_some_and(|user| user != office_user && user != body.author.external)
        }
        Piece::Text(_) => false,
    };
    !body.mentions_office && pieces(body.text.text()).any(other)
}

/// The rows that [`decided`] looks at.
#[must_use]
pub fn reads(scene: &Scene) -> Vec<RowKey> {
    let setting = |key| RowKey::new(Settings.name(), key);
    vec![
        RowKey::new(Channels.name(), scene.channel.clone()),
        setting(setting::mode(&scene.channel)),
        setting(setting::muted(&scene.topic)),
        setting(setting::emoji(&scene.team)),
    ]
}

/// The outcome of asking the model, or why it was not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weighing {
    /// What it said.
    Said(Said),
    /// There are no scores.
    None(Word),
}

/// What is decided without a model at `at`, when anything is.
#[must_use]
pub fn decided_before(scene: &Scene, manner: &Manner, rows: &Rows, at: Timestamp) -> Option<Found> {
    let sight = Sight::of(scene, manner, rows, at);
    before(&sight.case(scene, manner))
}

/// The fact: what is done about the message, on the rows as they stand at `at`.
#[must_use]
pub fn decided(
    scene: &Scene,
    manner: &Manner,
    weighing: &Weighing,
    (host, desk): (&PrincipalId, &SeatId),
    (rows, at): (&Rows, Timestamp),
) -> Proposed {
    let mut sight = Sight::of(scene, manner, rows, at);
    if let Weighing::Said(said) = weighing {
        sight.signs.answered = said.answered;
        sight.signs.for_others = said.for_others;
    }
    let case = sight.case(scene, manner);
    let found = match (before(&case), weighing) {
        (Some(found), _) => found,
        (None, Weighing::Said(said)) => evaluate(&case, &said.scores),
        (None, Weighing::None(word)) => outcome(&case, *word),
    };
    let said = match weighing {
        Weighing::Said(said) => Some(said),
        Weighing::None(_) => None,
    };
    let speaks = matches!(found.choice, Choice::Investigate | Choice::Answer);
    let fact = TriageDecided {
        message: scene.message.id.clone(),
        class: scene.class,
        topic: scene.topic.clone(),
        channel: scene.channel.clone(),
        mode: sight.mode,
        scores: said.map(|said| said.scores),
        signs: sight.signs,
        weighed: said.map(|said| weigh(&said.scores)),
        thresholds: thresholds(sight.mode, &sight.signs),
        priority: found.priority,
        spent: sight.spent,
        reason: found.word.word().to_owned(),
        choice: found.choice,
        emoji: (found.choice == Choice::Ack).then(|| sight.emoji(said)),
        asks: speaks.then(|| desk.clone()),
    };
    Proposed {
        id: id(&scene.message.id),
        actor: Actor { principal: host.clone(), seat: None },
        cause: Some(scene.message.id.clone()),
        // Figures, ids and words of the host's own: nothing of what was said.
        label: Label::host(),
        fact: fact.into(),
    }
}

/// The one decision about a message.
#[must_use]
pub fn id(message: &EventId) -> EventId {
    EventId::derived(&["triage.decided", message.as_str()])
}

/// What the rows say.
struct Sight {
    mode: event::Mode,
    signs: Signs,
    spent: event::Spent,
    own_emoji: BTreeSet<String>,
}

impl Sight {
    fn of(scene: &Scene, manner: &Manner, rows: &Rows, at: Timestamp) -> Self {
        let name = Settings.name();
        let set: Option<ModeSet> = rows.state(name, &setting::mode(&scene.channel));
        let muted = rows.get(name, &setting::muted(&scene.topic)).is_some();
        let emoji: Option<EmojiListed> = rows.state(name, &setting::emoji(&scene.team));
        let row: Option<ChannelRow> = rows.state(Channels.name(), &scene.channel);
        Self {
            mode: manner.mode_of(&scene.channel, set.map(|set| set.mode)),
            signs: Signs { muted, ..scene.signs },
            spent: row.unwrap_or_default().spent(at),
            own_emoji: emoji.map(|emoji| emoji.names.into_iter().collect()).unwrap_or_default(),
        }
    }

    fn case(&self, scene: &Scene, manner: &Manner) -> Case<'_> {
        let Self { mode, signs, spent, .. } = self;
        Case { class: scene.class, mode: *mode, signs, spent, hops_max: manner.hops_max }
    }

    fn emoji(&self, said: Option<&Said>) -> String {
        let wish = said.and_then(|said| said.emoji.as_deref());
        wish.and_then(|wish| resolve(wish, &self.own_emoji)).unwrap_or_else(|| FALLBACK.to_owned())
    }
}

/// The thread that the message at (channel key, ts) belongs to: where a mute holds.
///
/// # Errors
/// As the record's.
pub async fn topic_of_message(record: &Record, key: &str) -> Result<Option<(Topic, GlobalPosition)>, Error> {
    let row: Option<fold::message::MessageRow> = decode(record.row("message", key).await?.as_ref());
    let Some(row) = row else { return Ok(None) };
    let Some(event) = record.event(&row.event).await? else { return Ok(None) };
    Ok(match &event.fact {
        Fact::MessageReceived(body) => body.place.topic().map(|topic| (topic, event.global_position)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
