use std::io::ErrorKind;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;

use super::*;

/// Far more than anything here takes; a test that waits longer has found a fault.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_a_firewall_forbids_is_told_from_ends_that_do_not_believe_each_other() {
    let forbidden = || io::Error::from(ErrorKind::PermissionDenied);
    let disbelieved = || io::Error::other(Disbelief);

    // While the connection is made secure, and when that is done already.
    let error = ask(Breaks { first: Some(forbidden), later: forbidden }).await;
    assert!(matches!(error, ClientError::NotPermitted { .. }), "{error:?}");
    let error = ask(Breaks { first: None, later: forbidden }).await;
    assert!(matches!(error, ClientError::Broken { .. }), "{error:?}");
    for first in [Some(disbelieved as fn() -> io::Error), None] {
        let error = ask(Breaks { first, later: disbelieved }).await;
        let ClientError::Untrusted { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(source.to_string(), "it trusts another authority");
    }

    // It is not a matter of words.
    let error = ask(Breaks { first: None, later: || io::Error::other("it trusts another authority") }).await;
    assert!(matches!(error, ClientError::Broken { .. }), "{error:?}");
}

/// Asks somebody who takes every connection.
async fn ask(breaks: Breaks) -> ClientError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    match CommandClient::connect_through(&endpoint, PATIENCE, &breaks).await {
        Ok(mut client) => client.get_node().await.unwrap_err(),
        Err(error) => error,
    }
}

/// One end does not believe the other.
#[derive(Debug, Error)]
#[error("it trusts another authority")]
struct Disbelief;

/// A way to make a connection secure that fails at once, or at the first read.
struct Breaks {
    first: Option<fn() -> io::Error>,
    later: fn() -> io::Error,
}

impl Secure for Breaks {
    type Io = Broken;

    async fn secure(&self, tcp: TcpStream) -> io::Result<Broken> {
        match self.first {
            Some(error) => Err(error()),
            None => Ok(Broken { tcp, error: self.later }),
        }
    }

    fn is_distrust(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Disbelief>())
    }
}

/// A connection from which nothing can be read.
struct Broken {
    tcp: TcpStream,
    error: fn() -> io::Error,
}

impl AsyncRead for Broken {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err((self.error)()))
    }
}

impl AsyncWrite for Broken {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
