//! How the office behaves where people talk, as the operator says it: which messages are weighed, in which mode each
//! channel is, by which names it is called.

use crate::readable::readable;
use event::Mode;
use std::collections::{BTreeMap, BTreeSet};

/// How the office behaves where people talk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Whether messages that nobody addressed to the office are weighed by a model.
    pub weighs: bool,
    /// Whether those that address it are weighed first too, so that a light one gets an emoji.
    pub weighs_asked: bool,
    /// The mode of a channel that has none of its own.
    pub mode: Mode,
    /// Modes by channel, `C1` or `T1:C1`; what the record says of a channel comes before.
    pub channels: BTreeMap<String, Mode>,
    /// Names that wake it when they are called.
    pub names: Vec<String>,
    /// Words that ask for a drill when they stand before a colon at the beginning.
    pub drills: Vec<String>,
    /// Emoji that mute a thread.
    pub mutes: BTreeSet<String>,
    /// How often in a row a program may get it to speak in a thread, without a person in between; 0 is never.
    pub hops_max: u32,
}

impl Manner {
    /// The mode of `channel` (`T1:C1`); `set` is what the record says of it.
    #[must_use]
    pub fn mode_of(&self, channel: &str, set: Option<Mode>) -> Mode {
        let alone = channel.split_once(':').map_or(channel, |(_, alone)| alone);
        let configured = || self.channels.get(channel).or_else(|| self.channels.get(alone)).copied();
        set.or_else(configured).unwrap_or(self.mode)
    }

    /// Whether `text` calls the office by a name: it begins with the name and then breaks off, or ends with it after
    /// a comma. A name in the middle of a sentence speaks *of* the office. No word of any language is looked at.
    #[must_use]
    pub fn is_called(&self, text: &str) -> bool {
        self.names.iter().any(|name| calls(text, name))
    }
}

impl Manner {
    /// Whether a message, in its source's notation, asks for a drill: one of the words and a colon, at its beginning or
    /// right behind a mention there.
    #[must_use]
    pub fn asks_a_drill(&self, text: &str) -> bool {
        let text = text.trim_start();
        let text = match crate::notation::leads_with(text) {
            Some(_) => text.split_once('>').map_or(text, |(_, rest)| rest),
            None => text,
        };
        let text = readable(text).trim_start_matches([',', ':', ' ', '\u{a0}']).to_lowercase();
        self.drills.iter().map(|word| word.trim().to_lowercase()).any(|word| {
            let rest = text.strip_prefix(&word).filter(|_| !word.is_empty()).unwrap_or_default();
            rest.trim_start().starts_with([':', '：'])
        })
    }
}

/// What sets a call apart from the sentence, in the scripts that have such a mark.
const BREAKS: &[char] = &[
    ',', ':', ';', '!', '?', '.', '-', '–', '—', '…', '\n', '،', '؟', '、', '，', '！', '？', '：', '。', '।',
];
/// What stands before a name at the end.
const COMMAS: &[char] = &[',', '،', '、', '，', '-', '–', '—', '…', ':'];
/// What may follow a name at the end.
const ENDS: &[char] = &['?', '!', '.', '…', '؟', '？', '！', '。', '।', ')'];

fn calls(text: &str, name: &str) -> bool {
    let (text, name) = (text.trim().to_lowercase(), name.trim().to_lowercase());
    if name.is_empty() {
        return false;
    }
    let at_start = text.strip_prefix(&name).is_some_and(|rest| {
        let rest = rest.trim_start_matches([' ', '\u{a0}']);
        rest.is_empty() || rest.starts_with(BREAKS)
    });
    let before = text.trim_end_matches(ENDS).trim_end().strip_suffix(&name);
    at_start || before.is_some_and(|before| before.trim_end_matches([' ', '\u{a0}']).ends_with(COMMAS))
}

#[cfg(test)]
mod tests {
    use super::Manner;
    use event::Mode;

    fn manner() -> Manner {
        Manner { names: vec!["Chancery".into(), "書記".into()], ..Manner::default() }
    }

    #[test]
    fn a_name_is_a_call_where_the_sentence_breaks_and_in_any_language() {
        for text in [
            "Chancery, what is on today?",
            "chancery: status",
            "CHANCERY — bitte prüfen",
            "Chancery",
            "chancery?",
            "kannst du das prüfen, Chancery?",
            "что нового, chancery?",
            "書記、状況は？",
            "هل يمكنك التحقق، chancery؟",
        ] {
            assert!(manner().is_called(text), "{text}");
        }
        for text in [
            "the Chancery is down",
            "Chancery is down again",
            "Chancery's page",
            "chanceryx, hello",
            "I asked Chancery",
            "we like chancery a lot, really",
            "",
            ", ?",
        ] {
            assert!(!manner().is_called(text), "{text}");
        }
        assert!(!Manner { names: vec![String::new()], ..Manner::default() }.is_called(", hello"));
    }

    #[test]
    fn a_drill_is_asked_for_by_a_word_and_a_colon_and_by_nothing_else() {
        let manner = Manner { drills: vec!["drill".into(), "exercice".into()], ..Manner::default() };
        for text in
            ["drill: erase it", "<@U0BOT> Drill : erase it", " <@U0BOT>, drill: x", "Exercice : efface"]
        {
            assert!(manner.asks_a_drill(text), "{text}");
        }
        for text in
            ["drill erase it", "the drill: is on", "<@U0BOT> erase it, drill: no", "drills: x", "", ":"]
        {
            assert!(!manner.asks_a_drill(text), "{text}");
        }
        assert!(!Manner { drills: vec![" ".into()], ..Manner::default() }.asks_a_drill(": x"));
    }

    #[test]
    fn the_record_comes_before_the_file_and_the_file_before_the_default() {
        let manner = Manner {
            mode: Mode::Reserved,
            channels: [("C1".to_owned(), Mode::Eager), ("T2:C1".to_owned(), Mode::Quiet)].into(),
            ..Manner::default()
        };
        assert_eq!(manner.mode_of("T1:C1", None), Mode::Eager);
        assert_eq!(manner.mode_of("T2:C1", None), Mode::Quiet);
        assert_eq!(manner.mode_of("T1:C9", None), Mode::Reserved);
        assert_eq!(manner.mode_of("T1:C1", Some(Mode::Proactive)), Mode::Proactive);
    }
}
