//! Names of tools as a provider takes them. The office's have a dot (`web.fetch`); providers take letters, digits, `_`
//! and `-`, up to some length. Within one request no two tools have one name, and each leads back to its own.

use super::{Offer, Part, Request};
use std::collections::BTreeMap;

/// The names of one request.
#[derive(Debug, Default)]
pub struct Names {
    theirs: BTreeMap<String, String>,
    ours: BTreeMap<String, String>,
    /// Calls that were made before this request.
    calls: usize,
}

impl Names {
    /// Names for every tool on offer and every tool that was called before, each at most `bytes_max` long.
    #[must_use]
    pub fn of(request: &Request, bytes_max: usize) -> Self {
        let mut names = Self::default();
        request.tools.iter().for_each(|Offer { name, .. }| names.add(name, bytes_max));
        for part in request.messages.iter().flat_map(|message| &message.parts) {
            if let Part::Call(call) = part {
                names.add(&call.name, bytes_max);
                names.calls += 1;
            }
        }
        names
    }

    fn add(&mut self, ours: &str, bytes_max: usize) {
        if self.theirs.contains_key(ours) {
            return;
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
        let stem: String = ours.chars().map(plain).take(bytes_max).collect();
        let stem = if stem.is_empty() { "_".to_owned() } else { stem };
        // Ends because there are finitely many names before this one.
        let numbered = |n: usize| {
            let end = format!("_{n}");
            let kept = stem.get(..stem.len().min(bytes_max.saturating_sub(end.len()))).unwrap_or_default();
            format!("{kept}{end}")
        };
        let free = |name: &String| !self.ours.contains_key(name);
        let theirs = std::iter::once(stem.clone()).chain((2..).map(numbered)).find(free).unwrap_or_default();
        self.ours.insert(theirs.clone(), ours.to_owned());
        self.theirs.insert(ours.to_owned(), theirs);
    }

    /// An id for the call at `place` of an answer whose provider gives none: no other of the conversation has it.
    #[must_use]
    pub fn id(&self, place: usize) -> String {
        format!("call_{}", self.calls + place + 1)
    }

    /// The provider's name of one of our tools.
    #[must_use]
    pub fn theirs<'n>(&'n self, ours: &'n str) -> &'n str {
        self.theirs.get(ours).map_or(ours, String::as_str)
    }

    /// Our name of a tool that the model called. A name nobody offered stays as it is: the host says no to it.
    #[must_use]
    pub fn ours(&self, theirs: &str) -> String {
        self.ours.get(theirs).cloned().unwrap_or_else(|| theirs.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(offers: &[&str], bytes_max: usize) -> Names {
        let offer = |name: &&str| Offer {
            name: (*name).to_owned(),
            description: String::new(),
            input_schema: "{}".to_owned(),
        };
        Names::of(&Request { tools: offers.iter().map(offer).collect(), ..Request::default() }, bytes_max)
    }

    #[test]
    fn a_dot_becomes_a_line_and_leads_back() {
        let names = names(&["web.fetch", "finish", "web_fetch"], 64);
        assert_eq!(names.theirs("web.fetch"), "web_fetch");
        assert_eq!(names.theirs("web_fetch"), "web_fetch_2");
        assert_eq!(names.ours("web_fetch_2"), "web_fetch");
        assert_eq!(names.ours("finish"), "finish");
        assert_eq!(names.ours("never_offered"), "never_offered");
    }

    proptest! {
        #[test]
        fn every_name_is_one_a_provider_takes_and_leads_back_to_its_own(offers in prop::collection::vec("[a-c._ö]{0,6}", 0..12)) {
            let offers: Vec<&str> = offers.iter().map(String::as_str).collect();
            let names = names(&offers, 4);
            for ours in offers {
                let theirs = names.theirs(ours);
                prop_assert!((1..=4).contains(&theirs.len()), "{theirs}");
                prop_assert!(theirs.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{theirs}");
                prop_assert_eq!(names.ours(theirs), ours);
            }
        }
    }
}
