//! What a version of a plugin asks for beyond what its operator agreed to, and what may be granted of it.
//!
//! Always holds: a version asks for more when it has a way out, an interface, a folder, a document that its reads send,
//! a tool, a model, a wider effect or another world that the version in force does not have, and neither was granted;
//! what is granted was asked for.
//! Deliberately absent: what a route opens (`egress`), and who may grant (`authority`).

use event::{DirectoryAsked, Handle, PluginGranted, PluginInstalled, Route, RoutePath, ToolOffered};

/// The origin in a manifest that stands for any the operator names.
pub const ANY_ORIGIN: &str = "*";
/// Most sentences about one version: a person reads them before saying yes. The last one counts the rest.
pub const MORE_MAX: usize = 50;

/// Effect classes from the one that changes nothing to the one that changes who may do what.
const EFFECTS: [&str; 6] = ["read", "draft", "write", "external", "destructive", "privileged"];

/// What `after` asks for beyond what `before` has and `granted` holds, a sentence each; none when it may simply take
/// the place of `before`.
#[must_use]
pub fn more(
    before: &PluginInstalled,
    granted: Option<&PluginGranted>,
    after: &PluginInstalled,
) -> Vec<String> {
    let mut more = Vec::new();
    if before.world != after.world {
        more.push(format!("it is a {} and no longer a {}", after.world, before.world));
    }
    let held = granted.map(|granted| granted.routes.as_slice()).unwrap_or_default();
    let may = |asked: &Route| before.asks.iter().chain(held).any(|route| covers(route, asked));
    more.extend(
        after.asks.iter().filter(|asked| !may(asked)).map(|asked| format!("it asks for {}", told(asked))),
    );
    let imported = |import: &String| before.imports.iter().any(|known| interface(known) == interface(import));
    more.extend(
        after
            .imports
            .iter()
            .filter(|import| !imported(import))
            .map(|import| format!("it imports `{import}`")),
    );
    more.extend(folders(before, granted, after));
    more.extend(documents(before, after));
    more.extend(handles(before, granted, after));
    for tool in &after.offers {
        more.extend(wider(before.offers.iter().find(|known| known.name == tool.name), tool));
    }
    let known =
        |name: &String| before.tools.contains(name) || after.offers.iter().any(|one| one.name == *name);
    more.extend(
        after.tools.iter().filter(|name| !known(name)).map(|name| format!("it also offers `{name}`")),
    );
    if more.len() > MORE_MAX {
        let rest = more.len() - MORE_MAX + 1;
        more.truncate(MORE_MAX - 1);
        more.push(format!("and {rest} things more"));
    }
    more
}

fn folders<'a>(
    before: &'a PluginInstalled,
    granted: Option<&'a PluginGranted>,
    after: &'a PluginInstalled,
) -> impl Iterator<Item = String> + 'a {
    let held = granted.map(|granted| granted.directories.as_slice()).unwrap_or_default();
    let had = |asked: &DirectoryAsked| {
        let is = |at: &String, write: bool| *at == asked.at && (write || !asked.write);
        before.directories.iter().any(|one| is(&one.at, one.write))
            || held.iter().any(|one| is(&one.at, one.write))
    };
    let more = after.directories.iter().filter(move |asked| !had(asked));
    more.map(|asked| format!("it asks to {}", told_directory(asked)))
}

fn handles<'a>(
    before: &'a PluginInstalled,
    granted: Option<&'a PluginGranted>,
    after: &'a PluginInstalled,
) -> impl Iterator<Item = String> + 'a {
    let held = granted.map(|granted| granted.handles.as_slice()).unwrap_or_default();
    let had = |asked: &&Handle| before.handles.contains(asked) || held.contains(asked);
    let more = after.handles.iter().filter(move |asked| !had(asked));
    more.map(|asked| format!("it asks to {}", told_handle(*asked)))
}

/// What a call that is given a handle can do, as people read it.
#[must_use]
pub fn told_handle(handle: Handle) -> &'static str {
    match handle {
        Handle::Place => "read what was said in the conversation it is called in",
        Handle::Seat => "see the seats of the office, and the turns of the seat that calls it",
        Handle::Purse => "see the budgets that its calls are held on",
        Handle::Agenda => "see what waits in the conversation it is called in",
        Handle::Wishes => "have its seat look again, ask another seat, and answer one",
    }
}

/// A version that names the documents its reads send has them judged by that list. Another list, and none any more, lets
/// its reads send what they could not.
fn documents(before: &PluginInstalled, after: &PluginInstalled) -> Vec<String> {
    match (before.graphql_reads.is_empty(), after.graphql_reads.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => vec!["its reads may send any document of GraphQL where they may post".to_owned()],
        (false, false) => {
            let new = after.graphql_reads.iter().filter(|digest| !before.graphql_reads.contains(digest));
            new.map(|digest| format!("its reads also send the document of GraphQL {}", digest.short()))
                .collect()
        }
    }
}

fn wider(before: Option<&ToolOffered>, after: &ToolOffered) -> Option<String> {
    let Some(before) = before else {
        return Some(format!("it also offers the tool `{}`, which is {}", after.name, after.effect));
    };
    if rank(&after.effect) > rank(&before.effect) {
        return Some(format!("its tool `{}` is {} and was {}", after.name, after.effect, before.effect));
    }
    // What a policy is asked about would be something else.
    (before.touches != after.touches || before.at != after.at)
        .then(|| format!("its tool `{}` says in another way what a call touches", after.name))
}

/// A word that is not in the list counts as the widest.
fn rank(effect: &str) -> usize {
    EFFECTS.iter().position(|known| *known == effect).unwrap_or(EFFECTS.len())
}

/// The interface without its version: a newer release of one is no other.
fn interface(import: &str) -> &str {
    import.split('@').next().unwrap_or(import)
}

/// Whether every request that `inner` allows is one that `outer` allows, with the same credential.
#[must_use]
pub fn covers(outer: &Route, inner: &Route) -> bool {
    (outer.origin == ANY_ORIGIN || outer.origin == inner.origin)
        && outer.credential == inner.credential
        && inner.methods.iter().all(|method| outer.methods.contains(method))
        && outer.path.covers(&inner.path)
}

/// What of `route` is asked for: all of it, or the whole paths among `asks` that lie within it; nothing of what was not
/// asked for.
#[must_use]
pub fn asked_of(asks: &[Route], route: &Route) -> Vec<Route> {
    if asks.iter().any(|asked| covers(asked, route)) {
        return vec![route.clone()];
    }
    let named = |asked: &Route| match names_no_origin(asked) {
        true => Route { origin: route.origin.clone(), ..asked.clone() },
        false => asked.clone(),
    };
    let within = |asked: &Route| {
        let same = asked.path.text() == route.path.text();
        covers(route, asked) || (same && covers(&Route { path: asked.path.clone(), ..route.clone() }, asked))
    };
    let whole = asks.iter().filter(|asked| matches!(asked.path, RoutePath::Whole(_)));
    whole.map(named).filter(within).collect()
}

/// What is asked for and names no origin of its own: the operator says which.
#[must_use]
pub fn names_no_origin(route: &Route) -> bool {
    route.origin == ANY_ORIGIN
}

/// How `--route` names a site for a route that names none: what is to be filled in stands as `…`.
#[must_use]
pub fn to_name(route: &Route) -> String {
    let credential = route.credential.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    format!("--route '{} https://…{}{credential}'", route.methods.join(","), route.path.text())
}

/// A folder that is asked for as people read it.
#[must_use]
pub fn told_directory(asked: &DirectoryAsked) -> String {
    let does = if asked.write { "read and write" } else { "read" };
    format!("{does} the folder `{}`", asked.at)
}

/// A route as people read it.
#[must_use]
pub fn told(route: &Route) -> String {
    let origin = route.origin.as_str();
    let path = &route.path;
    let place = if names_no_origin(route) {
        format!("`{path}` of any site that is named")
    } else {
        format!("{origin}{path}")
    };
    let with =
        route.credential.as_ref().map_or_else(String::new, |name| format!(" with the credential `{name}`"));
    format!("{} {place}{with}", route.methods.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{MORE_MAX, covers, more};
    use event::{
        Digest, Directory, DirectoryAsked, Handle, PluginGranted, PluginInstalled, Route, RoutePath,
        ToolOffered,
    };
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn route(methods: &str, origin: &str, path_prefix: &str, credential: Option<&str>) -> Route {
        Route {
            methods: methods.split('|').map(str::to_owned).collect(),
            origin: origin.to_owned(),
            path: RoutePath::Below(path_prefix.to_owned()),
            credential: credential.map(str::to_owned),
        }
    }

    fn tool(name: &str, effect: &str) -> ToolOffered {
        ToolOffered {
            name: name.to_owned(),
            effect: effect.to_owned(),
            touches: "plugin".to_owned(),
            at: Vec::new(),
            input_schema: serde_json::json!({}),
        }
    }

    fn folder(at: &str, write: bool) -> DirectoryAsked {
        DirectoryAsked { at: at.to_owned(), write }
    }

    fn version() -> PluginInstalled {
        PluginInstalled {
            plugin: "shelf".to_owned(),
            version: "1.0.0".to_owned(),
            digest: Digest::of(b"1"),
            world: "tool".to_owned(),
            tools: vec!["shelf.read".to_owned()],
            offers: vec![tool("shelf.read", "read")],
            source: "shelf.wasm".to_owned(),
            asks: vec![route("GET", "https://a.example", "/v1", None)],
            imports: vec!["wasi:io/poll@0.2.6".to_owned()],
            directories: vec![folder("/notes", false)],
            graphql_reads: vec![Digest::of(b"query")],
            signed_by: None,
            handles: Vec::new(),
        }
    }

    #[test]
    fn a_version_that_only_mends_asks_for_nothing_more() {
        let after = PluginInstalled {
            version: "1.0.1".to_owned(),
            digest: Digest::of(b"2"),
            asks: vec![route("GET", "https://a.example", "/v1/books", None)],
            imports: vec!["wasi:io/poll@0.2.12".to_owned()],
            ..version()
        };
        assert_eq!(more(&version(), None, &after), Vec::<String>::new());
        let less = PluginInstalled { asks: Vec::new(), imports: Vec::new(), ..after };
        assert_eq!(more(&version(), None, &less), Vec::<String>::new());
    }

    #[test]
    fn each_thing_more_is_a_sentence() {
        let asks = |asks| PluginInstalled { asks, ..version() };
        let offers = |offers: Vec<ToolOffered>| PluginInstalled {
            tools: offers.iter().map(|one| one.name.clone()).collect(),
            offers,
            ..version()
        };
        let elsewhere = ToolOffered {
            touches: "origin".to_owned(),
            at: vec!["/url".to_owned()],
            ..tool("shelf.read", "read")
        };
        for (after, words) in [
            (
                asks(vec![route("GET|POST", "https://a.example", "/v1", None)]),
                "GET/POST https://a.example/v1",
            ),
            (asks(vec![route("GET", "https://b.example", "/v1", None)]), "https://b.example/v1"),
            (asks(vec![route("GET", "https://a.example", "/", None)]), "GET https://a.example/"),
            (asks(vec![route("GET", "https://a.example", "/v10", None)]), "/v10"),
            (
                asks(vec![route("GET", "https://a.example", "/v1", Some("a.key"))]),
                "with the credential `a.key`",
            ),
            (asks(vec![route("GET", "*", "/v1", None)]), "any site that is named"),
            (
                PluginInstalled { imports: vec!["wasi:http/types@0.2.6".to_owned()], ..version() },
                "`wasi:http/types@0.2.6`",
            ),
            (
                offers(vec![tool("shelf.read", "read"), tool("shelf.burn", "destructive")]),
                "`shelf.burn`, which is destructive",
            ),
            (offers(vec![tool("shelf.read", "external")]), "is external and was read"),
            (offers(vec![elsewhere]), "says in another way"),
            (
                PluginInstalled {
                    directories: vec![folder("/notes", false), folder("/mail", false)],
                    ..version()
                },
                "read the folder `/mail`",
            ),
            (
                PluginInstalled { directories: vec![folder("/notes", true)], ..version() },
                "read and write the folder `/notes`",
            ),
            (
                PluginInstalled {
                    graphql_reads: vec![Digest::of(b"query"), Digest::of(b"mutation")],
                    ..version()
                },
                Digest::of(b"mutation").short(),
            ),
            (PluginInstalled { graphql_reads: Vec::new(), ..version() }, "any document of GraphQL"),
            (PluginInstalled { handles: vec![Handle::Place], ..version() }, "read what was said"),
            (PluginInstalled { world: "guard".to_owned(), ..version() }, "a guard and no longer a tool"),
            (
                PluginInstalled { tools: vec!["shelf/large".to_owned()], offers: Vec::new(), ..version() },
                "`shelf/large`",
            ),
        ] {
            let said = more(&version(), None, &after);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains(words), "{said:?}");
        }
    }

    #[test]
    fn what_was_granted_counts_as_had() {
        let after = PluginInstalled { asks: vec![route("GET", "https://b.example", "/", None)], ..version() };
        let granted = PluginGranted {
            plugin: "shelf".to_owned(),
            digest: Digest::of(b"1"),
            routes: vec![route("GET|HEAD", "https://b.example", "/", None)],
            settings: BTreeMap::new(),
            directories: Vec::new(),
            reason: String::new(),
            handles: Vec::new(),
        };
        assert_eq!(more(&version(), Some(&granted), &after).len(), 0);
        assert_eq!(more(&version(), None, &after).len(), 1);
        let writes = PluginInstalled { directories: vec![folder("/notes", true)], ..version() };
        let lent = Directory { at: "/notes".to_owned(), path: "/srv/notes".to_owned(), write: true };
        let granted = PluginGranted { directories: vec![lent], ..granted };
        assert_eq!(more(&version(), Some(&granted), &writes), Vec::<String>::new());
    }

    #[test]
    fn a_version_that_begins_to_name_its_documents_asks_for_less() {
        let before = PluginInstalled { graphql_reads: Vec::new(), ..version() };
        assert_eq!(more(&before, None, &version()), Vec::<String>::new());
        let less = PluginInstalled { directories: Vec::new(), ..version() };
        assert_eq!(more(&version(), None, &less), Vec::<String>::new());
    }

    #[test]
    fn a_version_cannot_bury_a_person_in_sentences() {
        let asks = (0..500).map(|n| route("GET", &format!("https://{n}.example"), "/", None)).collect();
        let said = more(&version(), None, &PluginInstalled { asks, ..version() });
        assert_eq!(said.len(), MORE_MAX);
        assert_eq!(said.last().unwrap(), "and 451 things more");
    }

    proptest! {
        #[test]
        fn a_route_covers_itself_and_nothing_with_another_credential_or_method(
            path in "(/[ab]{1,2}){0,3}/?", other in "(/[ab]{1,2}){0,3}/?",
        ) {
            let one = route("GET", "https://a.example", &format!("/{path}"), None);
            prop_assert!(covers(&one, &one));
            let keyed = route("GET", "https://a.example", one.path.text(), Some("k"));
            let posts = route("GET|POST", "https://a.example", one.path.text(), None);
            prop_assert!(!covers(&one, &keyed) && !covers(&keyed, &one) && !covers(&one, &posts) && covers(&posts, &one));
            let another = route("GET", "https://a.example", &format!("/{other}"), None);
            if covers(&one, &another) {
                prop_assert!(another.path.text().starts_with(one.path.text()));
            }
        }
    }
}
