//! A conversation with a model, in no vendor's words. Mirrors `wit/model`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use event::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// People, and what the host says on their behalf.
    User,
    /// The model, earlier.
    Assistant,
}

/// A call that the model wants made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's own name for the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The `id` of the call.
    pub id: String,
    /// Its output, or the reason of the no.
    pub output: Value,
    /// Whether the call was denied, refused or failed.
    pub failed: bool,
}

/// An image or a file, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its bytes in base64, with padding.
    pub content: String,
}

/// What one image may come to, in tokens: the finest that a provider looks at an image, and a little more.
const IMAGE_TOKENS_MAX: u64 = 5_000;
/// What one page of a document may come to: its text, and its picture.
const PAGE_TOKENS_MAX: u64 = 6_000;
/// Pages of a document that does not say how many it has: as many as providers take, or as fit it.
const PAGES_MAX: u64 = 100;
/// Bytes that a page takes at least, packed as tightly as writers of documents do.
const PAGE_BYTES_MIN: u64 = 8;

impl Media {
    /// What it may come to as input, in tokens, whatever it shows: providers count an image by its size in pixels and a
    /// document by its pages, and neither by its bytes.
    #[must_use]
    pub fn tokens_max(&self) -> u64 {
        if self.media_type.starts_with("image/") {
            return IMAGE_TOKENS_MAX;
        }
        let bytes = STANDARD.decode(&self.content).unwrap_or_default();
        if self.media_type == "application/pdf" {
            let most = (bytes.len() as u64).div_ceil(PAGE_BYTES_MIN).min(PAGES_MAX);
            return pages(&bytes).unwrap_or(most).saturating_mul(PAGE_TOKENS_MAX);
        }
        bytes.len() as u64
    }
}

/// How many pages a PDF has, by the objects that say they are one; nothing where they are packed away.
fn pages(pdf: &[u8]) -> Option<u64> {
    let mut pages = 0_u64;
    let mut rest = pdf;
    while let Some(at) = rest.windows(5).position(|window| window == b"/Type") {
        rest = rest.get(at + 5..).unwrap_or_default();
        let value = rest.trim_ascii_start();
        let is_page = value.strip_prefix(b"/Page").is_some_and(|after| after.first() != Some(&b's'));
        pages = pages.saturating_add(u64::from(is_page));
    }
    (pages > 0).then_some(pages)
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text(String),
    /// A call the model made.
    ToolCall(ToolCall),
    /// What came of one.
    ToolResult(ToolResult),
    /// An image to look at; from the user side.
    Image(Media),
    /// A file to read; from the user side.
    File(Media),
    /// The model's own notes, in the provider's form: from a response, and given back as they were. Shown to nobody.
    Notes(Value),
    /// What comes before is the same in the next request: worth keeping in a provider's cache. Says nothing to the
    /// model.
    CacheMark,
}

impl Part {
    /// The image or the file that it is.
    #[must_use]
    pub fn media(&self) -> Option<&Media> {
        match self {
            Self::Image(media) | Self::File(media) => Some(media),
            _ => None,
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
}

/// A tool on offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InferRequest {
    /// The model's full name, such as `scripted/story`.
    pub model: String,
    /// Instructions.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolOffer>,
    /// The most it may write, in tokens.
    pub output_tokens_max: u32,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said all it wanted.
    End,
    /// It wants tools called.
    ToolUse,
    /// It reached the maximum.
    Length,
    /// The provider declined to go on.
    Declined,
    /// Any other reason.
    Other(String),
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InferResponse {
    /// What it says and what it wants called, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What was used; nothing when the provider did not say.
    pub usage: Option<Usage>,
}

#[cfg(test)]
mod tests {
    use super::{IMAGE_TOKENS_MAX, Media, PAGE_TOKENS_MAX, PAGES_MAX};
    use base64::Engine as _;

    #[test]
    fn an_image_counts_as_one_and_a_document_by_its_pages() {
        let media = |media_type: &str, bytes: &[u8]| Media {
            media_type: media_type.to_owned(),
            name: None,
            content: base64::engine::general_purpose::STANDARD.encode(bytes),
        };
        assert_eq!(media("image/png", &[0; 500_000]).tokens_max(), IMAGE_TOKENS_MAX);
        let two = b"%PDF-1.4 1 0 obj <</Type /Pages /Count 2>> <</Type/Page>> <</Type /Page\n/Parent 1 0 R>>";
        assert_eq!(media("application/pdf", two).tokens_max(), 2 * PAGE_TOKENS_MAX);
        let packed = [b"%PDF-1.7 ".as_slice(), &[b'x'; 9_000]].concat();
        assert_eq!(media("application/pdf", &packed).tokens_max(), PAGES_MAX * PAGE_TOKENS_MAX);
        assert_eq!(media("application/pdf", b"%PDF-").tokens_max(), PAGE_TOKENS_MAX);
        assert_eq!(media("text/plain", b"four").tokens_max(), 4);
    }
}
