//! Scheme, host and port: what a route names and what a connection is made to.
//!
//! An origin is always in its one normal form (lower case, default port left out), so that equal means same.

use crate::target::{UrlError, read};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The two schemes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Without TLS: for origins on the operator's loopback list only.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// The port that an address without one means.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// `http` or `https`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A scheme, a host and a port: `https://api.example.com`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    scheme: Scheme,
    host: url::Host<String>,
    port: u16,
}

impl Origin {
    /// Reads an origin: `https://api.example.com`, `http://127.0.0.1:8080`, nothing after the port.
    ///
    /// # Errors
    /// When the text is not an address that two parsers read alike, or goes on after host and port.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let target = read(text)?;
        let authority = text.split_once("://").map(|(_, authority)| authority);
        if authority.is_some_and(|authority| authority.contains(['/', '?'])) {
            return Err(UrlError::NotAnOrigin);
        }
        Ok(target.origin().clone())
    }

    pub(crate) fn of_parts(scheme: Scheme, host: url::Host<String>, port: u16) -> Self {
        Self { scheme, host, port }
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host: a name in lower case, or an address.
    #[must_use]
    pub fn host(&self) -> &url::Host<String> {
        &self.host
    }

    /// The port, also when it is the default one.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as the `Host` header has them: `api.example.com`, `[::1]:8080`.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Whether this could be on the operator's loopback list: `127.0.0.1`, `[::1]` or `localhost`.
    #[must_use]
    pub fn names_loopback(&self) -> bool {
        match &self.host {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(v4) => *v4 == Ipv4Addr::LOCALHOST,
            url::Host::Ipv6(v6) => *v6 == Ipv6Addr::LOCALHOST,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;
    use crate::UrlError;
    use proptest::prelude::*;

    #[test]
    fn an_origin_prints_in_its_normal_form() {
        for (text, normal) in [
            ("https://api.example.com", "https://api.example.com"),
            ("HTTPS://API.Example.COM:443", "https://api.example.com"),
            ("https://api.example.com:8443", "https://api.example.com:8443"),
            ("http://localhost:80", "http://localhost"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(Origin::parse(text).unwrap().to_string(), normal);
        }
    }

    #[test]
    fn what_goes_on_after_the_port_is_no_origin() {
        for text in ["https://api.example.com/", "https://api.example.com/v1", "https://api.example.com?q"] {
            assert_eq!(Origin::parse(text), Err(UrlError::NotAnOrigin), "{text}");
        }
        for text in ["", "api.example.com", "*", "https://*.example.com", "https://", "ftp://api.example.com"]
        {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_three_hosts_name_loopback() {
        let named = |text: &str| Origin::parse(text).unwrap().names_loopback();
        assert!(named("http://127.0.0.1:1") && named("https://[::1]:1") && named("http://localhost:1"));
        for other in ["http://127.0.0.2:1", "http://10.0.0.1:1", "http://[::2]:1", "http://a.localhost:1"] {
            assert!(!named(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn an_origin_that_was_printed_reads_back_as_itself(
            scheme in "https?",
            host in "[a-zA-Z0-9-]{1,9}(\\.[a-zA-Z]{1,9}){0,3}|127\\.0\\.0\\.1|\\[::1\\]",
            port in 1_u16..,
        ) {
            if let Ok(origin) = Origin::parse(&format!("{scheme}://{host}:{port}")) {
                prop_assert_eq!(Origin::parse(&origin.to_string()), Ok(origin));
            }
        }
    }
}
