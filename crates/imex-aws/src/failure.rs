//! What can go wrong: what was asked, how often, what came back, and what to do about it.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::credentials::CredentialsError;

/// A service of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// EC2.
    Ec2,
    /// Parallel Computing Service.
    Pcs,
}

impl Service {
    /// The word that stands in host names, signatures and permissions.
    pub const fn word(self) -> &'static str {
        match self {
            Service::Ec2 => "ec2",
            Service::Pcs => "pcs",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing says in which region the cluster is.
    #[error("no region is known")]
    NoRegion,
    /// There are no credentials to sign with.
    #[error("no credentials")]
    Credentials(#[from] CredentialsError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Why a call failed.
#[derive(Debug)]
pub struct CallError {
    /// The service that was asked.
    pub service: Service,
    /// The action that it was asked for.
    pub action: &'static str,
    /// How many attempts were made.
    pub attempts: u32,
    /// The name that the service gave to the last attempt, for its support.
    pub request_id: Option<String>,
    /// What the last attempt ended with.
    pub failure: Failure,
}

/// What an attempt ended with.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No connection came about.
    #[error("{endpoint} cannot be reached")]
    Unreachable {
        /// Where to.
        endpoint: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The certificates to trust cannot be read.
    #[error("the certificates of {from} cannot be read: {why}")]
    Certificates {
        /// Which.
        from: String,
        /// Why.
        why: String,
    },
    /// The connection broke, or what came was not HTTP.
    #[error("the answer broke off")]
    Broken(#[source] hyper::Error),
    /// No whole answer came in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// The time for everything ran out before another attempt.
    #[error("gave up after {after:?}")]
    Deadline {
        /// The time that there was.
        after: Duration,
        /// What the last attempt ended with.
        #[source]
        last: Box<Failure>,
    },
    /// The service refused.
    #[error("{code} ({status}): {message}")]
    Refused {
        /// HTTP's status.
        status: u16,
        /// The service's word for the reason.
        code: String,
        /// The service's sentence about it.
        message: String,
    },
    /// An answer that is neither success nor one of the service's errors: a proxy's, perhaps.
    #[error("HTTP status {0} without an error of the service")]
    Status(u16),
    /// An answer is longer than any that makes sense.
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// The longest that is read.
        limit: usize,
    },
    /// An answer is not what it should be.
    #[error("the answer makes no sense: {0}")]
    Malformed(String),
    /// A page names itself as the next one.
    #[error("the pages go round in a circle")]
    Circle,
    /// There are more pages than make sense.
    #[error("there are more than {0} pages")]
    TooManyPages(usize),
}

impl Error {
    /// What to do about it, if something can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::NoRegion => {
                Some("give --region, or set AWS_REGION, or `region` in the profile".to_owned())
            }
            Error::Credentials(error) => Some(error.hint().to_owned()),
            Error::Call(error) => error.hint(),
        }
    }
}

impl CallError {
    /// What to do about it, if something can be said.
    pub fn hint(&self) -> Option<String> {
        let permission = format!("{}:{}", self.service, self.action);
        match self.failure.root() {
            Failure::Refused { code, .. } => refusal_hint(code, &permission),
            Failure::Unreachable { .. } | Failure::Late(_) => {
                Some("is there a way out of this network, or an endpoint in it (--endpoint-url)?".to_owned())
            }
            Failure::Status(_) | Failure::Malformed(_) => {
                Some("does something else answer at this address, such as a proxy?".to_owned())
            }
            Failure::Certificates { .. }
            | Failure::Broken(_)
            | Failure::Deadline { .. }
            | Failure::TooLong { .. }
            | Failure::Circle
            | Failure::TooManyPages(_) => None,
        }
    }
}

fn refusal_hint(code: &str, permission: &str) -> Option<String> {
    let hint = match code {
        "UnauthorizedOperation" | "AccessDenied" | "AccessDeniedException" => {
            format!("the credentials need the permission `{permission}`")
        }
        "ExpiredToken" | "ExpiredTokenException" => "the credentials have expired: renew them".to_owned(),
        "RequestExpired" | "SignatureDoesNotMatch" | "InvalidSignatureException" => {
            "is this machine's clock right, and the secret key complete?".to_owned()
        }
        "AuthFailure" | "InvalidClientTokenId" | "UnrecognizedClientException" => {
            "the service does not know these credentials: are they of this partition and not deleted?"
                .to_owned()
        }
        "ResourceNotFoundException" => {
            "is it the right region, and the name or id of a cluster there?".to_owned()
        }
        "RequestLimitExceeded" | "Throttling" | "ThrottlingException" => {
            "something else in this account asks very often; ask less often".to_owned()
        }
        _ => return None,
    };
    Some(hint)
}

impl Failure {
    /// The failure that a deadline cut off, or this one.
    pub fn root(&self) -> &Failure {
        let mut failure = self;
        while let Failure::Deadline { last, .. } = failure {
            failure = last;
        }
        failure
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.service, self.action)?;
        if self.attempts > 1 {
            write!(f, ", {} attempts", self.attempts)?;
        }
        match &self.request_id {
            Some(id) => write!(f, ", request {id}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.failure)
    }
}
