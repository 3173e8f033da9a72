//! What the service manager is told (`sd_notify(3)`), if there is one.
//!
//! A manager that does not read must not hold up the driver loop, so nothing here waits. Its socket may be full: then the
//! state is told a little later, and a sign of life is left out, since the next one comes soon.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use imex_core::{DomainSummary, Moment, NodeState};
use sd_notify::NotifyState;

/// The least time between two statuses that differ only in how many nodes are READY: while a large domain forms that
/// changes all the time.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// When to try again what a full socket did not take.
const AGAIN: Duration = Duration::from_millis(200);

/// The service manager's ear. Silent where nobody listens.
#[derive(Debug)]
pub(crate) struct Notifier {
    manager: Option<Manager>,
    watchdog: Option<Duration>,
    told: Option<(NodeState, DomainSummary)>,
    told_at: Moment,
    due: Option<Moment>,
}

/// How the manager is reached.
#[derive(Debug)]
struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Notifier {
    /// Speaks to the manager that the environment names. Fails if its name can be none of a socket.
    #[expect(clippy::disallowed_methods, reason = "the one place of this program that reads the environment")]
    pub(crate) fn from_environment() -> io::Result<Self> {
        let manager = std::env::var_os("NOTIFY_SOCKET").map(|name| Manager::at(&name)).transpose()?;
        let watchdog = manager.as_ref().and_then(|_| sd_notify::watchdog_enabled());
        Ok(Notifier { manager, watchdog, told: None, told_at: Moment::ZERO, due: None })
    }

    /// Whether a service manager started this process and waits to hear from it; then it must stay in the foreground.
    pub(crate) fn listens(&self) -> bool {
        self.manager.is_some()
    }

    /// How often [`Notifier::alive`] is to be called: half of the time after which the manager would end the service.
    pub(crate) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|limit| limit / 2)
    }

    /// When [`Notifier::state`] is to be called again although nothing has changed.
    pub(crate) fn due(&self) -> Option<Moment> {
        self.due
    }

    /// Tells the state of the node and of the domain, if that is news. READY is told when the node is READY and was not
    /// before, again each time it becomes so.
    pub(crate) fn state(&mut self, node: NodeState, domain: DomainSummary, now: Moment) {
        let Some(manager) = &self.manager else { return };
        self.due = self.news_from(node, &domain);
        if self.due.is_none_or(|from| from > now) {
            return;
        }
        let status =
            format!("{node}; domain {}, {} of {} nodes READY", domain.state, domain.ready, domain.nodes);
        let was_ready = self.told.is_some_and(|(told, _)| told == NodeState::Ready);
        let mut news = vec![NotifyState::Status(&status)];
        if node == NodeState::Ready && !was_ready {
            news.push(NotifyState::Ready);
        }
        match manager.tell(&news) {
            Ok(()) => {
                self.told = Some((node, domain));
                self.told_at = now;
                self.due = None;
            }
            Err(_) => self.due = Some(now + AGAIN),
        }
    }

    /// From when on it may be told, if it is news.
    fn news_from(&self, node: NodeState, domain: &DomainSummary) -> Option<Moment> {
        let Some((told_node, told_domain)) = &self.told else { return Some(Moment::ZERO) };
        if *told_node != node || told_domain.state != domain.state {
            return Some(Moment::ZERO);
        }
        (told_domain.ready != domain.ready).then(|| self.told_at + COUNT_INTERVAL)
    }

    /// Tells that the service is about to end.
    pub(crate) fn stopping(&self) {
        self.tell(NotifyState::Stopping);
    }

    /// Tells that the driver loop turns.
    pub(crate) fn alive(&self) {
        if self.watchdog.is_some() {
            self.tell(NotifyState::Watchdog);
        }
    }

    fn tell(&self, news: NotifyState<'_>) {
        if let Some(manager) = &self.manager
            && let Err(error) = manager.tell(&[news])
        {
            tracing::debug!(%error, "The service manager could not be told");
        }
    }
}

impl Manager {
    /// The manager that listens at a path, or at an abstract name that begins with `@`.
    fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Manager { socket, address })
    }

    fn tell(&self, news: &[NotifyState<'_>]) -> io::Result<()> {
        let text: String = news.iter().map(|line| format!("{line}\n")).collect();
        self.socket.send_to_addr(text.as_bytes(), &self.address).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use imex_core::DomainState;

    use super::*;

    #[test]
    fn what_a_full_socket_does_not_take_is_told_as_soon_as_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let ear = UnixDatagram::bind(&path).unwrap();
        let mut notifier = notifier(&path);
        let manager = notifier.manager.as_ref().unwrap();
        while manager.tell(&[NotifyState::Watchdog]).is_ok() {}
        notifier.state(NodeState::Ready, domain(1), at(0));
        assert_eq!(notifier.due(), Some(at(200)));
        hear_all(&ear);
        notifier.state(NodeState::Ready, domain(1), at(200));
        assert_eq!(notifier.due(), None);
        let heard = hear_all(&ear);
        assert!(heard.contains("STATUS=READY; domain DEGRADED, 1 of 3 nodes READY\nREADY=1\n"), "{heard}");
    }

    #[test]
    fn a_mere_number_is_told_once_a_second_and_the_last_one_is_not_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let ear = UnixDatagram::bind(&path).unwrap();
        let mut notifier = notifier(&path);
        notifier.state(NodeState::Ready, domain(1), at(0));
        hear_all(&ear);
        notifier.state(NodeState::Ready, domain(2), at(10));
        assert_eq!(hear_all(&ear), "");
        assert_eq!(notifier.due(), Some(at(1000)));
        notifier.state(NodeState::Ready, domain(2), at(1000));
        assert!(hear_all(&ear).contains("2 of 3"));
        assert_eq!(notifier.due(), None);
    }

    fn notifier(path: &std::path::Path) -> Notifier {
        let manager = Some(Manager::at(path.as_os_str()).unwrap());
        Notifier { manager, watchdog: None, told: None, told_at: Moment::ZERO, due: None }
    }

    fn hear_all(ear: &UnixDatagram) -> String {
        ear.set_nonblocking(true).unwrap();
        let mut heard = String::new();
        let mut buffer = [0; 4096];
        while let Ok(size) = ear.recv(&mut buffer) {
            heard.push_str(&String::from_utf8_lossy(&buffer[..size]));
        }
        heard
    }

    fn domain(ready: usize) -> DomainSummary {
        DomainSummary { state: DomainState::Degraded, ready, nodes: 3, complete: 0 }
    }

    fn at(millis: u64) -> Moment {
        Moment::after(Duration::from_millis(millis))
    }
}
