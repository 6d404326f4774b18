//! Getting a plugin's file from where it is: this machine, an address, or a registry; with its signature, if there is
//! one beside it.
//!
//! Always holds: every request goes out by `egress`, which judges the address, refuses private ones and pins names;
//! a redirect is judged like the first address, and takes no credential along; what arrives is within the size of a
//! component and has the digest it was pinned by. The client of registries is this one and not a ready-made one
//! because those bring a transport of their own, which would be a second way out that nobody judges.

use super::signature::{self, SIGNATURE_BYTES_MAX};
use super::source::{Pinned, Source};
use super::store::{self, Component};
use super::{oci, signature::ENDING};
use crate::config::Config;
use crate::wire;
use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use component::{Artifact, COMPONENT_BYTES_MAX};
use egress::{Egress, Limits, Origin, STARTING_LIMITS, SystemResolver, judge_url};
use event::{Digest, Route, RoutePath};
use http::header::{ACCEPT, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use vault::{Given, Vault};

/// Redirects of one download: a release page, a storage service, a mirror, and as many again.
const REDIRECTS_MAX: usize = 6;
/// How long one request of a download may take: 64 MiB on a slow line.
const REQUEST_MS: u64 = 300_000;
/// Name of the one credential that a download may hold: what a registry's token service gave it.
const TOKEN: &str = "registry.token";

/// An answer that may be read.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The way out for downloads.
pub(super) struct Downloads {
    egress: Egress,
    loopback: Vec<Origin>,
    credential: Option<String>,
}

/// What a download may show to whoever it asks first.
#[derive(Clone)]
pub(super) enum Login {
    /// What a registry's token service gave.
    Token(Given),
    /// A password of the configuration, by reference.
    Password(String),
}

impl Downloads {
    /// The way out under this configuration, with a registry's token or password when there is one.
    pub(super) fn new(config: &Config, login: Option<Login>) -> Result<Self> {
        let limits = Limits { body_bytes_max: COMPONENT_BYTES_MAX, ..STARTING_LIMITS };
        let shown = match login {
            None => None,
            Some(Login::Token(value)) => Some((TOKEN.to_owned(), vault::Source::Given(value))),
            Some(Login::Password(reference)) => {
                let known = config.credentials.get(&reference);
                let known = known.with_context(|| format!("`[credentials]` has no `{reference}`"))?;
                Some((reference, wire::source(&known.source)))
            }
        };
        let credential = shown.as_ref().map(|(name, _)| name.clone());
        let vault = Arc::new(Vault::new(shown.into_iter().collect::<BTreeMap<_, _>>()));
        let egress = wire::egress(config, Arc::new(SystemResolver), vault, limits)?;
        Ok(Self { egress, loopback: wire::loopback(config)?, credential })
    }

    /// Whether this origin is one of this machine that the configuration opens.
    pub(super) fn opens(&self, origin: &str) -> bool {
        Origin::parse(origin).is_ok_and(|origin| self.loopback.contains(&origin))
    }

    /// Asks `url`, and what it redirects to. The credential goes to the origin of `url` alone.
    pub(super) async fn get(&self, url: &str, accept: &str) -> Result<Answer> {
        let mut at = url.to_owned();
        let first = self.origin(&at)?;
        for _ in 0..=REDIRECTS_MAX {
            let credential =
                self.credential.clone().filter(|_| self.origin(&at).is_ok_and(|origin| origin == first));
            let answer = self.ask(&at, accept, credential).await?;
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            let to = answer.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let to = to.with_context(|| format!("`{at}` redirects and does not say where to"))?;
            at =
                url::Url::parse(&at).and_then(|base| base.join(to)).map(String::from).with_context(|| {
                    format!("`{at}` redirects to `{}`, which is no address", to.escape_debug())
                })?;
        }
        bail!("`{url}` redirects more than {REDIRECTS_MAX} times")
    }

    fn origin(&self, url: &str) -> Result<Origin> {
        let judged = judge_url(url, &self.loopback).map_err(|why| {
            anyhow!(
                "`{url}` is not asked: {why} (an origin of this machine is opened by `[egress] loopback`)"
            )
        })?;
        Ok(judged.origin().clone())
    }

    async fn ask(&self, url: &str, accept: &str, credential: Option<String>) -> Result<Answer> {
        let route = Route {
            methods: vec![Method::GET.to_string()],
            origin: self.origin(url)?.to_string(),
            path: RoutePath::every(),
            credential,
        };
        let request = Request::get(url).header(ACCEPT, HeaderValue::from_str(accept)?).body(Bytes::new())?;
        let deadline = Instant::now() + Duration::from_millis(REQUEST_MS);
        let sent = self.egress.send(request, &[route], deadline).await;
        let sent = sent.with_context(|| format!("`{url}` was not had"))?;
        Ok(Answer { status: sent.status, headers: sent.headers, body: sent.body })
    }
}

/// The component at `pinned`, read and checked against its pin and `wanted`; its signature is not judged yet.
///
/// # Errors
/// Why it was not had, or that it is another than it should be.
pub async fn component(config: &Config, pinned: &Pinned, wanted: Option<&Digest>) -> Result<Component> {
    let (bytes, signature) = match &pinned.source {
        Source::File(path) => {
            meant(path)?;
            (store::read(path)?, signature::read_beside(path)?)
        }
        Source::Url(url) => by_address(&Downloads::new(config, None)?, url).await?,
        Source::Registry(reference) => oci::pull(config, reference, pinned.pin.as_ref()).await?,
    };
    read(pinned, bytes, signature, wanted)
}

/// The component in a file, where there is no configuration that would say how anything else is reached.
///
/// # Errors
/// When it is no file, or another than it should be.
pub fn file(pinned: &Pinned) -> Result<Component> {
    match &pinned.source {
        Source::File(path) => {
            meant(path)?;
            read(pinned, store::read(path)?, signature::read_beside(path)?, None)
        }
        _ => bail!(
            "there is no configuration here that says how the network is reached: name one with --config"
        ),
    }
}

/// What stands at `path`, which is mostly not what was meant when it is no component: said before anybody reads it.
fn meant(path: &Path) -> Result<()> {
    let shown = path.display();
    if path.is_dir() {
        let inside = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut components: Vec<PathBuf> =
            inside.filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect();
        components.sort_unstable();
        match components.as_slice() {
            [] => bail!(
                "`{shown}` is a folder, and there is no component in it: a plugin is one file, `….wasm`"
            ),
            [one] => bail!("`{shown}` is a folder: did you mean `{}`?", one.display()),
            several => bail!(
                "`{shown}` is a folder with {} components: name one, such as `{}`",
                several.len(),
                several.first().map(|path| path.display().to_string()).unwrap_or_default()
            ),
        }
    }
    ensure!(path.exists(), "there is no file `{shown}`");
    let is_manifest = path.extension().is_some_and(|end| end == "toml");
    ensure!(
        !is_manifest,
        "`{shown}` is the manifest of a plugin and not the plugin: build it (`chancery plugin build`), and name the \
         `.wasm` that comes of it"
    );
    Ok(())
}

fn read(
    pinned: &Pinned,
    bytes: Vec<u8>,
    signature: Option<String>,
    wanted: Option<&Digest>,
) -> Result<Component> {
    let artifact = match &pinned.source {
        Source::File(path) => Artifact::read_beside(bytes, path),
        _ => Artifact::read(bytes),
    };
    let artifact = artifact.with_context(|| format!("`{}` is not a plugin", pinned.source))?;
    // A registry's pin is that of its manifest, and was looked at there.
    let pin = pinned.pin.as_ref().filter(|_| !matches!(pinned.source, Source::Registry(_)));
    for pin in pin.into_iter().chain(wanted) {
        ensure!(
            *pin == artifact.digest,
            "`{}` is another file than it should be: its digest is sha256:{}, and sha256:{pin} is wanted; get the one \
             that was pinned, or look at this one with `chancery plugin inspect` and pin it",
            pinned.source,
            artifact.digest
        );
    }
    Ok(Component { artifact, signature })
}

async fn by_address(downloads: &Downloads, url: &str) -> Result<(Vec<u8>, Option<String>)> {
    let answer = downloads.get(url, "application/wasm, application/octet-stream;q=0.9, */*;q=0.1").await?;
    ensure!(answer.status.is_success(), "`{url}` answers {}", answer.status);
    // A signature stands beside its file; an address with a query has nothing beside it.
    let beside = (!url.contains('?')).then(|| format!("{url}.{ENDING}"));
    let signature = match beside {
        Some(beside) => {
            let answer = downloads.get(&beside, "text/plain, */*;q=0.1").await?;
            answer.status.is_success().then(|| text(&answer.body)).flatten()
        }
        None => None,
    };
    Ok((answer.body.to_vec(), signature))
}

/// A signature's text: whatever is longer, or no text, is none, as a page that says "not found" with a 200.
pub(super) fn text(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= SIGNATURE_BYTES_MAX)?;
    text.starts_with("untrusted comment:").then(|| text.to_owned())
}
