//! One connection: to addresses that were checked, with TLS where the scheme says so, and an eye on whether
//! anything was written.

use crate::{AddressClass, Origin, Refused, Scheme, class_of};
use rustls::RootCertStore;
use rustls::pki_types::ServerName;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

/// How many addresses of one name are tried: names with more are balanced, and any of them will do.
const ADDRESSES_TRIED_MAX: usize = 8;

/// The addresses to dial, when all that were found may be dialled. One bad address refuses the name: who
/// mixes a private address among public ones is trying something.
pub(crate) fn dialable(origin: &Origin, listed: bool, found: &[IpAddr]) -> Result<Vec<SocketAddr>, Refused> {
    let wanted = if listed { AddressClass::Loopback } else { AddressClass::Global };
    let host = origin.host().to_string();
    if let Some(&address) = found.iter().find(|address| class_of(**address) != wanted) {
        return Err(Refused::AddressRefused { host, address, class: class_of(address) });
    }
    if found.is_empty() {
        let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        return Err(Refused::Unresolvable { host, error });
    }
    Ok(found
        .iter()
        .take(ADDRESSES_TRIED_MAX)
        .map(|address| SocketAddr::new(*address, origin.port()))
        .collect())
}

/// A byte stream, with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Dials the addresses in turn and, for `https`, shakes hands under the origin's name. Each address gets an
/// equal share of what is left until `end`, so that one that is silent does not hide the next.
pub(crate) async fn connect(
    origin: &Origin,
    addresses: &[SocketAddr],
    tls: &TlsConnector,
    end: Instant,
) -> Result<Box<dyn Stream>, Refused> {
    let failed = |error| Refused::ConnectFailed { origin: origin.to_string(), error };
    let mut last = Refused::TimedOut { during: "connecting", left: false };
    for (tried, address) in addresses.iter().enumerate() {
        let share = u32::try_from(addresses.len() - tried).unwrap_or(1);
        let share_end = Instant::now() + end.saturating_duration_since(Instant::now()) / share;
        match timeout_at(share_end, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return secured(origin, stream, tls, end).await,
            Ok(Err(error)) => last = failed(error),
            Err(_) => last = Refused::TimedOut { during: "connecting", left: false },
        }
    }
    Err(last)
}

async fn secured(
    origin: &Origin,
    stream: TcpStream,
    tls: &TlsConnector,
    end: Instant,
) -> Result<Box<dyn Stream>, Refused> {
    let failed = |error| Refused::ConnectFailed { origin: origin.to_string(), error };
    // A request is written whole: waiting to fill a packet only costs time.
    stream.set_nodelay(true).map_err(failed)?;
    if origin.scheme() == Scheme::Http {
        return Ok(Box::new(stream));
    }
    let name = match origin.host() {
        url::Host::Domain(name) => {
            ServerName::try_from(name.clone()).map_err(|e| failed(io::Error::other(e)))?
        }
        url::Host::Ipv4(v4) => ServerName::from(IpAddr::V4(*v4)),
        url::Host::Ipv6(v6) => ServerName::from(IpAddr::V6(*v6)),
    };
    match timeout_at(end, tls.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(Refused::TimedOut { during: "shaking hands", left: false }),
    }
}

/// The public certificate authorities, as Mozilla lists them.
pub(crate) fn public_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

/// TLS for HTTP/1.1, trusting `roots` and no one else.
pub(crate) fn tls(roots: RootCertStore) -> Result<TlsConnector, rustls::Error> {
    // Named here, so that no other crate's choice for the process decides how secrets travel.
    let cryptography = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(cryptography)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Whether anything was written to a connection yet.
#[derive(Clone, Default)]
pub(crate) struct Left(Arc<AtomicBool>);

impl Left {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A stream that notes, before the first byte is handed on, that the request has left. It lies above TLS:
/// only what HTTP writes counts.
pub(crate) struct Watched {
    stream: Box<dyn Stream>,
    left: Left,
}

impl Watched {
    pub(crate) fn new(stream: Box<dyn Stream>, left: Left) -> Self {
        Self { stream, left }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

/// Vectored writes come in through `poll_write`, as for every stream that does not say otherwise.
impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.left.0.store(true, Ordering::SeqCst);
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
