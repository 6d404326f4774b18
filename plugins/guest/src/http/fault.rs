//! What the error codes of `wasi:http` mean to a caller.

use wasip2::http::types::ErrorCode;

use crate::failure::excerpt;
use crate::{Failure, Kind};

/// How much of the host's own words a message repeats, in characters.
const REASON_CHARS_MAX: usize = 300;

/// The failure that stands for `code`, for a request to `origin`.
///
/// Whether the request had left is not told here: the host knows, and a guest's word would not count.
pub fn failure_of(code: &ErrorCode, origin: &str) -> Failure {
    let (kind, message) = match code {
        ErrorCode::HttpRequestDenied => (
            Kind::NotAllowed,
            format!("the host let no request out to `{origin}`: no route granted to this plugin allows it"),
        ),
        ErrorCode::DestinationIpProhibited => (
            Kind::NotAllowed,
            format!("`{origin}` lies at an address that nothing here may ask, such as a private network"),
        ),
        ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => {
            (Kind::NotFound, format!("there is no host of the name in `{origin}`"))
        }
        ErrorCode::DnsTimeout
        | ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => (Kind::Unavailable, format!("`{origin}` did not answer in time")),
        ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable
        | ErrorCode::ConnectionRefused
        | ErrorCode::ConnectionTerminated
        | ErrorCode::ConnectionLimitReached
        | ErrorCode::HttpResponseIncomplete => {
            (Kind::Unavailable, format!("`{origin}` could not be reached, or broke off"))
        }
        ErrorCode::TlsProtocolError | ErrorCode::TlsCertificateError | ErrorCode::TlsAlertReceived(_) => (
            Kind::Unavailable,
            format!("no secure connection to `{origin}`: its certificate or TLS is wrong"),
        ),
        ErrorCode::HttpRequestBodySize(_)
        | ErrorCode::HttpRequestUriTooLong
        | ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpRequestHeaderSize(_)
        | ErrorCode::HttpRequestTrailerSectionSize(_)
        | ErrorCode::HttpRequestTrailerSize(_) => {
            (Kind::TooLarge, format!("the request to `{origin}` is larger than the host sends"))
        }
        ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpResponseHeaderSectionSize(_)
        | ErrorCode::HttpResponseHeaderSize(_)
        | ErrorCode::HttpResponseTrailerSectionSize(_)
        | ErrorCode::HttpResponseTrailerSize(_) => {
            (Kind::TooLarge, format!("the answer of `{origin}` is larger than the host takes"))
        }
        ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestLengthRequired => {
            (Kind::InvalidInput, format!("the request to `{origin}` is not one the host can send"))
        }
        ErrorCode::HttpResponseTransferCoding(_)
        | ErrorCode::HttpResponseContentCoding(_)
        | ErrorCode::HttpUpgradeFailed
        | ErrorCode::HttpProtocolError => {
            (Kind::Malformed, format!("the answer of `{origin}` is not HTTP as it should be"))
        }
        ErrorCode::LoopDetected | ErrorCode::ConfigurationError => {
            (Kind::Other("misconfigured"), format!("the host is not set up to ask `{origin}`"))
        }
        ErrorCode::InternalError(reason) => {
            let reason =
                reason.as_deref().map_or("no reason given".to_owned(), |r| excerpt(r, REASON_CHARS_MAX));
            (Kind::Unavailable, format!("the request to `{origin}` failed in the host: {reason}"))
        }
    };
    Failure::new(kind, message)
}

#[cfg(test)]
mod tests {
    use wasip2::http::types::DnsErrorPayload;

    use super::*;

    #[test]
    fn a_request_the_host_held_back_is_not_allowed_and_says_so() {
        let failure = failure_of(&ErrorCode::HttpRequestDenied, "https://intranet.example.com");
        assert_eq!(failure.kind, Kind::NotAllowed);
        assert!(failure.message.contains("`https://intranet.example.com`"), "{}", failure.message);
        assert!(failure.message.contains("granted"), "{}", failure.message);
    }

    #[test]
    fn codes_fall_into_the_kinds_a_caller_reacts_to() {
        let dns = ErrorCode::DnsError(DnsErrorPayload { rcode: None, info_code: None });
        for (code, kind) in [
            (ErrorCode::DestinationIpProhibited, Kind::NotAllowed),
            (dns, Kind::NotFound),
            (ErrorCode::ConnectionRefused, Kind::Unavailable),
            (ErrorCode::HttpResponseTimeout, Kind::Unavailable),
            (ErrorCode::TlsCertificateError, Kind::Unavailable),
            (ErrorCode::HttpRequestBodySize(Some(9)), Kind::TooLarge),
            (ErrorCode::HttpResponseBodySize(Some(9)), Kind::TooLarge),
            (ErrorCode::HttpRequestUriInvalid, Kind::InvalidInput),
            (ErrorCode::HttpProtocolError, Kind::Malformed),
        ] {
            assert_eq!(failure_of(&code, "https://example.com").kind, kind, "{code:?}");
        }
    }

    #[test]
    fn the_hosts_own_reason_is_repeated_on_one_line() {
        let code = ErrorCode::InternalError(Some(format!("first\nsecond {}", "x".repeat(1_000))));
        let message = failure_of(&code, "https://example.com").message;
        assert!(message.contains("first second"), "{message}");
        assert!(message.chars().count() < 400, "{message}");
    }
}
