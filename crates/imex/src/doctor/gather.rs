//! Asks the node: files, systemd, GPUs, the daemon, Slurm. Nothing here judges, and nothing here hangs.
//!
//! What may block without an end (a user database, a resolver, a folder on a dead server, NVIDIA's library) is asked on a
//! thread of its own that is left behind when its time is over; the program ends all the same.

pub(crate) mod hardware;
mod jobs;
mod network;
mod service;
mod slurm;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use imex_config::operator::{self, Operator};
use nix::unistd::{Uid, gethostname};

use super::args::LookArgs;
use super::facts::{Facts, Rights, Told};
use crate::clock;

/// The most that is read of any file in bytes: many times what a good one has.
const MOST: u64 = 1 << 20;

/// Gathers everything. Takes a few times `look.ask` at most.
pub(super) async fn gather(look: &LookArgs) -> Facts {
    let file = look.config.clone();
    let (operator, operator_faults) = match within(look.ask, "openimex.toml", move || operator::load(&file)) {
        Told::Known(Ok(operator)) => (operator, None),
        Told::Known(Err(error)) => (Operator::default(), Some(imex_config::chain(&error))),
        Told::Unknown(why) => (Operator::default(), Some(why)),
    };
    let node = node_name();
    let mut job = jobs::job(look, &operator);
    job.lives = jobs::lives(look, &operator, &job).await;
    let driver = hardware::driver(&look.root, look.ask);
    let channel = hardware::channel(look, &operator, &driver, job.domain.known().and_then(Option::as_ref));
    let service = service::service(look, &operator).await;
    let config = service::config(look, &operator);
    let domain = service::domain(look, &operator, config.own).await;
    let admission = admission(look, &operator, &domain);
    let network = network::network(look, &config, domain.known());
    let slurm = slurm::slurm(look, &operator, &node);
    // One that has begun meanwhile has changed what was still to be looked at.
    job.at_work |= jobs::at_work(look, &operator);
    Facts {
        node,
        time: clock::timestamp(),
        rights: if Uid::effective().is_root() { Rights::Root } else { Rights::User },
        operator,
        operator_faults,
        driver,
        channel,
        service,
        config,
        network,
        domain,
        admission,
        job,
        slurm,
    }
}

/// The state of the job's domain.
pub(crate) fn job_domain(operator: &Operator, ask: Duration) -> Told<Option<super::facts::JobDomain>> {
    jobs::state(operator, ask)
}

/// The local daemon's view of its domain.
pub(crate) async fn own_domain(look: &LookArgs, operator: &Operator) -> Told<super::facts::Domain> {
    let own = service::config(look, operator).own;
    service::domain(look, operator, own).await
}

/// If it is permissions that keep the local daemon from answering.
pub(crate) use service::admission;

/// What the names of the node map stand for.
pub(crate) fn names_of_map(look: &LookArgs, operator: &Operator) -> Vec<super::facts::Name> {
    let config = service::config(look, operator);
    network::names(config.entries.known().map_or(&[][..], Vec::as_slice), look.ask)
}

/// This node's name as Slurm has it: its host name up to the first dot.
pub(crate) fn node_name() -> String {
    let name = gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Asks something that may block, and gives it up when its time is over.
pub(crate) fn within<T: Send + 'static>(
    time: Duration,
    what: &str,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Told<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // Nobody listens any more if it took too long.
    let asking = move || drop(sender.send(ask()));
    match thread::Builder::new().name("doctor".to_owned()).spawn(asking) {
        Err(error) => Told::Unknown(format!("{what}: {error}")),
        Ok(_) => match receiver.recv_timeout(time) {
            Ok(answer) => Told::Known(answer),
            Err(_) => Told::Unknown(format!("{what} did not answer within {} ms", time.as_millis())),
        },
    }
}

/// As [`within`], of what itself may be unknown.
fn told<T: Send + 'static>(
    time: Duration,
    what: &str,
    ask: impl FnOnce() -> Told<T> + Send + 'static,
) -> Told<T> {
    match within(time, what, ask) {
        Told::Known(told) => told,
        Told::Unknown(why) => Told::Unknown(why),
    }
}

/// A path of the system, under the folder that is looked at.
fn under(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The text of a file, at most [`MOST`] of it; bytes that are no UTF-8 are replaced.
fn text(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
