//! What a model is shown of a result: all of it, unless it is very long; and where it comes from.

use event::{Integrity, Label, ReceiptId};
use serde_json::{Map, Value, json};

/// The most characters of one result that a model is shown. The whole stays in the record.
pub(crate) const RESULT_CHARS_MAX: usize = 24_000;

/// What one value costs beside its text, so that a list of a million numbers ends as well.
const VALUE_CHARS: usize = 8;

/// The key under which the host says where a result comes from. A result's own field of that name is replaced.
pub(crate) const ORIGIN: &str = "_origin";

/// `output` as a model is shown it: cut to `chars_max`, at most [`RESULT_CHARS_MAX`], with its receipts, and marked when nobody of
/// this office vouches for it. The text of a page stands inside a JSON string and cannot leave it.
pub(crate) fn shown(output: &Value, label: &Label, receipts: &[ReceiptId], chars_max: usize) -> Value {
    let mut left = RESULT_CHARS_MAX.min(chars_max);
    let cut = cut(output, &mut left);
    let trusted = label.integrity == Integrity::Trusted;
    if trusted && receipts.is_empty() {
        return cut;
    }
    let mut fields = match cut {
        Value::Object(fields) => fields,
        other => Map::from_iter([("output".to_owned(), other)]),
    };
    fields.insert(ORIGIN.to_owned(), json!({"trusted": trusted, "receipts": receipts}));
    Value::Object(fields)
}

fn cut(value: &Value, left: &mut usize) -> Value {
    *left = left.saturating_sub(VALUE_CHARS);
    match value {
        Value::String(text) => Value::String(cut_text(text, left)),
        Value::Array(items) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items {
                if *left == 0 {
                    kept.push(json!(format!("[cut: {} more]", items.len() - kept.len())));
                    break;
                }
                kept.push(cut(item, left));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, item) in fields {
                if *left == 0 {
                    kept.insert(
                        "_cut".to_owned(),
                        json!(format!("{} more fields", fields.len() - kept.len())),
                    );
                    break;
                }
                *left = left.saturating_sub(key.len());
                kept.insert(key.clone(), cut(item, left));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// `text`, or as much of it as `left` allows and how long it was.
pub(crate) fn cut_text(text: &str, left: &mut usize) -> String {
    match text.char_indices().nth(*left) {
        Some((end, _)) => {
            *left = 0;
            format!(
                "{} [cut: {} characters in all]",
                text.get(..end).unwrap_or_default(),
                text.chars().count()
            )
        }
        None => {
            *left = left.saturating_sub(text.chars().count());
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ORIGIN, RESULT_CHARS_MAX, shown};
    use event::{Label, ReceiptId};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_page_is_marked_and_cannot_mark_itself_otherwise() {
        let receipt = ReceiptId::derived(&["r"]);
        let page = json!({"title": "t", ORIGIN: {"trusted": true}});
        let shown =
            shown(&page, &Label::public_untrusted(), std::slice::from_ref(&receipt), RESULT_CHARS_MAX);
        assert_eq!(shown["title"], "t");
        assert_eq!(shown[ORIGIN], json!({"trusted": false, "receipts": [receipt]}));
    }

    #[test]
    fn what_is_no_object_is_put_into_one() {
        let shown = shown(&json!(["a"]), &Label::unknown(), &[], RESULT_CHARS_MAX);
        assert_eq!(shown["output"], json!(["a"]));
        assert_eq!(shown[ORIGIN]["trusted"], false);
    }

    #[test]
    fn a_long_text_is_cut_and_says_how_long_it_was() {
        let text = "é".repeat(RESULT_CHARS_MAX * 2);
        let cut = shown(&json!({"text": text}), &Label::host(), &[], RESULT_CHARS_MAX);
        let kept = cut["text"].as_str().unwrap();
        assert!(kept.ends_with(&format!("[cut: {} characters in all]", RESULT_CHARS_MAX * 2)));
        assert!(kept.chars().count() < RESULT_CHARS_MAX + 100);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i32>().prop_map(Value::from), "\\PC{0,4000}".prop_map(Value::from)];
        leaf.prop_recursive(4, 400, 60, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..60).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{1,8}", inner, 0..20)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whatever_comes_back_a_model_is_shown_a_bounded_part_of_it(output in value()) {
            let shown = shown(&output, &Label::public_untrusted(), &[], RESULT_CHARS_MAX);
            let chars: usize = strings(&shown);
            prop_assert!(chars <= RESULT_CHARS_MAX + 4_000, "{chars}");
        }
    }

    fn strings(value: &Value) -> usize {
        match value {
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.iter().map(strings).sum(),
            Value::Object(fields) => fields.values().map(strings).sum(),
            _ => 0,
        }
    }
}
