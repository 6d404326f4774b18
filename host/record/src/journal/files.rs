//! Writing: the files of one journal, held by one process. Everything here blocks.
//!
//! Order of writes: lines, their flush, the folder's flush when a file is new, then `head`. Whatever an interruption
//! leaves behind is lines after `head`, of which the whole ones are kept and the rest is cut off at the next opening.

use super::error::JournalError;
use super::head::JournalHead;
use super::line;
use super::lines::{self, HEAD, Lines};
use super::segment;
use crate::stored::{Head, Stored};
use crate::verify;
use event::{Digest, GlobalPosition};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Held by the process that writes; the system lets go of it when the process ends, however it ends.
const LOCK: &str = ".lock";
/// `head` is written under this name first.
const HEAD_NEW: &str = ".head.new";

/// The last file and how full it is.
#[derive(Debug)]
struct Segment {
    path: PathBuf,
    file: File,
    events: u64,
    bytes: u64,
}

/// The files of a journal, open for writing.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    end: Head,
    segment: Option<Segment>,
    _lock: File,
}

impl Files {
    /// Opens the journal in `folder`, makes the folder when there is none, and cuts off what an interruption left.
    ///
    /// # Errors
    /// [`JournalError::InUse`]; [`JournalError::Damaged`] when lines up to `head` are not as they were written;
    /// [`JournalError::System`].
    pub(super) fn open(folder: &Path) -> Result<Self, JournalError> {
        std::fs::create_dir_all(folder).map_err(JournalError::system(folder, "made"))?;
        let lock = lock(folder)?;
        let head = lines::head(folder)?;
        let mut files = Self { folder: folder.to_owned(), end: Head::default(), segment: None, _lock: lock };
        for first in segment::list(folder)?.into_iter().rev() {
            if files.resume(first, head.as_ref())? {
                break;
            }
        }
        files.agree(head.as_ref())?;
        Ok(files)
    }

    /// Where the journal ends; nothing when it has no line.
    pub(super) fn head(&self) -> Option<JournalHead> {
        let chain = self.end.chain.clone()?;
        Some(JournalHead { global_position: GlobalPosition(self.end.global_position), chain })
    }

    /// Goes on in the file that begins at `first`: true when it holds at least one whole line, false after it was
    /// removed because it holds none.
    fn resume(&mut self, first: u64, head: Option<&JournalHead>) -> Result<bool, JournalError> {
        let path = segment::path(&self.folder, first);
        let kept = whole_lines(&path, first, head)?;
        if kept.events == 0 {
            std::fs::remove_file(&path).map_err(JournalError::system(&path, "removed"))?;
            return Ok(false);
        }
        let file =
            OpenOptions::new().append(true).open(&path).map_err(JournalError::system(&path, "written"))?;
        file.set_len(kept.bytes).map_err(JournalError::system(&path, "cut"))?;
        // Also what was there: nobody knows whether it had reached the disk.
        file.sync_all().map_err(JournalError::system(&path, "flushed"))?;
        self.end = kept.end;
        self.segment = Some(Segment { path, file, events: kept.events, bytes: kept.bytes });
        Ok(true)
    }

    /// Brings `head` and the lines together: the lines may be further, never less far.
    fn agree(&self, head: Option<&JournalHead>) -> Result<(), JournalError> {
        let said = head.map_or(0, |head| head.global_position.0);
        if self.end.global_position < said {
            let why = format!(
                "it says that the journal ends at {said}, and the lines end at {}",
                self.end.global_position
            );
            return Err(JournalError::damaged(&self.folder.join(HEAD), 0, why));
        }
        if self.head().as_ref() == head { Ok(()) } else { self.write_head() }
    }

    /// Writes the lines of `events`, and says so in `head` once they are on the disk. After an error the journal has
    /// to be opened again.
    ///
    /// # Errors
    /// [`JournalError::Event`] when one is not as it was written; [`JournalError::System`].
    pub(super) fn write(&mut self, events: &[Stored]) -> Result<(), JournalError> {
        let mut text = String::new();
        for event in events {
            let fault = |fault| JournalError::Event {
                global_position: GlobalPosition(event.global_position),
                id: event.id.clone(),
                fault,
            };
            verify::continues(&self.end, event).map_err(fault)?;
            let line = line::line(event).ok_or_else(|| fault(verify::Fault::Blob))?;
            if self.segment.as_ref().is_none_or(|s| segment::is_full(s.events, s.bytes)) {
                self.flush(&mut text)?;
                self.segment = Some(begin(&self.folder, event.global_position)?);
            }
            if let Some(segment) = &mut self.segment {
                segment.events += 1;
                segment.bytes += line.len() as u64 + 1;
            }
            text.push_str(&line);
            text.push('\n');
            self.end = event.end();
        }
        self.flush(&mut text)?;
        self.write_head()
    }

    /// Puts the gathered lines on the disk.
    fn flush(&mut self, text: &mut String) -> Result<(), JournalError> {
        if let Some(Segment { path, file, .. }) = &mut self.segment {
            file.write_all(text.as_bytes()).map_err(JournalError::system(path, "written"))?;
            file.sync_data().map_err(JournalError::system(path, "flushed"))?;
        }
        text.clear();
        Ok(())
    }

    fn write_head(&self) -> Result<(), JournalError> {
        let Some(head) = self.head() else { return Ok(()) };
        let (path, new) = (self.folder.join(HEAD), self.folder.join(HEAD_NEW));
        let mut file = File::create(&new).map_err(JournalError::system(&new, "written"))?;
        writeln!(file, "{head}").map_err(JournalError::system(&new, "written"))?;
        file.sync_all().map_err(JournalError::system(&new, "flushed"))?;
        std::fs::rename(&new, &path).map_err(JournalError::system(&path, "written"))?;
        sync_folder(&self.folder)
    }
}

fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = file.map_err(JournalError::system(&path, "written"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JournalError::InUse(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(JournalError::system(&path, "locked")(error)),
    }
}

fn begin(folder: &Path, first: u64) -> Result<Segment, JournalError> {
    let path = segment::path(folder, first);
    let file = OpenOptions::new().create_new(true).append(true).open(&path);
    let file = file.map_err(JournalError::system(&path, "made"))?;
    sync_folder(folder)?;
    Ok(Segment { path, file, events: 0, bytes: 0 })
}

/// Makes new names in `folder` survive a loss of power.
fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(JournalError::system(folder, "flushed"))
}

/// The lines of a file that were written whole.
#[derive(Default)]
struct Kept {
    events: u64,
    bytes: u64,
    end: Head,
}

fn whole_lines(path: &Path, first: u64, head: Option<&JournalHead>) -> Result<Kept, JournalError> {
    let mut lines = Lines::open(path.to_owned())?;
    // What the first line continues stands in the file before.
    let mut kept =
        Kept { end: Head { global_position: first.saturating_sub(1), ..Head::default() }, ..Kept::default() };
    let said = head.map_or(0, |head| head.global_position.0);
    while let Some(found) = lines.next()? {
        let event = found.event.and_then(|event| match verify::continues(&kept.end, &event) {
            Err(fault) if kept.events > 0 || first == 1 || fault != verify::Fault::Chain => {
                Err(fault.to_string())
            }
            _ => Ok(event),
        });
        match event {
            Ok(event) => kept.end = event.end(),
            Err(why) if kept.end.global_position < said => {
                return Err(JournalError::damaged(path, found.number, why));
            }
            // After `head`: torn when writing was interrupted.
            Err(_) => return Ok(kept),
        }
        kept.events += 1;
        kept.bytes += found.bytes;
        let chain = kept.end.chain.as_ref().map(Digest::as_str);
        if kept.end.global_position == said && chain != head.map(|head| head.chain.as_str()) {
            let why = format!("`{HEAD}` names another chain at {said}");
            return Err(JournalError::damaged(path, found.number, why));
        }
    }
    Ok(kept)
}
