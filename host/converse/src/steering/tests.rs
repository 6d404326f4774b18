//! What messages into a running turn ask, language by language.

use super::words::{ACKNOWLEDGEMENTS, CORRECTIONS_FIRST, STOPS};
use super::{allowed, steering};
use event::Steering;
use proptest::prelude::*;

/// Said as people say it; at least one case for every language that is known.
const STOP: &[&str] = &[
    "stop",
    "STOP!!!",
    "Stop.",
    "stop stop stop",
    "please stop",
    "ok stop now please",
    "no, stop",
    "Can you stop?",
    "never mind",
    "nvm",
    "forget it, thanks",
    "cancel that",
    "ｓｔｏｐ",
    "stop 🛑",
    "Stopp!",
    "hör auf",
    "Bitte abbrechen",
    "vergiss es",
    "Arrête !",
    "arrete",
    "laissez tomber svp",
    "s’il te plaît arrête",
    "¡Para!",
    "basta ya",
    "déjalo, gracias",
    "Pare, por favor",
    "deixa pra lá",
    "Fermati!",
    "lascia perdere",
    "laat maar",
    "hou op",
    "przestań",
    "dosc",
    "zastav se",
    "sluta",
    "glöm det",
    "hold op",
    "slutt",
    "lopeta",
    "DUR!",
    "İptal et",
    "birak",
    "стоп",
    "Остановись, пожалуйста",
    "хватит",
    "зупинись",
    "σταμάτα",
    "ΣΤΟΠ",
    "dừng lại",
    "berhenti",
    "रुको",
    "बंद करो",
    "توقف",
    "توقف من فضلك",
    "עצור",
    "やめて",
    "中止してください",
    "ストップ！",
    "停",
    "请停止",
    "算了吧",
    "取消。",
    "그만",
    "취소해줘",
    "หยุด",
];

/// They hold a stop word and stop nothing.
const NO_STOP: &[&str] = &[
    "stop words are listed in the appendix",
    "don't stop",
    "which bus stop is near the office?",
    "when does it stop?",
    "please stop the deployment of the old version and start the new one",
    "the full stop is missing",
    "cancelled yet?",
    "hör nicht auf",
    "para mañana también",
    "para que sepas, el cliente llamó",
    "n'arrête pas",
    "no pares",
    "pare de fumar é o título",
    "basta un esempio",
    "не останавливайся",
    "停车场在哪里？",
    "バス停はどこですか",
    "정지 버튼은 어디에 있나요?",
    "halt the presses is the title",
    "It's a basta-style pasta",
    "هل توقف المطر؟",
    "stop, look and listen is the title",
];

#[test]
fn a_bare_stop_stops_in_every_language_that_is_known() {
    for said in STOP {
        assert_eq!(steering(said).0, Steering::Stop, "{said}");
    }
    assert!(STOPS.len() >= 10, "{} languages", STOPS.len());
    for (language, phrases) in STOPS {
        for phrase in *phrases {
            assert_eq!(steering(phrase).0, Steering::Stop, "{language}: {phrase}");
            assert_eq!(
                steering(&phrase.to_uppercase()).0,
                Steering::Stop,
                "{language}: {phrase} in capitals"
            );
        }
    }
}

#[test]
fn a_stop_word_among_others_stops_nothing() {
    for said in NO_STOP {
        assert_ne!(steering(said).0, Steering::Stop, "{said}");
    }
}

#[test]
fn a_correction_replaces_and_thanks_are_ignored() {
    for said in [
        "actually, look at the other page",
        "Correction: the second table",
        "look at http://b.example instead",
        "no wait, the other one",
        "Nein, ich meinte die zweite",
        "En fait, la deuxième",
        "quise decir la otra",
        "na verdade, a outra",
        "volevo dire l'altra",
        "ik bedoelde de tweede",
        "я имел в виду другую",
        "更正：第二个",
        "訂正：二つ目",
        "istället den andra",
        "замена: вместо этого второй",
    ] {
        assert_eq!(steering(said), (Steering::Replace, "correction"), "{said}");
    }
    for said in ["thanks!", "ok", "Danke", "merci beaucoup", "了解です", "👍", ":tada: :+1:", "", "спасибо"]
    {
        assert_eq!(steering(said).0, Steering::Ignore, "{said}");
    }
    for said in [
        "the figure is in euros",
        "it is about the second quarter",
        "thanks, and mind the euros",
        "ok for who?",
    ] {
        assert_eq!(steering(said), (Steering::Append, "said"), "{said}");
    }
    for (_, phrases) in ACKNOWLEDGEMENTS {
        phrases.iter().for_each(|said| assert_eq!(steering(said).0, Steering::Ignore, "{said}"));
    }
    for (_, phrases) in CORRECTIONS_FIRST {
        let led = |phrase: &&str| format!("{phrase} x9");
        phrases.iter().map(led).for_each(|said| assert_eq!(steering(&said).0, Steering::Replace, "{said}"));
    }
}

#[test]
fn who_may_not_stop_is_heard_all_the_same() {
    assert_eq!(allowed(steering("stop"), false), (Steering::Append, "not-asker"));
    assert_eq!(allowed(steering("actually, no"), false), (Steering::Append, "not-asker"));
    assert_eq!(allowed(steering("stop"), true), (Steering::Stop, "stop-word"));
    assert_eq!(allowed(steering("thanks"), false).0, Steering::Ignore);
}

proptest! {
    /// Whatever is said, it does one thing, and a long text never stops.
    #[test]
    fn a_long_message_never_stops(text in "\\PC{0,60}", more in "[a-z ]{81,120}x") {
        let _ = steering(&text);
        prop_assert_ne!(steering(&format!("{text}{more}")).0, Steering::Stop);
    }
}
