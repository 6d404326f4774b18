//! Writing to a terminal: whole lines, made harmless, around one prompt.

use crate::terminal::Look;
use crate::terminal::watch::Shown;
use crate::visible::visible;
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt};

const PROMPT: &str = "> ";
const DIM: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";
/// Clears the line that the prompt stands on.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// An output that lines are written to.
pub struct Screen<W> {
    output: W,
    look: Look,
    prompted: bool,
}

impl<W: AsyncWrite + Unpin> Screen<W> {
    /// Writes to `output`.
    pub fn new(output: W, look: Look) -> Self {
        Self { output, look, prompted: false }
    }

    /// Asks for a line, where a person types.
    pub async fn prompt(&mut self) -> io::Result<()> {
        if !self.look.prompt {
            return Ok(());
        }
        self.prompted = true;
        self.write(PROMPT.to_owned()).await
    }

    /// A line was entered: the terminal itself began a fresh one behind the prompt.
    pub fn entered(&mut self) {
        self.prompted = false;
    }

    /// Shows one thing.
    pub async fn show(&mut self, shown: &Shown) -> io::Result<()> {
        match shown {
            Shown::Said(text) => {
                let lines = format!("{}{}\n", self.fresh_line(), visible(text));
                self.write(lines).await
            }
            Shown::Status(text) => self.status(text).await,
        }
    }

    /// Shows what is not the office's own words, each of its lines indented.
    pub async fn status(&mut self, text: &str) -> io::Result<()> {
        let (dim, plain) = if self.look.dim { (DIM, PLAIN) } else { ("", "") };
        let text = visible(text.trim_end()).replace('\n', "\n  ");
        let line = format!("{}{dim}  {text}{plain}\n", self.fresh_line());
        self.write(line).await
    }

    fn fresh_line(&mut self) -> &'static str {
        match (std::mem::take(&mut self.prompted), self.look.dim) {
            (false, _) => "",
            (true, true) => CLEAR_LINE,
            (true, false) => "\n",
        }
    }

    async fn write(&mut self, text: String) -> io::Result<()> {
        self.output.write_all(text.as_bytes()).await?;
        self.output.flush().await
    }
}
