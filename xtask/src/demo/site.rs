//! The demo's small site: the pages of `demo/site/` on a free port of this machine.
//!
//! It keeps what it served, by digest, so that the receipts of the story can be held against it. The pages are
//! read once, at the start. Deliberately absent: anything but GET of a page by its exact name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::stop::Stop;

/// The largest request head, in bytes: a browser's is about one thousand.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long one client may take: requests are answered one after another, so a silent one must not hold up the rest.
const CLIENT_MS_MAX: u64 = 5_000;

/// One answer the site gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The path asked for.
    pub path: String,
    /// HTTP status.
    pub status: u16,
    /// SHA-256 of the body as it was sent, in lower-case hexadecimal.
    pub sha256: String,
    /// Whether the request carried a credential: the site was never given one.
    pub credential: bool,
}

/// The site, which answers until this process ends.
#[derive(Debug)]
pub struct Site {
    /// Scheme, host and port.
    pub origin: String,
    served: Arc<Mutex<Vec<Served>>>,
}

type Pages = BTreeMap<String, Vec<u8>>;

impl Site {
    /// Opens the site on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When the pages cannot be read or no port can be had.
    pub fn open(folder: &Path) -> Result<Self, Stop> {
        let pages = read_pages(folder).map_err(|e| Stop::because(folder.display(), e))?;
        let opened = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr().map(|a| (l, a)));
        let (listener, address) = opened.map_err(|e| Stop::because("a port for the demo's site", e))?;
        let served = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&served);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away in the middle is its own loss: the site has nothing to mend.
                let _ = answer(stream, &pages, &kept);
            }
        });
        Ok(Self { origin: format!("http://{address}"), served })
    }

    /// Every answer so far, in order.
    pub fn served(&self) -> Vec<Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read_pages(folder: &Path) -> io::Result<Pages> {
    let mut pages = Pages::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".html") {
            let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
            pages.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(pages)
}

fn answer(mut stream: TcpStream, pages: &Pages, kept: &Mutex<Vec<Served>>) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(CLIENT_MS_MAX)))?;
    stream.set_write_timeout(Some(Duration::from_millis(CLIENT_MS_MAX)))?;
    let head = read_head(&mut stream)?;
    let (path, status, body) = page_for(&head, pages);
    let served = Served {
        path: path.to_owned(),
        status,
        sha256: hex::encode(Sha256::digest(body)),
        credential: carries_credential(&head),
    };
    kept.lock().unwrap_or_else(PoisonError::into_inner).push(served);
    let reason = if status == 200 { "OK" } else { "Not Found" };
    write!(
        stream,
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

/// Everything up to the empty line that ends the head.
fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut piece = [0_u8; 1_024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut piece)?;
        head.extend_from_slice(piece.get(..count).unwrap_or_default());
        if count == 0 || head.len() > HEAD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a request"));
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The path asked for, and what is there.
fn page_for<'h, 'p>(head: &'h str, pages: &'p Pages) -> (&'h str, u16, &'p [u8]) {
    let path = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let name = path.split('?').next().unwrap_or_default();
    match pages.get(name) {
        Some(body) => (path, 200, body),
        None => (path, 404, b"<!doctype html><title>Not here</title><p>There is no such page.</p>"),
    }
}

fn carries_credential(head: &str) -> bool {
    let names =
        head.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_ascii_lowercase());
    names.into_iter().any(|name| matches!(name.as_str(), "authorization" | "cookie" | "proxy-authorization"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(origin: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(origin.trim_start_matches("http://")).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_page_is_served_whole_and_kept_by_digest() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.html"), "<p>hello</p>").unwrap();
        fs::write(folder.path().join("notes.txt"), "not a page").unwrap();
        let site = Site::open(folder.path()).unwrap();
        let answer = ask(&site.origin, "GET / HTTP/1.1\r\nhost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n<p>hello</p>"),
            "{answer}"
        );
        let answer = ask(&site.origin, "GET /notes.txt HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        let served = site.served();
        let kept: Vec<_> = served.iter().map(|s| (s.path.as_str(), s.status, s.credential)).collect();
        assert_eq!(kept, [("/", 200, false), ("/notes.txt", 404, true)]);
        assert_eq!(served[0].sha256, hex::encode(Sha256::digest(b"<p>hello</p>")));
    }

    #[test]
    fn what_is_not_a_request_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::open(folder.path()).unwrap();
        assert!(ask(&site.origin, "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(read_head(&mut [b'a'; HEAD_BYTES_MAX + 1].as_slice()).is_err());
        assert!(read_head(&mut b"GET / HTTP/1.1\r\n".as_slice()).is_err());
    }

    #[test]
    fn the_demos_own_page_tries_to_call_everyone() {
        let pages = read_pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo/site")).unwrap();
        let page = String::from_utf8(pages["/"].clone()).unwrap();
        let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
        assert!(title.contains("&lt;!channel&gt;"), "the story's answer must carry something to make inert");
    }
}
