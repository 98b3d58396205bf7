//! A client that says exactly the bytes that it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::server::Server;

/// No test waits longer for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The response of a review, which must be one that the API server would take.
    pub(crate) fn response(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let review: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(review["kind"], "AdmissionReview");
        assert!(review["apiVersion"].as_str().unwrap().starts_with("admission.k8s.io/v1"));
        let response = &review["response"];
        assert!(response["uid"].is_string() && response["allowed"].is_boolean(), "{review}");
        assert_eq!(response.get("patch").is_some(), response.get("patchType").is_some());
        response.clone()
    }

    /// Whether it is a refusal with this uid and code.
    #[track_caller]
    pub(crate) fn assert_denied(&self, uid: &str, code: u64) -> Value {
        let response = self.response();
        assert_eq!(response["uid"], uid);
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], code, "{response}");
        assert_eq!(response.get("patch"), None);
        response
    }
}

pub(crate) fn config(authority: CertificateDer<'static>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(authority).unwrap();
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

pub(crate) async fn connect_with(
    address: SocketAddr,
    config: ClientConfig,
) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}

impl Server {
    pub(crate) async fn connect(&self) -> Client<TlsStream<TcpStream>> {
        let stream = connect_with(self.address, config(self.authority())).await.unwrap();
        Client { stream, buffer: Vec::new() }
    }

    /// One POST on a connection of its own.
    pub(crate) async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.connect().await.post(path, body).await.unwrap()
    }
}

pub(crate) struct Client<S> {
    pub(crate) stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    pub(crate) async fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> std::io::Result<Answer> {
        let body = body.as_ref();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: usher\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send([head.as_bytes(), body].concat()).await?;
        self.answer().await
    }

    /// Sends bytes and reads one answer.
    pub(crate) async fn exchange(&mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.send(bytes).await.unwrap();
        self.answer().await.unwrap()
    }

    /// Reads one answer.
    pub(crate) async fn answer(&mut self) -> std::io::Result<Answer> {
        loop {
            if let Some(answer) = self.take_answer() {
                return Ok(answer);
            }
            if self.read_some().await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Whether the server closes the connection, without another byte, within `limit`.
    pub(crate) async fn is_closed_within(&mut self, limit: Duration) -> bool {
        let closed = timeout(limit, self.read_some()).await;
        self.buffer.is_empty() && matches!(closed, Ok(Ok(0) | Err(_)))
    }

    async fn read_some(&mut self) -> std::io::Result<usize> {
        timeout(PATIENCE, self.stream.read_buf(&mut self.buffer))
            .await
            .expect("no answer within the patience")
    }

    fn take_answer(&mut self) -> Option<Answer> {
        let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(self.buffer[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers
            .iter()
            .find(|(key, _)| key == "content-length")
            .map_or(0, |(_, value)| value.parse().unwrap());
        let length = if status == 100 { 0 } else { length };
        let body = self.buffer.get(end..end + length)?.to_vec();
        self.buffer.drain(..end + length);
        Some(Answer { status, headers, body })
    }
}

/// A review of a Pod CREATE.
pub(crate) fn review(uid: &str) -> String {
    review_with(uid, r#""operation":"CREATE","object":{"kind":"Pod","metadata":{"name":"web"}}"#)
}

/// A review with these further members in its request.
pub(crate) fn review_with(uid: &str, members: &str) -> String {
    let uid = serde_json::to_string(uid).unwrap();
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":{uid},{members}}}}}"#
    )
}
