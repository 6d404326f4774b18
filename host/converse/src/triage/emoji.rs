//! From what a model writes to the name of an emoji that the workspace has.
//!
//! A name that nobody has would make the reaction fail, so what is unknown becomes one that everybody has. The
//! workspace's own come first: a name they chose is theirs.

use std::collections::BTreeSet;

/// What stands where nothing fits.
pub const FALLBACK: &str = "eyes";

/// Emoji that every workspace has and that can acknowledge something, with the character of each. A table, and not
/// the whole standard set: what is not here, such as a flag or a food, seldom acknowledges anything.
const COMMON: &[(&str, &str)] = &[
    ("+1", "👍"),
    ("-1", "👎"),
    ("ok_hand", "👌"),
    ("clap", "👏"),
    ("raised_hands", "🙌"),
    ("pray", "🙏"),
    ("wave", "👋"),
    ("muscle", "💪"),
    ("point_up", "☝"),
    ("handshake", "🤝"),
    ("saluting_face", "🫡"),
    ("heart", "❤"),
    ("green_heart", "💚"),
    ("blue_heart", "💙"),
    ("purple_heart", "💜"),
    ("sparkling_heart", "💖"),
    ("broken_heart", "💔"),
    ("tada", "🎉"),
    ("confetti_ball", "🎊"),
    ("balloon", "🎈"),
    ("birthday", "🎂"),
    ("cake", "🍰"),
    ("beers", "🍻"),
    ("champagne", "🍾"),
    ("trophy", "🏆"),
    ("medal", "🏅"),
    ("first_place_medal", "🥇"),
    ("star", "⭐"),
    ("star2", "🌟"),
    ("sparkles", "✨"),
    ("fire", "🔥"),
    ("rocket", "🚀"),
    ("100", "💯"),
    ("boom", "💥"),
    ("zap", "⚡"),
    ("bulb", "💡"),
    ("white_check_mark", "✅"),
    ("heavy_check_mark", "✔"),
    ("ballot_box_with_check", "☑"),
    ("eyes", "👀"),
    ("pencil2", "✏"),
    ("memo", "📝"),
    ("bookmark", "🔖"),
    ("pushpin", "📌"),
    ("mag", "🔍"),
    ("hourglass_flowing_sand", "⏳"),
    ("bell", "🔔"),
    ("warning", "⚠"),
    ("rotating_light", "🚨"),
    ("thinking_face", "🤔"),
    ("smile", "😄"),
    ("slightly_smiling_face", "🙂"),
    ("blush", "😊"),
    ("joy", "😂"),
    ("heart_eyes", "😍"),
    ("sunglasses", "😎"),
    ("partying_face", "🥳"),
    ("hugging_face", "🤗"),
    ("cry", "😢"),
    ("sob", "😭"),
    ("disappointed", "😞"),
    ("sunny", "☀"),
    ("rainbow", "🌈"),
    ("seedling", "🌱"),
    ("bouquet", "💐"),
    ("coffee", "☕"),
    ("ship", "🚢"),
    ("bug", "🐛"),
    ("wrench", "🔧"),
];

/// Other names that models and people use for some of them.
const ALIASES: &[(&str, &str)] = &[
    ("thumbsup", "+1"),
    ("thumbs_up", "+1"),
    ("thumbsdown", "-1"),
    ("thumbs_down", "-1"),
    ("check", "white_check_mark"),
    ("checkmark", "white_check_mark"),
    ("check_mark", "white_check_mark"),
    ("red_heart", "heart"),
    ("party_popper", "tada"),
    ("party", "tada"),
    ("celebrate", "tada"),
    ("thanks", "pray"),
    ("folded_hands", "pray"),
    ("clapping_hands", "clap"),
    ("raising_hands", "raised_hands"),
    ("hundred", "100"),
    ("pencil", "memo"),
    ("thinking", "thinking_face"),
    ("flame", "fire"),
    ("light_bulb", "bulb"),
    ("magnifying_glass", "mag"),
    ("siren", "rotating_light"),
    ("salute", "saluting_face"),
];

/// The name, without colons, of the emoji that `wish` means in a workspace that made `own` itself.
#[must_use]
pub fn resolve(wish: &str, own: &BTreeSet<String>) -> Option<String> {
    let bare: String = wish.trim().trim_matches(':').chars().filter(|c| *c != '\u{fe0f}').collect();
    let name = bare.to_lowercase().replace([' ', '-'], "_");
    let own_name = [bare.as_str(), name.as_str()].into_iter().find(|name| own.contains(*name));
    let dashed = name.replace('_', "-");
    let own_name = own_name.or_else(|| own.contains(&dashed).then_some(dashed.as_str()));
    if let Some(name) = own_name {
        return Some(name.to_owned());
    }
    // A thumb down with a dash is a name; every other dash is a matter of taste.
    let names = [bare.as_str(), name.as_str()];
    let alias = ALIASES.iter().find(|(alias, _)| names.contains(alias)).map(|(_, name)| *name);
    let known = |(common, picture): &&(&str, &str)| {
        names.contains(common) || alias == Some(*common) || bare == *picture
    };
    COMMON.iter().find(known).map(|(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{COMMON, FALLBACK, resolve};
    use std::collections::BTreeSet;

    #[test]
    fn a_wish_becomes_a_name_that_the_workspace_has() {
        let own: BTreeSet<String> = ["party-parrot".to_owned(), "tada".into(), "übung".into()].into();
        for (wish, name) in [
            (":tada:", Some("tada")),
            ("🎉", Some("tada")),
            ("❤️", Some("heart")),
            ("Party_Parrot", Some("party-parrot")),
            (":party-parrot:", Some("party-parrot")),
            ("übung", Some("übung")),
            ("thumbsup", Some("+1")),
            ("thumbs up", Some("+1")),
            ("-1", Some("-1")),
            ("white-check-mark", Some("white_check_mark")),
            ("nobody-has-this", None),
            ("", None),
            ("<!here>", None),
        ] {
            assert_eq!(resolve(wish, &own).as_deref(), name, "{wish}");
        }
        assert!(COMMON.iter().any(|(name, _)| *name == FALLBACK));
    }
}
