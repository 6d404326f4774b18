//! `chancery chat`: the same office, at a terminal.
//!
//! A line typed is a delivery and a message like any other. What is shown is read from the record: what the
//! office says appears when the record says that it was sent, and so does what was denied on the way. Every
//! text from the record is made harmless first ([`visible`](crate::visible)).
//!
//! Deliberately absent: line editing and history, which the terminal or `rlwrap` have; any way to run a
//! turn, which is the office's, running beside this on the same record.

mod lines;
mod screen;
mod watch;

use crate::inbox::{Inbox, Incoming, Taken};
use crate::terminal::lines::Line;
use crate::terminal::screen::Screen;
use crate::terminal::watch::Watch;
use converse::{DRILL, ID_PART_BYTES_MAX, SOURCE_TERMINAL, escaped, is_plain};
use event::{ApprovalId, DeliveryReceived, Event, EventId, GlobalPosition, PrincipalId};
use record::{Clock, Record};
use serde_json::{Value, json};
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

/// Events read at once while following.
const EVENTS_MAX: usize = 256;
/// A good [`Session::silence_ms_max`]: longer than a model takes for one answer.
pub const SILENCE_MS_MAX: u64 = 120_000;

const HELP: &str = "\
Each line you type is a message to the office; what is said while it works is read before its next step.
`stop` alone ends what it is doing; `no, I meant …` corrects it.
/quit   leave when what you said has been answered (so does the end of the input)
/help   this";
const HELP_WITH_ANSWERS: &str = "\
Each line you type is a message to the office; what is said while it works is read before its next step.
`stop` alone ends what it is doing; `no, I meant …` corrects it.
/approve        yes to the newest call that waits for one here
/deny [WHY]     no to it
/quit           leave when what you said has been answered (so does the end of the input)
/help           this";

/// Whether an answer was taken, in the end; if not, why, in one sentence for whoever gave it.
pub type Told = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Takes answers to calls that wait for a person's yes, in the name of the person whose terminal it is.
pub trait Answers: fmt::Debug + Send + Sync {
    /// Answers yes, or no with a reason that may be empty.
    fn answer(&self, approval: ApprovalId, no: Option<String>) -> Told;
}

/// Who sits at a terminal, and at which session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its name: letters, digits, `.`, `-`, `_`. The same name is the same conversation, also another day.
    pub name: String,
    /// Who types.
    pub person: PrincipalId,
    /// What tells this run of the session from any other: a few random letters and digits.
    pub run: String,
    /// The principal that states what arrives: the host.
    pub host: PrincipalId,
    /// Whether what is asked here is a drill.
    pub drill: bool,
    /// After the last line, how long the record may be silent about this session before the chat gives up on an
    /// answer.
    pub silence_ms_max: u64,
    /// What `/approve` and `/deny` do; without it they are words like any other.
    pub answers: Option<Arc<dyn Answers>>,
}

/// How the terminal is written to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Whether to show a prompt: a person types here.
    pub prompt: bool,
    /// Whether what is not the office's own words may be dimmed by escape sequences.
    pub dim: bool,
}

/// Why a chat ended early.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The session cannot have this name.
    #[error("`{0}` is no session name; use at most {ID_PART_BYTES_MAX} letters, digits, `.`, `-` and `_`")]
    Name(String),
    /// The record did not take a line or could not be read.
    #[error("the chat ended because the record did not answer")]
    Record(#[from] record::Error),
    /// The terminal did not take what was to be shown.
    #[error("the chat ended because the terminal did not answer")]
    Terminal(#[from] io::Error),
}

/// Chats until the input ends or a line says `/quit`, and what was said has been answered.
///
/// # Errors
/// [`ChatError`]. Lines that were recorded before stay recorded and will be answered on the record.
pub async fn chat<R, W>(
    record: Record,
    clock: Arc<dyn Clock>,
    session: Session,
    look: Look,
    input: R,
    output: W,
) -> Result<(), ChatError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin,
{
    if !is_plain(&session.name) || !is_plain(&session.run) {
        return Err(ChatError::Name(session.name));
    }
    let (head, _) = record.head().await?;
    let mut follower = record.follow(head);
    let mut typed = lines::read(input);
    let mut chat = Chat {
        inbox: Inbox::new(record.clone(), session.host.clone()),
        watch: Watch::new(&session.name, session.answers.is_some()),
        screen: Screen::new(output, look),
        session,
        clock,
        lines: 0,
        asked: GlobalPosition::default(),
    };
    chat.screen.prompt().await?;
    let mut open = true;
    let silence = Duration::from_millis(chat.session.silence_ms_max);
    let mut deadline = Instant::now();
    while open || !chat.is_answered(follower.after()) {
        tokio::select! {
            line = typed.recv(), if open => {
                open = match line {
                    Some(line) => chat.take(line).await?,
                    None => false,
                };
                deadline = Instant::now() + silence;
            }
            events = follower.next(EVENTS_MAX) => {
                if chat.see(&events?).await? {
                    deadline = Instant::now() + silence;
                }
            }
            () = sleep_until(deadline), if !open => {
                chat.screen.status("no answer came; `chancery record show` tells what happened").await?;
                break;
            }
        }
    }
    Ok(())
}

struct Chat<W> {
    inbox: Inbox,
    watch: Watch,
    screen: Screen<W>,
    session: Session,
    clock: Arc<dyn Clock>,
    /// Lines of this run so far.
    lines: u64,
    /// Where the last line stands in the record.
    asked: GlobalPosition,
}

impl<W: AsyncWrite + Unpin> Chat<W> {
    /// Takes one line; false when it ends the chat.
    async fn take(&mut self, line: Line) -> Result<bool, ChatError> {
        self.screen.entered();
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong => {
                let status =
                    format!("that line is longer than {} bytes; nothing was said", lines::LINE_BYTES_MAX);
                self.screen.status(&status).await?;
                self.screen.prompt().await?;
                return Ok(true);
            }
        };
        match text.trim() {
            "" => self.screen.prompt().await?,
            "/quit" => return Ok(false),
            "/help" => {
                self.screen.status(self.help()).await?;
                self.screen.prompt().await?;
            }
            said if self.is_answer(said) => self.answer(said).await?,
            said => {
                let incoming = self.incoming(said);
                if let Taken::Accepted(at) = self.inbox.take(incoming).await? {
                    self.asked = at;
                }
            }
        }
        Ok(true)
    }

    fn help(&self) -> &'static str {
        match self.session.answers {
            Some(_) => HELP_WITH_ANSWERS,
            None => HELP,
        }
    }

    fn is_answer(&self, said: &str) -> bool {
        let command = said.split_whitespace().next();
        self.session.answers.is_some() && matches!(command, Some("/approve" | "/deny"))
    }

    /// Answers the newest call that waits here. The record says what came of it, as it does for everybody.
    async fn answer(&mut self, said: &str) -> Result<(), ChatError> {
        let (Some(answers), Some(asked)) = (&self.session.answers, self.watch.asked()) else {
            self.screen
                .status("nothing waits for a yes here; `chancery approval list` shows what does")
                .await?;
            return Ok(self.screen.prompt().await?);
        };
        let no = said.strip_prefix("/deny").map(|reason| reason.trim().to_owned());
        if let Err(why) = answers.answer(asked.clone(), no).await {
            self.screen.status(&why).await?;
            self.screen.prompt().await?;
        }
        Ok(())
    }

    /// A line as a delivery. Its timestamp grows within a run and is shared with no other run.
    fn incoming(&mut self, text: &str) -> Incoming {
        self.lines = self.lines.saturating_add(1);
        let Session { name, person, run, .. } = &self.session;
        let ts = format!("{:013}.{run}.{:06}", self.clock.now().0, self.lines);
        // In the same notation as everything else that people say, so that one reader does for all.
        let mut payload = json!({ "session": name, "ts": ts, "person": person, "text": escaped(text) });
        if let Some(fields) = payload.as_object_mut().filter(|_| self.session.drill) {
            fields.insert(DRILL.to_owned(), Value::Bool(true));
        }
        let delivery = DeliveryReceived {
            source: SOURCE_TERMINAL.to_owned(),
            kind: "line".to_owned(),
            event: String::new(),
            subtype: String::new(),
            external_id: ts.clone(),
            retry: 0,
            payload: payload.into(),
        };
        Incoming { id: EventId::derived(&["delivery.received", SOURCE_TERMINAL, name, &ts]), delivery }
    }

    /// Shows what `events` say about this session; whether they say anything about it.
    async fn see(&mut self, events: &[Event]) -> Result<bool, ChatError> {
        let was_idle = self.watch.is_idle();
        let mut any = false;
        for event in events {
            if let Some(shown) = self.watch.see(event) {
                any = true;
                self.screen.show(&shown).await?;
            }
        }
        any |= self.watch.is_idle() != was_idle;
        if any && (self.watch.is_idle() || self.watch.asked().is_some()) {
            self.screen.prompt().await?;
        }
        Ok(any)
    }

    /// Whether everything said has been answered, as far as the record was read.
    fn is_answered(&self, seen: GlobalPosition) -> bool {
        seen >= self.asked && self.watch.is_idle()
    }
}

#[cfg(test)]
mod tests;
