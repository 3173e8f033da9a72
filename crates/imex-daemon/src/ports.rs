//! TCP ports: taking them, and saying who has one that is taken.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};

/// How many connections may wait to be accepted: all peers of eight racks at once. The kernel cuts it to
/// `net.core.somaxconn`.
const BACKLOG: u32 = 1024;

/// Why a port cannot be had.
#[derive(Debug, Error)]
pub(crate) enum PortError {
    /// Somebody has it.
    #[error("listen on {address}: the port is taken{}", Holders(holders))]
    Taken {
        /// The address with the port.
        address: SocketAddr,
        /// Who has it, as far as /proc tells.
        holders: Vec<Holder>,
    },
    /// Another reason.
    #[error("listen on {address}")]
    Refused {
        /// The address with the port.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl PortError {
    /// What an operator can do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            PortError::Taken { .. } => "stop that process, or give this domain another port".to_owned(),
            PortError::Refused { .. } => {
                "the address must be one of this machine; ports below 1024 need a privilege".to_owned()
            }
        }
    }
}

/// A process that listens on a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    pid: u32,
    name: String,
}

struct Holders<'a>(&'a [Holder]);

impl fmt::Display for Holders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Holder { pid, name }) in self.0.iter().enumerate() {
            write!(f, "{} {name} (process {pid})", if n == 0 { " by" } else { "," })?;
        }
        Ok(())
    }
}

/// Takes a port. `TIME_WAIT` left by an earlier daemon does not stand in the way.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, PortError> {
    try_listen(address).map_err(|source| {
        if source.kind() == io::ErrorKind::AddrInUse {
            PortError::Taken { address, holders: holders(Path::new("/proc"), address.port()) }
        } else {
            PortError::Refused { address, source }
        }
    })
}

fn try_listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Who listens on a port, whatever the address. Empty where /proc does not tell, as for other users' processes.
fn holders(proc: &Path, port: u16) -> Vec<Holder> {
    let tables =
        ["net/tcp", "net/tcp6"].map(|table| fs::read_to_string(proc.join(table)).unwrap_or_default());
    let sockets: Vec<String> = tables.iter().flat_map(|table| listening(table, port)).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let mut holders: Vec<Holder> = processes(proc).filter_map(|pid| holder(proc, pid, &sockets)).collect();
    holders.sort();
    holders
}

/// The sockets that listen on a port, as links in `/proc/PID/fd` name them, from a table as in proc_pid_net(5).
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let port = format!("{port:04X}");
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        (local_port == port && *fields.get(3)? == LISTEN).then(|| fields.get(9).copied())?.map(str::to_owned)
    };
    table.lines().skip(1).filter_map(inode).map(|inode| format!("socket:[{inode}]")).collect()
}

fn processes(proc: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn holder(proc: &Path, pid: u32, sockets: &[String]) -> Option<Holder> {
    let dir = proc.join(pid.to_string());
    let held = fs::read_dir(dir.join("fd")).ok()?.flatten().any(|entry| {
        let link = fs::read_link(entry.path()).unwrap_or_default();
        sockets.iter().any(|socket| link.as_os_str() == socket.as_str())
    });
    held.then(|| Holder {
        pid,
        name: fs::read_to_string(dir.join("comm")).unwrap_or_default().trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_of_the_port_are_found() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:C350 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0
   1: 0100007F:C351 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0
   2: 0100007F:C350 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0
";
        assert_eq!(listening(table, 50000), ["socket:[111]"]);
        assert!(listening("nonsense\nnonsense", 50000).is_empty());
    }

    #[test]
    fn the_error_names_the_process() {
        let address = "127.0.0.1:50000".parse().unwrap();
        let holders = vec![Holder { pid: 7, name: "imexd".to_owned() }];
        let text = PortError::Taken { address, holders }.to_string();
        assert_eq!(text, "listen on 127.0.0.1:50000: the port is taken by imexd (process 7)");
    }

    #[tokio::test]
    async fn a_port_held_by_this_very_process_is_blamed_on_it() {
        let held = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = listen(held.local_addr().unwrap()).unwrap_err();
        let PortError::Taken { holders, .. } = error else { panic!("{error:?}") };
        assert_eq!(holders.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [std::process::id()]);
    }
}
