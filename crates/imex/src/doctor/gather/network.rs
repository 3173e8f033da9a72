//! Ports, names, and members that the daemon does not reach.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use imex_config::{Machine, ThisMachine};
use imex_core::LinkState;

use super::{text, under};
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Answer, Config, Domain, Listener, Name, Network, Process, Reached, Told};

/// How many names are looked up, and members tried, at the same time: a whole NVLink domain of today.
const AT_ONCE: usize = 144;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// Everything about the network.
pub(super) fn network(look: &LookArgs, config: &Config, domain: Option<&Domain>) -> Network {
    let entries = config.entries.known().map_or(&[][..], Vec::as_slice);
    let names = names(entries, look.ask);
    let missing = domain.map(|domain| domain.table.linked(|link| link != LinkState::Connected.word()));
    let reached = match config.port {
        Some(port) => reached(missing.unwrap_or_default(), port, &names, look.ask),
        None => Vec::new(),
    };
    let range = text(&under(&look.root, "/proc/sys/net/ipv4/ip_local_port_range")).unwrap_or_default();
    let mut bounds = range.split_whitespace().filter_map(|bound| bound.parse().ok());
    Network {
        listeners: listeners(&look.root, &[config.port, config.command_port]),
        ephemeral: bounds.next().zip(bounds.next()),
        reserved: text(&under(&look.root, "/proc/sys/net/ipv4/ip_local_reserved_ports"))
            .unwrap_or_default()
            .trim()
            .to_owned(),
        names,
        reached,
    }
}

/// Who listens at these ports, by IPv4 and IPv6.
fn listeners(root: &Path, ports: &[Option<u16>]) -> Told<Vec<Listener>> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| text(&under(root, path)));
    if let [Err(error), _] = &tables {
        return Told::Unknown(format!("/proc/net/tcp cannot be read: {error}"));
    }
    let mut sockets: Vec<(u16, String)> =
        tables.iter().flatten().flat_map(|table| table.lines().filter_map(listening)).collect();
    sockets.retain(|(port, _)| ports.contains(&Some(*port)));
    sockets.sort();
    sockets.dedup();
    if sockets.is_empty() {
        return Told::Known(Vec::new());
    }
    let owners = owners(root);
    Told::Known(
        sockets
            .into_iter()
            .map(|(port, inode)| Listener {
                port,
                process: owners.get(&format!("socket:[{inode}]")).cloned(),
            })
            .collect(),
    )
}

/// Port and inode of a line about a listening socket.
fn listening(line: &str) -> Option<(u16, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    (*state == LISTENING).then(|| (port, (*inode).to_owned()))
}

/// Which process has which socket open, as far as this user may see.
fn owners(root: &Path) -> BTreeMap<String, Process> {
    let mut owners = BTreeMap::new();
    for (pid, folder) in super::jobs::numbered(root) {
        let Ok(open) = fs::read_dir(folder.join("fd")) else { continue };
        let name = fs::read_to_string(folder.join("comm")).unwrap_or_default().trim().to_owned();
        for target in open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()) {
            let target = target.to_string_lossy().into_owned();
            if target.starts_with("socket:") {
                owners.entry(target).or_insert_with(|| Process { pid, name: name.clone() });
            }
        }
    }
    owners
}

/// What the names among the entries stand for.
pub(super) fn names(entries: &[String], ask: Duration) -> Vec<Name> {
    let is_name = |entry: &&String| entry.split('%').next().is_some_and(|ip| ip.parse::<IpAddr>().is_err());
    let names: Vec<String> = entries.iter().filter(is_name).take(AT_ONCE).cloned().collect();
    let looked_up = all(names, ask, |name| {
        Told::from(ThisMachine.look_up(name).map(|mut addresses| {
            addresses.sort();
            addresses
        }))
    });
    let untold = || Told::Unknown(format!("the resolver did not answer within {} ms", ask.as_millis()));
    looked_up
        .into_iter()
        .map(|(entry, addresses)| Name { entry, addresses: addresses.unwrap_or_else(untold) })
        .collect()
}

/// How members answer at a port.
fn reached(members: Vec<&str>, port: u16, names: &[Name], ask: Duration) -> Vec<Reached> {
    let address = |entry: &str| {
        let named = || names.iter().find(|name| name.entry == entry)?.addresses.known()?.first().copied();
        entry.parse().ok().or_else(named)
    };
    let to_try: Vec<(String, Option<IpAddr>)> =
        members.into_iter().take(AT_ONCE).map(|entry| (entry.to_owned(), address(entry))).collect();
    // A connection that is not answered at all ends before the whole does.
    let patience = ask.mul_f64(0.8);
    let tried = all(to_try, ask, move |(_, address)| match address {
        None => Answer::Failed("its entry stands for no address".to_owned()),
        Some(address) => answer(TcpStream::connect_timeout(&SocketAddr::new(*address, port), patience)),
    });
    tried
        .into_iter()
        .map(|((entry, _), answer)| Reached { entry, answer: answer.unwrap_or(Answer::Silent) })
        .collect()
}

fn answer(connected: io::Result<TcpStream>) -> Answer {
    match connected {
        Ok(_) => Answer::Connected,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Answer::Refused,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Answer::Silent,
        Err(error) => Answer::Failed(error.to_string()),
    }
}

/// Asks for each of these at the same time; those that have not answered in time have no answer.
fn all<Q, A>(
    questions: Vec<Q>,
    time: Duration,
    ask: impl Fn(&Q) -> A + Clone + Send + 'static,
) -> Vec<(Q, Option<A>)>
where
    Q: Clone + Send + 'static,
    A: Send + 'static,
{
    let (sender, receiver) = mpsc::channel();
    for (index, question) in questions.iter().cloned().enumerate() {
        let (sender, ask) = (sender.clone(), ask.clone());
        // One that cannot be started has no answer either.
        let _started = thread::Builder::new()
            .name("doctor".to_owned())
            .spawn(move || sender.send((index, ask(&question))));
    }
    drop(sender);
    let mut answers: Vec<Option<A>> = questions.iter().map(|_| None).collect();
    let collected = within_all(&receiver, time);
    for (index, answer) in collected {
        answers[index] = Some(answer);
    }
    questions.into_iter().zip(answers).collect()
}

/// All that comes until the time is over or nothing can come any more.
fn within_all<T>(receiver: &mpsc::Receiver<T>, time: Duration) -> Vec<T> {
    let watch = crate::clock::Stopwatch::start();
    let mut all = Vec::new();
    while let Some(left) = time.checked_sub(watch.elapsed())
        && let Ok(one) = receiver.recv_timeout(left)
    {
        all.push(one);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_read_as_the_kernel_shows_it() {
        let line = "   0: 0100007F:C350 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100";
        assert_eq!(listening(line), Some((50_000, "4711".to_owned())));
        assert_eq!(listening(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(
            listening("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt"),
            None
        );
    }

    #[test]
    fn who_does_not_answer_in_time_has_no_answer_and_does_not_hold_up_the_rest() {
        let answers = all(vec![0_u64, 60_000], Duration::from_millis(300), |ms| {
            thread::sleep(Duration::from_millis(*ms));
            *ms
        });
        assert_eq!(answers, [(0, Some(0)), (60_000, None)]);
    }

    #[test]
    fn a_port_that_nobody_has_is_refused_and_one_that_somebody_has_connects() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let tried = |port| reached(vec!["127.0.0.1"], port, &[], Duration::from_secs(2)).remove(0).answer;
        assert_eq!(tried(port), Answer::Connected);
        drop(listener);
        assert_eq!(tried(port), Answer::Refused);
    }
}
