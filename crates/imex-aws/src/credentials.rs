//! Who signs: an access key, its secret, and for how long they count.

use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;

use crate::profile::ProfileError;

/// An access key with its secret. Its `Debug` output does not have the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    access_key_id: String,
    secret: String,
    session_token: Option<String>,
    expires: Option<Timestamp>,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// No place has any.
    #[error("looked in the environment, the profile `{profile}`{tail}", tail = if *.metadata { " and at the instance metadata" } else { "" })]
    Nowhere {
        /// The profile that was looked in.
        profile: String,
        /// If the instance metadata service was asked.
        metadata: bool,
    },
    /// The environment has one half of a key.
    #[error("the environment has {present} but not {missing}")]
    Half {
        /// What it has.
        present: &'static str,
        /// What it lacks.
        missing: &'static str,
    },
    /// The profile cannot be used.
    #[error("the profile cannot be used")]
    Profile(#[from] ProfileError),
    /// The profile's credentials come from where this program does not go.
    #[error("the profile `{profile}` needs `{key}`")]
    Beyond {
        /// The profile.
        profile: String,
        /// The key that asks for it.
        key: &'static str,
    },
    /// The command of `credential_process` gave none.
    #[error("credential_process failed: {0}")]
    Process(String),
    /// The address from which a container gets credentials is not one to send a token to.
    #[error("{0} is neither this machine nor encrypted")]
    Container(String),
    /// The service that hands out credentials did not.
    #[error("{from} gave no credentials: {why}")]
    Service {
        /// Which service.
        from: &'static str,
        /// Why.
        why: String,
    },
    /// Their time is over.
    #[error("they expired at {0}")]
    Expired(Timestamp),
}

/// Why a text has no credentials.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is not JSON, or not of the expected shape.
    #[error("not a credentials document")]
    Json(#[from] serde_json::Error),
    /// A part is empty or has control characters.
    #[error("a part of it cannot stand in a header")]
    Part,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    access_key_id: String,
    secret_access_key: String,
    // The metadata service and containers say `Token`, credential_process says `SessionToken`.
    #[serde(alias = "SessionToken")]
    token: Option<String>,
    expiration: Option<Timestamp>,
}

impl Credentials {
    /// Credentials that do not expire as far as anyone has said.
    pub fn new(access_key_id: &str, secret: &str, session_token: Option<&str>) -> Self {
        Credentials {
            access_key_id: access_key_id.to_owned(),
            secret: secret.to_owned(),
            session_token: session_token.map(str::to_owned),
            expires: None,
        }
    }

    /// Reads the document of the metadata service, of a container or of `credential_process`.
    ///
    /// # Errors
    ///
    /// If it is no such document.
    pub fn parse(document: &[u8]) -> Result<Self, DocumentError> {
        let document: Document = serde_json::from_slice(document)?;
        let parts =
            [Some(&document.access_key_id), Some(&document.secret_access_key), document.token.as_ref()];
        let good = |part: &String| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        if !parts.into_iter().flatten().all(good) {
            return Err(DocumentError::Part);
        }
        Ok(Credentials {
            access_key_id: document.access_key_id,
            secret: document.secret_access_key,
            session_token: document.token,
            expires: document.expiration,
        })
    }

    /// The access key's id.
    pub fn access_key_id(&self) -> &str {
        &self.access_key_id
    }

    /// When they expire, if that is known.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    pub(crate) fn session_token(&self) -> Option<&str> {
        self.session_token.as_deref()
    }

    /// These, if their time is not over.
    pub(crate) fn alive(self, now: Timestamp) -> Result<Self, CredentialsError> {
        match self.expires {
            Some(expires) if expires <= now => Err(CredentialsError::Expired(expires)),
            Some(_) | None => Ok(self),
        }
    }
}

impl CredentialsError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            CredentialsError::Nowhere { .. } => {
                "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the instance a role; \
                 or save what the aws command prints and name the file: --source ec2:FILE"
            }
            CredentialsError::Half { .. } => "set both or neither",
            CredentialsError::Profile(_) => "look at ~/.aws/config and ~/.aws/credentials",
            CredentialsError::Beyond { .. } => {
                "let the aws command get them: in a profile, \
                 `credential_process = aws configure export-credentials --profile THAT --format process`"
            }
            CredentialsError::Process(_) => "run the command by hand and look at what it prints",
            CredentialsError::Container(_) => "AWS_CONTAINER_CREDENTIALS_FULL_URI must be local or https",
            CredentialsError::Service { .. } => "has the instance a role?",
            CredentialsError::Expired(_) => "renew them",
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("access_key_id", &self.access_key_id)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_the_document_are_read_and_the_secret_is_not_shown() {
        for token in ["Token", "SessionToken"] {
            let document = format!(
                r#"{{"AccessKeyId":"AK","SecretAccessKey":"hush","{token}":"tok","Expiration":"2026-01-01T00:00:00Z"}}"#
            );
            let credentials = Credentials::parse(document.as_bytes()).unwrap();
            assert_eq!(credentials.session_token(), Some("tok"));
            assert!(!format!("{credentials:?}").contains("hush"));
            let late = "2026-01-01T00:00:00Z".parse().unwrap();
            assert!(matches!(credentials.alive(late), Err(CredentialsError::Expired(_))));
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_refused() {
        for document in [
            r#"{"AccessKeyId":"A\nB","SecretAccessKey":"s"}"#,
            r#"{"AccessKeyId":"","SecretAccessKey":"s"}"#,
            "{}",
            "<html>",
        ] {
            assert!(Credentials::parse(document.as_bytes()).is_err(), "{document}");
        }
    }
}
