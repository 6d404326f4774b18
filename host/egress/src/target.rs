//! Judging an address.
//!
//! Two parsers that share no code read it, `url` (the WHATWG's rules, as browsers) and `http` (RFC 3986, as
//! HTTP libraries). Attacks live where such parsers differ, so an address they read differently is refused,
//! and so is every form that exists to be read differently. What is judged is the normal form, and the normal
//! form is what is sent.
//!
//! Deliberately absent: names outside ASCII. A caller writes them in punycode, which cannot be mistaken.

use crate::form::{name_is_plain, path_is_plain, text_is_plain};
use crate::{Origin, Scheme};
use http::uri::PathAndQuery;
use std::fmt;

/// Longest address, in bytes: what common servers take.
pub const URL_BYTES_MAX: usize = 8 * 1024;

/// Why an address is refused. The address itself is not repeated: it may be long, and it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Longer than [`URL_BYTES_MAX`].
    #[error("the address is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
    /// Not `scheme://host…`, or with white space, control characters or backslashes.
    #[error(
        "the address is not well formed; write `https://`, a host, and a path without spaces or backslashes"
    )]
    Malformed,
    /// The two parsers differ.
    #[error("the address can be read in two ways; write scheme, host and port in their plainest form")]
    Ambiguous,
    /// A user name before the host.
    #[error("the address has a user name or an `@` before the host; leave it out")]
    Userinfo,
    /// A part after `#`, which is never sent.
    #[error("the address has a fragment; leave out `#` and what follows")]
    Fragment,
    /// Not `https`.
    #[error("the scheme is not `https`")]
    Scheme,
    /// An address in numbers, where a name is needed.
    #[error("the host is an IP address; only names are reached")]
    Literal,
    /// Not the name of a public host.
    #[error(
        "the host is not a public name: letters, digits and hyphens in at least two parts, no dot at the end"
    )]
    Host,
    /// A path that climbs once a server has decoded it.
    #[error("the path has an encoded `..`; write the path it leads to")]
    Path,
    /// More than an origin where an origin was wanted.
    #[error("an origin ends after host and port")]
    NotAnOrigin,
}

/// An address that was judged: where to connect, and what to ask for there. In its normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    origin: Origin,
    path_and_query: PathAndQuery,
}

impl Target {
    /// Where to connect.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What to ask for: a path without dot segments, and the query if there is one.
    #[must_use]
    pub fn path_and_query(&self) -> &PathAndQuery {
        &self.path_and_query
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path_and_query)
    }
}

/// Judges an address: `https` and the name of a public host, or exactly an origin on the `loopback` list.
/// Whether a route to it was granted, and where its name leads, are other questions.
///
/// # Errors
/// The first of [`UrlError`] that applies.
pub fn judge_url(text: &str, loopback: &[Origin]) -> Result<Target, UrlError> {
    let target = read(text)?;
    let origin = target.origin();
    if loopback.contains(origin) {
        return Ok(target);
    }
    if origin.scheme() != Scheme::Https {
        return Err(UrlError::Scheme);
    }
    match origin.host() {
        url::Host::Ipv4(_) | url::Host::Ipv6(_) => Err(UrlError::Literal),
        // One label is a name of the local network, or this host.
        url::Host::Domain(name) if !name.contains('.') || name.ends_with(".localhost") => Err(UrlError::Host),
        url::Host::Domain(_) => Ok(target),
    }
}

/// Reads an address of any host in a form that leaves no doubt.
pub(crate) fn read(text: &str) -> Result<Target, UrlError> {
    if text.len() > URL_BYTES_MAX {
        return Err(UrlError::TooLong);
    }
    if !text_is_plain(text) {
        return Err(UrlError::Malformed);
    }
    if text.contains('#') {
        return Err(UrlError::Fragment);
    }
    let (_, rest) = text.split_once("://").ok_or(UrlError::Malformed)?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(UrlError::Userinfo);
    }
    if authority.is_empty() || authority.ends_with(':') {
        return Err(UrlError::Malformed);
    }
    if !authority.is_ascii() || authority.contains('%') {
        return Err(UrlError::Host);
    }
    let browser = url::Url::parse(text).map_err(|_| UrlError::Malformed)?;
    let library: http::Uri = text.parse().map_err(|_| UrlError::Malformed)?;
    let origin = agreed(&browser, &library)?;
    if !path_is_plain(browser.path()) {
        return Err(UrlError::Path);
    }
    let query = browser.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path_and_query = format!("{}{query}", browser.path()).parse().map_err(|_| UrlError::Malformed)?;
    Ok(Target { origin, path_and_query })
}

/// The origin, when both parsers see the same one.
fn agreed(browser: &url::Url, library: &http::Uri) -> Result<Origin, UrlError> {
    let scheme = match browser.scheme() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        _ => return Err(UrlError::Scheme),
    };
    let host = browser.host().ok_or(UrlError::Malformed)?.to_owned();
    let port = browser.port_or_known_default().ok_or(UrlError::Malformed)?;
    let same = library.scheme_str() == Some(scheme.as_str())
        && library.host().is_some_and(|name| name.eq_ignore_ascii_case(&host.to_string()))
        && library.port_u16().unwrap_or(scheme.default_port()) == port;
    if !same {
        return Err(UrlError::Ambiguous);
    }
    if matches!(&host, url::Host::Domain(name) if !name_is_plain(name)) || port == 0 {
        return Err(UrlError::Host);
    }
    Ok(Origin::of_parts(scheme, host, port))
}

#[cfg(test)]
mod tests {
    use super::{UrlError, judge_url};
    use crate::Origin;
    use proptest::prelude::*;

    fn judged(text: &str) -> Result<String, UrlError> {
        judge_url(text, &[]).map(|target| target.to_string())
    }

    #[test]
    fn a_plain_address_passes_in_its_normal_form() {
        for (text, normal) in [
            ("https://api.example.com", "https://api.example.com/"),
            ("https://API.EXAMPLE.COM/v1", "https://api.example.com/v1"),
            ("HTTPS://api.example.com:443/V1?q=A%20b", "https://api.example.com/V1?q=A%20b"),
            ("https://api.example.com:8443/", "https://api.example.com:8443/"),
            ("https://api.example.com?q=1", "https://api.example.com/?q=1"),
            ("https://api.example.com/%2e%2e/admin", "https://api.example.com/admin"),
            ("https://api.example.com/a/./b/../c", "https://api.example.com/a/c"),
            (
                "https://api.example.com/projects/group%2Fproject",
                "https://api.example.com/projects/group%2Fproject",
            ),
            ("https://api.example.com/a@b:c", "https://api.example.com/a@b:c"),
            (
                "https://api.example.com/?to=https://other.example/../x",
                "https://api.example.com/?to=https://other.example/../x",
            ),
            ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ] {
            assert_eq!(judged(text).as_deref(), Ok(normal), "{text}");
        }
    }

    #[test]
    fn every_form_made_to_be_misread_is_refused() {
        use UrlError::*;
        for (error, texts) in [
            (Scheme, "http://api.example.com/ ftp://api.example.com/ ws://api.example.com/"),
            (Literal, "https://127.0.0.1/ https://8.8.8.8/ https://[::1]/ https://[2606:4700::1]/"),
            (
                Ambiguous,
                "https://2130706433/ https://0x7f000001/ https://0177.0.0.1/ https://127.1/ https://0/",
            ),
            (Ambiguous, "https://[::ffff:127.0.0.1]/ https://[0:0:0:0:0:0:0:1]/ https://127.0.0.1./"),
            (Host, "https://api.example.com./ https://localhost./ https://localhost/ https://intranet/"),
            (Host, "https://api.localhost/ https://api.example.com%2eevil.test/ https://[fe80::1%25eth0]/"),
            (Host, "https://a..example.com/ https://a!b.example.com/ https://api.example.com:0/"),
            (Host, "https://ⓐⓟⓘ.example.com/ https://api。example。com/ https://bücher.example/"),
            (
                Userinfo,
                "https://user:pw@api.example.com/ https://api.example.com@evil.test/ https://@api.example.com/",
            ),
            (Userinfo, "https://api.example.com:443@evil.test:8443/"),
            (
                Fragment,
                "https://api.example.com/#a https://evil.test#@api.example.com/ https://api.example.com#@evil.test/",
            ),
            (
                Malformed,
                "https://evil.test\\@api.example.com/ https:\\\\api.example.com/ https://api.example.com/a\\b",
            ),
            (
                Malformed,
                "https:api.example.com/ https:/api.example.com/ https:///api.example.com/ //api.example.com/",
            ),
            (
                Malformed,
                "https://api.example.com:/ https://xn--pi-7ba.example.com/ https://api.example.com:99999/",
            ),
            (Malformed, "/v1 api.example.com https:// data:text/plain,x javascript:alert(1)"),
            (Path, "https://api.example.com/v1/..%2fadmin https://api.example.com/v1/%2e%2e%5cadmin"),
            (Path, "https://api.example.com/v1/%252e%252e/admin https://api.example.com/v1/..;/admin"),
        ] {
            for text in texts.split(' ') {
                assert_eq!(judged(text), Err(error), "{text}");
            }
        }
        for text in [
            "https://api.example.com/a b",
            "https://api.exam\tple.com/",
            " https://api.example.com/",
            "",
            "\0",
        ] {
            assert_eq!(judged(text), Err(Malformed), "{text:?}");
        }
        assert_eq!(judged(&format!("https://api.example.com/{}", "a".repeat(9_000))), Err(TooLong));
    }

    #[test]
    fn only_the_exact_origin_on_the_loopback_list_is_reached_without_a_public_name() {
        let listed = ["http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080"];
        let list: Vec<_> = listed.iter().map(|text| Origin::parse(text).unwrap()).collect();
        for origin in listed {
            assert!(judge_url(&format!("{origin}/page"), &list).is_ok(), "{origin}");
        }
        for other in [
            "http://127.0.0.1/",
            "http://127.0.0.1:8081/",
            "https://127.0.0.1:8080/",
            "http://127.0.0.2:8080/",
            "http://127.1:8080/",
            "http://2130706433:8080/",
            "http://[::ffff:127.0.0.1]:8080/",
            "http://localhost.:8080/",
            "http://[0::1]:8080/",
            "http://localhost:8080@evil.test/",
            "http://localhost:8080.evil.test/",
        ] {
            assert!(judge_url(other, &list).is_err(), "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn what_passes_is_unmistakable_and_judging_it_again_changes_nothing(
            text in "(https?|HTTPS|ftp)?:?/{0,3}[a-zA-Z0-9.@:%#\\\\\\[\\]?/_-]{0,12}(example\\.com)?[:@./?#%\\\\a-z0-9;ä。 \t]{0,12}"
        ) {
            if let Ok(target) = judge_url(&text, &[]) {
                let normal = target.to_string();
                prop_assert_eq!(judge_url(&normal, &[]), Ok(target.clone()));
                let authority = normal.strip_prefix("https://").unwrap().split(['/', '?']).next().unwrap();
                prop_assert_eq!(authority, target.origin().authority());
                prop_assert!(authority.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-_:".contains(&b)));
                prop_assert!(text.to_ascii_lowercase().contains(&target.origin().host().to_string()));
            }
        }

        #[test]
        fn no_text_makes_judging_panic(text in ".*") {
            let _ = judge_url(&text, &[]);
        }
    }
}
