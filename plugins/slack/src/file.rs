//! Reading a file that somebody gave with a message: an image, a PDF, or a text.
//!
//! What a file is, its first bytes say; what Slack or its owner calls it is a name and no more. An image that is too large
//! is read in the largest of Slack's smaller renditions that fits. Which files may be asked for is the host's to say.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::ids::FileId;

/// The most bytes of a file that are given back: in base64 they stay below what a tool may give.
pub const FILE_BYTES_MAX: usize = 700_000;
/// Slack's renditions of an image, the largest first.
const RENDITIONS: [&str; 6] = ["thumb_1024", "thumb_960", "thumb_800", "thumb_720", "thumb_480", "thumb_360"];
/// Longest name that is repeated, in characters.
const NAME_CHARS_MAX: usize = 120;

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
            return told(&name, &bytes, rendition);
        }
    }
    let of = size.map_or_else(String::new, |size| format!(" of {size} bytes"));
    let message = format!("`{name}`{of} is too large: at most {FILE_BYTES_MAX} bytes are read");
    Err(Failure::new(Kind::TooLarge, message))
}

/// A file's content, as what it is.
fn told(name: &str, bytes: &[u8], rendition: Option<&str>) -> Result<Value, Failure> {
    let mut told = json!({ "name": name, "bytes": bytes.len() });
    let (key, content) = match kind_of(bytes) {
        Some(media_type) => {
            let content = STANDARD.encode(bytes);
            ("media", json!({ "media_type": media_type, "name": name, "content": content }))
        }
        None => match std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) {
            Some(text) => ("text", json!(text)),
            None => {
                let message = format!("`{name}` is no image (JPEG, PNG, GIF, WebP), no PDF and no text");
                return Err(Failure::new(Kind::InvalidInput, message));
            }
        },
    };
    if let Some(fields) = told.as_object_mut() {
        fields.insert(key.to_owned(), content);
        fields.extend(rendition.map(|rendition| ("rendition".to_owned(), json!(rendition))));
    }
    Ok(told)
}

/// The media type that the first bytes say.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let begins = |with: &[u8]| bytes.starts_with(with);
    match () {
        () if begins(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        () if begins(b"\xff\xd8\xff") => Some("image/jpeg"),
        () if begins(b"GIF87a") || begins(b"GIF89a") => Some("image/gif"),
        () if begins(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some("image/webp"),
        () if begins(b"%PDF-") => Some("application/pdf"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{kind_of, told};

    #[test]
    fn a_file_is_what_its_first_bytes_say() {
        for (bytes, kind) in [
            (b"\x89PNG\r\n\x1a\n....".as_slice(), Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"%PDF-1.7", Some("application/pdf")),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(kind_of(bytes), kind, "{bytes:?}");
        }
        assert_eq!(told("a.csv", "ä,b".as_bytes(), None).unwrap()["text"], "ä,b");
        assert_eq!(told("a.png", b"\x89PNG\r\n\x1a\n", Some("thumb_720")).unwrap()["rendition"], "thumb_720");
        assert!(told("a.bin", b"\0\x01\x02", None).is_err() && told("a.bin", b"\xff\xfe", None).is_err());
    }
}
