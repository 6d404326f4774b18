//! Where a page's links lead, as addresses that can be asked for.

use guest::html::Page;
use guest::http::Address;
use serde::Serialize;

/// The most that all links take as JSON, in bytes: they are a part of the output beside the text.
const LEADS_JSON_BYTES_MAX: usize = 96 * 1_024;

/// A link with its absolute address.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Lead {
    /// Its words.
    pub words: String,
    /// Where it leads, without fragment.
    pub url: String,
}

/// The links of a page that lead to another one on the web, as many as fit.
#[must_use]
pub fn leads(address: &Address, page: &Page) -> Vec<Lead> {
    let base = page.base.as_deref().and_then(|base| resolved(address, base));
    let base = base.unwrap_or_else(|| address.clone());
    let (mut leads, mut left): (Vec<Lead>, _) = (Vec::new(), LEADS_JSON_BYTES_MAX);
    for link in &page.links {
        let Some(target) = resolved(&base, &link.address).filter(|target| target != address) else {
            continue;
        };
        let lead = Lead { words: link.words.clone(), url: target.to_string() };
        let bytes = serde_json::to_string(&lead).map_or(usize::MAX, |json| json.len() + 1);
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => break,
        }
        if !leads.iter().any(|other| other.url == lead.url) {
            leads.push(lead);
        }
    }
    leads
}

/// Where `text` leads from `base` (RFC 3986, section 5.2), if that is an address of the web. What stands only for a
/// place on the page leads nowhere.
fn resolved(base: &Address, text: &str) -> Option<Address> {
    // As browsers do: line breaks within an address are nothing.
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r' | '\t')).collect();
    let text = text.split('#').next().unwrap_or_default();
    if text.is_empty() {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let absolute = if lower.starts_with("https://") || lower.starts_with("http://") {
        text.to_owned()
    } else if let Some(rest) = text.strip_prefix("//") {
        format!("{}://{rest}", if base.is_secure() { "https" } else { "http" })
    } else if has_scheme(text) {
        return None;
    } else if text.starts_with('/') {
        format!("{}{}", base.origin(), flattened(text))
    } else {
        let path = base.path_and_query().split('?').next().unwrap_or("/");
        let joined = match text.strip_prefix('?') {
            Some(query) => format!("{path}?{query}"),
            None => format!("{}/{text}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
        };
        format!("{}{}", base.origin(), flattened(&joined))
    };
    Address::parse(&absolute).ok()
}

/// Whether it begins with a scheme, such as `mailto:`.
fn has_scheme(text: &str) -> bool {
    let before = text.split(['/', '?']).next().unwrap_or_default();
    before.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// A path without `.` and `..`.
fn flattened(path_and_query: &str) -> String {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let mut kept: Vec<&str> = Vec::new();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if at == last {
                    kept.push("");
                }
            }
            part => kept.push(part),
        }
    }
    match query {
        Some(query) => format!("/{}?{query}", kept.join("/")),
        None => format!("/{}", kept.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::resolved;
    use guest::http::Address;

    #[test]
    fn a_link_leads_where_a_browser_would_go() {
        // The examples of RFC 3986, section 5.4, that lead anywhere on the web.
        let base = Address::parse("http://a.example/b/c/d?q").unwrap();
        for (text, target) in [
            ("g", "http://a.example/b/c/g"),
            ("./g", "http://a.example/b/c/g"),
            ("g/", "http://a.example/b/c/g/"),
            ("/g", "http://a.example/g"),
            ("//g.example", "http://g.example/"),
            ("?y", "http://a.example/b/c/d?y"),
            ("g?y", "http://a.example/b/c/g?y"),
            ("g?y#s", "http://a.example/b/c/g?y"),
            (".", "http://a.example/b/c/"),
            ("./", "http://a.example/b/c/"),
            ("..", "http://a.example/b/"),
            ("../g", "http://a.example/b/g"),
            ("../..", "http://a.example/"),
            ("../../../g", "http://a.example/g"),
            ("g?y/../x", "http://a.example/b/c/g?y/../x"),
            ("https://other.example/x", "https://other.example/x"),
            ("/a:b", "http://a.example/a:b"),
        ] {
            assert_eq!(resolved(&base, text).map(|a| a.to_string()).as_deref(), Some(target), "{text}");
        }
        for text in [
            "",
            "#s",
            "mailto:a@example.com",
            "javascript:alert(1)",
            "java\nscript:x",
            "data:text/html,x",
            "https://user@a.example/",
        ] {
            assert_eq!(resolved(&base, text), None, "{text:?}");
        }
    }
}
