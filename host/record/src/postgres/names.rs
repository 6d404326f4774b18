//! Names from outside as PostgreSQL can keep them: its text holds every character but the zero byte.
//!
//! The zero byte is written 01 01 and the byte 01 is written 01 02, so every name has one way to be written, names
//! without these two bytes are written as they are, and the order of names by their bytes stays what it was.

use std::borrow::Cow;

/// `name` as it is written.
pub(super) fn kept(name: &str) -> Cow<'_, str> {
    if !name.contains(['\0', '\u{1}']) {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len() + 2);
    for each in name.chars() {
        match each {
            '\0' => text.push_str("\u{1}\u{1}"),
            '\u{1}' => text.push_str("\u{1}\u{2}"),
            other => text.push(other),
        }
    }
    Cow::Owned(text)
}

/// The name that is written as `text`. What [`kept`] never writes gets the mark of the unreadable, which matches
/// no chain.
pub(super) fn named(text: String) -> String {
    if !text.contains('\u{1}') {
        return text;
    }
    let mut name = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(each) = rest.next() {
        name.push(match each {
            '\u{1}' => match rest.next() {
                Some('\u{1}') => '\0',
                Some('\u{2}') => '\u{1}',
                _ => char::REPLACEMENT_CHARACTER,
            },
            other => other,
        });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{kept, named};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_comes_back_and_keeps_its_place_in_the_order(a in "[\0\u{1}\u{2}ab]{0,6}", b in "[\0\u{1}\u{2}ab]{0,6}") {
            prop_assert_eq!(named(kept(&a).into_owned()), a.clone());
            prop_assert!(!kept(&a).contains('\0'));
            prop_assert_eq!(kept(&a).as_ref().cmp(kept(&b).as_ref()), a.as_str().cmp(b.as_str()));
        }
    }

    #[test]
    fn text_that_no_name_is_written_as_does_not_pass_for_one() {
        assert_eq!(named("a\u{1}b".into()), "a\u{fffd}");
        assert_eq!(named("a\u{1}".into()), "a\u{fffd}");
    }
}
