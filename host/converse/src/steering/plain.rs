//! Text made plain for comparing: lower case, without accents, punctuation, emoji and needless space.
//!
//! The tables of words go through the same function, so a phrase fits however it is accented or spaced.

/// Words around a phrase that are taken off, at most: politeness has an end.
const AROUND_MAX: usize = 6;

/// `text` in lower case, letters without their accents, and one space between words.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars().flat_map(wide).flat_map(char::to_lowercase) {
        match c {
            // Accents that stand by themselves, and apostrophes, vanish: `don’t` is `dont`.
            '\u{300}'..='\u{36f}' | '\'' | '\u{2019}' | '\u{2bc}' | '`' | '\u{64b}'..='\u{652}' => {}
            c if c.is_alphanumeric() || is_mark(c) => plain.push(bare(c)),
            _ if plain.ends_with(' ') || plain.is_empty() => {}
            _ => plain.push(' '),
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// A wide form as the letter it is.
fn wide(c: char) -> Option<char> {
    match u32::from(c) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0),
        _ => Some(c),
    }
}

/// Vowel signs of Indic scripts: no letters by themselves, and part of a word all the same.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{e31}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}')
}

/// A letter without its accent, where it has one that people leave away.
fn bare(c: char) -> char {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' | 'ạ' | 'ả' | 'ấ' | 'ầ' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' | 'ế' | 'ề' | 'ệ' => 'e',
        'ğ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' | 'ị' => 'i',
        'ł' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ő' | 'ọ' | 'ồ' | 'ố' | 'ộ' | 'ơ' => 'o',
        'ř' => 'r',
        'ś' | 'š' | 'ş' => 's',
        'ť' | 'ţ' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' | 'ụ' | 'ủ' | 'ừ' | 'ư' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        'ё' => 'е',
        'й' => 'и',
        'ї' => 'і',
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' => 'ι',
        'ό' => 'ο',
        'ύ' => 'υ',
        'ώ' => 'ω',
        'أ' | 'إ' | 'آ' => 'ا',
        _ => c,
    }
}

/// Whether `text` is one of `phrases` and nothing else, but for words of `around` before and after and for saying it
/// more than once.
pub(crate) fn is_whole(text: &str, phrases: &[(&str, &[&str])], around: &[&str]) -> bool {
    let around: Vec<String> = around.iter().map(|word| plain(word)).collect();
    let phrases: Vec<String> =
        phrases.iter().flat_map(|(_, phrases)| *phrases).map(|phrase| plain(phrase)).collect();
    let mut rest = text;
    for _ in 0..AROUND_MAX {
        if phrases.iter().any(|phrase| is_repeated(rest, phrase)) {
            return true;
        }
        let cut = around.iter().find_map(|word| first(rest, word).or_else(|| last(rest, word)));
        match cut {
            Some(cut) => rest = cut,
            None => return false,
        }
    }
    false
}

fn is_repeated(text: &str, phrase: &str) -> bool {
    let mut rest = text;
    while let Some(after) = first(rest, phrase) {
        if after.is_empty() {
            return true;
        }
        rest = after;
    }
    false
}

/// What follows `word` at the beginning of `text`. Scripts that write no spaces need none.
fn first<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let after = text.strip_prefix(word)?;
    (after.is_empty() || after.starts_with(' ') || is_unspaced(word)).then(|| after.trim_start())
}

fn last<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let before = text.strip_suffix(word)?;
    (before.ends_with(' ') || is_unspaced(word)).then(|| before.trim_end())
}

/// Whether a word is written in a script without spaces between words.
fn is_unspaced(word: &str) -> bool {
    word.chars()
        .next()
        .is_some_and(|c| matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xe00..=0xe7f))
}

/// Whether `text` begins with one of `phrases`.
pub(crate) fn leads_with(text: &str, phrases: &[(&str, &[&str])]) -> bool {
    phrases.iter().flat_map(|(_, phrases)| *phrases).any(|phrase| first(text, &plain(phrase)).is_some())
}

/// Whether one of `phrases` stands anywhere in `text`, as whole words.
pub(crate) fn mentions_word(text: &str, phrases: &[(&str, &[&str])]) -> bool {
    let spaced = format!(" {text} ");
    phrases.iter().flat_map(|(_, phrases)| *phrases).map(|phrase| plain(phrase)).any(|phrase| {
        if is_unspaced(&phrase) { text.contains(&phrase) } else { spaced.contains(&format!(" {phrase} ")) }
    })
}
