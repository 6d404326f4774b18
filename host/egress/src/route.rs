//! Finding the route that a request goes by. What no route allows is refused.

use crate::{Origin, Refused, Target};
use event::Route;

/// How many routes a refusal names: enough to see what would be allowed, short enough to read.
const ROUTES_NAMED_MAX: usize = 8;

/// Methods that turn a connection into something else, or send a request's own headers back. No grant
/// reaches so far.
const METHODS_NEVER: [&str; 2] = ["CONNECT", "TRACE"];

/// The route for this request: same method, same origin, path within. Of several, the one with the longest
/// path, which is the most particular; of those, the first.
///
/// # Errors
/// [`Refused::NotGranted`], with the routes that were granted.
pub(crate) fn route_for<'r>(
    method: &http::Method,
    target: &Target,
    routes: &'r [Route],
) -> Result<&'r Route, Refused> {
    let path = target.path_and_query().path();
    let allows = |route: &&Route| {
        !METHODS_NEVER.contains(&method.as_str())
            && route.methods.iter().any(|granted| granted == method.as_str())
            && Origin::parse(&route.origin).is_ok_and(|origin| origin == *target.origin())
            && path_is_within(path, &route.path_prefix)
    };
    let longest = routes.iter().filter(allows).rev().max_by_key(|route| route.path_prefix.len());
    longest.ok_or_else(|| Refused::NotGranted {
        method: method.to_string(),
        address: format!("{}{path}", target.origin()),
        granted: named(routes),
    })
}

/// Whether `path` is `prefix` or below it, by whole segments: `/v1` holds `/v1` and `/v1/x`, not `/v10`.
/// A prefix that ends with `/` holds what is below it alone.
fn path_is_within(path: &str, prefix: &str) -> bool {
    let below = |rest: &str| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/');
    prefix.starts_with('/') && path.strip_prefix(prefix).is_some_and(below)
}

fn named(routes: &[Route]) -> String {
    if routes.is_empty() {
        return "nothing".to_owned();
    }
    let one = |route: &Route| format!("`{} {}{}`", route.methods.join("|"), route.origin, route.path_prefix);
    let mut list: Vec<_> = routes.iter().take(ROUTES_NAMED_MAX).map(one).collect();
    if let Some(more) = routes.len().checked_sub(ROUTES_NAMED_MAX).filter(|more| *more > 0) {
        list.push(format!("{more} more"));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{path_is_within, route_for};
    use crate::judge_url;
    use event::Route;
    use http::Method;
    use proptest::prelude::*;

    fn route(methods: &[&str], origin: &str, path_prefix: &str) -> Route {
        Route {
            methods: methods.iter().map(|m| (*m).to_owned()).collect(),
            origin: origin.to_owned(),
            path_prefix: path_prefix.to_owned(),
            credential: None,
        }
    }

    fn found(method: &Method, address: &str, routes: &[Route]) -> Result<String, String> {
        let target = judge_url(address, &[]).unwrap();
        route_for(method, &target, routes)
            .map(|r| r.path_prefix.clone())
            .map_err(|refused| refused.to_string())
    }

    #[test]
    fn method_origin_and_path_must_all_fit() {
        let routes = [route(&["GET", "HEAD"], "https://api.example.com", "/v1")];
        assert_eq!(found(&Method::GET, "https://api.example.com/v1/x?q", &routes).as_deref(), Ok("/v1"));
        assert_eq!(found(&Method::HEAD, "https://API.example.com:443/v1", &routes).as_deref(), Ok("/v1"));
        for (method, address) in [
            (Method::POST, "https://api.example.com/v1"),
            (Method::GET, "https://api.example.com/v10"),
            (Method::GET, "https://api.example.com/"),
            (Method::GET, "https://api.example.com/v1/../v2"),
            (Method::GET, "https://api.example.com/v1/%2e%2e/v2"),
            (Method::GET, "https://api.example.com:8443/v1"),
            (Method::GET, "https://example.com/v1"),
            (Method::GET, "https://api.example.com.evil.test/v1"),
            (Method::GET, "https://169.254.169.254.nip.io/v1"),
        ] {
            let said = found(&method, address, &routes).unwrap_err();
            assert!(said.contains("`GET|HEAD https://api.example.com/v1`"), "{said}");
        }
    }

    #[test]
    fn the_most_particular_route_is_taken() {
        let o = "https://api.example.com";
        let routes = [route(&["GET"], o, "/"), route(&["GET"], o, "/v1/chat"), route(&["GET"], o, "/v1")];
        assert_eq!(
            found(&Method::GET, "https://api.example.com/v1/chat/x", &routes).as_deref(),
            Ok("/v1/chat")
        );
        assert_eq!(found(&Method::GET, "https://api.example.com/v1/chats", &routes).as_deref(), Ok("/v1"));
        assert_eq!(found(&Method::GET, "https://api.example.com/", &routes).as_deref(), Ok("/"));
    }

    #[test]
    fn of_two_equal_routes_the_first_is_taken() {
        let mut routes = [
            route(&["GET"], "https://api.example.com", "/"),
            route(&["GET"], "https://api.example.com", "/"),
        ];
        routes[0].credential = Some("first".to_owned());
        let target = judge_url("https://api.example.com/", &[]).unwrap();
        assert_eq!(route_for(&Method::GET, &target, &routes).unwrap().credential.as_deref(), Some("first"));
    }

    #[test]
    fn no_grant_reaches_connect_or_trace_and_a_broken_route_grants_nothing() {
        let routes = [
            route(&["CONNECT", "TRACE", "GET"], "https://api.example.com", "/"),
            route(&["POST"], "https://*.example.com", "/"),
            route(&["POST"], "https://api.example.com/", "/"),
            route(&["POST"], "https://api.example.com", ""),
        ];
        for method in [Method::CONNECT, Method::TRACE, Method::POST] {
            assert!(found(&method, "https://api.example.com/", &routes).is_err(), "{method}");
        }
    }

    #[test]
    fn a_refusal_names_a_few_routes_and_counts_the_rest() {
        assert!(
            found(&Method::GET, "https://api.example.com/", &[]).unwrap_err().ends_with("granted is nothing")
        );
        let many = vec![route(&["POST"], "https://api.example.com", "/"); 11];
        assert!(found(&Method::GET, "https://api.example.com/", &many).unwrap_err().ends_with(", 3 more"));
    }

    proptest! {
        #[test]
        fn a_path_is_within_a_prefix_exactly_when_its_segments_begin_with_the_prefixs(
            prefix in "(/[ab]{1,2}){1,3}",
            path in "(/[ab]{0,2}){1,4}",
        ) {
            let wanted: Vec<_> = prefix.split('/').collect();
            let begins = path.split('/').take(wanted.len()).eq(wanted);
            prop_assert_eq!(path_is_within(&path, &prefix), begins);
        }
    }
}
