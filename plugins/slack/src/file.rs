//! Reading a file that somebody gave with a message: an image, a PDF, or a text.
//!
//! What a file is, its first bytes say ([`guest::file`]). An image that is too large
//! is read in the largest of Slack's smaller renditions that fits. Which files may be asked for is the host's to say.

use guest::file::{FILE_BYTES_MAX, NAME_CHARS_MAX, told};
use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::ids::FileId;

/// Slack's renditions of an image, the largest first.
const RENDITIONS: [&str; 6] = ["thumb_1024", "thumb_960", "thumb_800", "thumb_720", "thumb_480", "thumb_360"];

/// The input of `slack.file`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    file: FileId,
}

/// Reads a file.
///
/// # Errors
/// See [`Api::read`] and [`Api::download`]; [`Kind::NotAllowed`] for what is not kept at Slack, [`Kind::TooLarge`] for what
/// is longer than [`FILE_BYTES_MAX`], [`Kind::InvalidInput`] for what is no image, PDF or text.
pub fn read(input: &ReadFile, api: &Api) -> Result<Value, Failure> {
    let answer = api.read("files.info", &[("file", input.file.as_str().to_owned())])?;
    let file = answer.get("file").unwrap_or(&Value::Null);
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    let name: String = text("name").unwrap_or("file").chars().take(NAME_CHARS_MAX).collect();
    if file.get("is_external").and_then(Value::as_bool) == Some(true) {
        let message =
            format!("`{name}` is kept elsewhere and only linked in Slack: nothing there was granted");
        return Err(Failure::new(Kind::NotAllowed, message));
    }
    let Some(whole) = text("url_private") else {
        return Err(Failure::new(
            Kind::NotFound,
            format!("Slack does not say where `{name}` is; it may be deleted"),
        ));
    };
    let size = file.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
    let fits = size.is_none_or(|size| size <= FILE_BYTES_MAX);
    let renditions = RENDITIONS.iter().filter_map(|rendition| Some((Some(*rendition), text(rendition)?)));
    for (rendition, address) in fits.then_some((None, whole)).into_iter().chain(renditions) {
        if let Some(bytes) = api.download(address, FILE_BYTES_MAX)? {
            let mut told = told(&name, &bytes)?;
            if let (Some(fields), Some(rendition)) = (told.as_object_mut(), rendition) {
                fields.insert("rendition".to_owned(), json!(rendition));
            }
            return Ok(told);
        }
    }
    let of = size.map_or_else(String::new, |size| format!(" of {size} bytes"));
    let message = format!("`{name}`{of} is too large: at most {FILE_BYTES_MAX} bytes are read");
    Err(Failure::new(Kind::TooLarge, message))
}
