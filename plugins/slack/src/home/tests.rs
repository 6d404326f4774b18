//! A Home keeps within what Slack takes, and nothing on it is more than it says.

use guest::Kind;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::message::tests::{CORPUS, mrkdwn, walk};
use crate::tests::{Told, asked_of, call};

/// What Slack takes of a view: slack.dev, "Views", "Block Kit" (see the limits in the module).
const VIEW_BYTES_MAX: usize = 250_000;

fn chars(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.encode_utf16().count())
}

/// Each limit of a view that Slack documents.
pub fn assert_fits(view: &Value) {
    assert!(view.to_string().len() <= VIEW_BYTES_MAX, "{} bytes", view.to_string().len());
    let blocks = view["blocks"].as_array().unwrap();
    assert!((1..=100).contains(&blocks.len()), "{} blocks", blocks.len());
    let mut names: Vec<&str> = blocks.iter().filter_map(|block| block["block_id"].as_str()).collect();
    assert!(names.iter().all(|name| name.len() <= 255), "{names:?}");
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "each block has a name of its own");
    for title in ["title", "submit", "close"] {
        assert!(chars(&view[title]["text"]) <= 24, "{title}");
    }
    for block in blocks {
        assert_block(block);
    }
}

fn assert_block(block: &Value) {
    let within = |value: &Value, max: usize| {
        let count = chars(value);
        assert!((1..=max).contains(&count), "{count} of {max}: {block}");
    };
    match block["type"].as_str().unwrap() {
        "section" => {
            within(&block["text"]["text"], 3_000);
            if block.get("accessory").is_some() {
                assert_element(&block["accessory"]);
            }
        }
        "header" => within(&block["text"]["text"], 150),
        "context" => {
            let elements = block["elements"].as_array().unwrap();
            assert!(elements.len() <= 10);
            elements.iter().for_each(|element| within(&element["text"], 3_000));
        }
        "actions" => {
            let elements = block["elements"].as_array().unwrap();
            assert!((1..=25).contains(&elements.len()));
            elements.iter().for_each(assert_element);
            let mut names: Vec<&str> = elements.iter().map(|e| e["action_id"].as_str().unwrap()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), elements.len(), "each element of a block has a name of its own");
        }
        "input" => {
            within(&block["label"]["text"], 2_000);
            assert!(chars(&block["hint"]["text"]) <= 2_000);
            assert_element(&block["element"]);
        }
        other => panic!("`{other}` is nothing that a view is made of here"),
    }
}

fn assert_element(element: &Value) {
    assert!((1..=255).contains(&chars(&element["action_id"])), "{element}");
    assert!(chars(&element["placeholder"]["text"]) <= 150, "{element}");
    if element["type"] == "button" {
        assert!((1..=75).contains(&chars(&element["text"]["text"])), "{element}");
        assert!(chars(&element["value"]) <= 2_000 && chars(&element["url"]) <= 3_000, "{element}");
    }
    if let Some(confirm) = element.get("confirm") {
        for (part, max) in [("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)] {
            assert!((1..=max).contains(&chars(&confirm[part]["text"])), "{part}: {element}");
        }
    }
    if element["type"] == "static_select" {
        let options = element["options"].as_array().unwrap();
        assert!((1..=100).contains(&options.len()), "{element}");
        for option in options {
            assert!((1..=75).contains(&chars(&option["text"]["text"])), "{option}");
            assert!((1..=150).contains(&chars(&option["value"])), "{option}");
        }
        let chosen = element.get("initial_option");
        assert!(chosen.is_none_or(|chosen| options.contains(chosen)), "{element}");
    }
}

fn published(parts: Value) -> Value {
    let input = json!({"user": "U012", "parts": parts});
    let (output, asked) = asked_of(call("slack.home", input), &[Told::Ok(json!({"ok": true}))]);
    assert_eq!(output, Ok(json!({"user": "U012"})));
    assert_eq!((asked[0].0.as_str(), &asked[0].1["user_id"]), ("views.publish", &json!("U012")));
    asked[0].1["view"].clone()
}

fn mode_menu() -> Value {
    json!({"choice": {"action": "home.mode", "label": "How readily I speak", "about": "C012", "chosen": "eager",
        "options": [{"value": "quiet", "label": "Quiet"}, {"value": "eager", "label": "Eager"}]}})
}

#[test]
fn a_menu_says_what_it_is_about_and_shows_what_is_in_force() {
    let view = published(json!([
        {"header": "Settings"},
        {"channel": {"action": "home.channel", "label": "Which channel?", "chosen": "C012"}},
        mode_menu(),
        {"channels": {"action": "home.disclose", "label": "Where?", "chosen": ["C1A", "C1B"]}},
        {"buttons": [{"action": "home.connect", "about": "linear", "label": "Connect"},
            {"action": "home.disconnect", "about": "mail", "label": "Disconnect", "sure": "I forget it."},
            {"action": "home.open", "about": "x", "label": "Open", "url": "https://a.example/x?y=1"}]},
        {"note": "small"},
    ]));
    assert_fits(&view);
    let blocks = view["blocks"].as_array().unwrap();
    assert_eq!(blocks[1]["accessory"]["initial_conversation"], "C012");
    assert_eq!(blocks[1]["accessory"]["filter"]["exclude_external_shared_channels"], true);
    assert_eq!(blocks[2]["block_id"], "2/C012/effect_1");
    assert_eq!(blocks[2]["accessory"]["initial_option"]["value"], "eager");
    assert_eq!(blocks[3]["accessory"]["initial_conversations"], json!(["C1A", "C1B"]));
    assert_eq!(blocks[4]["elements"][1]["action_id"], "home.disconnect/1");
    assert_eq!(blocks[4]["elements"][1]["value"], "mail");
    assert_eq!(blocks[4]["elements"][2]["url"], "https://a.example/x?y=1");
    assert_eq!(blocks[5]["type"], "context");
}

#[test]
fn what_does_not_fit_is_text_and_the_menus_below_it_stay() {
    let view = published(
        json!([{"text": "A sentence of some length. ".repeat(900)}, {"text": "unseen"}, mode_menu()]),
    );
    assert_fits(&view);
    let blocks = view["blocks"].as_array().unwrap();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"]["text"].as_str()).collect();
    assert_eq!(texts.iter().filter(|text| text.contains("more than fits")).count(), 1);
    assert!(!texts.contains(&"unseen") && blocks.last().unwrap().get("accessory").is_some());
}

#[test]
fn a_home_that_says_nothing_or_too_much_is_none() {
    let empty_menu = json!({"choice": {"action": "home.mode", "label": "x", "about": "C012", "options": []}});
    let mut unknown = mode_menu();
    unknown["choice"]["chosen"] = json!("loud");
    let astray =
        json!({"buttons": [{"action": "home.open", "about": "x", "label": "x", "url": "javascript:x"}]});
    for parts in [
        json!([]),
        json!([astray]),
        json!([{"text": " "}]),
        json!([{"header": ""}]),
        json!([empty_menu, {"text": "x"}]),
        json!([unknown]),
    ] {
        let (output, _) = asked_of(call("slack.home", json!({"user": "U012", "parts": parts})), &[]);
        assert_eq!(output.unwrap_err().kind, Kind::InvalidInput, "{parts}");
    }
    let many = vec![json!({"text": "x"}); 21];
    let (output, _) = asked_of(call("slack.home", json!({"user": "U012", "parts": many})), &[]);
    assert_eq!(output.unwrap_err().kind, Kind::TooLarge);
}

fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(&CORPUS[..]).prop_map(str::to_owned),
        "\\PC{1,60}",
        // What takes the most bytes in JSON.
        "[\u{1}-\u{8}x]{1,400}",
        "[<>@!#&;|^UWCS0-9\n `*_]{1,80}",
        Just("A sentence of some length. ".repeat(200)),
    ];
    proptest::collection::vec(piece, 1..12).prop_map(|pieces| format!("x{}", pieces.concat()))
}

fn part() -> impl Strategy<Value = Value> {
    let thing = "[A-Za-z0-9._:-]{1,48}";
    let options = proptest::collection::vec((thing, words()), 1..=10);
    let buttons = proptest::collection::vec((thing, words(), words()), 1..=10);
    prop_oneof![
        words().prop_map(|text| json!({ "text": text })),
        words().prop_map(|text| json!({ "header": text })),
        words().prop_map(|text| json!({ "note": text })),
        words().prop_map(|label| json!({"channel": {"action": "home.channel", "label": label, "chosen": "C012"}})),
        (words(), 0..80_usize).prop_map(|(label, many)| {
            json!({"channels": {"action": "home.disclose", "label": label, "chosen": vec!["C0123456789"; many]}})
        }),
        (words(), thing, options).prop_map(|(label, about, options)| {
            let options: Vec<Value> =
                options.iter().map(|(value, label)| json!({"value": value, "label": label})).collect();
            let chosen = options[0]["value"].clone();
            json!({"choice": {"action": "home.mode", "label": label, "about": about, "options": options, "chosen": chosen}})
        }),
        buttons.prop_map(|all| {
            let button = |(about, label, sure): &(String, String, String)| {
                json!({"action": "home.disconnect", "about": about, "label": label, "sure": sure})
            };
            json!({"buttons": all.iter().map(button).collect::<Vec<_>>()})
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_home_shows_slack_takes_it_and_nothing_on_it_is_a_mention(
        parts in proptest::collection::vec(part(), 1..=20),
    ) {
        let view = published(json!(parts));
        assert_fits(&view);
        prop_assert!(mrkdwn(&view).iter().all(|text| text["verbatim"] == json!(true)));
        walk(&view, &mut |text| {
            assert!(!text.contains("<!") && !text.contains("<@") && !text.contains("<#"), "{text}");
        });
        // Every menu and button is there.
        let wanted = parts.iter().filter(|part| part.get("text").is_none()).count();
        let got = view["blocks"].as_array().unwrap().iter().filter(|block| {
            block["type"] != "section" || block.get("accessory").is_some()
        }).count();
        prop_assert_eq!(got, wanted);
    }
}
