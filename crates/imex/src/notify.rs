//! What the service manager is told (`sd_notify(3)`), if there is one.

use std::time::Duration;

use sd_notify::NotifyState;

/// The service manager's ear. Silent where nobody listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notifier {
    listens: bool,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// Speaks to the manager that the environment names.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place of this program that looks for a service manager"
    )]
    pub(crate) fn from_environment() -> Self {
        let listens = std::env::var_os("NOTIFY_SOCKET").is_some();
        let watchdog = if listens { sd_notify::watchdog_enabled() } else { None };
        Notifier { listens, watchdog }
    }

    /// How long may pass between two calls of [`Notifier::alive`]: half of what the manager bears.
    pub(crate) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|limit| limit / 2)
    }

    /// Tells that the service does its work, and how it fares.
    pub(crate) fn ready(&self, status: &str) {
        self.send(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Tells that the service turns its loop.
    pub(crate) fn alive(&self) {
        if self.watchdog.is_some() {
            self.send(&[NotifyState::Watchdog]);
        }
    }

    /// Tells that the service is about to end.
    pub(crate) fn stopping(&self) {
        self.send(&[NotifyState::Stopping]);
    }

    fn send(&self, news: &[NotifyState<'_>]) {
        if self.listens {
            // A manager that does not listen any more ends the service by its own rules.
            let _ = sd_notify::notify(news);
        }
    }
}
