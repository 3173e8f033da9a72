//! From host names to addresses, as the system resolves them, within a deadline and always in the same order.
//!
//! getaddrinfo(3) blocks for as long as the resolver's own time-outs say, which add up to minutes; it runs on a thread
//! that is left behind when the time is over. Its answer is sorted: name servers rotate theirs, and the nodes of one
//! job must come to the same text.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, timeout_at};

/// How many names are asked for at once: a rack's, at a resolver's usual speed, without a burst that it would drop.
const AT_ONCE: usize = 32;

/// One thread asks alone for so long, then twice as many, and so on. A file or a cache on this machine tells a rack's names in
/// that time, where a thread for each costs more than its answer; one whose answers come over the network is asked for
/// [`AT_ONCE`] names a few times later.
const ALONE: Duration = Duration::from_millis(40);

/// What the resolver says of a name.
type Answer = io::Result<Vec<IpAddr>>;

/// Who is asked.
type Ask = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

/// Which kind of address is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// IPv4, and IPv6 for names that have no other.
    PreferV4,
    /// IPv6, and IPv4 for names that have no other.
    PreferV6,
    /// IPv4 alone.
    OnlyV4,
    /// IPv6 alone.
    OnlyV6,
}

/// Why a name has no address.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// The resolver does not know it, or cannot be asked.
    #[error("`{name}` cannot be resolved")]
    Unknown {
        /// The name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// It has addresses, but none that is wanted.
    #[error("`{name}` has no address of the wanted family ({family:?}), only {}", shown(.found))]
    Family {
        /// The name.
        name: String,
        /// What is wanted.
        family: Family,
        /// What there is.
        found: Vec<IpAddr>,
    },
    /// It takes too long.
    #[error("`{name}` was not resolved within {} ms", after.as_millis())]
    Overdue {
        /// The name.
        name: String,
        /// The deadline.
        after: Duration,
    },
    /// There is no thread to ask on.
    #[error("no thread can be started")]
    Thread(#[source] io::Error),
}

/// The one address of each name, in the order of the names, all `within` the time. A name that is an address stands for
/// itself.
///
/// Of several addresses the lowest of the preferred family is taken: any rule would do, as long as all nodes follow it.
///
/// # Errors
///
/// The first name, in their order, that has none.
pub async fn resolve(
    names: &[String],
    family: Family,
    within: Duration,
) -> Result<Vec<IpAddr>, ResolveError> {
    resolve_with(Arc::new(system), names, family, within).await
}

/// All addresses of each name, in the order of the names, sorted, each once, all `within` the time.
///
/// # Errors
///
/// The first name, in their order, that the resolver does not know or did not tell in time.
pub async fn all(names: &[String], within: Duration) -> Result<Vec<Vec<IpAddr>>, ResolveError> {
    let answers = names.iter().zip(answers(Arc::new(system), names, within).await?);
    answers.map(|(name, answer)| known(name, answer, within)).collect()
}

/// Asks the system.
fn system(name: &str) -> Answer {
    Ok((name, 0).to_socket_addrs()?.map(|address: SocketAddr| address.ip()).collect())
}

/// Resolves with what is given instead of the system.
async fn resolve_with(
    ask: Ask,
    names: &[String],
    family: Family,
    within: Duration,
) -> Result<Vec<IpAddr>, ResolveError> {
    let answers = names.iter().zip(answers(ask, names, within).await?);
    answers.map(|(name, answer)| judge(name, answer, family, within)).collect()
}

/// What is said of each name in time.
async fn answers(ask: Ask, names: &[String], within: Duration) -> Result<Vec<Option<Answer>>, ResolveError> {
    let deadline = Instant::now() + within;
    let (sender, mut receiver) = mpsc::channel(names.len().max(1));
    let work = Arc::new(Work { names: names.to_vec(), next: AtomicUsize::new(0), ask, sender });
    let most = names.len().min(AT_ONCE);
    let mut found: Vec<Option<Answer>> = Vec::new();
    found.resize_with(names.len(), || None);
    let (mut threads, mut missing, mut more) = (0, names.len(), Instant::now());
    while missing > 0 && Instant::now() < deadline {
        if more <= Instant::now() && threads < most {
            let wanted = (2 * threads).clamp(1, most);
            start(&work, wanted - threads)?;
            threads = wanted;
            more = Instant::now() + ALONE;
        }
        let until = if threads < most { deadline.min(more) } else { deadline };
        if let Ok(Some((index, answer))) = timeout_at(until, receiver.recv()).await {
            found[index] = Some(answer);
            missing -= 1;
        }
    }
    Ok(found)
}

/// What the threads that ask share.
struct Work {
    names: Vec<String>,
    /// The first name that nobody asks for yet.
    next: AtomicUsize,
    ask: Ask,
    sender: Sender<(usize, Answer)>,
}

impl Work {
    /// Asks for one name after the other.
    fn ask(&self) {
        while let Some((index, name)) = take(&self.names, &self.next) {
            let answer = literal(name).unwrap_or_else(|| (self.ask)(name));
            // There is room for every answer; if nobody wants any more, the time is over.
            if self.sender.try_send((index, answer)).is_err() {
                return;
            }
        }
    }
}

/// Starts threads. They are not the runtime's: it would wait for them when it ends, and what hangs in the resolver cannot be
/// ended.
fn start(work: &Arc<Work>, threads: usize) -> Result<(), ResolveError> {
    for _ in 0..threads {
        let work = Arc::clone(work);
        let asking = thread::Builder::new().name("resolve".to_owned()).spawn(move || work.ask());
        asking.map_err(ResolveError::Thread)?;
    }
    Ok(())
}

fn take<'n>(names: &'n [String], next: &AtomicUsize) -> Option<(usize, &'n str)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    names.get(index).map(|name| (index, name.as_str()))
}

fn literal(name: &str) -> Option<Answer> {
    name.parse().ok().map(|address| Ok(vec![address]))
}

/// The address that an answer gives.
fn judge(
    name: &str,
    answer: Option<Answer>,
    family: Family,
    after: Duration,
) -> Result<IpAddr, ResolveError> {
    let found = known(name, answer, after)?;
    let address = choose(&found, family);
    address.ok_or_else(|| ResolveError::Family { name: name.to_owned(), family, found })
}

/// The addresses that an answer gives.
fn known(name: &str, answer: Option<Answer>, after: Duration) -> Result<Vec<IpAddr>, ResolveError> {
    let name = || name.to_owned();
    let answer = answer.ok_or_else(|| ResolveError::Overdue { name: name(), after })?;
    let mut found = answer.map_err(|source| ResolveError::Unknown { name: name(), source })?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The lowest address of the wanted family.
fn choose(sorted: &[IpAddr], family: Family) -> Option<IpAddr> {
    let first = |v4: bool| sorted.iter().copied().find(|address| address.is_ipv4() == v4);
    match family {
        Family::PreferV4 => first(true).or_else(|| first(false)),
        Family::PreferV6 => first(false).or_else(|| first(true)),
        Family::OnlyV4 => first(true),
        Family::OnlyV6 => first(false),
    }
}

fn shown(found: &[IpAddr]) -> String {
    if found.is_empty() {
        return "none at all".to_owned();
    }
    found.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_same_names_give_the_same_addresses_however_the_resolver_shuffles() {
        for rotation in 0..3 {
            let ask: Ask = Arc::new(move |_| {
                let mut addresses = ["10.0.0.7", "fd00::1", "10.0.0.12"].map(|text| text.parse().unwrap());
                addresses.rotate_left(rotation);
                Ok(addresses.to_vec())
            });
            let resolved = |family| run(&ask, &["n1", "n2"], family).unwrap()[1].to_string();
            assert_eq!(resolved(Family::PreferV4), "10.0.0.7");
            assert_eq!(resolved(Family::OnlyV6), "fd00::1");
        }
    }

    #[test]
    fn the_other_family_serves_if_it_may() {
        let ask: Ask = Arc::new(|_| Ok(vec!["fd00::1".parse().unwrap()]));
        assert_eq!(run(&ask, &["n1"], Family::PreferV4).unwrap()[0].to_string(), "fd00::1");
        let error = run(&ask, &["n1"], Family::OnlyV4).unwrap_err();
        assert_eq!(error.to_string(), "`n1` has no address of the wanted family (OnlyV4), only fd00::1");
    }

    #[test]
    fn many_names_keep_their_order_and_the_first_without_an_address_is_told() {
        let names: Vec<String> = (0..200).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let address = |name: &str| format!("10.0.0.{}", &name[1..]).parse();
        let ask: Ask = Arc::new(move |name| match address(name) {
            Ok(address) => Ok(vec![address]),
            Err(_) => Err(io::ErrorKind::NotFound.into()),
        });
        let resolved = run(&ask, &names, Family::PreferV4).unwrap();
        assert!(
            resolved.iter().map(|address| address.to_string()).eq((0..200).map(|n| format!("10.0.0.{n}")))
        );
        let error = run(&ask, &["n1", "x", "y"], Family::PreferV4).unwrap_err();
        assert_eq!(error.to_string(), "`x` cannot be resolved");
    }

    #[test]
    fn names_that_take_their_time_are_asked_for_at_the_same_time() {
        let names = ["n1", "n2", "n3", "n4", "n5"];
        let together = Arc::new(Barrier::new(names.len()));
        let ask: Ask = Arc::new(move |_| {
            together.wait();
            Ok(vec!["10.0.0.1".parse().unwrap()])
        });
        assert_eq!(run(&ask, &names, Family::PreferV4).unwrap().len(), names.len());
    }

    #[test]
    fn a_resolver_that_hangs_is_given_up_and_the_name_told() {
        let ask: Ask = Arc::new(|name| {
            if name == "slow" {
                thread::sleep(Duration::from_secs(600));
            }
            Ok(vec!["10.0.0.1".parse().unwrap()])
        });
        let names = ["n1", "slow"].map(str::to_owned);
        let asked = resolve_with(ask, &names, Family::PreferV4, Duration::from_millis(100));
        assert_eq!(block_on(asked).unwrap_err().to_string(), "`slow` was not resolved within 100 ms");
    }

    #[test]
    fn the_system_knows_this_machine_and_addresses_stand_for_themselves() {
        let names = ["localhost", "fd00::5"].map(str::to_owned);
        let resolved = block_on(resolve(&names, Family::PreferV4, Duration::from_secs(10))).unwrap();
        assert_eq!(resolved.iter().map(IpAddr::to_string).collect::<Vec<_>>(), ["127.0.0.1", "fd00::5"]);
        assert!(block_on(resolve(&[], Family::PreferV4, Duration::from_secs(1))).unwrap().is_empty());
    }

    fn run(ask: &Ask, names: &[&str], family: Family) -> Result<Vec<IpAddr>, ResolveError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        block_on(resolve_with(Arc::clone(ask), &names, family, Duration::from_secs(30)))
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }
}
