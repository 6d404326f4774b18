//! The effect class binds the way out: a read sends what a read may send, whatever else its plugin was granted.

use event::{Digest, Route};
use gate::EffectClass;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Deserialize;
use serde_json::Value;

/// Methods that change nothing (RFC 9110, section 9.2.1), of those a route may name.
const SAFE_METHODS: [&str; 2] = ["GET", "HEAD"];

/// The routes of a call that one of its requests may go by.
///
/// A read goes by every route with GET and HEAD, and with another method only by a route that names the one
/// exact path asked for, which what ends in `/` for all below it does not: so an operator says that `POST /api/auth.test` is a read,
/// and no `POST /api/` ever is. Asking a model is a read too: its provider's one path is granted exactly.
/// Every other class goes by all of its routes as they were granted.
///
/// With GraphQL one path does everything. A plugin whose manifest, which the grant covers, lists `operations` sends
/// with a read nothing but GET, HEAD and those documents.
#[must_use]
pub(crate) fn narrowed(
    effect: EffectClass,
    head: &Parts,
    body: &[u8],
    operations: &[Digest],
    routes: &[Route],
) -> Vec<Route> {
    if effect.is_effect() || SAFE_METHODS.contains(&head.method.as_str()) {
        return routes.to_vec();
    }
    if !operations.is_empty() && !operation(head, body).is_some_and(|sent| operations.contains(&sent)) {
        return Vec::new();
    }
    let path = head.uri.path();
    routes.iter().filter(|route| route.path.names(path)).cloned().collect()
}

/// The credential that stands for `reference` in a workspace. There is no way from one workspace's to another's: where
/// that one has none, the request does not leave.
#[must_use]
pub(crate) fn credential_in(reference: &str, workspace: Option<&str>) -> String {
    match workspace {
        // What names its owner already is an account, and of no workspace.
        Some(workspace) if !reference.contains('@') => format!("{reference}@{workspace}"),
        _ => reference.to_owned(),
    }
}

/// The same routes with the credentials of a workspace.
#[must_use]
pub(crate) fn in_workspace(routes: Vec<Route>, workspace: Option<&str>) -> Vec<Route> {
    let of = |route: Route| {
        let credential = route.credential.map(|reference| credential_in(&reference, workspace));
        Route { credential, ..route }
    };
    routes.into_iter().map(of).collect()
}

/// A GraphQL request as JSON, and nothing that could make another of it: no name that picks one of several operations,
/// no extension that stands for a document kept elsewhere, and no field twice.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    query: String,
    #[serde(default, rename = "variables")]
    _variables: Option<Value>,
}

/// The digest of the document that a request asks to carry out, where there is no doubt which one that is: a server
/// that found another in the address, or read the body as something else than JSON, would carry out that one.
fn operation(head: &Parts, body: &[u8]) -> Option<Digest> {
    let mut types = head.headers.get_all(CONTENT_TYPE).iter();
    let json = matches!((types.next(), types.next()), (Some(one), None) if one == "application/json");
    if !json || head.method != http::Method::POST || head.uri.query().is_some() {
        return None;
    }
    serde_json::from_slice::<Operation>(body).ok().map(|operation| Digest::of(operation.query.as_bytes()))
}

#[cfg(test)]
mod tests {
    use event::{Digest, Route, RoutePath};
    use gate::EffectClass;
    use http::request::Parts;
    use proptest::prelude::*;

    fn granted() -> Vec<Route> {
        ["/api/", "/api/auth.test"]
            .map(|path_prefix| Route {
                methods: vec!["GET".to_owned(), "POST".to_owned()],
                origin: "https://slack.com".to_owned(),
                path: RoutePath::Below(path_prefix.to_owned()),
                credential: Some("slack.bot-token".to_owned()),
            })
            .to_vec()
    }

    fn head(method: &str, uri: &str, content_type: Option<&str>) -> Parts {
        let request = http::Request::builder().method(method).uri(uri);
        let request =
            content_type.into_iter().fold(request, |request, one| request.header("content-type", one));
        request.body(()).unwrap().into_parts().0
    }

    fn narrowed(effect: EffectClass, method: &str, path: &str, routes: &[Route]) -> Vec<Route> {
        super::narrowed(effect, &head(method, path, None), b"", &[], routes)
    }

    const QUERY: &str = "query issues($first: Int) { issues(first: $first) { nodes { title } } }";

    fn sends(effect: EffectClass, uri: &str, content_type: Option<&str>, body: &str) -> bool {
        let operations = [Digest::of(QUERY.as_bytes())];
        let routes: Vec<Route> = granted()
            .into_iter()
            .map(|route| Route { path: RoutePath::Below("/graphql".to_owned()), ..route })
            .collect();
        let way =
            super::narrowed(effect, &head("POST", uri, content_type), body.as_bytes(), &operations, &routes);
        !way.is_empty()
    }

    #[test]
    fn a_read_of_graphql_sends_the_documents_that_were_granted_and_no_other() {
        let json = Some("application/json");
        let body = |query: &str| serde_json::json!({"query": query, "variables": {"first": 5}}).to_string();
        let read = |uri, content_type, body: &str| sends(EffectClass::Read, uri, content_type, body);
        assert!(read("/graphql", json, &body(QUERY)));
        let mutation = "mutation { issueDelete(id: 1) { success } }";
        assert!(!read("/graphql", json, &body(mutation)));
        assert!(
            sends(EffectClass::Write, "/graphql", json, &body(mutation)),
            "an effect sends what it was granted"
        );
        assert!(!read("/graphql", json, &body(&format!("{QUERY} "))), "another text is another document");
        // What could make another operation of it.
        let twice = format!("{{\"query\":{0:?},\"query\":{1:?}}}", QUERY, mutation);
        let named = format!("{{\"query\":{QUERY:?},\"operationName\":\"other\"}}");
        let kept = format!("{{\"query\":{QUERY:?},\"extensions\":{{\"persistedQuery\":{{}}}}}}");
        for body in [twice, named, kept, format!("[{}]", body(QUERY)), QUERY.to_owned()] {
            assert!(!read("/graphql", json, &body), "{body}");
        }
        assert!(!read("/graphql?query=mutation%7Bx%7D", json, &body(QUERY)));
        for other in [None, Some("application/graphql"), Some("application/x-www-form-urlencoded")] {
            assert!(!read("/graphql", other, &body(QUERY)), "{other:?}");
        }
        assert!(!read("/graphql/other", json, &body(QUERY)));
    }

    fn prefixes(effect: EffectClass, method: &str, path: &str) -> Vec<String> {
        narrowed(effect, method, path, &granted())
            .into_iter()
            .map(|route| route.path.text().to_owned())
            .collect()
    }

    #[test]
    fn a_read_gets_and_heads_wherever_its_plugin_may() {
        assert_eq!(prefixes(EffectClass::Read, "GET", "/api/files"), ["/api/", "/api/auth.test"]);
        assert_eq!(prefixes(EffectClass::Read, "HEAD", "/api/files"), ["/api/", "/api/auth.test"]);
    }

    #[test]
    fn a_read_posts_only_to_the_exact_path_that_was_granted() {
        assert_eq!(prefixes(EffectClass::Read, "POST", "/api/auth.test"), ["/api/auth.test"]);
        for path in [
            "/api/",
            "/api/chat.postMessage",
            "/api/auth.test/",
            "/api/auth.test/x",
            "/api/./auth.test",
            "/API/auth.test",
        ] {
            assert_eq!(prefixes(EffectClass::Read, "POST", path), Vec::<String>::new(), "{path}");
        }
        assert_eq!(prefixes(EffectClass::Read, "DELETE", "/api/files"), Vec::<String>::new());
    }

    #[test]
    fn a_read_posts_to_a_whole_path_that_has_no_stars() {
        let whole = |path: &str| Route { path: RoutePath::Whole(path.to_owned()), ..granted().remove(0) };
        let routes = [whole("/graphql"), whole("/find/*"), whole("/find/all/")];
        for (path, ways) in
            [("/graphql", 1), ("/find/all", 0), ("/find/*", 0), ("/find/all/", 1), ("/graphql/", 0)]
        {
            assert_eq!(narrowed(EffectClass::Read, "POST", path, &routes).len(), ways, "{path}");
        }
    }

    #[test]
    fn an_effect_goes_by_all_it_was_granted() {
        assert_eq!(prefixes(EffectClass::External, "POST", "/api/chat.postMessage").len(), 2);
    }

    #[test]
    fn in_a_workspace_its_own_credential_goes_in_and_nothing_else_changes() {
        let bare: Vec<Route> =
            granted().into_iter().map(|route| Route { credential: None, ..route }).collect();
        for (routes, workspace, credential) in [
            (granted(), Some("T02"), Some("slack.bot-token@T02")),
            (granted(), None, Some("slack.bot-token")),
            (bare, Some("T02"), None),
        ] {
            for (before, after) in routes.iter().zip(super::in_workspace(routes.clone(), workspace)) {
                assert_eq!(after.credential.as_deref(), credential);
                assert_eq!(Route { credential: before.credential.clone(), ..after }, *before);
            }
        }
    }

    proptest! {
        #[test]
        fn a_read_never_has_a_way_that_was_not_granted_and_an_unsafe_one_is_exact(
            method in "GET|HEAD|POST|PUT|DELETE|get",
            path in "/[a-z./]{0,20}",
            prefixes in prop::collection::vec("/[a-z./]{0,12}", 0..6),
        ) {
            let mut routes = granted();
            for (route, prefix) in routes.iter_mut().zip(&prefixes) {
                route.path = RoutePath::Below(prefix.clone());
            }
            for way in narrowed(EffectClass::Read, &method, &path, &routes) {
                prop_assert!(routes.contains(&way));
                let exact = way.path.text() == path && !path.ends_with('/');
                prop_assert!(exact || method == "GET" || method == "HEAD");
            }
        }
    }
}
