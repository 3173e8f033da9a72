//! HTTP/1.1 over one connection: a request out, a bounded answer back.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HeaderMap;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::tls;

/// A request, but for where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    /// The path, the endpoint's own included.
    pub(crate) path: String,
    /// Names in lower case. `host` is added.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A way to one endpoint. The connection is kept from request to request for as long as the other end keeps it.
#[derive(Debug)]
pub(crate) struct Way {
    endpoint: Endpoint,
    ca_bundle: Option<PathBuf>,
    tls: Option<Arc<ClientConfig>>,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Outgoing {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Outgoing { method: Method::GET, path: path.into(), headers: Vec::new(), body: Bytes::new() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Way {
    pub(crate) fn new(endpoint: Endpoint, ca_bundle: Option<PathBuf>) -> Self {
        Way { endpoint, ca_bundle, tls: None, open: None }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and reads the answer, of at most `limit` bytes. Waits for ever: the caller has the deadline.
    pub(crate) async fn send(&mut self, outgoing: Outgoing, limit: usize) -> Result<Incoming, Failure> {
        // Taken out: an attempt that fails or is dropped half-way leaves no connection behind that others would use.
        let kept = self.open.take().filter(|sender| !sender.is_closed());
        let mut sender = match kept {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        sender.ready().await.map_err(Failure::Broken)?;
        let mut request = Request::builder()
            .method(outgoing.method)
            .uri(outgoing.path)
            .header("host", self.endpoint.host_header());
        for (name, value) in &outgoing.headers {
            request = request.header(*name, value);
        }
        let request = request
            .body(Full::new(outgoing.body))
            .map_err(|error| Failure::Malformed(format!("no request can be made of it: {error}")))?;
        let (head, body) = sender.send_request(request).await.map_err(Failure::Broken)?.into_parts();
        let body = Limited::new(body, limit).collect().await.map_err(|error| unread(error, limit))?;
        self.open = Some(sender);
        Ok(Incoming { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
    }

    async fn connect(&mut self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let (host, port) = self.endpoint.host_and_port();
        let unreachable =
            |source: io::Error| Failure::Unreachable { endpoint: self.endpoint.to_string(), source };
        let stream = TcpStream::connect((host, port)).await.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        if !self.endpoint.encrypted() {
            return greet(stream).await;
        }
        let config = match &self.tls {
            Some(config) => Arc::clone(config),
            None => Arc::clone(self.tls.insert(tls::client(self.ca_bundle.as_deref())?)),
        };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| unreachable(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let stream = TlsConnector::from(config).connect(name, stream).await.map_err(unreachable)?;
        greet(stream).await
    }
}

async fn greet<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(Failure::Broken)?;
    // It ends with the sender, or with the other end. Whoever waits for an answer is told what broke.
    tokio::spawn(connection);
    Ok(sender)
}

fn unread(error: Box<dyn std::error::Error + Send + Sync>, limit: usize) -> Failure {
    match error.downcast::<hyper::Error>() {
        Ok(error) => Failure::Broken(*error),
        Err(error) if error.is::<LengthLimitError>() => Failure::TooLong { limit },
        Err(error) => Failure::Malformed(error.to_string()),
    }
}
