//! A browser, as far as a test needs one: it asks for a page, follows nothing, and shows what came.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What came.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    /// The status.
    pub status: u16,
    /// Where it is sent on to; empty when it is not.
    pub location: String,
    /// The cookie that is to come back, `name=value`; empty when there is none.
    pub cookie: String,
    /// The page.
    pub body: String,
}

/// Asks `origin` for `path`, with this cookie when it is not empty.
pub async fn visit(origin: &str, path: &str, cookie: &str) -> Visit {
    let authority = origin.strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(authority).await.unwrap();
    let cookie = if cookie.is_empty() { String::new() } else { format!("cookie: {cookie}\r\n") };
    let head = format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\n{cookie}connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.to_owned())
            .unwrap_or_default()
    };
    Visit {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        location: header("location"),
        cookie: header("set-cookie").split(';').next().unwrap_or_default().to_owned(),
        body: body.to_owned(),
    }
}
