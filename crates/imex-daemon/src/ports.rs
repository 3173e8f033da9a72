//! TCP ports: taking them, and saying who has one that is taken.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
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
            PortError::Taken { address, holders: holders(Path::new("/proc"), address) }
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

/// Who listens where nobody else can any more if this address is taken: on the port, at this address or at all. Empty where
/// /proc does not tell, as for other users' processes.
fn holders(proc: &Path, address: SocketAddr) -> Vec<Holder> {
    let tables =
        ["net/tcp", "net/tcp6"].map(|table| fs::read_to_string(proc.join(table)).unwrap_or_default());
    let sockets: Vec<String> = tables.iter().flat_map(|table| listening(table, address)).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let mut holders: Vec<Holder> = processes(proc).filter_map(|pid| holder(proc, pid, &sockets)).collect();
    holders.sort();
    holders
}

/// The sockets that listen at an address, or at all addresses of this machine, as links in `/proc/PID/fd` name them, from a
/// table as in proc_pid_net(5).
fn listening(table: &str, address: SocketAddr) -> Vec<String> {
    const LISTEN: &str = "0A";
    let port = format!("{:04X}", address.port());
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, local_port) = fields.get(1)?.rsplit_once(':')?;
        let local = local_address(local)?;
        let meets = local == address.ip() || local.is_unspecified() || address.ip().is_unspecified();
        let listens = meets && local_port == port && *fields.get(3)? == LISTEN;
        listens.then(|| fields.get(9).copied())?.map(str::to_owned)
    };
    table.lines().skip(1).filter_map(inode).map(|inode| format!("socket:[{inode}]")).collect()
}

/// An address as those tables have it: words of 32 bits as the machine stores them, in hexadecimal digits.
fn local_address(digits: &str) -> Option<IpAddr> {
    let words = digits.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).ok()?;
        Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
    });
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    let four = <[u8; 4]>::try_from(bytes.as_slice()).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes.as_slice()).map(IpAddr::from)).ok()
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
   3: 0200007F:C350 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 444 1 0
   4: 00000000:C350 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0
";
        let at = |address: &str| listening(table, address.parse().unwrap());
        assert_eq!(at("127.0.0.1:50000"), ["socket:[111]", "socket:[555]"]);
        assert_eq!(at("0.0.0.0:50000"), ["socket:[111]", "socket:[444]", "socket:[555]"]);
        assert!(listening("nonsense\nnonsense", "127.0.0.1:50000".parse().unwrap()).is_empty());
        let six = local_address("000080FE00000000FF005450B6AD1DFE").unwrap();
        assert_eq!(six.to_string(), "fe80::5054:ff:fe1d:adb6");
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
