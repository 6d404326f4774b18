//! A file as a tool gives it to a model: its text, or an image or a PDF as `media`.
//!
//! What a file is, its first bytes say; what it is called is a name and no more.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::{Failure, Kind};

/// The most bytes of a file that are given back: in base64 they stay below what a tool may give.
pub const FILE_BYTES_MAX: usize = 700_000;
/// Longest name that is repeated, in characters.
pub const NAME_CHARS_MAX: usize = 120;

/// A file's content as what it is: `name`, `bytes` and either `text` or `media`.
///
/// # Errors
/// [`Kind::TooLarge`] for what is longer than [`FILE_BYTES_MAX`], [`Kind::InvalidInput`] for what is no image, PDF or
/// text in UTF-8.
pub fn told(name: &str, bytes: &[u8]) -> Result<Value, Failure> {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    fits(&name, Some(bytes.len()))?;
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
    let mut told = json!({ "name": name, "bytes": bytes.len() });
    if let Some(fields) = told.as_object_mut() {
        fields.insert(key.to_owned(), content);
    }
    Ok(told)
}

/// Whether a file of this length is read at all; one whose length nobody says may be.
///
/// # Errors
/// [`Kind::TooLarge`].
pub fn fits(name: &str, bytes: Option<usize>) -> Result<(), Failure> {
    match bytes.filter(|bytes| *bytes > FILE_BYTES_MAX) {
        None => Ok(()),
        Some(bytes) => {
            let message =
                format!("`{name}` of {bytes} bytes is too large: at most {FILE_BYTES_MAX} bytes are read");
            Err(Failure::new(Kind::TooLarge, message))
        }
    }
}

/// What [`told`] gives, as the properties of an output schema; `name` and `bytes` are always there.
#[must_use]
pub fn properties() -> Value {
    json!({
        "name": { "type": "string" },
        "bytes": { "type": "integer", "description": "How long it is, or what was read of it." },
        "text": { "type": "string", "description": "Its content, when it is text." },
        "media": {
            "type": "object",
            "properties": {
                "media_type": { "type": "string" }, "name": { "type": "string" }, "content": { "type": "string" },
            },
            "required": ["media_type", "content"],
            "additionalProperties": false,
        },
    })
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
    use super::{FILE_BYTES_MAX, kind_of, told};
    use crate::Kind;

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
        assert_eq!(told("a.csv", "ä,b".as_bytes()).unwrap()["text"], "ä,b");
        assert_eq!(told("a.png", b"\x89PNG\r\n\x1a\n").unwrap()["media"]["media_type"], "image/png");
        assert!(told("a.bin", b"\0\x01\x02").is_err() && told("a.bin", b"\xff\xfe").is_err());
        let long = told("a.txt", &vec![b'a'; FILE_BYTES_MAX + 1]).unwrap_err();
        assert_eq!(long.kind, Kind::TooLarge);
    }
}
