//! The conversation a call is made in: what was said there, and which of it has certain words.
//!
//! It is given to a turn that answers there. A seat that another asked about it works for that seat, and reads what the
//! request says, and not what people told the other.

use super::{Given, Here, no, unread};
use crate::reach::{Failure, FailureKind};
use event::{
    ConnectionIdentified, Event, Fact, GlobalPosition, MessageReceived, Position, StreamName, Timestamp,
};
use fold::said::{DayRow, Said, days_back};
use fold::setting::{self, Settings};
use fold::{Projection, decode};
use record::RowKey;
use std::sync::Arc;

/// The most lines of one page: what a model reads at once and still answers.
pub const LINES_MAX: u32 = 50;
/// How far back one page looks, in days: as many rows as the record gives at once.
const DAYS_MAX: usize = 256;
/// The most lines that one page looks through: a search over a busy month, and an end to it.
const LOOKED_THROUGH_MAX: usize = 2_000;
/// Events read at a time.
const READ_AT_ONCE: usize = 100;
/// The most characters of one line that are shown.
const LINE_CHARS_MAX: usize = 2_000;
/// The most characters of what is looked for.
const WORDS_CHARS_MAX: usize = 200;

/// The conversation that a call is made in.
pub struct Place {
    pub(super) given: Arc<Given>,
    pub(super) here: Here,
}

/// One thing said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it stands in the record: earlier pages begin before it.
    pub position: u64,
    /// When.
    pub at: Timestamp,
    /// Who: an id at the source, or nothing for the office itself, of which a line is one short sentence of its answer.
    pub who: Option<String>,
    /// The thread it stands in.
    pub thread: String,
    /// What; nothing where it was erased.
    pub text: Option<String>,
}

/// Some of what was said, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The lines.
    pub lines: Vec<Line>,
    /// Before which position to ask for what is earlier; nothing where that is all.
    pub earlier: Option<u64>,
    /// How many lines are not shown, because not everyone who reads here may read them.
    pub withheld: u32,
}

impl Place {
    /// The newest lines before `before`, at most `limit` of them; with `find` those alone that have all its words, however
    /// they are written in capitals.
    ///
    /// # Errors
    /// When the turn does not answer here, or the record cannot be read.
    pub async fn said(&self, find: Option<&str>, before: Option<u64>, limit: u32) -> Result<Page, Failure> {
        self.answers_here().await?;
        let words = words(find.unwrap_or_default());
        let limit = usize::try_from(limit.clamp(1, LINES_MAX)).unwrap_or(1);
        let positions = self.positions(before).await?;
        let own = self.own().await?;
        let (mut page, mut looked) = (Page::default(), 0);
        for chunk in positions.chunks(READ_AT_ONCE) {
            let mut events = self.given.record.events_at(chunk).await.map_err(|error| unread(&error))?;
            events.sort_by_key(|event| std::cmp::Reverse(event.global_position));
            for event in events {
                if page.lines.len() == limit || looked == LOOKED_THROUGH_MAX {
                    return Ok(oldest_first(page));
                }
                looked += 1;
                page.earlier = Some(event.global_position.0);
                self.add(&mut page, &event, own.as_ref(), &words);
            }
        }
        // All of it was looked through.
        page.earlier = None;
        Ok(oldest_first(page))
    }

    /// That the call is of a turn whose answer goes here.
    async fn answers_here(&self) -> Result<(), Failure> {
        let elsewhere =
            || no(FailureKind::NotAllowed, "this turn does not answer in the conversation that it is about");
        let turn = self.given.call.origin.turn().ok_or_else(elsewhere)?;
        let stream = StreamName::new("turn", turn);
        let first = self.given.record.read_stream(&stream, Position(1), 1).await;
        let first = first.map_err(|error| unread(&error))?;
        let reply_to = match first.first().map(|event| &event.fact) {
            Some(Fact::TurnOpened(opened)) => opened.reply_to.as_ref(),
            _ => None,
        };
        let here = reply_to.is_some_and(|reply_to| reply_to.audience == self.here.audience);
        if here { Ok(()) } else { Err(elsewhere()) }
    }

    /// Adds what `event` says to a page, as far as it is to be shown.
    fn add(&self, page: &mut Page, event: &Event, own: Option<&ConnectionIdentified>, words: &[String]) {
        let Some(line) = line(event, own, self.given.readable) else { return };
        // What the office answered was sent here, whatever it was made from.
        let sent_here = line.who.is_none();
        if !sent_here && !self.here.may_read(&event.label) {
            page.withheld = page.withheld.saturating_add(1);
            return;
        }
        let text = line.text.as_deref().unwrap_or_default().to_lowercase();
        if words.iter().all(|word| text.contains(word.as_str())) {
            self.given.read_event(event);
            page.lines.push(line);
        }
    }

    /// Where what was said before `before` stands, newest first.
    async fn positions(&self, before: Option<u64>) -> Result<Vec<GlobalPosition>, Failure> {
        let days = days_back(&self.here.conversation, self.given.at, DAYS_MAX);
        let keys: Vec<RowKey> = days.map(|day| RowKey::new(Said.name(), day)).collect();
        let rows = self.given.record.rows(keys.clone()).await.map_err(|error| unread(&error))?;
        let days = keys.iter().filter_map(|key| rows.state::<DayRow>(key.projection, &key.key));
        let mut positions: Vec<GlobalPosition> = days.flat_map(|day| day.said).collect();
        positions.retain(|position| before.is_none_or(|before| position.0 < before));
        positions.sort_unstable_by(|a, b| b.cmp(a));
        Ok(positions)
    }

    /// Who the office is there: its own messages come back to it.
    async fn own(&self) -> Result<Option<ConnectionIdentified>, Failure> {
        let mut parts = self.here.conversation.split(':');
        let (Some(source), Some(team)) = (parts.next(), parts.next()) else { return Ok(None) };
        let key = setting::connection_in(source, team);
        let row = self.given.record.row(Settings.name(), &key).await.map_err(|error| unread(&error))?;
        Ok(decode(row.as_ref()))
    }
}

fn oldest_first(mut page: Page) -> Page {
    page.lines.reverse();
    page
}

/// What `event` says, as a line of a conversation; nothing for what is no line, and for the office's own words that came
/// back, since its answer stands beside them.
fn line(event: &Event, own: Option<&ConnectionIdentified>, readable: fn(&str) -> String) -> Option<Line> {
    let (who, thread, text) = match &event.fact {
        Fact::MessageReceived(body) if is_own(body, own) => return None,
        Fact::MessageReceived(body) => {
            let text = body.text.value().map(|text| readable(text));
            (Some(body.author.external.clone()), body.place.topic()?, text)
        }
        Fact::TurnEnded(body) => (None, body.topic.clone(), body.summary.value().cloned()),
        _ => return None,
    };
    let text = text.map(|text| text.chars().take(LINE_CHARS_MAX).collect());
    let position = event.global_position.0;
    Some(Line { position, at: event.at, who, thread: thread.as_str().to_owned(), text })
}

fn is_own(body: &MessageReceived, own: Option<&ConnectionIdentified>) -> bool {
    let is = |id: &String| !id.is_empty() && *id == body.author.external;
    own.is_some_and(|own| is(&own.user) || is(&own.bot))
}

fn words(text: &str) -> Vec<String> {
    let text: String = text.chars().take(WORDS_CHARS_MAX).collect();
    text.to_lowercase().split_whitespace().map(str::to_owned).collect()
}
