//! The only outward socket.
//!
//! One request goes out at a time, by one way: [`Egress::send`] judges the address with two parsers, finds
//! the granted route, drops what the guest may not say, looks for secrets, resolves once, dials exactly the
//! addresses it checked, and only then writes the route's credential into one header. What comes back is
//! capped, hashed and looked through before anyone sees it; a stream of events is looked through line by line
//! ([`Egress::open`]). Redirects are answers, never followed.
//!
//! The exchange of a code or a refresh token for a token ([`Egress::token`]) is the host's own, and the one place where
//! secrets come in: they leave it for the vault.
//!
//! Whatever goes wrong, [`Refused::request_left`] says whether the request may have reached the other side.
//!
//! Deliberately absent: HTTP proxies (environment variables such as `HTTPS_PROXY` are not read; a proxy will
//! be a setting), HTTP/2, connection reuse, cookies, compressed answers, certificates beyond the public ones.

mod address;
mod config;
mod connection;
mod dial;
mod exchange;
mod flow;
mod form;
mod header;
mod origin;
mod refused;
mod resolve;
mod route;
mod send;
mod target;
mod token;
mod workspace;

#[cfg(test)]
mod tests;

pub use address::{AddressClass, class_of};
pub use config::{ConfigError, EgressConfig, Limits, STARTING_LIMITS};
pub use dial::Dialled;
pub use flow::{Flowing, Opened, Piece, Times};
pub use header::Injection;
pub use origin::{Origin, Scheme};
pub use refused::Refused;
pub use resolve::{Resolve, SystemResolver};
pub use send::{Egress, Sent};
pub use target::{Target, URL_BYTES_MAX, UrlError, judge_url};
pub use token::{Client, Granted, NotGranted, Shown};
pub use workspace::{Asking, Offer, TokenGiven, TokenRefused};
