//! What a turn finds when it begins or is taken up again: its seat, the seat's holder, and what was said.

use crate::erased::is_sealed;
use crate::error::Error;
use crate::manner::Manner;
use crate::media::told;
use crate::open::turn_stream;
use crate::parts::{Files, TurnParts};
use crate::talk::Talk;
use event::{
    Actor, Event, EventId, Fact, GlobalPosition, Position, PrincipalId, SeatCreated, SeatHeld, StepKind,
    Timestamp, TurnOpened,
};
use fold::message::{Attached, TopicRow, Topics};
use fold::setting::{self, Settings};
use fold::turn::TurnState;
use fold::{Projection, decode};
use record::Record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where the input of the first step says which messages the turn looks at.
pub(crate) const MESSAGES: &str = "messages";

/// Events of an earlier turn that are read for its answer: the longest turn has far fewer.
const TURN_EVENTS_MAX: usize = 2_000;

/// What a turn finds.
pub(crate) struct Scene {
    /// The office's name.
    pub office: String,
    pub seat: SeatCreated,
    /// Who states the turn's facts: the holder, for the seat.
    pub actor: Actor,
    /// Which messages it looks at and which edits of them, oldest first.
    pub positions: Vec<GlobalPosition>,
    pub talk: Talk,
    /// When each of those messages was said.
    pub said_at: BTreeMap<EventId, Timestamp>,
    /// The person whose message woke the turn, when one did.
    pub asker: Option<PrincipalId>,
    /// The persons whose words it shows.
    pub of: BTreeSet<PrincipalId>,
    /// The files that came with them, by where the message stands.
    pub files: BTreeMap<GlobalPosition, Vec<Attached>>,
    /// The media types that the model takes.
    pub media: Vec<String>,
    /// How much fits the model; nothing where that is not known.
    pub window_tokens: Option<u32>,
    /// In what manner it speaks.
    pub manner: Manner,
    /// Whether what woke the turn can no longer be read.
    pub woken_by_erased: bool,
}

impl Scene {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Vacant`] when nobody holds the seat; otherwise what the record answers.
    pub async fn load<D: ?Sized>(
        parts: &TurnParts<D>,
        opened: &TurnOpened,
        state: &TurnState,
    ) -> Result<Self, Error> {
        let record = &parts.record;
        let vacant = || Error::Vacant(opened.seat.clone());
        let seat = record.row(Settings.name(), &setting::seat(&opened.seat)).await?;
        let seat: SeatCreated = decode(seat.as_ref()).ok_or_else(vacant)?;
        let held = record.row(Settings.name(), &setting::holder(&opened.seat)).await?;
        let held: SeatHeld = decode(held.as_ref()).ok_or_else(vacant)?;
        let positions = match fixed(state) {
            Some(positions) => positions,
            None => current(record, opened).await?,
        };
        let mut said: Vec<Event> = record.events_at(&positions).await?;
        said.sort_by_key(|event| event.global_position);
        let answers = answers(record, &said).await?;
        let files = files(record, &said, parts.files).await?;
        let model = parts.catalogue.model(&opened.model);
        let window = model.as_ref().map(|model| model.window_tokens);
        let media = model.map(|model| model.media.clone()).unwrap_or_default();
        let chars_max = crate::compact::talk_chars_max(window);
        let asks = |event: &Event| event.id == opened.woken_by;
        let told = |event: &Event| files.get(&event.global_position).zip(parts.files).map(told);
        let talk = Talk::of(&said, &answers, (asks, told), parts.readable, chars_max);
        let said_at = said.iter().map(|event| (event.id.clone(), event.at)).collect();
        let actor = Actor { principal: held.principal, seat: Some(opened.seat.clone()) };
        let shown = said.iter().filter(|event| !is_sealed(event)).flat_map(|event| event.fact.personal());
        let of = shown.flat_map(|(_, field)| field.subjects()).cloned().collect();
        let woken_by_erased = said.iter().any(|event| event.id == opened.woken_by && is_sealed(event));
        let asker = said.iter().find(|event| event.id == opened.woken_by).and_then(asker);
        let manner = Manner::of(record, &opened.woken_by).await?;
        let (office, window_tokens) = (parts.office.clone(), window);
        let found = Self {
            office,
            seat,
            actor,
            positions,
            talk,
            said_at,
            asker,
            of,
            files,
            media,
            manner,
            window_tokens,
            woken_by_erased,
        };
        Ok(found)
    }
}

/// The subtype of a message that files came with.
const WITH_FILES: &str = "file_share";

/// The files that came with each message of `said`, from the delivery that carried it.
pub(crate) async fn files<'a>(
    record: &Record,
    said: impl IntoIterator<Item = &'a Event>,
    known: Option<Files>,
) -> Result<BTreeMap<GlobalPosition, Vec<Attached>>, Error> {
    let mut files = BTreeMap::new();
    let Some(known) = known else { return Ok(files) };
    for event in said.into_iter().filter(|event| !is_sealed(event)) {
        let with_files = matches!(&event.fact, Fact::MessageReceived(body) if body.subtype == WITH_FILES && !body.author.bot);
        let (true, Some(cause)) = (with_files, &event.cause) else { continue };
        let Some(carried) = record.event(cause).await? else { continue };
        if let Fact::DeliveryReceived(delivery) = &carried.fact {
            files.insert(event.global_position, (known.of)(delivery));
        }
    }
    files.retain(|_, files: &mut Vec<Attached>| !files.is_empty());
    Ok(files)
}

/// The person who said it.
fn asker(event: &Event) -> Option<PrincipalId> {
    match &event.fact {
        Fact::MessageReceived(message) => message.author.principal.clone(),
        _ => None,
    }
}

/// What each ended turn among `said` answered, by where its `turn.ended` stands: the text of its send.
async fn answers(record: &Record, said: &[Event]) -> Result<BTreeMap<GlobalPosition, String>, Error> {
    let mut answers = BTreeMap::new();
    for event in said {
        let Fact::TurnEnded(ended) = &event.fact else { continue };
        let events = record.read_stream(&turn_stream(&ended.turn), Position(1), TURN_EVENTS_MAX).await?;
        let state = TurnState::fold(&events);
        let send = state.steps.values().rev().find(|step| step.started.kind == StepKind::Send);
        let text = send.and_then(|step| step.started.input.json().get("text")).and_then(Value::as_str);
        answers.extend(text.map(|text| (event.global_position, text.to_owned())));
    }
    Ok(answers)
}

/// The messages the turn looks at, once its first step has begun.
fn fixed(state: &TurnState) -> Option<Vec<GlobalPosition>> {
    let messages = state.steps.get(&1)?.started.input.json().get(MESSAGES)?.as_array()?;
    Some(messages.iter().filter_map(Value::as_u64).map(GlobalPosition).collect())
}

/// What stands about the topic now, the message that woke the turn in any case.
async fn current(record: &Record, opened: &TurnOpened) -> Result<Vec<GlobalPosition>, Error> {
    let topic = record.row(Topics.name(), opened.topic.as_str()).await?;
    let topic: Option<TopicRow> = decode(topic.as_ref());
    let mut positions: BTreeSet<GlobalPosition> = topic.iter().flat_map(TopicRow::positions).collect();
    positions.extend(record.event(&opened.woken_by).await?.map(|event| event.global_position));
    Ok(positions.into_iter().collect())
}
