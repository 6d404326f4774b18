//! Pulling a plugin from a registry, as the OCI distribution specification says: a manifest, then the one layer that is
//! the component.
//!
//! Always holds: a manifest that is pinned has its digest, and every layer has the digest its manifest names; a token
//! is asked of the service that the registry names, kept for this one errand, and sent to the registry alone; a password
//! is shown to the registry it is configured for, or to the token service that this registry names, and to nobody else.
//! Deliberately absent: pushing (`oras push` does it), and an index of several platforms.

use super::fetch::{Answer, Downloads, Login, text};
use super::signature::SIGNATURE_BYTES_MAX;
use crate::config::Config;
use anyhow::{Context, Result, anyhow, bail, ensure};
use component::COMPONENT_BYTES_MAX;
use event::Digest;
use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use oci_spec::distribution::Reference;
use oci_spec::image::{Descriptor, ImageManifest};
use serde::Deserialize;
use std::collections::BTreeMap;
use vault::Given;

/// What the layer of a component is called.
const WASM: [&str; 2] = ["application/wasm", "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm"];
/// What the layer of its signature is called.
const SIGNATURE: &str = "application/vnd.chancery.signature.minisign";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Longest manifest: what registries take.
const MANIFEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The component at `reference` and its signature, if one was pushed with it.
pub(super) async fn pull(
    config: &Config,
    reference: &Reference,
    pin: Option<&Digest>,
) -> Result<(Vec<u8>, Option<String>)> {
    let mut downloads = Downloads::new(config, None)?;
    let base = base(&downloads, reference);
    let named = pin
        .map_or_else(|| reference.tag().unwrap_or("latest").to_owned(), |digest| format!("sha256:{digest}"));
    let url = format!("{base}/manifests/{named}");
    let mut answer = downloads.get(&url, MANIFEST).await?;
    if answer.status == StatusCode::UNAUTHORIZED {
        downloads = Downloads::new(config, Some(login(config, &answer, reference).await?))?;
        answer = downloads.get(&url, MANIFEST).await?;
    }
    ensure!(
        answer.status.is_success(),
        "the registry answers {} to `oci://{reference}`: look whether that repository and tag are there, and may be read",
        answer.status
    );
    if let Some(pin) = pin {
        ensure!(Digest::of(&answer.body) == *pin, "the registry gave another manifest than the pinned one");
    }
    let manifest = manifest(&answer.body).with_context(|| format!("the manifest of `oci://{reference}`"))?;
    let component = component(&manifest)?;
    let bytes = layer(&downloads, &base, component, COMPONENT_BYTES_MAX).await?;
    let signature = match manifest.layers().iter().find(|layer| layer.media_type().to_string() == SIGNATURE) {
        None => None,
        Some(layer_of) => text(&layer(&downloads, &base, layer_of, SIGNATURE_BYTES_MAX).await?),
    };
    Ok((bytes, signature))
}

/// Where the repository is. Plain HTTP is for an origin of this machine that the configuration opens.
fn base(downloads: &Downloads, reference: &Reference) -> String {
    let registry = reference.resolve_registry();
    let plain = format!("http://{registry}");
    let origin = if downloads.opens(&plain) { plain } else { format!("https://{registry}") };
    format!("{origin}/v2/{}", reference.repository())
}

fn manifest(body: &[u8]) -> Result<ImageManifest> {
    ensure!(body.len() <= MANIFEST_BYTES_MAX, "it is longer than {MANIFEST_BYTES_MAX} bytes");
    serde_json::from_slice(body)
        .context("it is not that of an artifact with layers (an index of platforms is not read)")
}

/// The one layer that is a component.
fn component(manifest: &ImageManifest) -> Result<&Descriptor> {
    let is = |layer: &&Descriptor| WASM.contains(&layer.media_type().to_string().as_str());
    let mut found = manifest.layers().iter().filter(is);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => bail!("it has no layer of type `{}`: push the component as one", WASM[0]),
        (Some(_), Some(_)) => bail!("it has several layers that are components, and a plugin is one"),
    }
}

async fn layer(downloads: &Downloads, base: &str, layer: &Descriptor, bytes_max: usize) -> Result<Vec<u8>> {
    let digest = layer.digest().to_string();
    let wanted = digest.strip_prefix("sha256:").and_then(Digest::parse);
    let wanted =
        wanted.with_context(|| format!("a layer is named by `{digest}`, and only sha256 is read"))?;
    ensure!(
        layer.size() <= bytes_max as u64,
        "the layer {} is {} bytes, and {bytes_max} is the most",
        wanted.short(),
        layer.size()
    );
    let answer = downloads.get(&format!("{base}/blobs/{digest}"), "*/*").await?;
    ensure!(
        answer.status.is_success(),
        "the registry answers {} to the layer {}",
        answer.status,
        wanted.short()
    );
    ensure!(
        Digest::of(&answer.body) == wanted,
        "the registry gave something else for the layer {}",
        wanted.short()
    );
    Ok(answer.body.to_vec())
}

/// What a token service answers.
#[derive(Deserialize)]
struct Tokens {
    #[serde(alias = "access_token")]
    token: String,
}

/// What the registry is to be shown: a token of the service that its answer names, or the password itself where it wants
/// that.
async fn login(config: &Config, answer: &Answer, reference: &Reference) -> Result<Login> {
    let header =
        answer.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let registry = reference.resolve_registry();
    let password = config.installs.registries.get(registry).cloned().map(Login::Password);
    if let Some(asked) = challenge(header) {
        let downloads = Downloads::new(config, password)?;
        return Ok(Login::Token(Given::new(token(&downloads, &asked, reference).await?)));
    }
    password.with_context(|| {
        format!(
            "the registry of `oci://{reference}` asks for a password: name a credential that has a `user` under \
             `[plugins.registries]`, as \"{registry}\" = \"…\""
        )
    })
}

/// A token for pulling, of the service that the registry names.
async fn token(
    downloads: &Downloads,
    asked: &BTreeMap<String, String>,
    reference: &Reference,
) -> Result<String> {
    let realm =
        asked.get("realm").context("the registry asks for a token and does not say where to get one")?;
    let mut url = url::Url::parse(realm).map_err(|error| anyhow!("the registry's token service: {error}"))?;
    let scope = format!("repository:{}:pull", reference.repository());
    url.query_pairs_mut().append_pair("scope", &scope);
    if let Some(service) = asked.get("service") {
        url.query_pairs_mut().append_pair("service", service);
    }
    let answer = downloads.get(url.as_str(), "application/json").await?;
    ensure!(answer.status.is_success(), "the registry's token service answers {}", answer.status);
    let tokens: Tokens = serde_json::from_slice(&answer.body)
        .map_err(|_| anyhow!("the registry's token service gave no token"))?;
    Ok(tokens.token)
}

/// The parts of `Bearer realm="…",service="…"`; nothing when it asks for something else.
fn challenge(header: &str) -> Option<BTreeMap<String, String>> {
    let (scheme, mut rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut parts = BTreeMap::new();
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"')?;
        parts.insert(name.trim_matches([',', ' ']).to_ascii_lowercase(), value.to_owned());
        rest = after;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::{challenge, component, manifest};

    #[test]
    fn a_challenge_is_taken_apart_and_another_scheme_is_none() {
        let parts = challenge(
            "Bearer realm=\"https://auth.example/token\", service=\"registry.example\",scope=\"a:b:pull,push\"",
        );
        let parts = parts.unwrap();
        assert_eq!(parts["realm"], "https://auth.example/token");
        assert_eq!(
            (parts["service"].as_str(), parts["scope"].as_str()),
            ("registry.example", "a:b:pull,push")
        );
        assert!(challenge("Basic realm=\"x\"").is_none());
        assert!(challenge("Bearer realm=\"open").is_none());
    }

    fn with_layers(types: &[&str]) -> Result<usize, String> {
        let layer = |kind: &&str| serde_json::json!({"mediaType": kind, "size": 1, "digest": format!("sha256:{}", "0".repeat(64))});
        let layers: Vec<_> = types.iter().map(layer).collect();
        let config = layer(&"application/vnd.wasm.config.v0+json");
        let body = serde_json::json!({"schemaVersion": 2, "config": config, "layers": layers}).to_string();
        let manifest = manifest(body.as_bytes()).map_err(|error| format!("{error:#}"))?;
        component(&manifest).map(|_| manifest.layers().len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_plugin_is_the_one_layer_that_is_a_component() {
        assert_eq!(with_layers(&["application/wasm", "application/vnd.chancery.signature.minisign"]), Ok(2));
        assert!(with_layers(&[]).unwrap_err().contains("no layer of type `application/wasm`"));
        assert!(with_layers(&["application/wasm", "application/wasm"]).unwrap_err().contains("several"));
        assert!(manifest(b"{\"manifests\":[]}").is_err());
    }
}
