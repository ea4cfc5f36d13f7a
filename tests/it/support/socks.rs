//! A SOCKS5 proxy on loopback that tunnels to one place, whatever it is asked for.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// A running proxy. `login` is the user and password that it wants, joined by a colon.
pub(crate) struct SocksProxy {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl SocksProxy {
    /// The host `refused.test` gets a refusal.
    pub(crate) async fn start(login: Option<&'static str>, tunnel_to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, login, log.clone(), tunnel_to));
            }
        });
        Self { address, asked }
    }

    /// `host:port` of every tunnel that was asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn text(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn serve(
    mut stream: TcpStream,
    login: Option<&'static str>,
    log: Arc<Mutex<Vec<String>>>,
    tunnel_to: SocketAddr,
) -> std::io::Result<()> {
    let mut greeting = [0; 3];
    stream.read_exact(&mut greeting).await?;
    let method = if login.is_some() { 2 } else { 0 };
    if greeting != [5, 1, method] {
        return stream.write_all(&[5, 0xff]).await;
    }
    stream.write_all(&[5, method]).await?;
    if let Some(login) = login {
        stream.read_u8().await?;
        let given = format!("{}:{}", text(&mut stream).await?, text(&mut stream).await?);
        stream.write_all(&[1, u8::from(given != login)]).await?;
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let host = match head {
        [5, 1, 0, 1] => {
            let address: [u8; 4] = stream.read_u32().await?.to_be_bytes();
            std::net::Ipv4Addr::from(address).to_string()
        }
        [5, 1, 0, 3] => text(&mut stream).await?,
        other => panic!("not expected: {other:?}"),
    };
    let port = stream.read_u16().await?;
    let code = if host == "refused.test" { 5 } else { 0 };
    log.lock().unwrap().push(format!("{host}:{port}"));
    stream
        .write_all(&[5, code, 0, 1, 127, 0, 0, 1, 0, 80])
        .await?;
    if code == 0 {
        let mut site = TcpStream::connect(tunnel_to).await?;
        copy_bidirectional(&mut stream, &mut site).await?;
    }
    Ok(())
}
