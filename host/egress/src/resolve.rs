//! From a name to addresses, once per request: what is checked is what is dialled.

use async_trait::async_trait;
use std::io;
use std::net::IpAddr;

/// Resolves names. Tests bring their own and never dial.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// Every address of `host`; `port` is a hint for resolvers that want one.
    ///
    /// # Errors
    /// When the name cannot be resolved now.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.map(|address| address.ip()).collect())
    }
}
