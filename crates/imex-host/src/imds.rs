//! The type of a cloud instance, from the instance metadata service that EC2 has in each machine (IMDSv2).
//!
//! A token is asked for by PUT, then the value by GET with the token, each on a connection of its own, straight to the
//! address: a proxy would answer for another machine. Everything has one deadline, because on a machine that is no
//! instance nobody answers at that address and nothing refuses. (EC2 user guide, "Use IMDS"; "Instance metadata
//! categories", `instance-type`.)

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::http::HeaderValue;
use hyper::{Method, Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The address of the service in each instance.
pub const DEFAULT_ENDPOINT: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(169, 254, 169, 254), 80));

/// The longest answer that is read, in bytes. A token has 56, a type at most 32.
const LONGEST: usize = 4096;

/// How long the token should hold, in seconds. It is used once, at once.
const TOKEN_LIFETIME: &str = "60";

/// The type of an instance, such as `p6e-gb200.36xlarge`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct InstanceType(String);

/// A text that is no type of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not an instance type (letters, digits, `-`, with a dot in between)")]
pub struct NotAnInstanceType {
    text: String,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The token.
    Token,
    /// The value.
    InstanceType,
}

/// Why the type is not known.
#[derive(Debug, Error)]
pub enum ImdsError {
    /// Nobody listens: this is no instance, or a firewall keeps the service from its users.
    #[error("the metadata service at {endpoint} cannot be connected to")]
    Connect {
        /// The address.
        endpoint: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// It takes too long; as a rule this is no instance.
    #[error("the metadata service at {endpoint} did not answer within {} ms", after.as_millis())]
    Overdue {
        /// The address.
        endpoint: SocketAddr,
        /// The deadline.
        after: Duration,
    },
    /// The service is switched off for this instance.
    #[error("the metadata service is switched off for this instance (it answers 403 when asked for {step})")]
    SwitchedOff {
        /// What was asked for.
        step: Step,
    },
    /// It answers with an error.
    #[error("the metadata service answers {status} when asked for {step}")]
    Status {
        /// What was asked for.
        step: Step,
        /// The status, by number.
        status: u16,
    },
    /// It does not speak HTTP, or breaks off.
    #[error("the metadata service breaks off when asked for {step}")]
    Broken {
        /// What was asked for.
        step: Step,
        /// What is wrong.
        source: hyper::Error,
    },
    /// It says more than a token or a type has.
    #[error("the metadata service says more than {LONGEST} bytes when asked for {step}")]
    TooLong {
        /// What was asked for.
        step: Step,
    },
    /// It answers with something else than a token.
    #[error("the metadata service gives no usable token")]
    Token,
    /// It answers with something else than a type.
    #[error("the metadata service gives no instance type")]
    InstanceType(#[source] NotAnInstanceType),
}

/// Asks the service at `endpoint`, as a rule [`DEFAULT_ENDPOINT`], and waits for the answer `within` the time in all.
///
/// # Errors
///
/// If it cannot be had, in whichever way.
pub async fn instance_type(endpoint: SocketAddr, within: Duration) -> Result<InstanceType, ImdsError> {
    let asked = async {
        let token = token(endpoint).await?;
        let request = request(Method::GET, "/latest/meta-data/instance-type", endpoint)
            .header("X-aws-ec2-metadata-token", token);
        let answer = ask(endpoint, Step::InstanceType, request).await?;
        String::from_utf8_lossy(&answer).trim().parse().map_err(ImdsError::InstanceType)
    };
    timeout(within, asked).await.unwrap_or(Err(ImdsError::Overdue { endpoint, after: within }))
}

async fn token(endpoint: SocketAddr) -> Result<HeaderValue, ImdsError> {
    let request = request(Method::PUT, "/latest/api/token", endpoint)
        .header("X-aws-ec2-metadata-token-ttl-seconds", TOKEN_LIFETIME)
        .header("Content-Length", "0");
    let answer = ask(endpoint, Step::Token, request).await?;
    let mut token = HeaderValue::from_bytes(answer.trim_ascii()).map_err(|_| ImdsError::Token)?;
    if token.is_empty() {
        return Err(ImdsError::Token);
    }
    token.set_sensitive(true);
    Ok(token)
}

fn request(method: Method, path: &str, endpoint: SocketAddr) -> hyper::http::request::Builder {
    Request::builder().method(method).uri(path).header("Host", endpoint.to_string())
}

async fn ask(
    endpoint: SocketAddr,
    step: Step,
    request: hyper::http::request::Builder,
) -> Result<Bytes, ImdsError> {
    let broken = |source| ImdsError::Broken { step, source };
    let request = request.body(Empty::<Bytes>::new()).expect("its parts are constants and a checked token");
    let stream = TcpStream::connect(endpoint).await;
    let stream = stream.map_err(|source| ImdsError::Connect { endpoint, source })?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(broken)?;
        read(step, answer).await
    };
    // The connection carries the exchange and has no end of its own; what ends it shows in the exchange.
    let carry = async {
        let _ = connection.await;
        std::future::pending().await
    };
    tokio::select! {
        biased;
        answer = exchange => answer,
        never = carry => never,
    }
}

async fn read(step: Step, answer: Response<Incoming>) -> Result<Bytes, ImdsError> {
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::FORBIDDEN => return Err(ImdsError::SwitchedOff { step }),
        status => return Err(ImdsError::Status { step, status: status.as_u16() }),
    }
    match Limited::new(answer.into_body(), LONGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => match error.downcast::<hyper::Error>() {
            Ok(source) => Err(ImdsError::Broken { step, source: *source }),
            Err(error) => {
                debug_assert!(error.is::<LengthLimitError>(), "nothing else can fail");
                Err(ImdsError::TooLong { step })
            }
        },
    }
}

impl InstanceType {
    /// The type as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstanceType {
    type Err = NotAnInstanceType;

    fn from_str(text: &str) -> Result<Self, NotAnInstanceType> {
        let usable = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let good = text.len() <= 64
            && text.split_once('.').is_some_and(|(family, size)| usable(family) && usable(size));
        // What is no type may be a page of HTML.
        let shown = || text.chars().take(64).collect();
        if good { Ok(InstanceType(text.to_owned())) } else { Err(NotAnInstanceType { text: shown() }) }
    }
}

impl fmt::Display for InstanceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Token => "a token",
            Step::InstanceType => "the instance type",
        })
    }
}

#[cfg(test)]
mod tests;
