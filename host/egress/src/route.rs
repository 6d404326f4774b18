//! Finding the route that a request goes by. What no route allows is refused.

use crate::{Origin, Refused, Target};
use event::Route;

/// How many routes a refusal names: enough to see what would be allowed, short enough to read.
const ROUTES_NAMED_MAX: usize = 8;

/// Methods that turn a connection into something else, or send a request's own headers back. No grant
/// reaches so far.
const METHODS_NEVER: [&str; 2] = ["CONNECT", "TRACE"];

/// The route for this request: same method, same origin, a path it is for. Of several, the one whose path is the most
/// particular ([`RoutePath::particular`](event::RoutePath::particular)); of those, the first.
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
            && route.path.holds(path)
    };
    let longest = routes.iter().filter(allows).rev().max_by_key(|route| route.path.particular());
    longest.ok_or_else(|| Refused::NotGranted {
        method: method.to_string(),
        address: format!("{}{path}", target.origin()),
        granted: named(routes),
    })
}

fn named(routes: &[Route]) -> String {
    if routes.is_empty() {
        return "nothing".to_owned();
    }
    let one = |route: &Route| format!("`{} {}{}`", route.methods.join("|"), route.origin, route.path);
    let mut list: Vec<_> = routes.iter().take(ROUTES_NAMED_MAX).map(one).collect();
    if let Some(more) = routes.len().checked_sub(ROUTES_NAMED_MAX).filter(|more| *more > 0) {
        list.push(format!("{more} more"));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::route_for;
    use crate::judge_url;
    use event::{Route, RoutePath};
    use http::Method;

    fn route(methods: &[&str], origin: &str, path_prefix: &str) -> Route {
        Route {
            methods: methods.iter().map(|m| (*m).to_owned()).collect(),
            origin: origin.to_owned(),
            path: RoutePath::Below(path_prefix.to_owned()),
            credential: None,
        }
    }

    fn found(method: &Method, address: &str, routes: &[Route]) -> Result<String, String> {
        let target = judge_url(address, &[]).unwrap();
        route_for(method, &target, routes)
            .map(|r| r.path.text().to_owned())
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
            assert!(said.contains("`GET|HEAD https://api.example.com/v1 and below`"), "{said}");
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

    #[test]
    fn a_whole_path_opens_nothing_near_it_and_is_taken_before_what_it_lies_below() {
        let o = "https://mail.example.com";
        let whole =
            |path: &str| Route { path: RoutePath::Whole(path.to_owned()), ..route(&["POST"], o, "/") };
        let drafts = [whole("/me/drafts"), whole("/me/drafts/*")];
        let asked = |path: &str| found(&Method::POST, &format!("{o}{path}"), &drafts);
        assert_eq!(asked("/me/drafts?alt=media").as_deref(), Ok("/me/drafts"));
        assert_eq!(asked("/me/x/../drafts").as_deref(), Ok("/me/drafts"), "as it is sent");
        assert_eq!(asked("/me/drafts/7").as_deref(), Ok("/me/drafts/*"));
        for near in
            ["/me/drafts/", "/me/drafts/7/send", "/me/drafts/7%2Fsend", "/me/drafts%2F7", "/me/drafts//"]
        {
            assert!(asked(near).unwrap_err().contains("`POST https://mail.example.com/me/drafts`"), "{near}");
        }
        assert!(asked("/me/drafts/../send").is_err());
        assert!(judge_url(&format!("{o}/me/drafts/7%2f..%2fsend"), &[]).is_err(), "not even an address");
        let both = [route(&["POST"], o, "/me/drafts"), whole("/me/drafts")];
        let target = judge_url(&format!("{o}/me/drafts"), &[]).unwrap();
        assert_eq!(route_for(&Method::POST, &target, &both).unwrap(), &both[1]);
    }
}
