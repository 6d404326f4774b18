//! A connection that stays open, for the host itself: judged, resolved and dialled like any request, and then handed
//! over as bytes.
//!
//! It carries no credential and no call: what opened it (a ticket in its address) was asked for by a request that did.
//! No guest ever gets one.

use crate::connection::{Stream, connect};
use crate::route::route_for;
use crate::{Egress, Origin, Refused, Target, judge_url};
use event::Route;
use http::Method;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// An open connection.
pub struct Dialled {
    stream: Box<dyn Stream>,
    target: Target,
}

impl Dialled {
    /// Scheme, host and port of the other side.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.target.origin()
    }

    /// What is asked for there.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        self.target.path_and_query().as_str()
    }
}

impl Egress {
    /// Opens a connection to `address` (`https://…`, or `http://…` to an origin of the loopback list) by one of
    /// `routes`, by `deadline` at the latest.
    ///
    /// # Errors
    /// See [`Refused`].
    pub async fn dial(&self, address: &str, routes: &[Route], deadline: Instant) -> Result<Dialled, Refused> {
        let target = judge_url(address, self.loopback()).map_err(Refused::UrlRefused)?;
        route_for(&Method::GET, &target, routes)?;
        let addresses = self.addresses(target.origin(), deadline).await?;
        let stream = connect(target.origin(), &addresses, &self.tls, deadline).await?;
        tracing::debug!(origin = %target.origin(), "a connection is open");
        Ok(Dialled { stream, target })
    }
}

impl AsyncRead for Dialled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Dialled {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
