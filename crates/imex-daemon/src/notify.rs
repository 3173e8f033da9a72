//! What the service manager is told (`sd_notify(3)`), if there is one.

use std::time::Duration;

use imex_core::{DomainSummary, Moment, NodeState};
use sd_notify::NotifyState;

/// The least time between two statuses that differ only in how many nodes are READY: while a large domain forms that
/// changes all the time.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// The service manager's ear. Silent where nobody listens.
#[derive(Debug)]
pub(crate) struct Notifier {
    listens: bool,
    watchdog: Option<Duration>,
    told: Option<(NodeState, DomainSummary)>,
    told_at: Moment,
}

impl Notifier {
    /// Speaks to the manager that the environment names.
    #[expect(clippy::disallowed_methods, reason = "the one place of this program that reads the environment")]
    pub(crate) fn from_environment() -> Self {
        let listens = std::env::var_os("NOTIFY_SOCKET").is_some();
        let watchdog = if listens { sd_notify::watchdog_enabled() } else { None };
        Notifier { listens, watchdog, told: None, told_at: Moment::ZERO }
    }

    /// Whether a service manager started this process and waits to hear from it; then it must stay in the foreground.
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// How often [`Notifier::alive`] is to be called: half of the time after which the manager would end the service.
    pub(crate) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|limit| limit / 2)
    }

    /// Tells the state of the node and of the domain, if that is news. READY is told when the node is READY and was not
    /// before, again each time it becomes so.
    pub(crate) fn state(&mut self, node: NodeState, domain: DomainSummary, now: Moment) {
        if !self.listens || !self.is_news(node, &domain, now) {
            return;
        }
        let status =
            format!("{node}; domain {}, {} of {} nodes READY", domain.state, domain.ready, domain.nodes);
        let was_ready = self.told.is_some_and(|(told, _)| told == NodeState::Ready);
        let mut news = vec![NotifyState::Status(&status)];
        if node == NodeState::Ready && !was_ready {
            news.push(NotifyState::Ready);
        }
        send(&news);
        self.told = Some((node, domain));
        self.told_at = now;
    }

    fn is_news(&self, node: NodeState, domain: &DomainSummary, now: Moment) -> bool {
        let Some((told_node, told_domain)) = &self.told else { return true };
        let count_is_due = told_domain.ready != domain.ready && now.since(self.told_at) >= COUNT_INTERVAL;
        *told_node != node || told_domain.state != domain.state || count_is_due
    }

    /// Tells that the service is about to end.
    pub(crate) fn stopping(&self) {
        if self.listens {
            send(&[NotifyState::Stopping]);
        }
    }

    /// Tells that the driver loop turns.
    pub(crate) fn alive(&self) {
        if self.watchdog.is_some() {
            send(&[NotifyState::Watchdog]);
        }
    }
}

fn send(news: &[NotifyState<'_>]) {
    if news.is_empty() {
        return;
    }
    if let Err(error) = sd_notify::notify(news) {
        tracing::debug!(%error, "The service manager could not be told");
    }
}
