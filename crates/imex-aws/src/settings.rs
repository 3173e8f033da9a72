//! What to ask as whom: the command line's word before the environment's before the profile's.
//!
//! Names of variables and keys, and which goes before which, are those of the AWS SDKs and Tools reference guide.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::credentials::{Credentials, CredentialsError};
use crate::endpoint::{Endpoint, EndpointError, Region, RegionError};
use crate::failure::Service;
use crate::profile::{Profile, ProfileError, Profiles};
use crate::retry::Patience;

/// The variables of a process, handed in by it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The region.
    pub region: Option<String>,
    /// The profile.
    pub profile: Option<String>,
    /// The endpoint of every service.
    pub endpoint: Option<String>,
}

/// What to ask as whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The region; if it is not known, the instance metadata service is asked.
    pub(crate) region: Option<Region>,
    pub(crate) source: Source,
    /// The endpoints that were set, by service: EC2, PCS.
    pub(crate) endpoints: [Option<Endpoint>; 2],
    /// The instance metadata service, if it may be asked.
    pub(crate) metadata: Option<Endpoint>,
    /// A file of certificates to trust instead of the system's.
    pub(crate) ca_bundle: Option<PathBuf>,
    pub(crate) patience: Patience,
}

/// Where credentials come from: the first of these that there is.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// They are here.
    Given(Credentials),
    /// A command prints them.
    Process(String),
    /// A service of the container's host hands them out.
    Container { endpoint: Endpoint, path: String, token: Token },
    /// The instance's role has them, if the metadata service may be asked.
    Instance { profile: String },
}

/// What proves a container to its host.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// Nothing.
    None,
    /// These words.
    Text(String),
    /// The content of this file, which changes.
    File(PathBuf),
}

/// Why settings make no sense.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A region is none.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// An endpoint is none.
    #[error("{from}")]
    Endpoint {
        /// Where it was set.
        from: String,
        /// What is wrong.
        source: EndpointError,
    },
    /// A file cannot be read.
    #[error("`{path}` cannot be read", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The profile cannot be used.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Credentials are incomplete.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

impl SettingsError {
    /// What to do about it, if something can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            SettingsError::Credentials(error) => Some(error.hint().to_owned()),
            SettingsError::Profile(_) => Some("look at ~/.aws/config and ~/.aws/credentials".to_owned()),
            SettingsError::Region(_) | SettingsError::Endpoint { .. } | SettingsError::File { .. } => None,
        }
    }
}

/// The address of the instance metadata service on every EC2 instance.
const METADATA: &str = "http://169.254.169.254";
/// The address at which ECS hands out credentials to containers.
const CONTAINER: &str = "http://169.254.170.2";
/// Keys of a profile that lead to credentials by ways that this crate does not go.
const BEYOND: [&str; 6] = [
    "role_arn",
    "source_profile",
    "sso_session",
    "sso_start_url",
    "web_identity_token_file",
    "login_session",
];

impl Environment {
    /// The value of a variable; an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Environment(variables.into_iter().collect())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Settings {
    /// Reads the profile's files and decides what counts. Opens no connection.
    ///
    /// # Errors
    ///
    /// If what is set cannot be used. That something is not set is found when it is needed.
    pub fn read(environment: &Environment, overrides: &Overrides) -> Result<Self, SettingsError> {
        let asked = overrides.profile.as_deref().or_else(|| environment.get("AWS_PROFILE"));
        let name = asked.unwrap_or("default");
        let profiles = profiles(environment)?;
        let profile = match profiles.get(name) {
            Some(profile) => profile.clone(),
            None if asked.is_none() => Profile::default(),
            None => return Err(ProfileError::Unknown(name.to_owned()).into()),
        };
        let set = Set { environment, overrides, name, profile };
        Ok(Settings {
            region: set.region()?,
            source: set.source()?,
            endpoints: [set.endpoint(Service::Ec2)?, set.endpoint(Service::Pcs)?],
            metadata: set.metadata()?,
            ca_bundle: set.value("AWS_CA_BUNDLE", "ca_bundle").map(PathBuf::from),
            patience: Patience::default(),
        })
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The region, if the settings have it.
    pub fn region(&self) -> Option<&Region> {
        self.region.as_ref()
    }
}

/// Everything that says something.
struct Set<'a> {
    environment: &'a Environment,
    overrides: &'a Overrides,
    name: &'a str,
    profile: Profile,
}

impl Set<'_> {
    /// A variable's value, or else a key's.
    fn value(&self, variable: &str, key: &str) -> Option<&str> {
        self.environment.get(variable).or_else(|| self.profile.get(key))
    }

    fn region(&self) -> Result<Option<Region>, SettingsError> {
        let region = self.overrides.region.as_deref().or_else(|| self.environment.get("AWS_REGION"));
        let region = region.or_else(|| self.value("AWS_DEFAULT_REGION", "region"));
        Ok(region.map(str::parse).transpose()?)
    }

    fn endpoint(&self, service: Service) -> Result<Option<Endpoint>, SettingsError> {
        let (own, all) = (format!("AWS_ENDPOINT_URL_{}", service.word().to_uppercase()), "AWS_ENDPOINT_URL");
        let ignored = self.environment.is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
        let candidates = [
            (self.overrides.endpoint.as_deref(), "--endpoint-url"),
            (self.environment.get(&own).filter(|_| !ignored), own.as_str()),
            (self.environment.get(all).filter(|_| !ignored), all),
            (self.profile.get("endpoint_url").filter(|_| !ignored), "endpoint_url of the profile"),
        ];
        let found = candidates.into_iter().find_map(|(text, from)| text.map(|text| (text, from)));
        found.map(|(text, from)| endpoint(text, from)).transpose()
    }

    fn metadata(&self) -> Result<Option<Endpoint>, SettingsError> {
        if self.environment.is_true("AWS_EC2_METADATA_DISABLED") {
            return Ok(None);
        }
        let from = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
        let text = self.value(from, "ec2_metadata_service_endpoint").unwrap_or(METADATA);
        endpoint(text, from).map(Some)
    }

    fn source(&self) -> Result<Source, SettingsError> {
        // A profile that was asked for by name goes before keys that happen to be in the environment.
        if self.overrides.profile.is_none()
            && let Some(credentials) = self.keys()?
        {
            return Ok(Source::Given(credentials));
        }
        let [id, secret, token] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"]
            .map(|key| self.profile.get(key));
        if let (Some(id), Some(secret)) = (id, secret) {
            return Ok(Source::Given(Credentials::new(id, secret, token)));
        }
        if let Some(command) = self.profile.get("credential_process") {
            return Ok(Source::Process(command.to_owned()));
        }
        if let Some(key) = BEYOND.into_iter().find(|key| self.profile.get(key).is_some()) {
            return Err(CredentialsError::Beyond { profile: self.name.to_owned(), key }.into());
        }
        Ok(self.container()?.unwrap_or_else(|| Source::Instance { profile: self.name.to_owned() }))
    }

    /// The environment's own key.
    fn keys(&self) -> Result<Option<Credentials>, CredentialsError> {
        const ID: &str = "AWS_ACCESS_KEY_ID";
        const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
        match (self.environment.get(ID), self.environment.get(SECRET)) {
            (Some(id), Some(secret)) => {
                Ok(Some(Credentials::new(id, secret, self.environment.get("AWS_SESSION_TOKEN"))))
            }
            (Some(_), None) => Err(CredentialsError::Half { present: ID, missing: SECRET }),
            (None, Some(_)) => Err(CredentialsError::Half { present: SECRET, missing: ID }),
            (None, None) => Ok(None),
        }
    }

    fn container(&self) -> Result<Option<Source>, SettingsError> {
        let (endpoint, path) =
            if let Some(path) = self.environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
                (endpoint(CONTAINER, "ECS")?, path)
            } else if let Some(url) = self.environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
                let start = url.find("://").map_or(0, |at| at + 3);
                let (host, path) = url.split_at(url[start..].find('/').map_or(url.len(), |at| start + at));
                let endpoint = endpoint(host, "AWS_CONTAINER_CREDENTIALS_FULL_URI")?;
                // EKS hands them out at link-local addresses of its own.
                let eks = ["169.254.170.23", "fd00:ec2::23"].contains(&endpoint.host_and_port().0);
                if !(endpoint.encrypted() || endpoint.is_loopback() || eks) {
                    return Err(CredentialsError::Container(endpoint.to_string()).into());
                }
                (endpoint, path)
            } else {
                return Ok(None);
            };
        let file = self.environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        let text = self.environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        let token = match (file, text) {
            (Some(file), _) => Token::File(PathBuf::from(file)),
            (None, Some(text)) => Token::Text(text.to_owned()),
            (None, None) => Token::None,
        };
        Ok(Some(Source::Container { endpoint, path: path.to_owned(), token }))
    }
}

fn endpoint(text: &str, from: &str) -> Result<Endpoint, SettingsError> {
    text.parse().map_err(|source| SettingsError::Endpoint { from: from.to_owned(), source })
}

fn profiles(environment: &Environment) -> Result<Profiles, SettingsError> {
    let file = |variable: &str, name: &str| match environment.get(variable) {
        Some(path) => text_of(Path::new(path)),
        None => match environment.get("HOME") {
            Some(home) => text_of(&Path::new(home).join(".aws").join(name)),
            None => Ok(String::new()),
        },
    };
    let config = file("AWS_CONFIG_FILE", "config")?;
    Ok(Profiles::parse(&config, &file("AWS_SHARED_CREDENTIALS_FILE", "credentials")?)?)
}

/// The text of a file that need not be there.
fn text_of(path: &Path) -> Result<String, SettingsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(SettingsError::File { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
