//! A client that keeps several requests in flight on connections that it keeps.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Requests in flight: enough that the server never waits for this client.
const CONNECTIONS: usize = 16;

pub(crate) struct Client {
    connections: Vec<StreamOwned<ClientConnection, TcpStream>>,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr, authority: CertificateDer<'static>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority).expect("an authority");
        let config = Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
        let connect = || {
            let tcp = TcpStream::connect(address).expect("a connection");
            tcp.set_nodelay(true).expect("a socket option");
            let name = ServerName::try_from("localhost").expect("a name");
            StreamOwned::new(ClientConnection::new(Arc::clone(&config), name).expect("a session"), tcp)
        };
        Self { connections: (0..CONNECTIONS).map(|_| connect()).collect(), buffer: vec![0; 64 * 1024] }
    }

    /// Sends `count` requests and reads their answers.
    pub(crate) fn run(&mut self, review: &[u8], count: usize) {
        let head = format!(
            "POST /validate?timeout=10s HTTP/1.1\r\nHost: usher.usher-system.svc\r\nUser-Agent: kube-apiserver-admission\r\n\
             Content-Length: {}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n\
             Accept-Encoding: gzip\r\n\r\n",
            review.len()
        );
        let request = [head.as_bytes(), review].concat();
        for _ in 0..count.div_ceil(CONNECTIONS) {
            // Encrypted before any is sent, so that the server has them all at about the same time and never waits between two of them.
            for connection in &mut self.connections {
                connection.conn.writer().write_all(&request).expect("room for a request");
            }
            for connection in &mut self.connections {
                connection.flush().expect("a request sent");
            }
            // The last one first, so that this client sleeps once a round. To wake it is charged to the server, and in the order of sending it
            // would sleep for every answer of a server that is slower than itself, and for few of one that is faster.
            for connection in self.connections.iter_mut().rev() {
                read_answer(connection, &mut self.buffer);
            }
        }
    }
}

fn read_answer(connection: &mut impl Read, buffer: &mut [u8]) {
    let mut filled = 0;
    loop {
        let read = connection.read(&mut buffer[filled..]).expect("an answer");
        assert!(read > 0, "the server closed the connection");
        filled += read;
        let answer = &buffer[..filled];
        let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&answer[..end]).expect("a head");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .and_then(|length| length.parse().ok())
            .expect("a length");
        if filled == end + 4 + length {
            return;
        }
    }
}
