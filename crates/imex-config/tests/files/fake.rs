//! A machine for tests, with two interfaces and a few names that it can resolve.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use imex_config::{
    FileId, LocalAddress, Machine, Overrides, Problems, ServiceFile, Settings, Written, parse_nodes, resolve,
};

/// The machine. Its link-local address `fe80::1` is on both of its interfaces, `fe80::7` on the second only.
#[derive(Debug, Default)]
pub(crate) struct FakeMachine {
    look_ups: AtomicUsize,
}

const ADDRESSES: [(&str, u32, &str); 8] = [
    ("lo", 1, "127.0.0.1"),
    ("lo", 1, "::1"),
    ("eth0", 2, "10.0.0.1"),
    ("eth0", 2, "fe80::1"),
    ("eth1", 3, "10.1.0.1"),
    ("eth1", 3, "2001:db8::1"),
    ("eth1", 3, "fe80::1"),
    ("eth1", 3, "fe80::7"),
];

const NAMES: [(&str, &[&str]); 5] = [
    ("node-1", &["10.0.0.1"]),
    ("node-one", &["10.0.0.1"]),
    ("node-2", &["10.0.0.2"]),
    ("debian", &["127.0.1.1"]),
    ("both", &["127.0.1.1", "::ffff:10.1.0.1"]),
];

const VARIABLES: [(&str, &str); 2] = [("SERVER_KEY", "-----BEGIN PRIVATE KEY-----\n"), ("NOT_PEM", "secret")];

/// Files that exist, each with all its names.
const FILES: [&[&str]; 2] =
    [&["config.cfg", "/etc/imex/../imex/config.cfg", "/dev/fd/9"], &["/nodes", "/dev/../nodes"]];

impl FakeMachine {
    /// How many names have been looked up.
    pub(crate) fn look_ups(&self) -> usize {
        self.look_ups.load(Ordering::Relaxed)
    }
}

impl Machine for FakeMachine {
    fn addresses(&self) -> io::Result<Vec<LocalAddress>> {
        let local = |&(interface, index, address): &(&str, u32, &str)| LocalAddress {
            address: address.parse().unwrap(),
            interface: interface.to_owned(),
            index,
        };
        Ok(ADDRESSES.iter().map(local).collect())
    }

    fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.look_ups.fetch_add(1, Ordering::Relaxed);
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let (_, ips) = found.ok_or_else(|| io::Error::other("no such name"))?;
        Ok(ips.iter().map(|ip| ip.parse().unwrap()).collect())
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let found = VARIABLES.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.into())
    }

    fn file(&self, path: &Path) -> Option<FileId> {
        let name = path.to_str()?;
        let inode = FILES.iter().position(|names| names.contains(&name))?;
        Some(FileId { device: 1, inode: inode as u64 })
    }
}

/// Both files as text, under short names.
pub(crate) fn written(config: &[u8], nodes: &[u8]) -> Written {
    Written {
        service_path: PathBuf::from("config.cfg"),
        service: ServiceFile::parse(config).unwrap(),
        nodes_path: PathBuf::from("nodes_config.cfg"),
        nodes: Some(parse_nodes(nodes).unwrap()),
    }
}

/// What both files mean on the fake machine.
pub(crate) fn resolved(config: &str, nodes: &str) -> (Option<Settings>, Problems) {
    let written = written(config.as_bytes(), nodes.as_bytes());
    resolve(&written, &Overrides::default(), &FakeMachine::default())
}

/// The same where no problem is an error.
pub(crate) fn settings(config: &str, nodes: &str) -> Settings {
    let (settings, problems) = resolved(config, nodes);
    settings.unwrap_or_else(|| panic!("{problems}"))
}
