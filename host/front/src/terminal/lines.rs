//! Lines from an input, each of bounded length, read by a task of its own so that waiting for one can be given
//! up without losing any of it.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

/// Longest line, in bytes: several pages of text.
pub const LINE_BYTES_MAX: usize = 16 * 1024;
/// Lines read ahead. A pipe that writes faster than the record takes lines waits.
const LINES_MAX: usize = 16;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Its text, without the line end. What is not UTF-8 is replaced.
    Text(String),
    /// It is longer than [`LINE_BYTES_MAX`], and was read away.
    TooLong,
}

/// Reads `input` to its end. A failing input ends like an ended one.
pub fn read<R: AsyncRead + Unpin + Send + 'static>(input: R) -> mpsc::Receiver<Line> {
    let (lines, receiver) = mpsc::channel(LINES_MAX);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input).await {
            if lines.send(line).await.is_err() {
                break;
            }
        }
    });
    receiver
}

/// The next line; the last one may lack its line end.
async fn next<R: AsyncRead + Unpin>(input: &mut BufReader<R>) -> Option<Line> {
    let (mut line, mut too_long, mut any) = (Vec::new(), false, false);
    loop {
        let Ok(buffer) = input.fill_buf().await else { return None };
        if buffer.is_empty() && !any {
            return None;
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let at_end = end.is_some() || buffer.is_empty();
        too_long |= line.len().saturating_add(part.len()) > LINE_BYTES_MAX;
        if !too_long {
            line.extend_from_slice(part);
        }
        let read = part.len().saturating_add(usize::from(end.is_some()));
        input.consume(read);
        if at_end {
            let text = || String::from_utf8_lossy(&line).into_owned();
            return Some(if too_long { Line::TooLong } else { Line::Text(text()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, Line, read};
    use std::io::Cursor;

    async fn lines_of(bytes: Vec<u8>) -> Vec<Line> {
        let mut receiver = read(Cursor::new(bytes));
        let mut lines = Vec::new();
        while let Some(line) = receiver.recv().await {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn each_line_comes_once_and_the_last_needs_no_end() {
        let text = |text: &str| Line::Text(text.to_owned());
        assert_eq!(lines_of(b"a\n\nb".to_vec()).await, [text("a"), text(""), text("b")]);
        assert_eq!(lines_of(Vec::new()).await, []);
        assert_eq!(lines_of(b"\xff\n".to_vec()).await, [text("\u{fffd}")]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_read_away_and_the_next_one_is_whole() {
        let mut bytes = vec![b'x'; LINE_BYTES_MAX + 1];
        bytes.extend_from_slice(b"\nnext\n");
        bytes.extend(vec![b'y'; LINE_BYTES_MAX]);
        let lines = lines_of(bytes).await;
        assert_eq!(lines[..2], [Line::TooLong, Line::Text("next".to_owned())]);
        assert_eq!(lines[2], Line::Text("y".repeat(LINE_BYTES_MAX)));
    }
}
