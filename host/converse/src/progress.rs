//! Whether a text that is meant as an answer only says that somebody is at work: "working on it" is no answer.
//!
//! By structure first: what is long, has lines, figures, addresses or a question is taken for an answer. Of what is
//! left, a text that begins as such sayings begin, in the languages of the table, is none.

use crate::steering::plain::{leads_with, plain};

/// The longest text that can be such a saying, in characters: whoever writes more says something.
const SAYING_CHARS_MAX: usize = 240;

/// How such sayings begin.
const SAYINGS: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "working on it",
            "i'm working on it",
            "i am working on it",
            "i'm working on this",
            "i am working on this",
            "still working on",
            "i'm still working",
            "on it",
            "i'm on it",
            "looking into it",
            "looking into this",
            "i'm looking into",
            "i am looking into",
            "i will look into",
            "i'll look into",
            "let me check",
            "let me look",
            "let me see",
            "i'll check",
            "i will check",
            "checking now",
            "one moment",
            "one second",
            "just a moment",
            "give me a moment",
            "give me a minute",
            "hold on",
            "please wait",
            "stand by",
            "i'll get back to you",
            "i will get back to you",
            "will get back to you",
            "i'll start",
            "i will start",
            "i'll begin",
            "i will now",
            "i'm going to",
            "i am going to",
        ],
    ),
    (
        "de",
        &[
            "ich arbeite daran",
            "ich bin dran",
            "bin dran",
            "ich schaue",
            "ich sehe nach",
            "ich prüfe",
            "ich kümmere mich",
            "einen moment",
            "einen augenblick",
            "moment bitte",
            "bitte warten",
            "ich melde mich",
            "in arbeit",
        ],
    ),
    (
        "fr",
        &[
            "je m'en occupe",
            "je travaille dessus",
            "j'y travaille",
            "je vais vérifier",
            "je vérifie",
            "je regarde",
            "un instant",
            "un moment",
            "une seconde",
            "je reviens vers vous",
            "je reviens vers toi",
            "en cours",
        ],
    ),
    (
        "es",
        &[
            "estoy en ello",
            "estoy trabajando",
            "trabajando en ello",
            "voy a revisar",
            "voy a comprobar",
            "lo estoy mirando",
            "déjame ver",
            "un momento",
            "dame un momento",
            "espera un momento",
            "en seguida",
            "en proceso",
        ],
    ),
    (
        "pt",
        &[
            "estou trabalhando",
            "trabalhando nisso",
            "vou verificar",
            "estou verificando",
            "um momento",
            "só um momento",
            "aguarde",
            "já volto",
            "em andamento",
        ],
    ),
    (
        "it",
        &[
            "ci sto lavorando",
            "sto lavorando",
            "sto controllando",
            "vado a controllare",
            "controllo subito",
            "un momento",
            "un attimo",
            "attendi",
            "in corso",
        ],
    ),
    (
        "nl",
        &[
            "ik ben ermee bezig",
            "ben ermee bezig",
            "ik kijk ernaar",
            "ik ga kijken",
            "een moment",
            "momentje",
            "even geduld",
        ],
    ),
    (
        "pl",
        &[
            "pracuję nad tym",
            "już sprawdzam",
            "sprawdzam",
            "sprawdzę",
            "chwileczkę",
            "chwila",
            "proszę czekać",
            "w toku",
        ],
    ),
    (
        "sv",
        &["jag jobbar på det", "jag arbetar på det", "jag kollar", "ett ögonblick", "vänta lite", "pågår"],
    ),
    (
        "tr",
        &[
            "üzerinde çalışıyorum",
            "bakıyorum",
            "kontrol ediyorum",
            "bir saniye",
            "bir dakika",
            "lütfen bekleyin",
        ],
    ),
    (
        "ru",
        &[
            "работаю над этим",
            "уже работаю",
            "сейчас проверю",
            "проверяю",
            "сейчас посмотрю",
            "минутку",
            "одну минуту",
            "секунду",
            "подождите",
            "в процессе",
        ],
    ),
    (
        "ja",
        &[
            "確認します",
            "確認しています",
            "ただいま確認",
            "調べています",
            "調べます",
            "対応中です",
            "作業中です",
            "少々お待ち",
            "お待ちください",
        ],
    ),
    (
        "zh",
        &[
            "正在处理",
            "正在查",
            "我正在",
            "稍等",
            "请稍等",
            "请稍候",
            "我来看看",
            "我去查",
            "我查一下",
            "處理中",
            "处理中",
        ],
    ),
    (
        "ko",
        &[
            "확인해 보겠습니다",
            "확인 중",
            "확인하고 있습니다",
            "작업 중",
            "처리 중",
            "잠시만",
            "잠깐만",
            "알아보겠습니다",
        ],
    ),
    ("ar", &["جاري العمل", "أعمل على", "سأتحقق", "لحظة", "انتظر", "دقيقة"]),
    ("hi", &["मैं इस पर काम कर रहा", "मैं देख रहा", "मैं देखती", "एक क्षण", "एक मिनट", "जाँच कर रहा", "कृपया प्रतीक्षा"]),
];

/// Whether `text` only says that somebody is at work.
#[must_use]
pub fn is_progress(text: &str) -> bool {
    let text = text.trim();
    let says_more = text.chars().count() > SAYING_CHARS_MAX
        || text.contains('\n')
        || text.contains("://")
        || text.chars().any(char::is_numeric)
        || text.contains(['?', '？', '؟', '|', '`']);
    if says_more {
        return false;
    }
    // After a colon comes what was found.
    let found = text.split_once([':', '：']).is_some_and(|(_, after)| after.trim().chars().count() > 1);
    !found && leads_with(&plain(text), SAYINGS)
}

#[cfg(test)]
mod tests {
    use super::{SAYINGS, is_progress};

    #[test]
    fn to_be_at_work_is_no_answer_in_every_language_that_is_known() {
        for said in [
            "Working on it…",
            "I'm looking into this now.",
            "Let me check the page and get back to you.",
            "On it!",
            "Einen Moment, ich schaue nach.",
            "Je m’en occupe !",
            "Estoy en ello, dame un momento.",
            "Um momento.",
            "Ci sto lavorando.",
            "Już sprawdzam!",
            "Bir saniye.",
            "Сейчас проверю.",
            "確認しますので少々お待ちください。",
            "请稍等，我查一下。",
            "확인해 보겠습니다.",
            "لحظة من فضلك",
            "एक क्षण",
        ] {
            assert!(is_progress(said), "{said}");
        }
        for (language, sayings) in SAYINGS {
            sayings.iter().for_each(|said| assert!(is_progress(said), "{language}: {said}"));
        }
        assert!(SAYINGS.len() >= 10);
    }

    #[test]
    fn what_says_something_is_an_answer_however_it_begins() {
        for said in [
            "The tide turns at six.",
            "Working on it takes 3 days.",
            "Let me check: the tide turns at six.",
            "Working hours are nine to five.",
            "One moment of the film is set in Rome. It is the ending, by the river.\nThe rest is Paris.",
            "Which page do you mean?",
            "Checking now would be too late?",
            "No.",
            "Yes, it does.",
            "Es gibt keine Seite.",
            "On item one the board agreed.",
            "Je ne trouve rien.",
            "正在处理的订单共有 3 个。",
            "Workings of the mill: water.",
        ] {
            assert!(!is_progress(said), "{said}");
        }
    }
}
