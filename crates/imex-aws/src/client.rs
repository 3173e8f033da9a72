//! The client: one identity, one region, one way to each service, one deadline for all that it does.

use jiff::SignedDuration;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::call;
use crate::clock;
use crate::credentials::{Credentials, CredentialsError};
use crate::endpoint::{Endpoint, Region};
use crate::failure::{Error, Service};
use crate::http::Way;
use crate::metadata::{self, Metadata};
use crate::settings::{Settings, Source};

/// Credentials that have less than this left are got anew: they must outlive the retries of a call.
const LEFT: SignedDuration = SignedDuration::from_mins(2);

/// Asks AWS. Every method waits for its answer, and all of them together for at most [`Patience::total`] from the making
/// of the client.
///
/// [`Patience::total`]: crate::Patience::total
#[derive(Debug)]
pub struct Client {
    pub(crate) settings: Settings,
    pub(crate) deadline: Instant,
    credentials: Option<Credentials>,
    metadata: Option<Metadata>,
    ways: [Option<Way>; 2],
}

impl Client {
    /// A client that has asked nothing yet. Its deadline runs from now; it needs a tokio runtime.
    pub fn new(settings: Settings) -> Self {
        let deadline = call::deadline(settings.patience.total);
        let metadata = settings.metadata.clone().map(Metadata::new);
        Client { settings, deadline, credentials: None, metadata, ways: [None, None] }
    }

    /// The region that is asked: the settings', or else the one that this instance is in.
    ///
    /// # Errors
    ///
    /// If neither is known.
    pub async fn region(&mut self) -> Result<Region, Error> {
        if let Some(region) = &self.settings.region {
            return Ok(region.clone());
        }
        let metadata = self.metadata.as_mut().ok_or(Error::NoRegion)?;
        let name = metadata.region().await.map_err(|_| Error::NoRegion)?;
        let region: Region = name.trim().parse().map_err(|_| Error::NoRegion)?;
        self.settings.region = Some(region.clone());
        Ok(region)
    }

    /// The way to a service.
    pub(crate) fn way(&mut self, service: Service, region: &Region) -> &mut Way {
        let index = match service {
            Service::Ec2 => 0,
            Service::Pcs => 1,
        };
        let set = self.settings.endpoints[index].clone();
        let bundle = self.settings.ca_bundle.clone();
        self.ways[index]
            .get_or_insert_with(|| Way::new(set.unwrap_or_else(|| Endpoint::of(service, region)), bundle))
    }

    /// Credentials that will last for a call.
    pub(crate) async fn credentials(&mut self) -> Result<Credentials, CredentialsError> {
        let now = clock::timestamp();
        let lasts = |held: &Credentials| held.expires().is_none_or(|end| now.duration_until(end) > LEFT);
        if let Some(held) = self.credentials.as_ref().filter(|held| lasts(held)) {
            return Ok(held.clone());
        }
        let fresh = match &self.settings.source {
            Source::Given(credentials) => credentials.clone(),
            Source::Process(command) => process(command, self.deadline).await?,
            Source::Container { endpoint, path, token } => metadata::container(endpoint, path, token).await?,
            Source::Instance { profile } => match &mut self.metadata {
                Some(metadata) => metadata.credentials().await?,
                None => {
                    return Err(CredentialsError::Nowhere { profile: profile.clone(), metadata: false });
                }
            },
        };
        let fresh = fresh.alive(now)?;
        self.credentials = Some(fresh.clone());
        Ok(fresh)
    }

    /// Forgets the credentials if others can be got, and says so.
    pub(crate) fn renew(&mut self) -> bool {
        self.credentials = None;
        !matches!(self.settings.source, Source::Given(_))
    }
}

/// Runs the command of `credential_process` by a shell, as the AWS command line does.
async fn process(command: &str, deadline: Instant) -> Result<Credentials, CredentialsError> {
    let failed = |why: String| CredentialsError::Process(why);
    let rest = deadline.saturating_duration_since(clock::now());
    let run = Command::new("/bin/sh").arg("-c").arg(command).kill_on_drop(true).output();
    let output = timeout(rest, run).await.map_err(|_| failed(format!("nothing within {rest:?}")))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(failed(format!("{}: {line}", output.status)));
    }
    Credentials::parse(&output.stdout).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests;
