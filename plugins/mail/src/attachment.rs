//! A file that is attached to a message: its text, or an image or a PDF that a model can look at.
//!
//! It is named by the message and which of its parts it is, since Gmail calls its content otherwise each time. What is too
//! long, or is something else, is refused before or after it is read, by kind.

use guest::file::{fits, told};
use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::Value;

use crate::api::Api;
use crate::message::{Attached, attachments, decoded, text};
use crate::read::checked;

/// Longest name of a part: ten numbers with dots between them.
const PART_BYTES_MAX: usize = 64;
/// Longest name that Gmail gives to a content, in bytes; those seen have about 400.
const ID_BYTES_MAX: usize = 2_000;

/// One file of one message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    message: String,
    part: String,
}

/// Reads it.
///
/// # Errors
/// [`Kind::NotFound`] where the message has no such file, [`Kind::TooLarge`] and [`Kind::InvalidInput`] as
/// [`guest::file::told`] says, and what keeps Gmail from giving it.
pub fn read(api: &Api<'_>, one: &One) -> Result<Value, Failure> {
    let id = checked(&one.message)?;
    let message = api.get(&format!("/messages/{id}?format=full"))?;
    let wanted = |file: &Attached| file.part == one.part && one.part.len() <= PART_BYTES_MAX;
    let Some(file) = attachments(&message).into_iter().find(wanted) else {
        let text = "nothing is attached to the message under that `part`: `mail.read` says what is";
        return Err(Failure::new(Kind::NotFound, text));
    };
    fits(&file.name, usize::try_from(file.bytes).ok())?;
    let data = match (&file.data, &file.id) {
        (Some(data), _) => data.clone(),
        (None, Some(name)) if is_plain(name) => {
            text(api.get(&format!("/messages/{id}/attachments/{name}"))?.get("data"))
        }
        (None, _) => String::new(),
    };
    match decoded(&data).filter(|bytes| !bytes.is_empty() || file.bytes == 0) {
        Some(bytes) => told(&file.name, &bytes),
        None => Err(Failure::new(Kind::Malformed, "Gmail does not give the content of the file")),
    }
}

fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(plain)
}
