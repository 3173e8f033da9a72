//! What resolving asks of the machine, as a trait so that tests need no machine.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The machine that the files are judged for.
///
/// `Sync` because host names are looked up side by side.
pub trait Machine: Sync {
    /// Every address of every interface.
    fn addresses(&self) -> io::Result<Vec<LocalAddress>>;

    /// The addresses of a host name. May take as long as the system's resolver does.
    fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// The value of an environment variable, for credentials that are kept there.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Which plain file a path leads to, by whatever way; `None` if to none.
    fn file(&self, path: &Path) -> Option<FileId>;
}

/// What a file has alone on its machine, however many names lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// Its device.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// An address that this machine has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalAddress {
    /// The address.
    pub address: IpAddr,
    /// The interface that has it.
    pub interface: String,
    /// That interface's index, never 0: the scope id of link-local addresses.
    pub index: u32,
}

/// The machine that this program runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn addresses(&self) -> io::Result<Vec<LocalAddress>> {
        let mut found = Vec::new();
        for interface in nix::ifaddrs::getifaddrs()? {
            let Some(address) = interface.address.as_ref().and_then(ip_of) else {
                continue;
            };
            // An interface that vanished since the list was made has no address worth binding.
            let Ok(index) = nix::net::if_::if_nametoindex(interface.interface_name.as_str()) else {
                continue;
            };
            found.push(LocalAddress { address, interface: interface.interface_name, index });
        }
        found.sort_by_key(|local| (local.index, local.address));
        Ok(found)
    }

    fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut found: Vec<IpAddr> = (name, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
        found.dedup();
        Ok(found)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place of this crate that reads the environment; tests have a machine of their own"
    )]
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn file(&self, path: &Path) -> Option<FileId> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(FileId { device: found.dev(), inode: found.ino() })
    }
}

fn ip_of(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_loopback_address_with_an_interface() {
        let found = ThisMachine.addresses().unwrap();
        let loopback = found.iter().find(|local| local.address.is_loopback()).unwrap();
        assert!(loopback.index > 0);
        assert!(!loopback.interface.is_empty());
    }

    #[test]
    fn a_file_is_the_same_by_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, hard, other] = ["file", "link", "hard", "other"].map(|name| dir.path().join(name));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        fs::hard_link(&file, &hard).unwrap();
        let id = ThisMachine.file(&file);
        assert!(id.is_some());
        for same in [link, hard, dir.path().join("../.").join(dir.path().file_name().unwrap()).join("file")] {
            assert_eq!(ThisMachine.file(&same), id, "{}", same.display());
        }
        assert_ne!(ThisMachine.file(&other), id);
        assert_eq!(ThisMachine.file(&dir.path().join("none")), None);
        assert_eq!(ThisMachine.file(Path::new("/dev/null")), None);
    }

    #[test]
    fn a_literal_address_looks_up_to_itself() {
        let literal: IpAddr = "127.0.0.9".parse().unwrap();
        assert_eq!(ThisMachine.look_up("127.0.0.9").unwrap(), vec![literal]);
    }
}
