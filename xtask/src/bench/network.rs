//! A network of its own, in which packets can be dropped without anybody else noticing.
//!
//! A thread leaves the machine's network namespace; the daemons that it starts are in the new one as well, and their
//! command sockets are files, so they are reached from anywhere. Routing rules then drop what goes to and comes from
//! one address, which needs no firewall.

use std::net::Ipv4Addr;
use std::thread;

use nix::sched::{CloneFlags, unshare};

use super::error::BenchError;
use crate::process::Program;

/// Proof that this thread is in a network namespace of its own.
pub(super) struct Network {
    _private: (),
}

/// Runs something on a thread that has a network of its own.
pub(super) fn in_one_of_its_own<T: Send>(
    work: impl FnOnce(&Network) -> Result<T, BenchError> + Send,
) -> Result<T, BenchError> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|error| BenchError::NotHere(format!("a network namespace: {error}")))?;
            let network = Network { _private: () };
            network.set_up()?;
            work(&network)
        });
        thread.join().map_err(|_| BenchError::NotHere("the measuring thread panicked".to_owned()))?
    })
}

impl Network {
    fn set_up(&self) -> Result<(), BenchError> {
        self.ip("link set lo up")?;
        // The rule for local addresses comes first by default, and nothing can be put before it: move it.
        self.ip("rule add pref 100 lookup local")?;
        self.ip("rule del pref 0 lookup local")
    }

    /// Drops what goes to and comes from an address, silently, as a dead switch does.
    pub(super) fn cut(&self, address: Ipv4Addr) -> Result<(), BenchError> {
        self.ip(&format!("rule add pref 10 from {address} blackhole"))?;
        self.ip(&format!("rule add pref 11 to {address} blackhole"))
    }

    /// Ends [`Network::cut`].
    pub(super) fn mend(&self, address: Ipv4Addr) -> Result<(), BenchError> {
        self.ip(&format!("rule del pref 10 from {address} blackhole"))?;
        self.ip(&format!("rule del pref 11 to {address} blackhole"))
    }

    fn ip(&self, words: &str) -> Result<(), BenchError> {
        let ip = Program::new("ip").words(words).run();
        ip.map_err(|error| BenchError::NotHere(format!("routing rules: {error}")))
    }
}
