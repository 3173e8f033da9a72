//! The service's unit: what is asked of the service manager, and what its answers mean for a job.

use std::time::Duration;

use imex_config::operator::Provider;
use imex_host::systemd::{
    ActiveState, Enablement, JobDone, LoadState, Patience, ServiceFacts, ServiceName, ServiceResult, Stopped,
    Systemd, SystemdError,
};

use crate::applicable::UnitFile;

/// How long a killed service may take to be gone. The kernel takes its memory back, which takes no second.
const KILLED: Duration = Duration::from_secs(5);

/// How long a service may take to stop where `wish` is configured and `left` is what there is for all of it: at most half
/// of that is kept for killing it.
pub fn patience(wish: Duration, left: Duration) -> Patience {
    let killed = KILLED.min(left / 2);
    Patience { asked: wish.min(left - killed), killed }
}

/// Who stops and starts the service.
pub trait ServiceManager {
    /// What the unit is and how it fares.
    ///
    /// # Errors
    ///
    /// If the manager does not tell `within` the time.
    fn facts(&mut self, within: Duration) -> impl Future<Output = Result<ServiceFacts, SystemdError>>;

    /// Stops it: gracefully, and by force when its time is over.
    ///
    /// # Errors
    ///
    /// If it runs still.
    fn stop(&mut self, patience: Patience) -> impl Future<Output = Result<Stopped, SystemdError>>;

    /// Starts it and waits until it says that it has started.
    ///
    /// # Errors
    ///
    /// If it fails, or does not say so `within` the time; it may say so later.
    fn start(&mut self, within: Duration) -> impl Future<Output = Result<JobDone, SystemdError>>;
}

/// systemd, connected to when it is first asked something: most prologs of a mixed cluster never do.
#[derive(Debug)]
pub struct OverBus {
    name: ServiceName,
    systemd: Option<Systemd>,
}

/// How long connecting may take. The bus is a Unix socket; a second means that its daemon is stuck.
const CONNECT: Duration = Duration::from_secs(2);

impl OverBus {
    /// The unit with this name.
    pub fn new(name: ServiceName) -> Self {
        OverBus { name, systemd: None }
    }

    async fn systemd(&mut self, within: Duration) -> Result<&Systemd, SystemdError> {
        if self.systemd.is_none() {
            self.systemd = Some(Systemd::connect(within.min(CONNECT)).await?);
        }
        Ok(self.systemd.as_ref().expect("it was connected just now"))
    }
}

impl ServiceManager for OverBus {
    async fn facts(&mut self, within: Duration) -> Result<ServiceFacts, SystemdError> {
        let name = self.name.clone();
        self.systemd(within).await?.service(&name, within).await
    }

    async fn stop(&mut self, patience: Patience) -> Result<Stopped, SystemdError> {
        let name = self.name.clone();
        self.systemd(patience.asked).await?.stop_gracefully(&name, patience).await
    }

    async fn start(&mut self, within: Duration) -> Result<JobDone, SystemdError> {
        let name = self.name.clone();
        // A unit that failed too often for some job before must not refuse this one.
        self.systemd(within).await?.start_afresh(&name, within).await
    }
}

/// How the unit is installed.
pub fn unit_file(facts: &ServiceFacts) -> UnitFile {
    match (&facts.load, &facts.enablement) {
        (LoadState::NotFound, _) => UnitFile::Missing,
        (LoadState::Masked, _) | (_, Enablement::Masked | Enablement::MaskedRuntime) => UnitFile::Masked,
        (_, Enablement::Disabled) => UnitFile::Disabled,
        (
            LoadState::Loaded | LoadState::BadSetting | LoadState::Error | LoadState::Other(_),
            Enablement::Enabled
            | Enablement::EnabledRuntime
            | Enablement::Static
            | Enablement::Alias
            | Enablement::Indirect
            | Enablement::Generated
            | Enablement::Transient
            | Enablement::None
            | Enablement::Other(_),
        ) => UnitFile::Usable,
    }
}

/// Whether a service that was started has ended, and how, in words. `None` while it runs or starts.
pub fn ended(facts: &ServiceFacts, provider: Provider) -> Option<String> {
    let restarts = facts.sub == "auto-restart" || facts.sub == "auto-restart-queued";
    match facts.active {
        ActiveState::Failed | ActiveState::Inactive | ActiveState::Deactivating => Some(how(facts, provider)),
        ActiveState::Activating if restarts => Some(how(facts, provider)),
        ActiveState::Active | ActiveState::Reloading | ActiveState::Activating | ActiveState::Other(_) => {
            None
        }
    }
}

/// Whether systemd is about to start the service again after it ended because its port was taken: that passes.
pub fn may_mend(facts: &ServiceFacts, provider: Provider) -> bool {
    let again = facts.sub.starts_with("auto-restart");
    provider == Provider::Imexd
        && again
        && facts.result == ServiceResult::ExitCode
        && facts.exec_main_status == 4
}

/// How the last run of the service ended, in words.
pub fn how(facts: &ServiceFacts, provider: Provider) -> String {
    let unit = &facts.id;
    let status = facts.exec_main_status;
    match &facts.result {
        ServiceResult::ExitCode => match meaning(status, provider) {
            Some(meaning) => format!("{unit} ended with code {status}: {meaning}"),
            None => format!("{unit} ended with code {status}"),
        },
        ServiceResult::Signal | ServiceResult::CoreDump => format!("{unit} was ended by signal {status}"),
        ServiceResult::Success => format!("{unit} does not run"),
        ServiceResult::Timeout
        | ServiceResult::Watchdog
        | ServiceResult::StartLimit
        | ServiceResult::Resources
        | ServiceResult::Protocol
        | ServiceResult::OomKill
        | ServiceResult::ExecCondition
        | ServiceResult::Other(_) => format!("{unit} failed: {}", facts.result),
    }
}

/// What an exit code means: systemd's own (systemd.exec(5)), or those of imexd (docs/exit-codes.md).
fn meaning(status: i32, provider: Provider) -> Option<&'static str> {
    match (status, provider) {
        (203, _) => Some("its program cannot be run; is it installed?"),
        (200..=242, _) => Some("systemd could not set up its process"),
        (2, Provider::Imexd) => Some("its command line is wrong"),
        (3, Provider::Imexd) => {
            Some("its configuration or node map cannot be used; `imexd --check` tells why")
        }
        (4, Provider::Imexd) => Some("its port or command socket cannot be had; another process has it"),
        (5, Provider::Imexd) => Some("there is no GPU driver that it supports"),
        (6, Provider::Imexd) => Some("its configuration asks for security that it does not have"),
        (7, Provider::Imexd) => Some("the machine's limits are too low for the node map"),
        (_, Provider::Imexd | Provider::NvidiaImex) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_and_killing_share_what_is_left() {
        let seconds = Duration::from_secs;
        for (wish, left, asked, killed) in
            [(10, 60, 10, 5), (10, 12, 7, 5), (10, 6, 3, 3), (2, 6, 2, 3), (10, 0, 0, 0)]
        {
            let expected = Patience { asked: seconds(asked), killed: seconds(killed) };
            assert_eq!(patience(seconds(wish), seconds(left)), expected, "{wish} {left}");
        }
    }
}
