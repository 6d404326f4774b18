//! What each construct of Markdown becomes, told as lines.

use super::{Block, blocks};
use crate::mrkdwn::whole;

fn told(markdown: &str) -> String {
    whole(&blocks(markdown))
}

#[test]
fn each_construct_is_said_in_slacks_notation() {
    for (markdown, slack) in [
        ("plain", "plain"),
        ("**bold** and *it* and ~~gone~~ and `code`", "*bold* and _it_ and ~gone~ and `code`"),
        ("***both***", "*_both_*"),
        ("# Title\n\ntext", "*Title*\n\ntext"),
        ("### Small\ntext", "*_Small_*\n\ntext"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("one\ntwo", "one\ntwo"),
        ("- a\n- b\n  - c\n- d", "• a\n• b\n    ◦ c\n• d"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"),
        ("> said\n> twice", "&gt; said\n&gt; twice"),
        ("```rust\nlet a = 1 < 2;\n```", "```\nlet a = 1 &lt; 2;\n```"),
        ("see [the page](https://a.example/x)", "see the page (<https://a.example/x>)"),
        ("<https://a.example/x?a=1&b=2>", "<https://a.example/x?a=1&amp;b=2>"),
        ("[https://a.example](https://b.example)", "https://a.example (<https://b.example>)"),
        ("[mail](mailto:a@b.example)", "mail (a@b.example)"),
        ("[run](javascript:alert(1))", "run (javascript:alert(1))"),
        ("![alt](https://a.example/i.png)", "alt (<https://a.example/i.png>)"),
        ("a <b>tag</b> &amp; more", "a &lt;b&gt;tag&lt;/b&gt; &amp; more"),
        ("above\n\n---\n\nbelow", "above\n\n———\n\nbelow"),
        ("\\*not bold\\*", "*not bold*"),
        ("a **b *c* d** e", "a *b* *_c_* *d* e"),
        ("**two\nlines**", "*two*\n*lines*"),
    ] {
        assert_eq!(told(markdown), slack, "{markdown}");
    }
}

#[test]
fn a_table_is_columns_and_a_wide_one_is_rows() {
    assert_eq!(
        told("| name | n |\n|---|---|\n| a | 1 |\n| longer | 22 |"),
        "```\nname   | n\n-------|---\na      | 1\nlonger | 22\n```"
    );
    let wide = format!("| name | text |\n|---|---|\n| a | {} |\n| b | c |", "x".repeat(120));
    assert_eq!(told(&wide), format!("```\nname: a\ntext: {}\n\nname: b\ntext: c\n```", "x".repeat(120)));
}

#[test]
fn a_fence_within_code_does_not_end_it() {
    let code = told("````\n```\n<!here>\n```\n````");
    assert_eq!(code.matches("```").count(), 2, "{code}");
    assert!(!code.contains('<'));
}

#[test]
fn the_head_of_a_table_is_known_to_whoever_cuts_it() {
    let table = blocks("| a | b |\n|---|---|\n| 1 | 2 |");
    assert!(matches!(table.as_slice(), [Block::Code { lines, head: 2 }] if lines.len() == 3), "{table:?}");
}
