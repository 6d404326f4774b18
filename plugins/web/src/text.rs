//! From the bytes of a body to text.

/// How a body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As HTML.
    Html,
    /// As it is.
    Plain,
    /// Not as text.
    Other,
}

/// Judges by the content type, and by the first bytes only where there is none: what a server says counts.
pub fn form_of(content_type: &str, body: &[u8]) -> Form {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Form::Html,
        "application/json" | "application/xml" | "application/yaml" | "application/toml" => Form::Plain,
        "" if body.contains(&0) => Form::Other,
        "" if body.trim_ascii_start().starts_with(b"<") => Form::Html,
        "" => Form::Plain,
        other if other.starts_with("text/") || other.ends_with("+json") || other.ends_with("+xml") => {
            Form::Plain
        }
        _ => Form::Other,
    }
}

/// Reads a body as UTF-8. What is not UTF-8 becomes U+FFFD, except a character that the end of a `cut` body
/// halved: that one is left out.
pub fn decode(body: &[u8], cut: bool) -> String {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let halved = body.utf8_chunks().last().map_or(0, |chunk| {
        let may_go_on = std::str::from_utf8(chunk.invalid()).is_err_and(|e| e.error_len().is_none());
        if cut && may_go_on { chunk.invalid().len() } else { 0 }
    });
    let (whole, _) = body.split_at_checked(body.len() - halved).unwrap_or((body, &[]));
    String::from_utf8_lossy(whole).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_says_how_a_body_is_read() {
        for (content_type, body, form) in [
            ("text/html; charset=utf-8", "", Form::Html),
            ("TEXT/HTML", "", Form::Html),
            ("application/xhtml+xml", "", Form::Html),
            ("text/plain", "<p>", Form::Plain),
            ("application/ld+json", "{}", Form::Plain),
            ("image/svg+xml", "<svg>", Form::Plain),
            ("image/png", "x", Form::Other),
            ("application/octet-stream", "x", Form::Other),
            ("", "\n <!doctype html>", Form::Html),
            ("", "hello", Form::Plain),
            ("", "a\0b", Form::Other),
        ] {
            assert_eq!(form_of(content_type, body.as_bytes()), form, "{content_type} {body}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_marked() {
        assert_eq!(decode(b"caf\xe9 au lait", false), "caf\u{fffd} au lait");
        assert_eq!(decode("\u{feff}text".as_bytes(), false), "text");
    }

    #[test]
    fn a_character_halved_by_the_limit_is_left_out() {
        let body = "price: 5 €".as_bytes();
        let halved = &body[..body.len() - 1];
        assert_eq!(decode(halved, true), "price: 5 ");
        assert_eq!(decode(halved, false), "price: 5 \u{fffd}");
        assert_eq!(decode(body, true), "price: 5 €");
    }
}
