//! Whatever a model says, no text becomes a mention, and nothing unfurls. Every body that arrives is walked.

use serde_json::Value;
use tests::Kit;
use tests::slack::message;

/// Texts that would call people if they were not escaped. The rule is Slack's own: `<@…>`, `<!…>` and `<#…>`
/// are live in any text, bare names are live where parsing is on.
const HOSTILE: &[&str] = &[
    "<!here> now",
    "@here and @channel and @everyone",
    "<@U012> <@U012|bob> @oncall",
    "<!subteam^S1> <!subteam^S1|ops>",
    "&lt;!here&gt; and &amp;lt;!here&amp;gt;",
    "<\u{200b}!here>",
    "[click](https://example.com/<!here>)",
    "Bob <!channel>",
    "<!date^1^{date}|x> <#C01GEN> <#C01GEN|general>",
    "<https://evil.example/?q=1|link> <mailto:a@example.com>",
    "```\n<!channel>\n```",
];

fn walk<'a>(value: &'a Value, strings: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(items) => items.iter().for_each(|item| walk(item, strings)),
        Value::Object(fields) => fields.values().for_each(|item| walk(item, strings)),
        _ => {}
    }
}

fn markdown_objects<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    if value["type"] == "mrkdwn" {
        found.push(value);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| markdown_objects(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| markdown_objects(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn no_text_of_a_model_becomes_a_mention() {
    let mut kit = Kit::new().await;
    kit.script =
        "[[rule]]\nwhen = []\n[[rule.step]]\nfinish = { outcome = \"answered\", text = \"{{text}}\" }\n"
            .to_owned();
    let office = kit.open().await;
    for (n, text) in HOSTILE.iter().enumerate() {
        // As Slack sends what a person typed: escaped. What the model reads, and repeats, is the plain text.
        let typed = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let ts = format!("17000000{n:02}.000100");
        let text = format!("<@U0BOT> {typed}");
        assert_eq!(office.deliver(&message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, &text)).await, 200);
    }
    office.until_turns_ended(HOSTILE.len()).await;
    let posts = kit.slack.posts();
    assert_eq!(posts.len(), HOSTILE.len());
    for post in &posts {
        let mut strings = Vec::new();
        walk(post, &mut strings);
        for text in strings {
            for live in ["<@", "<!", "<#", "<http", "<mailto"] {
                assert!(!text.contains(live), "`{live}` is live in {post}");
            }
        }
        let mut objects = Vec::new();
        markdown_objects(post, &mut objects);
        assert!(objects.iter().all(|object| object["verbatim"] == true), "{post}");
        for (field, wanted) in [("link_names", false), ("unfurl_links", false), ("unfurl_media", false)] {
            assert_eq!(post[field], wanted, "{field} in {post}");
        }
        assert_eq!(post["parse"], "none");
    }
    // The words themselves arrive: nothing was dropped to be safe.
    assert!(
        posts.iter().any(|post| post["text"].as_str().is_some_and(|text| text.contains("&lt;!here&gt; now")))
    );
    office.stop().await;
}
