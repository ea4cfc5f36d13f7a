//! An HTTP proxy on loopback that invents every page and tunnels to one place.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::site::read_head;

/// A running proxy.
///
/// An absolute-form request gets a page with its request line; `status-NNN` as host gets that status,
/// also for CONNECT; any other CONNECT leads to `tunnel_to`.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(crate) async fn start(tunnel_to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let log = heads.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, log.clone(), tunnel_to));
            }
        });
        Self { address, heads }
    }

    /// The heads of all requests, in order.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    log: Arc<Mutex<Vec<String>>>,
    tunnel_to: SocketAddr,
) -> std::io::Result<()> {
    while let Some(head) = read_head(&mut stream).await? {
        let line = head.lines().next().unwrap_or_default().to_owned();
        log.lock().unwrap().push(head);
        if let Some(at) = line.find("status-") {
            let code = line.get(at + 7..at + 10).unwrap_or_default();
            let answer = format!("HTTP/1.1 {code} By Proxy\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await?;
        } else if line.starts_with("CONNECT ") {
            stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?;
            let mut site = TcpStream::connect(tunnel_to).await?;
            copy_bidirectional(&mut stream, &mut site).await?;
            return Ok(());
        } else {
            let length = line.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{line}"
            );
            stream.write_all(answer.as_bytes()).await?;
        }
    }
    Ok(())
}
