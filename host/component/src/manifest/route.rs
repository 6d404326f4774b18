//! A way out as a manifest asks for it, and whether it could ever be granted.

use super::{ANY_ORIGIN, ManifestError};
use event::RoutePath;
use serde::Deserialize;

/// A way out that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RouteWritten")]
pub struct RouteEntry {
    /// HTTP methods, upper case.
    pub methods: Vec<String>,
    /// An origin, or [`ANY_ORIGIN`].
    pub origin: String,
    /// Which paths.
    pub path: RoutePath,
    /// The credential it wants put into requests there, by reference.
    pub credential: Option<String>,
}

/// The same as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteWritten {
    methods: Vec<String>,
    origin: String,
    path: Option<String>,
    path_prefix: Option<String>,
    #[serde(default)]
    credential: Option<String>,
}

impl TryFrom<RouteWritten> for RouteEntry {
    type Error = &'static str;

    fn try_from(written: RouteWritten) -> Result<Self, Self::Error> {
        let RouteWritten { methods, origin, path, path_prefix, credential } = written;
        let path = match (path, path_prefix) {
            (Some(whole), None) => RoutePath::Whole(whole),
            (None, Some(prefix)) => RoutePath::Below(prefix),
            _ => return Err("a route has either `path`, the whole of it, or `path_prefix`"),
        };
        Ok(Self { methods, origin, path, credential })
    }
}

impl RouteEntry {
    /// That it could be granted.
    pub(super) fn check(&self) -> Result<(), ManifestError> {
        let error =
            |reason: &str| ManifestError::Route { origin: self.origin.clone(), reason: reason.to_owned() };
        let method = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase());
        if self.methods.is_empty() || !self.methods.iter().all(method) {
            return Err(error("`methods` is a list of HTTP methods in upper case"));
        }
        let key = if matches!(self.path, RoutePath::Whole(_)) { "path" } else { "path_prefix" };
        self.path.check().map_err(|wrong| error(&format!("`{key}` {wrong}")))?;
        if self.origin == ANY_ORIGIN {
            return Ok(());
        }
        let origin = egress::Origin::parse(&self.origin).map_err(|reason| error(&reason.to_string()))?;
        if origin.names_loopback() {
            return Err(ManifestError::Loopback { origin: self.origin.clone() });
        }
        // Judged with an empty list: what only an operator's list could allow is not to be asked for.
        egress::judge_url(&self.origin, &[]).map_err(|reason| error(&reason.to_string()))?;
        Ok(())
    }
}
