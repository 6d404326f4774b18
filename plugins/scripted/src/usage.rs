//! What a request and a response cost, in tokens: four bytes of UTF-8 are one, as a rough provider counts.

use crate::talk::{Part, Request};

/// How many bytes make a token.
const BYTES_PER_TOKEN: usize = 4;

/// The tokens of instructions, conversation and tools together.
pub(crate) fn input_tokens(request: &Request) -> u64 {
    let messages: usize = request.messages.iter().flat_map(|message| &message.parts).map(bytes_of).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.len())
        .sum();
    tokens(request.system.len() + messages + tools)
}

/// The tokens of a response.
pub(crate) fn output_tokens(parts: &[Part]) -> u64 {
    tokens(parts.iter().map(bytes_of).sum())
}

/// Ends a response where `tokens_max` are reached, and says whether it did. A text is cut between
/// characters; half a call is no call and is left out.
pub(crate) fn cut_to(parts: Vec<Part>, tokens_max: u32) -> (Vec<Part>, bool) {
    let mut room = BYTES_PER_TOKEN.saturating_mul(usize::try_from(tokens_max).unwrap_or(usize::MAX));
    let mut kept = Vec::new();
    for part in parts {
        let bytes = bytes_of(&part);
        if bytes <= room {
            room -= bytes;
            kept.push(part);
            continue;
        }
        if let Part::Text(text) = part {
            let end = text.floor_char_boundary(room);
            kept.extend(
                text.get(..end).filter(|text| !text.is_empty()).map(|text| Part::Text(text.to_owned())),
            );
        }
        return (kept, true);
    }
    (kept, false)
}

fn bytes_of(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Call(call) => call.name.len() + call.input.to_string().len(),
        Part::Outcome(outcome) => outcome.output.to_string().len(),
    }
}

fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::talk::Call;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn call() -> Part {
        Part::Call(Call { id: "call-1".to_owned(), name: "tool".to_owned(), input: json!({"a": 1}) })
    }

    #[test]
    fn four_bytes_are_a_token_and_part_of_one_is_a_whole() {
        assert_eq!(output_tokens(&[]), 0);
        assert_eq!(output_tokens(&[text("abcd")]), 1);
        assert_eq!(output_tokens(&[text("abcd"), text("é")]), 2);
        assert_eq!(output_tokens(&[call()]), 3); // `tool` and `{"a":1}`
    }

    #[test]
    fn a_response_ends_where_its_limit_is() {
        assert_eq!(cut_to(vec![text("abcd")], 1), (vec![text("abcd")], false));
        assert_eq!(cut_to(vec![text("abcde"), call()], 1), (vec![text("abcd")], true));
        assert_eq!(cut_to(vec![text("abcé")], 1), (vec![text("abc")], true));
        assert_eq!(cut_to(vec![text("abcd"), call()], 2), (vec![text("abcd")], true));
        assert_eq!(cut_to(vec![text("abcd")], 0), (vec![], true));
    }

    proptest! {
        #[test]
        fn no_response_is_longer_than_its_limit(texts in proptest::collection::vec("\\PC{0,20}", 0..8), max in 0u32..30) {
            let parts: Vec<Part> = texts.iter().map(|t| text(t)).collect();
            let (kept, cut) = cut_to(parts.clone(), max);
            prop_assert!(output_tokens(&kept) <= u64::from(max));
            prop_assert_eq!(cut, kept != parts);
        }
    }
}
