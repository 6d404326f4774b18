//! The effect class binds the way out: a read sends what a read may send, whatever else its plugin was granted.

use event::Route;
use gate::EffectClass;

/// Methods that change nothing (RFC 9110, section 9.2.1), of those a route may name.
const SAFE_METHODS: [&str; 2] = ["GET", "HEAD"];

/// The routes of a call that one of its requests may go by.
///
/// A read goes by every route with GET and HEAD, and with another method only by a route that names the one
/// exact path asked for and does not end in `/`: so an operator says that `POST /api/auth.test` is a read,
/// and no `POST /api/` ever is. Asking a model is a read too: its provider's one path is granted exactly.
/// Every other class goes by all of its routes as they were granted.
#[must_use]
pub(crate) fn narrowed(effect: EffectClass, method: &str, path: &str, routes: &[Route]) -> Vec<Route> {
    if effect.is_effect() || SAFE_METHODS.contains(&method) {
        return routes.to_vec();
    }
    let exact = |route: &&Route| !route.path_prefix.ends_with('/') && route.path_prefix == path;
    routes.iter().filter(exact).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::narrowed;
    use event::Route;
    use gate::EffectClass;
    use proptest::prelude::*;

    fn granted() -> Vec<Route> {
        ["/api/", "/api/auth.test"]
            .map(|path_prefix| Route {
                methods: vec!["GET".to_owned(), "POST".to_owned()],
                origin: "https://slack.com".to_owned(),
                path_prefix: path_prefix.to_owned(),
                credential: Some("slack.bot-token".to_owned()),
            })
            .to_vec()
    }

    fn prefixes(effect: EffectClass, method: &str, path: &str) -> Vec<String> {
        narrowed(effect, method, path, &granted()).into_iter().map(|route| route.path_prefix).collect()
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
    fn an_effect_goes_by_all_it_was_granted() {
        assert_eq!(prefixes(EffectClass::External, "POST", "/api/chat.postMessage").len(), 2);
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
                route.path_prefix.clone_from(prefix);
            }
            for way in narrowed(EffectClass::Read, &method, &path, &routes) {
                prop_assert!(routes.contains(&way));
                let exact = way.path_prefix == path && !path.ends_with('/');
                prop_assert!(exact || method == "GET" || method == "HEAD");
            }
        }
    }
}
