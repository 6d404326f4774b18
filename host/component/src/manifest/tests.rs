//! What a manifest may say, and the sentence for each way it may not.

use super::{Manifest, ManifestError, World};
use event::{Handle, RoutePath};
use gate::{EffectClass, Sees, Touches};

const WEB: &str = r#"
name = "web"
version = "0.1.0"
world = "chancery:tool@0.1.0"
description = "Reads pages."
[[tool]]
name = "web.fetch"
effect = "read"
touches = { origin_of = "/url" }
[[tool]]
name = "web.post"
effect = "external"
touches = { destination = ["/channel", "/a~1b"] }
price_key = "web/post"
[[tool]]
name = "web.ping"
effect = "read"
[[route]]
methods = ["GET"]
origin = "*"
path_prefix = "/"
[[route]]
methods = ["POST"]
origin = "https://api.example.com"
path_prefix = "/v1/"
credential = "web.token"
"#;

fn error_of(from: &str, to: &str) -> String {
    let text = WEB.replacen(from, to, 1);
    assert_ne!(text, WEB, "`{from}` is in the manifest");
    Manifest::parse(text.as_bytes()).map(|_| String::new()).map_err(|error| error.to_string()).unwrap_err()
}

#[test]
fn a_manifest_says_what_is_offered_and_asked_for() {
    let manifest = Manifest::parse(WEB.as_bytes()).unwrap();
    assert_eq!((manifest.name.as_str(), manifest.world), ("web", World::Tool));
    assert_eq!(manifest.offers(), ["web.fetch", "web.post", "web.ping"]);
    assert_eq!(manifest.credentials().into_iter().collect::<Vec<_>>(), ["web.token"]);
    let touches: Vec<Touches> = manifest.tools.iter().map(super::ToolEntry::touches).collect();
    let pointers = vec!["/channel".to_owned(), "/a~1b".to_owned()];
    assert_eq!(
        touches,
        [Touches::OriginOf("/url".to_owned()), Touches::Destination(pointers), Touches::Plugin]
    );
    assert_eq!(manifest.tools.first().unwrap().effect, EffectClass::Read);
    let whole = WEB.replacen("path_prefix = \"/v1/\"", "path = \"/v1/*/books\"", 1);
    let paths: Vec<_> =
        Manifest::parse(whole.as_bytes()).unwrap().routes.into_iter().map(|one| one.path).collect();
    assert_eq!(paths, [RoutePath::every(), RoutePath::Whole("/v1/*/books".to_owned())]);
}

#[test]
fn a_tool_may_say_nothing_of_what_it_does_outside_and_may_not_say_that_it_says_nothing() {
    let silent = WEB.replacen("effect = \"external\"\n", "", 1);
    let manifest = Manifest::parse(silent.as_bytes()).unwrap();
    assert_eq!(manifest.tools[1].effect, EffectClass::Undeclared);
    assert!(
        error_of("effect = \"read\"", "effect = \"undeclared\"").contains("unknown variant `undeclared`")
    );
}

#[test]
fn a_key_nobody_knows_is_named_with_its_line() {
    assert!(
        error_of("description", "summary").starts_with("line 5 of the manifest: unknown field `summary`")
    );
    let error = error_of("price_key", "price");
    assert!(error.starts_with("line 14 of the manifest: unknown field `price`"), "{error}");
    let error = error_of("credential =", "token =");
    assert!(error.contains("unknown field `token`"), "{error}");
}

#[test]
fn what_is_missing_or_ill_typed_is_named() {
    assert!(error_of("version = \"0.1.0\"", "").contains("missing field `version`"));
    assert!(error_of("chancery:tool@0.1.0", "acme:tool@9.9.9").contains("unknown variant `acme:tool@9.9.9`"));
    assert!(error_of("effect = \"read\"", "effect = \"harmless\"").contains("unknown variant `harmless`"));
    assert!(error_of("origin_of", "origin_at").contains("origin_at"));
    assert_eq!(Manifest::parse(b"\xff"), Err(ManifestError::Text));
}

#[test]
fn names_are_in_form_and_stand_once() {
    for (from, to) in [
        ("\"web\"", "\"Web\""),
        ("\"web\"", "\"\""),
        ("web.fetch", "fetch"),
        ("web.fetch", "web.fetch.all"),
        ("web.fetch", "web.<@U1>"),
        ("0.1.0\"\nworld", "latest\"\nworld"),
    ] {
        assert!(error_of(from, to).contains("in the manifest is not"), "{to}");
    }
    assert!(error_of("web.ping", "web.fetch").contains("`web.fetch` in the manifest is not named once"));
}

#[test]
fn a_plugin_offers_what_its_world_is_for_and_nothing_else() {
    let error = error_of("chancery:tool@0.1.0", "chancery:model@0.1.0");
    assert_eq!(error, "a plugin of world `model` has one [[model]] or more, and no other");
    let with_model = format!("{WEB}[[model]]\nname = \"story\"\nprice_key = \"web/story\"\n");
    assert_eq!(Manifest::parse(with_model.as_bytes()), Err(ManifestError::Offers { world: "tool" }));
}

const GUARD: &str = r#"
name = "watch"
version = "0.1.0"
world = "chancery:guard@0.1.0"
description = "Looks at calls."
"#;

fn guard_with(more: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(format!("{GUARD}{more}").as_bytes())
}

#[test]
fn a_guard_sees_what_its_manifest_says_and_everything_when_it_says_nothing() {
    let all = guard_with("").unwrap();
    assert_eq!((all.world, all.sees(), all.offers().len()), (World::Guard, Sees::everything(), 0));
    let some =
        guard_with("[sees]\neffects = [\"write\"]\ntools = [\"web.*\", \"slack.post\"]\n").unwrap().sees();
    assert_eq!((some.effects, some.tools.len(), some.models), (vec![EffectClass::Write], 2, false));
    for blind in ["[sees]\n", "[sees]\ntools = []\nmodels = false\n"] {
        assert_eq!(guard_with(blind), Err(ManifestError::Sees));
    }
    for pattern in ["*", "web", "web.", ".*", "web.f*", "Web.fetch"] {
        let error = guard_with(&format!("[sees]\ntools = [\"{pattern}\"]\n")).unwrap_err();
        assert!(error.to_string().contains("or a family such as `web.*`"), "{pattern}: {error}");
    }
    let error = guard_with("[sees]\neffects = [\"harmless\"]\n").unwrap_err();
    assert!(error.to_string().contains("unknown variant `harmless`"), "{error}");
}

#[test]
fn a_guard_offers_nothing_and_asks_for_nothing() {
    for (more, key) in [
        ("[[tool]]\nname = \"a.b\"\neffect = \"read\"\n", "tool"),
        ("[[model]]\nname = \"m\"\nprice_key = \"k\"\n", "model"),
        ("[[route]]\nmethods = [\"GET\"]\norigin = \"*\"\npath_prefix = \"/\"\n", "route"),
    ] {
        assert_eq!(guard_with(more), Err(ManifestError::Guard { key }));
    }
    let seeing = format!("{WEB}[sees]\nmodels = true\n");
    assert_eq!(Manifest::parse(seeing.as_bytes()), Err(ManifestError::Sees), "a tool sees no calls");
}

#[test]
fn a_pointer_that_is_none_is_refused() {
    assert_eq!(
        error_of("\"/url\"", "\"url\""),
        "`url` of tool `web.fetch` is not a JSON pointer such as `/url`"
    );
    assert!(error_of("/a~1b", "/a~2b").contains("`/a~2b`"));
    assert!(error_of("[\"/channel\", \"/a~1b\"]", "[]").contains("web.post"));
}

#[test]
fn a_manifest_cannot_ask_for_loopback() {
    for origin in ["http://127.0.0.1:8080", "http://localhost:80", "https://localhost", "http://[::1]:1"] {
        let error = error_of("https://api.example.com", origin);
        assert!(error.starts_with("a manifest cannot ask for loopback"), "{error}");
    }
}

#[test]
fn what_is_given_the_offices_own_has_no_way_out_and_a_read_wishes_nothing() {
    let handles = |more: &str| {
        let text = WEB.split("[[route]]").next().unwrap().replacen("price_key = \"web/post\"", more, 1);
        Manifest::parse(text.as_bytes())
    };
    let manifest = handles("handles = [\"wishes\", \"place\"]").unwrap();
    assert_eq!(manifest.handles(), [Handle::Place, Handle::Wishes]);
    let error = error_of("price_key = \"web/post\"", "handles = [\"place\"]");
    assert!(error.contains("asks for no route and no folder"), "{error}");
    let folder = handles("handles = [\"place\"]\n[[directory]]\nat = \"/notes\"").unwrap_err().to_string();
    assert!(folder.contains("asks for no route and no folder"), "{folder}");
    let read = WEB.split("[[route]]").next().unwrap().replacen(
        "name = \"web.ping\"\neffect = \"read\"",
        "name = \"web.ping\"\neffect = \"read\"\nhandles = [\"wishes\"]",
        1,
    );
    assert!(Manifest::parse(read.as_bytes()).unwrap_err().to_string().contains("a read wishes nothing"));
    let undeclared = read.replacen("effect = \"read\"\nhandles = [\"wishes\"]", "handles = [\"place\"]", 1);
    assert!(
        Manifest::parse(undeclared.as_bytes()).unwrap_err().to_string().contains("declares its `effect`")
    );
    assert!(handles("handles = [\"record\"]").unwrap_err().to_string().contains("unknown variant `record`"));
}

#[test]
fn a_route_that_could_never_be_granted_is_refused() {
    for origin in [
        "http://api.example.com",
        "https://10.0.0.1",
        "https://api.example.com/v1",
        "https://*.example.com",
        "api",
    ] {
        let error = error_of("https://api.example.com", origin);
        assert!(error.contains("cannot be granted"), "{error}");
    }
    assert!(error_of("[\"GET\"]", "[\"get\"]").contains("upper case"));
    assert!(error_of("[\"GET\"]", "[]").contains("upper case"));
    assert!(error_of("\"/v1/\"", "\"v1\"").contains("`path_prefix` starts with `/`"));
    let whole = |path: &str| error_of("path_prefix = \"/v1/\"", &format!("path = {path:?}"));
    assert!(whole("v1").contains("`path` starts with `/`"));
    assert!(whole("/v1/*x").contains("`*` for one whole segment"));
    assert!(whole("/v1/%2e./..").contains("no segment `.` or `..`"));
    let both = error_of("path_prefix = \"/v1/\"", "path_prefix = \"/v1/\"\npath = \"/v1\"");
    assert!(both.contains("either `path`, the whole of it, or `path_prefix`"), "{both}");
    assert!(error_of("path_prefix = \"/v1/\"\n", "").contains("either `path`"));
}

#[test]
fn a_description_is_one_line() {
    for wrong in ["", "two\\nlines", "\\u001b[2J", &"x".repeat(401)] {
        assert!(error_of("Reads pages.", wrong).contains("not one line"), "{wrong}");
    }
}
