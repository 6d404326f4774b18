//! Where two sets differ: in their texts, and in what they answer.
//!
//! Always holds: a request is compared as both sets decide it whole, errors and all. Deliberately absent: where the
//! requests come from; see [`super::space`] and the record.

use super::question::Question;
use super::{Decision, Outline, PolicySet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many examples of a difference are kept; the rest are counted.
pub const EXAMPLES_MAX: usize = 10;

/// What differs in the texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextDiff {
    /// Policies of the new set alone.
    pub added: Vec<Arc<Outline>>,
    /// Policies of the old set alone.
    pub removed: Vec<Arc<Outline>>,
    /// Policies of both that say something else: the new one.
    pub changed: Vec<Arc<Outline>>,
}

/// A request that the two sets answer differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// The request.
    pub question: Question,
    /// Where it comes from, such as a case or a call.
    pub from: String,
    /// What the old set says.
    pub old: Decision,
    /// What the new set says.
    pub new: Decision,
}

/// What came of putting requests to both sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerDiff {
    /// Requests put.
    pub asked: usize,
    /// Those denied before and allowed now.
    pub newly_allowed: usize,
    /// Those allowed before and denied now.
    pub newly_denied: usize,
    /// Examples of the former.
    pub allowed: Vec<Differs>,
    /// Examples of the latter.
    pub denied: Vec<Differs>,
}

impl PolicySet {
    /// What differs in the texts of this set and `new`, comments and layout aside.
    #[must_use]
    pub fn text_diff(&self, new: &Self) -> TextDiff {
        let named = |set: &Self| -> BTreeMap<String, (Arc<Outline>, serde_json::Value)> {
            let each = set.read.iter();
            each.map(|read| (read.outline.id.clone(), (read.outline.clone(), read.written.clone()))).collect()
        };
        let (before, after) = (named(self), named(new));
        let mut diff = TextDiff::default();
        for (id, (outline, written)) in &after {
            match before.get(id) {
                None => diff.added.push(outline.clone()),
                Some((_, then)) if then != written => diff.changed.push(outline.clone()),
                Some(_) => {}
            }
        }
        let gone = before.iter().filter(|(id, _)| !after.contains_key(*id));
        diff.removed.extend(gone.map(|(_, (outline, _))| outline.clone()));
        diff
    }
}

impl AnswerDiff {
    /// Puts one request to both sets.
    pub fn put(&mut self, old: &PolicySet, new: &PolicySet, question: &Question, from: &str) {
        self.asked += 1;
        let (then, now) = (question.decided_by(old), question.decided_by(new));
        let (count, examples) = match (then.allowed, now.allowed) {
            (false, true) => (&mut self.newly_allowed, &mut self.allowed),
            (true, false) => (&mut self.newly_denied, &mut self.denied),
            _ => return,
        };
        *count += 1;
        // One example of each pair of deciding policies says more than ten of one.
        let seen = |one: &Differs| one.new.policies == now.policies && one.old.policies == then.policies;
        let alike = examples.iter().filter(|one| seen(one) && one.question.tool == question.tool).count();
        if examples.len() < EXAMPLES_MAX && alike == 0 {
            examples.push(Differs { question: question.clone(), from: from.to_owned(), old: then, new: now });
        }
    }

    /// Puts every case of both sets.
    pub fn put_cases(&mut self, old: &PolicySet, new: &PolicySet) {
        for case in old.cases().iter().chain(new.cases().iter().filter(|case| !old.cases().contains(case))) {
            self.put(old, new, &case.question(), &format!("case {}", case.name()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerDiff;
    use crate::policy::tests::{load_files, shipped, shipped_files, shipped_texts, text};
    use crate::policy::{QUESTIONS_MAX, questions};

    #[test]
    fn a_permit_for_another_role_is_found_to_allow_and_a_forbid_to_deny() {
        let old = shipped();
        let mut files = shipped_texts();
        files.push(text(
            "more.cedar",
            "@id(\"guest-posts\") permit (principal in Role::\"guest\", action == Action::\"slack.post\", resource);
             @id(\"no-links\") forbid (principal, action == Action::\"slack.post\", resource)
             when { context.input.text like \"*http*\" };",
        ));
        let new = load_files(&files).unwrap();
        let mut diff = AnswerDiff::default();
        for question in questions(&old, &new, &[], QUESTIONS_MAX / 4) {
            diff.put(&old, &new, &question, "made up");
        }
        let by = |found: &[super::Differs]| {
            found.iter().flat_map(|one| one.new.policies.clone()).collect::<Vec<_>>()
        };
        assert_eq!(by(&diff.allowed), ["guest-posts"]);
        assert!(by(&diff.denied).contains(&"no-links".to_owned()), "{:?}", diff.denied);
        let texts = old.text_diff(&new);
        let ids: Vec<&str> = texts.added.iter().map(|outline| outline.id.as_str()).collect();
        assert_eq!((ids, texts.removed.len(), texts.changed.len()), (vec!["guest-posts", "no-links"], 0, 0));
    }

    #[test]
    fn a_set_against_itself_differs_nowhere() {
        let set = load_files(&shipped_files()).unwrap();
        let mut diff = AnswerDiff::default();
        diff.put_cases(&set, &set);
        assert_eq!(questions(&set, &set, &[], 500), [], "there is nothing to ask");
        assert_eq!((diff.newly_allowed, diff.newly_denied), (0, 0));
        assert!(diff.asked > 20);
    }
}
