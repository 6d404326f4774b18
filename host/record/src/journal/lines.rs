//! Reading: the lines of one file with what they hold, and the events of a whole journal, a line at a time.

use super::error::JournalError;
use super::head::JournalHead;
use super::line::{self, LINE_BYTES_MAX};
use super::segment;
use crate::stored::{Head, Stored};
use crate::verify;
use event::Digest;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// The name of the file that says where a journal ends.
pub(super) const HEAD: &str = "head";
/// More than any head has.
const HEAD_BYTES_MAX: u64 = 256;

/// Where the journal in `folder` says it ends; nothing when it does not say.
///
/// # Errors
/// [`JournalError::Damaged`] when what it says is no head.
pub(super) fn head(folder: &Path) -> Result<Option<JournalHead>, JournalError> {
    let path = folder.join(HEAD);
    let mut text = String::new();
    match File::open(&path).and_then(|file| file.take(HEAD_BYTES_MAX).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(JournalError::system(&path, "read")(error)),
    }
    let head = text
        .trim_end()
        .parse()
        .map_err(|e: super::head::NoHead| JournalError::damaged(&path, 0, e.to_string()))?;
    Ok(Some(head))
}

/// Events of one page.
const PAGE_EVENTS: usize = 250;
/// Pages that are read ahead: enough that reader and taker do not wait for each other.
const PAGES_AHEAD: usize = 2;

/// One line as it was found.
pub(super) struct Found {
    /// Which line of its file, from 1.
    pub(super) number: u64,
    /// How many bytes it takes, its end included.
    pub(super) bytes: u64,
    /// The event; or why it is none.
    pub(super) event: Result<Stored, String>,
}

/// The lines of one file.
pub(super) struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    number: u64,
}

impl Lines {
    pub(super) fn open(path: PathBuf) -> Result<Self, JournalError> {
        let file = File::open(&path).map_err(JournalError::system(&path, "read"))?;
        Ok(Self { path, file: BufReader::new(file), number: 0 })
    }

    /// The next line; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Found>, JournalError> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.file).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut bytes).map_err(JournalError::system(&self.path, "read"))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Found { number: self.number, bytes: read as u64, event: event(bytes) }))
    }
}

fn event(mut bytes: Vec<u8>) -> Result<Stored, String> {
    if bytes.pop() != Some(b'\n') {
        return Err("its end is missing".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    line::read(&text).map_err(|fault| fault.to_string())
}

/// The events of a whole journal, up to its head, each found to be as it was written and to continue the one before.
pub(super) struct Events {
    folder: PathBuf,
    head: JournalHead,
    waiting: VecDeque<u64>,
    lines: Option<Lines>,
    end: Head,
}

impl Events {
    /// # Errors
    /// [`JournalError::Absent`] when there is no head.
    pub(super) fn open(folder: &Path) -> Result<Self, JournalError> {
        let head = JournalHead::read(folder)?;
        let waiting = segment::list(folder)?.into();
        Ok(Self { folder: folder.to_owned(), head, waiting, lines: None, end: Head::default() })
    }

    /// The next event; nothing after the head.
    ///
    /// # Errors
    /// [`JournalError::Damaged`], naming file and line, when it is not as it was written, or lines are missing.
    pub(super) fn next(&mut self) -> Result<Option<Stored>, JournalError> {
        if self.end.global_position >= self.head.global_position.0 {
            return self.ended();
        }
        loop {
            let Some(lines) = &mut self.lines else {
                let Some(first) = self.waiting.pop_front() else { return self.ended() };
                self.lines = Some(Lines::open(segment::path(&self.folder, first))?);
                continue;
            };
            let Some(found) = lines.next()? else {
                self.lines = None;
                continue;
            };
            let damaged = |why: String| JournalError::damaged(&lines.path, found.number, why);
            let event = found.event.map_err(damaged)?;
            verify::continues(&self.end, &event).map_err(|fault| damaged(fault.to_string()))?;
            self.end = event.end();
            return Ok(Some(event));
        }
    }

    fn page(&mut self) -> Result<Vec<Stored>, JournalError> {
        let mut page = Vec::with_capacity(PAGE_EVENTS);
        while page.len() < PAGE_EVENTS {
            match self.next()? {
                Some(event) => page.push(event),
                None => break,
            }
        }
        Ok(page)
    }

    /// The end of all lines, which has to be the head.
    fn ended(&self) -> Result<Option<Stored>, JournalError> {
        let chain = self.end.chain.as_ref().map(Digest::as_str);
        if self.end.global_position == self.head.global_position.0 && chain == Some(self.head.chain.as_str())
        {
            return Ok(None);
        }
        let why = format!(
            "it says that the journal ends at {}, and the lines end at {} with another chain",
            self.head.global_position, self.end.global_position
        );
        Err(JournalError::damaged(&self.folder.join(HEAD), 0, why))
    }
}

/// The events of the journal in `folder`, a page at a time, read on a thread of its own. Ends with an empty page after
/// the head, or with an error; a receiver that is dropped ends the reading.
pub(super) fn pages(folder: &Path) -> mpsc::Receiver<Result<Vec<Stored>, JournalError>> {
    let (sender, pages) = mpsc::channel(PAGES_AHEAD);
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || {
        let mut events = match Events::open(&folder) {
            Ok(events) => events,
            Err(error) => return drop(sender.blocking_send(Err(error))),
        };
        loop {
            let page = events.page();
            let last = page.as_ref().map_or(true, |page| page.is_empty());
            let gone = sender.blocking_send(page).is_err();
            if last || gone {
                return;
            }
        }
    });
    pages
}
