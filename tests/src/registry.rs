//! A registry of this machine: Debian's `docker-registry`, started for one test, and pushing to it.
//!
//! When the program is not to be had a test fails and says what to install: it is never left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long the program may take to listen: far longer than a busy machine needs.
const START: Duration = Duration::from_secs(60);
const PROGRAM: &str = "docker-registry";
/// Who may use a registry that wants a password, and the password.
pub const USER: &str = "bot";
/// See [`USER`].
pub const PASSWORD: &str = "a-password-of-a-registry";
/// Both as the program reads them (bcrypt).
const HTPASSWD: &str = "bot:$2b$06$0nH9euX7tpiP6cDUA1mg9.54KrhgmB8Xnq2ww1INWLwJF2ZGcN6zW\n";

/// A running registry.
pub struct Registry {
    child: Child,
    /// `127.0.0.1:port`.
    pub host: String,
    password: Option<&'static str>,
    _folder: TempDir,
}

/// One layer to push: its media type and its bytes.
pub type Layer<'a> = (&'a str, &'a [u8]);

impl Registry {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts one that wants [`USER`] and [`PASSWORD`] of everybody.
    pub fn start_private() -> Self {
        Self::start_with(Some(PASSWORD))
    }

    fn start_with(password: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let config = folder.path().join("config.yml");
        let mut text = yaml(folder.path(), &host);
        if password.is_some() {
            let people = folder.path().join("htpasswd");
            std::fs::write(&people, HTPASSWD).unwrap();
            text += &format!("auth:\n  htpasswd:\n    realm: here\n    path: {}\n", people.display());
        }
        std::fs::write(&config, text).unwrap();
        let child = Command::new(PROGRAM)
            .arg("serve")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("`{PROGRAM}` does not start ({error}): apt-get install docker-registry (Debian), or put a build of \
                        github.com/distribution/distribution called that on PATH")
            });
        let registry = Self { child, host, password, _folder: folder };
        let began = Instant::now();
        while std::net::TcpStream::connect(&registry.host).is_err() {
            assert!(began.elapsed() < START, "`{PROGRAM}` does not listen on {}", registry.host);
            std::thread::sleep(Duration::from_millis(20));
        }
        registry
    }

    /// Pushes `layers` as `repository:tag`; the digest of the manifest.
    pub async fn push(&self, repository: &str, tag: &str, layers: &[Layer<'_>]) -> String {
        let mut described = Vec::new();
        for (kind, bytes) in layers {
            let digest = self.blob(repository, bytes).await;
            described.push(json!({"mediaType": kind, "size": bytes.len(), "digest": digest}));
        }
        let empty = self.blob(repository, b"{}").await;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.wasm.config.v0+json", "size": 2, "digest": empty},
            "layers": described,
        });
        self.manifest(repository, tag, &manifest).await
    }

    /// Pushes a manifest; its digest.
    pub async fn manifest(&self, repository: &str, tag: &str, manifest: &Value) -> String {
        let body = manifest.to_string().into_bytes();
        let digest = digest(&body);
        let url = format!("http://{}/v2/{repository}/manifests/{tag}", self.host);
        let (status, said) = self.put(&url, "application/vnd.oci.image.manifest.v1+json", body).await;
        assert_eq!(status, 201, "{said}");
        digest
    }

    async fn blob(&self, repository: &str, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        let url = format!("http://{}/v2/{repository}/blobs/uploads/", self.host);
        let at = self.location(&url).await;
        let joint = if at.contains('?') { '&' } else { '?' };
        let url = format!("{at}{joint}digest={digest}");
        let (status, said) = self.put(&url, "application/octet-stream", bytes.to_vec()).await;
        assert_eq!(status, 201, "{said}");
        digest
    }

    async fn location(&self, url: &str) -> String {
        let (_, headers, _) = self.exchange("POST", url, "application/octet-stream", Vec::new()).await;
        let at = headers.get("location").unwrap().to_str().unwrap().to_owned();
        let host = url.split("/v2/").next().unwrap();
        if at.starts_with("http") { at } else { format!("{host}{at}") }
    }

    async fn put(&self, url: &str, kind: &str, body: Vec<u8>) -> (u16, String) {
        let (status, _, said) = self.exchange("PUT", url, kind, body).await;
        (status, said)
    }

    async fn exchange(
        &self,
        method: &str,
        url: &str,
        kind: &str,
        body: Vec<u8>,
    ) -> (u16, hyper::HeaderMap, String) {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let stream = tokio::net::TcpStream::connect(host).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("content-type", kind);
        if let Some(password) = self.password {
            let pair = STANDARD.encode(format!("{USER}:{password}"));
            request = request.header("authorization", format!("Basic {pair}"));
        }
        let request = request.body(Full::new(hyper::body::Bytes::from(body))).unwrap();
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        let said = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), head.headers, String::from_utf8_lossy(&said).into_owned())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn yaml(folder: &Path, host: &str) -> String {
    format!(
        "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {host}\n",
        folder.join("data").display()
    )
}
