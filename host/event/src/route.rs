//! Which paths a route is for: everything below one, or exactly one.
//!
//! A path is compared as it is sent, in its normal form: without dot segments, without its query.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What stands for one segment of a whole path.
const ONE: &str = "*";
/// What stands, as the last segment of a whole path, for one segment or more.
const REST: &str = "**";

/// The paths of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RoutePath {
    /// What the path begins with, by whole segments: `/v1` is for `/v1` and `/v1/x` and not for `/v10`; one that ends
    /// with `/` is for what is below it alone, and `/` for every path.
    #[serde(rename = "path_prefix")]
    Below(String),
    /// The whole path, and no other. `*` stands for one segment that is not empty and that no server can take for two,
    /// `**` at the end for one segment or more.
    #[serde(rename = "path")]
    Whole(String),
}

impl RoutePath {
    /// Every path.
    #[must_use]
    pub fn every() -> Self {
        Self::Below("/".to_owned())
    }

    /// As it is written in a manifest.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Below(text) | Self::Whole(text) => text,
        }
    }

    /// Whether it is for `path`.
    #[must_use]
    pub fn holds(&self, path: &str) -> bool {
        match self {
            Self::Below(prefix) => is_below(path, prefix),
            Self::Whole(whole) => whole.starts_with('/') && fits(whole, path, is_one_segment),
        }
    }

    /// Whether every path that `inner` is for is one that it is for.
    #[must_use]
    pub fn covers(&self, inner: &Self) -> bool {
        match (self, inner) {
            (Self::Below(outer), Self::Below(inner)) => is_below(inner, outer),
            (Self::Below(outer), Self::Whole(inner)) => is_below(literal(inner), outer),
            (Self::Whole(_), Self::Below(_)) => false,
            (Self::Whole(outer), Self::Whole(inner)) => {
                let narrower = |segment: &str| segment == ONE || is_one_segment(segment);
                // What ends with `**` has more ways than one segment has.
                let rest = |text: &str| text.rsplit('/').next() == Some(REST);
                (!rest(inner) || rest(outer)) && fits(outer, inner, narrower)
            }
        }
    }

    /// Whether it names `path` and nothing else that a request could ask for by its way of writing.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        match self {
            Self::Below(prefix) => !prefix.ends_with('/') && prefix == path,
            Self::Whole(whole) => literal(whole).len() == whole.len() && whole == path,
        }
    }

    /// How much of a path it says, in bytes: of two that are for one path the one that says more is the more particular,
    /// and of two that say as much the whole one.
    #[must_use]
    pub fn particular(&self) -> (usize, bool) {
        match self {
            Self::Below(prefix) => (prefix.len(), false),
            Self::Whole(whole) => (whole.bytes().filter(|byte| *byte != b'*').count(), true),
        }
    }

    /// That a request could go by it.
    ///
    /// # Errors
    /// What is wrong with it, after its name.
    pub fn check(&self) -> Result<(), &'static str> {
        let text = self.text();
        if !text.starts_with('/') {
            return Err("starts with `/`");
        }
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '\\');
        if !text.chars().all(plain) {
            return Err("is a path in plain characters, without query or fragment");
        }
        if text.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err("has no segment `.` or `..`");
        }
        let Self::Whole(whole) = self else { return Ok(()) };
        let segments: Vec<&str> = whole.split('/').collect();
        let last = segments.len() - 1;
        let wild = |(at, segment): (usize, &&str)| match *segment {
            ONE => true,
            REST => at == last,
            literal => !literal.contains('*'),
        };
        if segments.iter().enumerate().all(wild) {
            Ok(())
        } else {
            Err("has `*` for one whole segment, and `**` for the last alone")
        }
    }
}

/// As people read it.
impl fmt::Display for RoutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())?;
        match self {
            Self::Below(prefix) if prefix.ends_with('/') => f.write_str("…"),
            Self::Below(_) => f.write_str(" and below"),
            Self::Whole(_) => Ok(()),
        }
    }
}

/// Whether `path` is `prefix` or below it, by whole segments.
fn is_below(path: &str, prefix: &str) -> bool {
    let below = |rest: &str| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/');
    prefix.starts_with('/') && path.strip_prefix(prefix).is_some_and(below)
}

/// Whether `path` has the segments of `whole`, where `one` says what `*` stands for.
fn fits(whole: &str, path: &str, one: impl Fn(&str) -> bool) -> bool {
    let (mut wanted, mut found) = (whole.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(REST), Some(segment)) => return !segment.is_empty(),
            (Some(ONE), Some(segment)) if one(segment) => {}
            (Some(literal), Some(segment)) if literal == segment && literal != ONE => {}
            _ => return false,
        }
    }
}

/// Whether `segment` is one, also for a server that decodes it, however often.
fn is_one_segment(segment: &str) -> bool {
    let lower = segment.to_ascii_lowercase();
    // Marks that end or split a path for somebody: as they are, or as a server may find them once it has decoded.
    let marks = ["%2f", "%5c", "%25", "%3b", "%3f", "%23", "%7f", "\\", ";", "?", "#"];
    let splits =
        marks.iter().any(|part| lower.contains(part)) || ["%0", "%1"].iter().any(|c| lower.contains(c));
    !segment.is_empty() && !splits && !matches!(segment, "." | ".." | ONE | REST)
}

/// What stands before the first `*`.
fn literal(whole: &str) -> &str {
    whole.split('*').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::RoutePath;
    use proptest::prelude::*;
    use serde_json::json;

    fn below(text: &str) -> RoutePath {
        RoutePath::Below(text.to_owned())
    }

    fn whole(text: &str) -> RoutePath {
        RoutePath::Whole(text.to_owned())
    }

    #[test]
    fn a_whole_path_is_for_that_path_and_nothing_near_it() {
        let drafts = whole("/me/drafts");
        assert!(drafts.holds("/me/drafts"));
        for near in [
            "/me/drafts/",
            "/me/drafts/send",
            "/me/drafts%2Fsend",
            "/me/drafts%2fsend",
            "/me/draft",
            "/me/draftss",
            "/me//drafts",
            "/ME/drafts",
            "/me/drafts;x",
            "/me",
            "",
        ] {
            assert!(!drafts.holds(near), "{near}");
        }
    }

    #[test]
    fn a_star_stands_for_one_segment_whoever_decodes_it() {
        let comments = whole("/repos/*/*/issues/*/comments");
        assert!(comments.holds("/repos/acme/site/issues/7/comments"));
        for near in [
            "/repos/acme/site/issues/7/comments/",
            "/repos/acme/site/issues/7/8/comments",
            "/repos/acme/site/issues//comments",
            "/repos/acme/site/issues/7%2F8/comments",
            "/repos/acme/site/issues/7%5c8/comments",
            "/repos/acme/site/issues/7%252F8/comments",
            "/repos/acme/site/issues/7;8/comments",
            "/repos/acme/site/issues/7%3B8/comments",
            "/repos/acme/site/issues/7%3fx/comments",
            "/repos/acme/site/issues/7%23x/comments",
            "/repos/acme/site/issues/7%00/comments",
            "/repos/acme/site/issues/7%0Ax/comments",
            "/repos/acme/issues/7/comments",
            "/repos/acme/site/pulls/7/comments",
        ] {
            assert!(!comments.holds(near), "{near}");
        }
        let contents = whole("/repos/*/*/contents/**");
        assert!(contents.holds("/repos/a/b/contents/docs/x.md") && contents.holds("/repos/a/b/contents/x"));
        for near in ["/repos/a/b/contents", "/repos/a/b/contents/", "/repos/a/contents/x"] {
            assert!(!contents.holds(near), "{near}");
        }
    }

    #[test]
    fn old_facts_say_what_a_path_begins_with_and_stay_as_they_are() {
        let old = json!({"path_prefix": "/v1"});
        let read: RoutePath = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(read, below("/v1"));
        assert_eq!(serde_json::to_value(read).unwrap(), old);
        assert_eq!(serde_json::to_value(whole("/v1")).unwrap(), json!({"path": "/v1"}));
    }

    #[test]
    fn a_path_that_no_request_could_ask_for_is_none() {
        for path in
            [below("/"), below("/v1/"), whole("/v1"), whole("/a/*/b"), whole("/a/**"), whole("/a%20b")]
        {
            assert_eq!(path.check(), Ok(()), "{path:?}");
        }
        for path in [
            below("v1"),
            below(""),
            below("/a?b"),
            whole("/a b"),
            whole("/a/../b"),
            whole("/a/*b"),
            whole("/a/**/b"),
            whole("/a/***"),
            whole("/a#b"),
        ] {
            assert!(path.check().is_err(), "{path:?}");
        }
    }

    fn any_path() -> impl Strategy<Value = RoutePath> {
        let text = "(/([ab]{1,2}|\\*)){1,3}(/|/\\*\\*)?";
        prop_oneof![text.prop_map(|text| whole(&text)), "(/[ab]{1,2}){0,3}/?".prop_map(|text| below(&text))]
    }

    proptest! {
        #[test]
        fn what_covers_another_is_for_all_that_the_other_is_for(
            outer in any_path(), inner in any_path(), path in "(/([ab]{0,2}|a%2fb|%2e|a;b)){1,5}",
        ) {
            if outer.covers(&inner) && inner.holds(&path) {
                prop_assert!(outer.holds(&path), "{outer:?} covers {inner:?}, and not {path}");
            }
            prop_assert!(inner.text().is_empty() || inner.covers(&inner), "{inner:?} covers itself");
        }

        #[test]
        fn a_path_is_below_a_prefix_exactly_when_its_segments_begin_with_the_prefixs(
            prefix in "(/[ab]{1,2}){1,3}",
            path in "(/[ab]{0,2}){1,4}",
        ) {
            let wanted: Vec<_> = prefix.split('/').collect();
            let begins = path.split('/').take(wanted.len()).eq(wanted);
            prop_assert_eq!(below(&prefix).holds(&path), begins);
        }

        #[test]
        fn what_names_a_path_is_for_no_other(path in any_path(), one in "(/[ab]{0,2}){1,4}", other in "(/[ab]{0,2}){1,4}") {
            if let RoutePath::Whole(_) = &path && path.names(&one) && one != other {
                prop_assert!(!path.holds(&other));
            }
        }
    }
}
