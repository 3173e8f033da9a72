//! The services that hand out credentials to who runs in the right place: an instance, a container.
//!
//! The instance's is asked as version 2 of it wants ("Use IMDS" in EC2's user guide): first for a token by PUT, then
//! with the token. Version 1, which needs no token, is not tried.

use std::time::Duration;

use hyper::Method;

use crate::credentials::{Credentials, CredentialsError};
use crate::endpoint::Endpoint;
use crate::http::{Outgoing, Way};
use crate::settings::Token;

/// How long one request may take. The service is on the host itself; where there is none, nothing answers, and a person
/// waits for this.
const WAIT: Duration = Duration::from_secs(1);
/// Attempts: the service limits how often it answers an instance.
const ATTEMPTS: u32 = 3;
/// The longest document: names and keys take a few hundred bytes.
const LIMIT: usize = 64 * 1024;
/// How long a token counts: for the few requests that follow at once.
const TOKEN_SECONDS: &str = "60";

const INSTANCE: &str = "the instance metadata service";
const CONTAINER: &str = "the container credentials service";

/// The instance metadata service, with a token if one was got.
#[derive(Debug)]
pub(crate) struct Metadata {
    way: Way,
    token: Option<String>,
}

/// Why the service said nothing.
type Why = String;

impl Metadata {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Metadata { way: Way::new(endpoint, None), token: None }
    }

    /// The region that the instance is in.
    pub(crate) async fn region(&mut self) -> Result<String, Why> {
        self.get("/latest/meta-data/placement/region").await
    }

    /// The credentials of the instance's role.
    pub(crate) async fn credentials(&mut self) -> Result<Credentials, CredentialsError> {
        let failed = |why| CredentialsError::Service { from: INSTANCE, why };
        let roles = "/latest/meta-data/iam/security-credentials/";
        let answer = self.get(roles).await.map_err(failed)?;
        let role = answer.lines().next().unwrap_or_default().trim();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte);
        if role.is_empty() || !role.bytes().all(plain) {
            return Err(failed("it names no role".to_owned()));
        }
        let document = self.get(&format!("{roles}{role}")).await.map_err(failed)?;
        Credentials::parse(document.as_bytes()).map_err(|error| failed(error.to_string()))
    }

    async fn get(&mut self, path: &str) -> Result<String, Why> {
        let token = match &self.token {
            Some(token) => token.clone(),
            None => {
                let mut outgoing = Outgoing::get(self.way.endpoint().path("/latest/api/token"))
                    .header("x-aws-ec2-metadata-token-ttl-seconds", TOKEN_SECONDS);
                outgoing.method = Method::PUT;
                self.token.insert(ask(&mut self.way, &outgoing).await?).clone()
            }
        };
        let outgoing =
            Outgoing::get(self.way.endpoint().path(path)).header("x-aws-ec2-metadata-token", token);
        ask(&mut self.way, &outgoing).await
    }
}

/// The credentials that a container's host has for it.
pub(crate) async fn container(
    endpoint: &Endpoint,
    path: &str,
    token: &Token,
) -> Result<Credentials, CredentialsError> {
    let failed = |why| CredentialsError::Service { from: CONTAINER, why };
    let token = match token {
        Token::None => None,
        Token::Text(text) => Some(text.clone()),
        Token::File(file) => {
            // One line on a memory file system, once in an hour: not worth a thread.
            let text = std::fs::read_to_string(file);
            Some(text.map_err(|error| failed(format!("`{}`: {error}", file.display())))?.trim().to_owned())
        }
    };
    let mut outgoing = Outgoing::get(endpoint.path(path));
    if let Some(token) = token {
        outgoing = outgoing.header("authorization", token);
    }
    let document = ask(&mut Way::new(endpoint.clone(), None), &outgoing).await.map_err(failed)?;
    Credentials::parse(document.as_bytes()).map_err(|error| failed(error.to_string()))
}

async fn ask(way: &mut Way, outgoing: &Outgoing) -> Result<String, Why> {
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        let incoming = match tokio::time::timeout(WAIT, way.send(outgoing.clone(), LIMIT)).await {
            Ok(Ok(incoming)) => incoming,
            Ok(Err(failure)) => {
                why = failure.to_string();
                continue;
            }
            Err(_) => return Err(format!("no answer from {} within {WAIT:?}", way.endpoint())),
        };
        match incoming.status {
            200 => {
                let text = String::from_utf8(incoming.body.to_vec());
                return text.map_err(|_| "its answer is no text".to_owned());
            }
            429 | 500..=599 => why = format!("status {}", incoming.status),
            status => return Err(format!("status {status}")),
        }
    }
    Err(why)
}
