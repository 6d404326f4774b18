//! Where plugins come from: a file, an address, a registry; pinned by digest and signed, or not let in.

use base64::Engine as _;
use std::path::{Path, PathBuf};
use tests::host::run;
use tests::registry::{PASSWORD, Registry, USER};
use tests::signing::Keys;
use tests::{Kit, variant};

fn component(version: &str) -> Vec<u8> {
    let manifest = variant::manifest("hostile").replace("0.1.0\"\nworld", &format!("{version}\"\nworld"));
    variant::version("hostile", &manifest)
}

fn digest(bytes: &[u8]) -> String {
    event::Digest::of(bytes).to_string()
}

fn plugin(config: &Path, arguments: &[&str]) -> (bool, String) {
    let mut all = vec!["plugin"];
    all.extend(arguments);
    let output = run(config, &all);
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

/// A server that answers each path with bytes, or a redirect.
async fn serve(pages: Vec<(&'static str, Result<Vec<u8>, String>)>) -> String {
    use axum::http::{StatusCode, header};
    use axum::response::IntoResponse;
    let pages: std::collections::BTreeMap<&str, _> = pages.into_iter().collect();
    let router = axum::Router::new().fallback(move |uri: axum::http::Uri| {
        let page = pages.get(uri.path()).cloned();
        async move {
            match page {
                Some(Ok(bytes)) => bytes.into_response(),
                Some(Err(to)) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
                None => StatusCode::NOT_FOUND.into_response(),
            }
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    origin
}

/// An office that may reach these origins of this machine, with `more` at the end of its configuration.
async fn office(origins: &[&str], more: &str) -> (Kit, PathBuf) {
    let mut kit = Kit::new().await;
    kit.more = more.to_owned();
    let path = kit.write();
    let text = std::fs::read_to_string(&path).unwrap();
    let listed: Vec<String> = origins.iter().map(|origin| format!(", \"{origin}\"")).collect();
    let (before, after) = text.split_once("]\n[purse]").unwrap();
    std::fs::write(&path, format!("{before}{}]\n[purse]{after}", listed.concat())).unwrap();
    (kit, path)
}

fn required(keys: &Keys) -> String {
    format!("[plugins]\nrequire_signatures = true\nkeys = [\"{}\"]\n", keys.public)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_comes_from_an_address_and_from_nowhere_that_is_not_opened() {
    let bytes = component("0.1.0");
    let far = serve(vec![("/real.wasm", Ok(bytes.clone()))]).await;
    let redirects = vec![
        ("/hostile.wasm", Ok(bytes.clone())),
        ("/moved.wasm", Err(format!("{far}/real.wasm"))),
        ("/loop.wasm", Err("/loop.wasm".to_owned())),
        ("/inside.wasm", Err("http://169.254.169.254/latest".to_owned())),
        ("/closed.wasm", Err("http://127.0.0.1:9/x".to_owned())),
        ("/page.wasm", Ok(b"<html>".to_vec())),
    ];
    let near = serve(redirects).await;
    let (_kit, config) = office(&[&near, &far], "").await;
    let at = |path: &str| format!("{near}{path}");
    for (path, wanted) in [
        ("/none.wasm", "answers 404"),
        ("/page.wasm", "is not a plugin"),
        ("/loop.wasm", "redirects more than"),
        ("/inside.wasm", "is not asked"),
        ("/closed.wasm", "is not asked"),
    ] {
        let (well, said) = plugin(&config, &["install", &at(path)]);
        assert!(!well && said.contains(wanted), "{path}: {said}");
    }
    let (well, said) = plugin(&config, &["install", "http://127.0.0.1:9/hostile.wasm"]);
    assert!(!well && said.contains("`[egress] loopback`"), "{said}");
    let pinned = format!("{}@sha256:{}", at("/moved.wasm"), digest(b"other"));
    let (well, said) = plugin(&config, &["install", &pinned]);
    assert!(!well && said.contains("another file than it should be"), "{said}");
    let pinned = format!("{}@sha256:{}", at("/moved.wasm"), digest(&bytes));
    let (well, said) = plugin(&config, &["install", &pinned]);
    assert!(well && said.contains("hostile 0.1.0"), "{said}");
    let (well, said) = plugin(&config, &["update", "hostile"]);
    assert!(well && said.contains("is the newest there"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_comes_from_a_registry_by_tag_and_by_digest() {
    let registry = Registry::start();
    let origin = format!("http://{}", registry.host);
    let (_kit, config) = office(&[&origin], "").await;
    let first = component("0.1.0");
    let manifest = registry.push("team/hostile", "1", &[("application/wasm", &first)]).await;
    let name = |rest: &str| format!("oci://{}/team/{rest}", registry.host);
    let (well, said) = plugin(&config, &["install", &name("hostile:2")]);
    assert!(!well && said.contains("the registry answers 404"), "{said}");
    let wrong = format!("{}@sha256:{}", name("hostile:1"), digest(b"other"));
    let (well, said) = plugin(&config, &["install", &wrong]);
    assert!(!well && said.contains("the registry answers 404"), "{said}");
    let (well, said) = plugin(&config, &["install", &format!("{}@{manifest}", name("hostile:1")), "--grant"]);
    assert!(well && said.contains("hostile 0.1.0"), "{said}");
    // The tag moves on: an update asks for it again, without the digest.
    registry.push("team/hostile", "1", &[("application/wasm", &component("0.1.1"))]).await;
    let (well, said) = plugin(&config, &["update", "hostile"]);
    assert!(well && said.contains("hostile 0.1.1"), "{said}");
    registry.push("team/empty", "1", &[("text/plain", b"x")]).await;
    let (well, said) = plugin(&config, &["inspect", &name("empty:1")]);
    assert!(!well && said.contains("no layer of type `application/wasm`"), "{said}");
    let (well, said) = plugin(&config, &["inspect", &name("hostile:1")]);
    assert!(well && said.contains("Here 0.1.1 is installed"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_signatures_are_required_unsigned_strangers_and_altered_files_are_refused() {
    let (good, stranger) = (Keys::new(), Keys::new());
    let (kit, config) = office(&[], "").await;
    let file = kit.folder().join("hostile.wasm");
    let beside = kit.folder().join("hostile.wasm.minisig");
    let bytes = component("0.1.0");
    // The plugins of the configuration are held to it too, so this office has none.
    let text = std::fs::read_to_string(&config).unwrap();
    let (before, _) = text.split_once("[[plugin]]").unwrap();
    std::fs::write(&config, format!("{before}{}", required(&good))).unwrap();
    std::fs::write(&file, &bytes).unwrap();
    let install = || plugin(&config, &["install", file.to_str().unwrap()]);
    let (well, said) = install();
    assert!(!well && said.contains("is not signed"), "{said}");
    std::fs::write(&beside, stranger.sign(&bytes)).unwrap();
    let (well, said) = install();
    assert!(!well && said.contains("by a key that is not among `[plugins] keys`"), "{said}");
    std::fs::write(&beside, good.sign(&component("0.1.1"))).unwrap();
    let (well, said) = install();
    assert!(!well && said.contains("is not the file that was signed"), "{said}");
    std::fs::write(&beside, "nonsense").unwrap();
    let (well, said) = install();
    assert!(!well && said.contains("is not one that minisign made"), "{said}");
    std::fs::write(&beside, good.sign(&bytes)).unwrap();
    let (well, said) = install();
    assert!(well && said.contains(&format!("signed by {}", good.public)), "{said}");
    let (well, said) = plugin(&config, &["verify"]);
    assert!(well && said.contains("signed by"), "{said}");
    // A key that is no longer trusted takes its plugins with it.
    std::fs::write(&config, format!("{before}{}", required(&stranger))).unwrap();
    let (well, said) = plugin(&config, &["verify"]);
    assert!(!well && said.contains("by a key that is not among"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_comes_along_from_an_address_and_from_a_registry() {
    let good = Keys::new();
    let bytes = component("0.1.0");
    let signature = good.sign(&bytes);
    let origin = serve(vec![
        ("/hostile.wasm", Ok(bytes.clone())),
        ("/hostile.wasm.minisig", Ok(signature.clone().into_bytes())),
    ])
    .await;
    let registry = Registry::start();
    let layers: [(&str, &[u8]); 2] =
        [("application/wasm", &bytes), ("application/vnd.chancery.signature.minisign", signature.as_bytes())];
    registry.push("team/hostile", "1", &layers).await;
    let keys = format!("[plugins]\nkeys = [\"{}\"]\n", good.public);
    let registered = format!("http://{}", registry.host);
    let (_kit, config) = office(&[&origin, &registered], &keys).await;
    for source in [format!("{origin}/hostile.wasm"), format!("oci://{}/team/hostile:1", registry.host)] {
        let (well, said) = plugin(&config, &["inspect", "--still", &source]);
        assert!(well && said.contains("good, by the trusted key"), "{source}: {said}");
    }
    // A signature that is there and not good stops it, also where none is required.
    let other = component("0.1.1");
    let origin =
        serve(vec![("/hostile.wasm", Ok(other)), ("/hostile.wasm.minisig", Ok(signature.into_bytes()))])
            .await;
    let (_kit, config) = office(&[&origin], &keys).await;
    let (well, said) = plugin(&config, &["install", &format!("{origin}/hostile.wasm")]);
    assert!(!well && said.contains("is not the file that was signed"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_that_wants_a_password_gets_the_one_it_is_configured_for() {
    let registry = Registry::start_private();
    let origin = format!("http://{}", registry.host);
    registry.push("team/hostile", "1", &[("application/wasm", &component("0.1.0"))]).await;
    let source = format!("oci://{}/team/hostile:1", registry.host);
    let (_kit, config) = office(&[&origin], "").await;
    let (well, said) = plugin(&config, &["inspect", "--still", &source]);
    assert!(!well && said.contains("asks for a password") && said.contains("[plugins.registries]"), "{said}");
    let more = format!(
        "[credentials.\"registry.bot\"]\nfile = \"registry\"\nuser = \"{USER}\"\n[plugins.registries]\n\"{}\" = \"registry.bot\"\n",
        registry.host
    );
    let (kit, config) = office(&[&origin], &more).await;
    std::fs::write(kit.folder().join("registry"), PASSWORD).unwrap();
    let (well, said) = plugin(&config, &["install", &source, "--grant"]);
    assert!(well && said.contains("hostile 0.1.0") && !said.contains(PASSWORD), "{said}");
    std::fs::write(kit.folder().join("registry"), "another-password-of-a-registry").unwrap();
    let (well, said) = plugin(&config, &["inspect", "--still", &source]);
    assert!(
        !well && said.contains("the registry answers 401") && !said.contains("another-password"),
        "{said}"
    );
    // A credential without a user is no password.
    let text = std::fs::read_to_string(&config).unwrap().replace(&format!("user = \"{USER}\"\n"), "");
    std::fs::write(&config, text).unwrap();
    let (well, said) = plugin(&config, &["list"]);
    assert!(!well && said.contains("no such entry with a `user`"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_service_that_wants_a_password_gets_it_and_the_registry_the_token_alone() {
    let host = guarded(component("0.1.0"), true).await;
    let source = format!("oci://{host}/team/hostile:1");
    let (_kit, config) = office(&[&format!("http://{host}")], "").await;
    let (well, said) = plugin(&config, &["inspect", "--still", &source]);
    assert!(!well && said.contains("the registry's token service answers 401"), "{said}");
    let more = format!(
        "[credentials.\"registry.bot\"]\nfile = \"registry\"\nuser = \"{USER}\"\n[plugins.registries]\n\"{host}\" = \"registry.bot\"\n"
    );
    let (kit, config) = office(&[&format!("http://{host}")], &more).await;
    std::fs::write(kit.folder().join("registry"), PASSWORD).unwrap();
    let (well, said) = plugin(&config, &["inspect", "--still", &source]);
    assert!(well && said.contains("hostile 0.1.0"), "{said}");
}

/// A registry that gives a token to anyone, as the public ones do, or to whoever has the password, and wants it back.
async fn guarded(component: Vec<u8>, private: bool) -> String {
    use axum::http::{HeaderMap, StatusCode, Uri, header};
    use axum::response::IntoResponse;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let layer = format!("sha256:{}", digest(&component));
    let config = format!("sha256:{}", digest(b"{}"));
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.wasm.config.v0+json", "size": 2, "digest": config},
        "layers": [{"mediaType": "application/wasm", "size": component.len(), "digest": layer}],
    });
    let realm = format!("http://{host}/token");
    let router = axum::Router::new().fallback(move |uri: Uri, headers: HeaderMap| {
        let (realm, layer) = (realm.clone(), layer.clone());
        let (manifest, component) = (manifest.to_string(), component.clone());
        async move {
            if uri.path() == "/token" {
                let query = uri.query().unwrap_or_default();
                let fits = query.contains("scope=repository%3Ateam%2Fhostile%3Apull");
                assert!(fits && query.contains("service=here"), "{query}");
                let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
                let pair = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
                if private && given != Some(&format!("Basic {pair}")) {
                    return StatusCode::UNAUTHORIZED.into_response();
                }
                return "{\"token\": \"a-token-for-anyone-who-asks\"}".into_response();
            }
            let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            if given != Some("Bearer a-token-for-anyone-who-asks") {
                let asks = format!("Bearer realm=\"{realm}\",service=\"here\"");
                return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, asks)]).into_response();
            }
            match uri.path() {
                "/v2/team/hostile/manifests/1" => manifest.into_response(),
                path if path == format!("/v2/team/hostile/blobs/{layer}") => component.into_response(),
                _ => StatusCode::NOT_FOUND.into_response(),
            }
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    host
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_that_gives_tokens_to_anyone_is_read() {
    let host = guarded(component("0.1.0"), false).await;
    let (_kit, config) = office(&[&format!("http://{host}")], "").await;
    let (well, said) = plugin(&config, &["inspect", "--still", &format!("oci://{host}/team/hostile:1")]);
    assert!(well && said.contains("hostile 0.1.0"), "{said}");
}
