//! What ends before anyone is dialled: nothing has left, and nobody was asked.

use super::{Case, Fixed, SECRET, Silent, assert_untouched, untouched};
use crate::{Egress, EgressConfig, Origin, Refused, STARTING_LIMITS, UrlError, judge_url};
use base64::Engine as _;
use event::Route;
use http::{Method, Request};
use std::collections::BTreeMap;
use std::sync::Arc;
use vault::Vault;

#[tokio::test]
async fn what_no_route_grants_is_refused_before_anyone_is_dialled() {
    let (origin, listener) = untouched().await;
    for request in [Request::get(format!("{origin}/pages")), Request::delete(format!("{origin}/page"))] {
        let mut case = Case::get(&origin);
        case.request = request;
        let refused = case.refused().await;
        assert!(matches!(refused, Refused::NotGranted { .. }) && !refused.request_left(), "{refused}");
        assert!(refused.to_string().contains(&format!("`GET|POST {origin}/page and below`")), "{refused}");
    }
    assert_untouched(listener).await;
}

#[tokio::test]
async fn a_request_that_carries_a_secret_is_refused_before_anyone_is_dialled() {
    let (origin, listener) = untouched().await;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("x{SECRET}y"));
    let address = |query: &str| Request::get(format!("{origin}/page?q={query}"));
    let header = |value: &str| address("").header("x-note", value);
    for request in [address("s3cret%2Fof%2Bthe.host"), address(&encoded), header(SECRET), header(&encoded)] {
        let mut case = Case::get(&origin);
        case.request = request;
        let refused = case.refused().await;
        assert!(
            matches!(&refused, Refused::SecretInRequest { reference } if reference == "key"),
            "{refused}"
        );
        assert!(!refused.request_left() && !refused.to_string().contains(SECRET));
    }
    let mut case = Case::get(&origin);
    case.body = "{\"note\":\"s3cret\\/of+the.host\"}";
    assert!(matches!(case.refused().await, Refused::SecretInRequest { .. }));
    assert_untouched(listener).await;
}

#[tokio::test]
async fn a_refusal_never_repeats_a_secret() {
    let mut case = Case::get("https://api.example.com");
    case.loopback.clear();
    case.all_read = true;
    case.request = Request::get(format!("https://api.example.com/not-granted/{SECRET}"));
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::SecretInRequest { .. }), "{refused}");
}

#[tokio::test]
async fn a_request_over_its_limits_is_refused_before_anyone_is_dialled() {
    let (origin, listener) = untouched().await;
    let mut case = Case::get(&origin);
    case.body = "four";
    case.limits.request_bytes_max = 3;
    assert!(matches!(case.refused().await, Refused::RequestTooLarge { part: "body", bytes_max: 3 }));
    let mut case = Case::get(&origin);
    case.request = case.request.header("x-long", "x".repeat(STARTING_LIMITS.head_bytes_max));
    assert!(matches!(case.refused().await, Refused::RequestTooLarge { part: "head", .. }));
    assert_untouched(listener).await;
}

#[tokio::test]
async fn a_loopback_origin_that_is_not_listed_is_refused() {
    let (origin, listener) = untouched().await;
    let mut case = Case::get(&origin);
    case.loopback.clear();
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::UrlRefused(UrlError::Scheme)), "{refused:?}");
    let mut case = Case::get(&origin.replace("http:", "https:"));
    case.loopback.clear();
    assert!(matches!(case.refused().await, Refused::UrlRefused(UrlError::Literal)));
    let port = listener.local_addr().unwrap().port();
    let mut case = Case::get(&format!("https://api.example.com:{port}"));
    case.loopback = vec![origin];
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::AddressRefused { .. }) && !refused.request_left(), "{refused:?}");
    assert_untouched(listener).await;
}

#[tokio::test]
async fn one_address_that_may_not_be_dialled_refuses_the_name() {
    for bad in ["10.0.0.1", "::ffff:127.0.0.1", "fd00:ec2::254", "169.254.169.254"] {
        let mut case = Case::get("https://api.example.com");
        case.loopback.clear();
        case.resolve = Arc::new(Fixed(vec!["93.184.215.14".parse().unwrap(), bad.parse().unwrap()]));
        let refused = case.refused().await;
        assert!(
            matches!(&refused, Refused::AddressRefused { address, .. } if address.to_string() == bad),
            "{refused:?}"
        );
    }
}

/// Says something else each time it is asked, and counts.
struct Changing(std::sync::atomic::AtomicUsize);

#[async_trait::async_trait]
impl crate::Resolve for Changing {
    async fn resolve(&self, _host: &str, _port: u16) -> std::io::Result<Vec<std::net::IpAddr>> {
        let before = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let said = if before == 0 { "127.0.0.1" } else { "10.0.0.1" };
        Ok(vec![said.parse().unwrap()])
    }
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_asked_once_and_what_was_judged_is_what_is_dialled() {
    let (origin, served) = super::serve(super::OK, false).await;
    let resolve = Arc::new(Changing(0.into()));
    let mut case = Case::get(&origin.replace("127.0.0.1", "localhost"));
    case.resolve = resolve.clone();
    assert_eq!(case.send().await.unwrap().status, 200);
    assert!(served.await.unwrap().starts_with("GET /page"));
    assert_eq!(resolve.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_listed_name_must_lead_to_this_machine() {
    let mut case = Case::get("http://localhost:9");
    case.resolve = Arc::new(Fixed(vec!["93.184.215.14".parse().unwrap()]));
    assert!(matches!(case.refused().await, Refused::AddressRefused { .. }));
    let mut case = Case::get("http://localhost:9");
    case.resolve = Arc::new(Fixed(Vec::new()));
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::Unresolvable { .. }) && !refused.request_left(), "{refused:?}");
}

#[tokio::test]
async fn a_credential_that_cannot_be_had_or_written_refuses_before_anyone_is_dialled() {
    let (origin, listener) = untouched().await;
    let mut case = Case::get(&origin);
    case.secret.clear();
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::CredentialMissing(_)), "{refused:?}");
    assert!(refused.to_string().contains("credential `key` is missing"), "{refused}");
    let mut case = Case::get(&origin);
    case.routes[0].credential = Some("other".to_owned());
    assert!(matches!(case.refused().await, Refused::CredentialMissing(_)));
    let mut case = Case::get(&origin);
    case.secret = "two\nlines".to_owned();
    assert!(matches!(case.refused().await, Refused::CredentialUnusable { .. }));
    assert_untouched(listener).await;
}

#[test]
fn an_entry_that_is_not_on_this_machine_is_named() {
    for entry in
        ["https://api.example.com", "http://10.0.0.1:80", "http://127.0.0.2:80", "http://a.localhost:80"]
    {
        let loopback = vec![Origin::parse("http://127.0.0.1:80").unwrap(), Origin::parse(entry).unwrap()];
        let config = EgressConfig { loopback, injections: BTreeMap::new(), limits: STARTING_LIMITS };
        let vault = Arc::new(Vault::new(BTreeMap::new()));
        let error = Egress::new(config, Arc::new(Silent), vault).err().unwrap();
        let named = Origin::parse(entry).unwrap().to_string();
        assert!(error.to_string().contains(&format!("`{named}`")), "{error}");
    }
}

/// Addresses and what becomes of each; what a name resolves to is what a resolver of the test says, and nobody is dialled.
const CASES: &str = include_str!("../../cases/url.tsv");

#[tokio::test]
async fn every_case_of_an_address_is_judged_as_it_says_and_nobody_is_dialled() {
    let judged = judge_all(CASES).await;
    assert!(judged > 120, "{judged} cases");
}

/// The cases that stand beside this checkout, where there are some: the ones here are these and more.
#[tokio::test]
async fn the_shared_cases_are_among_those_of_this_repository() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/url/cases.tsv");
    let Ok(cases) = std::fs::read_to_string(path) else {
        eprintln!("skipped: no shared cases beside this checkout");
        return;
    };
    assert!(judge_all(&cases).await > 0, "no case in {path}");
    let missing: Vec<&str> = cases.lines().filter(|line| !CASES.lines().any(|own| own == *line)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

async fn judge_all(cases: &str) -> usize {
    let lines: Vec<&str> = cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    for line in &lines {
        let (what, verdict) = line.split_once('\t').unwrap();
        let allowed = match what.strip_prefix("resolves-to ") {
            Some(addresses) => may_be_dialled(addresses).await,
            None => is_granted(what),
        };
        assert_eq!(allowed, verdict == "allow", "{line}");
    }
    lines.len()
}

/// Whether a granted name that resolves to these addresses may be dialled, which is asked before anyone is.
async fn may_be_dialled(addresses: &str) -> bool {
    let resolve = Arc::new(Fixed(addresses.split(' ').map(|one| one.parse().unwrap()).collect()));
    let config = EgressConfig { loopback: Vec::new(), injections: BTreeMap::new(), limits: STARTING_LIMITS };
    let egress = Egress::new(config, resolve, Arc::new(Vault::new(BTreeMap::new()))).unwrap();
    let origin = Origin::parse("https://api.example.com").unwrap();
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    match egress.addresses(&origin, end).await {
        Ok(found) => {
            assert_eq!(found.len(), addresses.split(' ').count(), "each is dialled, and no other");
            true
        }
        Err(Refused::AddressRefused { .. }) => false,
        Err(other) => panic!("{addresses}: {other}"),
    }
}

fn is_granted(address: &str) -> bool {
    let routes = Case::get("https://api.example.com").routes;
    let routes: Vec<_> =
        routes.into_iter().map(|route| Route { path: event::RoutePath::every(), ..route }).collect();
    judge_url(address, &[])
        .is_ok_and(|target| crate::route::route_for(&Method::GET, &target, &routes).is_ok())
}
