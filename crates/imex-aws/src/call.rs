//! One call: signed, sent, judged, tried again until it is answered or time is up.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use tokio::time::{Instant, timeout};

use crate::client::Client;
use crate::clock;
use crate::failure::{CallError, Error, Failure, Service};
use crate::http::{Incoming, Outgoing};
use crate::retry::{self, Verdict};
use crate::sign::{self, Scope, Unsigned};
use crate::{ec2, pcs};

/// The longest answer. A page of two hundred instances with every tag and interface that they can have stays below half.
const LIMIT: usize = 32 * 1024 * 1024;

/// The most pages of one list: more than a region's instances fill.
pub(crate) const MAX_PAGES: usize = 5_000;

/// What to ask.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) service: Service,
    pub(crate) action: &'static str,
    /// Headers that say what the body is.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
}

/// How an attempt ended that brought no answer.
struct Miss {
    failure: Failure,
    verdict: Verdict,
    request_id: Option<String>,
}

impl Miss {
    /// An answer that could not be read.
    fn unread(why: &impl std::fmt::Display, incoming: &Incoming) -> Self {
        let failure = Failure::Malformed(why.to_string());
        Miss { failure, verdict: Verdict::Final, request_id: request_id(&incoming.headers) }
    }

    /// The same, as the last of what there was time for.
    fn after(self, after: Duration) -> Self {
        Miss { failure: Failure::Deadline { after, last: Box::new(self.failure) }, ..self }
    }
}

impl Call {
    /// The error of this call.
    pub(crate) fn error(&self, failure: Failure) -> CallError {
        let (service, action) = (self.service, self.action);
        CallError { service, action, attempts: 1, request_id: None, failure }
    }
}

impl Client {
    /// Asks until there is an answer, and has it read. A failure to read it is final: the same would come again.
    pub(crate) async fn ask<T, E: std::fmt::Display>(
        &mut self,
        call: &Call,
        read: impl Fn(&[u8]) -> Result<T, E>,
    ) -> Result<T, Error> {
        let patience = self.settings.patience;
        let mut renewed = false;
        let mut attempts = 0;
        let mut before: Option<Miss> = None;
        loop {
            let credentials = self.credentials().await?;
            attempts += 1;
            let miss = match self.attempt(call, &credentials).await? {
                Ok(incoming) => match read(&incoming.body) {
                    Ok(answer) => return Ok(answer),
                    Err(why) => Miss::unread(&why, &incoming),
                },
                Err(miss) => miss,
            };
            let ended = match miss.verdict {
                Verdict::Final => miss,
                // What the attempts before it ended with tells more than that the last one was cut short.
                Verdict::Over => before.map_or(miss, |before| before.after(patience.total)),
                Verdict::Renew if renewed || !self.renew() => miss,
                Verdict::Renew => {
                    renewed = true;
                    before = Some(miss);
                    continue;
                }
                Verdict::Again => {
                    let wake = clock::now() + patience.pause(attempts, clock::draw());
                    if wake < self.deadline {
                        tokio::time::sleep_until(wake).await;
                        before = Some(miss);
                        continue;
                    }
                    miss.after(patience.total)
                }
            };
            let Miss { failure, request_id, verdict: _ } = ended;
            return Err(CallError { attempts, request_id, ..call.error(failure) }.into());
        }
    }

    async fn attempt(
        &mut self,
        call: &Call,
        credentials: &crate::Credentials,
    ) -> Result<Result<Incoming, Miss>, Error> {
        let region = self.region().await?;
        let rest = self.deadline.saturating_duration_since(clock::now());
        let time = rest.min(self.settings.patience.attempt);
        let way = self.way(call.service, &region);
        let path = way.endpoint().path("/");
        let mut headers = call.headers.clone();
        headers.push(("host", way.endpoint().host_header().to_owned()));
        let scope = Scope { region: region.as_str(), service: call.service.word() };
        let unsigned = Unsigned { path: &path, headers: &headers, body: &call.body };
        let added = sign::sign(unsigned, credentials, scope, clock::timestamp());
        headers.retain(|(name, _)| *name != "host");
        headers.extend(added);
        let outgoing = Outgoing { method: Method::POST, path, headers, body: call.body.clone() };
        Ok(match timeout(time, way.send(outgoing, LIMIT)).await {
            Ok(Ok(incoming)) if incoming.status == 200 => Ok(incoming),
            Ok(Ok(incoming)) => Err(refused(call.service, &incoming)),
            Ok(Err(failure)) => Err(Miss { verdict: passing(&failure), failure, request_id: None }),
            Err(_) if time == rest => {
                let failure = Failure::Late(self.settings.patience.total);
                Err(Miss { failure, verdict: Verdict::Over, request_id: None })
            }
            Err(_) => Err(Miss { failure: Failure::Late(time), verdict: Verdict::Again, request_id: None }),
        })
    }
}

/// What an answer other than success says.
fn refused(service: Service, incoming: &Incoming) -> Miss {
    let said = match service {
        Service::Ec2 => ec2::parse::error(&incoming.body),
        Service::Pcs => pcs::parse::error(&incoming.body),
    };
    let status = incoming.status;
    let verdict = retry::judge(status, said.as_ref().map(|said| said.code.as_str()));
    let (failure, id) = match said {
        Some(said) => (Failure::Refused { status, code: said.code, message: said.message }, said.request_id),
        None => (Failure::Status(status), None),
    };
    Miss { failure, verdict, request_id: id.or_else(|| request_id(&incoming.headers)) }
}

/// If a connection's failure may pass.
fn passing(failure: &Failure) -> Verdict {
    match failure {
        Failure::Unreachable { .. } | Failure::Broken(_) | Failure::Late(_) => Verdict::Again,
        Failure::Certificates { .. }
        | Failure::Deadline { .. }
        | Failure::Refused { .. }
        | Failure::Status(_)
        | Failure::TooLong { .. }
        | Failure::Malformed(_)
        | Failure::Circle
        | Failure::TooManyPages(_) => Verdict::Final,
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("x-amzn-requestid")?.to_str().ok()?;
    Some(value.chars().take(64).collect())
}

/// The moment at which everything must be done.
pub(crate) fn deadline(total: Duration) -> Instant {
    clock::now() + total
}
