//! What Kerberos and MUNGE need around a rack: a KDC with a key per node, and a munged.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_lab::{Kdc, KdcError, Munged, MungedError};
use tempfile::TempDir;

use super::{Rack, namespace};

/// How long tickets live where a test says nothing else.
pub(crate) const LONG: Duration = Duration::from_secs(36_000);

/// A Kerberos realm whose members are nodes of racks.
pub(crate) struct Realm {
    pub(crate) kdc: Kdc,
    folder: TempDir,
}

impl Realm {
    /// A realm with a KDC that runs; `None`, and a loud word, where there is none to be had.
    pub(crate) fn start(name: &str, lifetime: Duration) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        match Kdc::create(folder.path(), name, lifetime) {
            Err(KdcError::Missing { program }) => {
                namespace::skip_authentication(program);
                None
            }
            created => {
                let mut kdc = created.unwrap();
                kdc.start().unwrap();
                Some(Realm { kdc, folder })
            }
        }
    }

    /// A path in its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How many tickets for itself the KDC has given.
    pub(crate) fn initial_tickets(&self) -> usize {
        let log = fs::read_to_string(self.path("kdc.log")).unwrap();
        log.lines().filter(|line| line.contains("AS_REQ") && line.contains("ISSUE")).count()
    }

    /// Gives the first `nodes` of a rack a key each, and has them ask for Kerberos in this mode.
    pub(crate) fn admit_all(&self, rack: &Rack, nodes: usize, mode: &str) {
        rack.set_all("IMEX_ENABLE_AUTH_ENCRYPTION", 1);
        rack.set_all("IMEX_AUTH_ENCRYPTION_MODE", mode);
        // What a test waits for comes soon.
        rack.set_all("IMEX_GSS_RETRY_INTERVAL_SEC", 0);
        rack.set_all("OPENIMEX_RECONNECT_MAX_MS", 300);
        for k in 0..nodes {
            let table = self.kdc.add(&self.principal(rack, k)).unwrap();
            fs::copy(table, key_table(rack, k)).unwrap();
            self.admit(rack, k);
        }
    }

    /// Has a node find the realm and its key.
    pub(crate) fn admit(&self, rack: &Rack, k: usize) {
        let table = key_table(rack, k).display().to_string();
        rack.set_variable(k, "KRB5_CONFIG", self.kdc.config().display());
        rack.set_variable(k, "KRB5_KTNAME", &table);
        rack.set_variable(k, "KRB5_CLIENT_KTNAME", &table);
        rack.set_variable(k, "KRB5RCACHEDIR", rack.dir(k).display());
        rack.set_variable(k, "KRB5CCNAME", "");
    }

    /// Leaves a node nothing to show itself with but tickets to some `nodes` in a cache, and its key to see others by.
    /// They live for as many `seconds`, or as long as they may.
    pub(crate) fn have_tickets_alone(
        &self,
        rack: &Rack,
        k: usize,
        nodes: &[usize],
        seconds: Option<u32>,
    ) -> PathBuf {
        let cache = rack.dir(k).join("tickets");
        let name = format!("FILE:{}", cache.display());
        let principal = self.principal(rack, k);
        let max = seconds.map_or("10 hours".to_owned(), |seconds| format!("{seconds} seconds"));
        self.kdc.administer(&format!("modprinc -maxlife \"{max}\" {principal}\n")).unwrap();
        let services: Vec<String> = nodes.iter().map(|node| self.principal(rack, *node)).collect();
        let services: Vec<&str> = services.iter().map(String::as_str).collect();
        self.kdc.ticket(&key_table(rack, k), &principal, &name, &services).unwrap();
        self.kdc.administer(&format!("modprinc -maxlife \"10 hours\" {principal}\n")).unwrap();
        rack.set_variable(k, "KRB5CCNAME", name);
        rack.set_variable(k, "KRB5_CLIENT_KTNAME", "FILE:/nonexistent/keytab");
        cache
    }

    /// The principal of a node.
    pub(crate) fn principal(&self, rack: &Rack, k: usize) -> String {
        format!("host/{}", rack.address(k))
    }
}

/// The key table of a node.
pub(crate) fn key_table(rack: &Rack, k: usize) -> PathBuf {
    rack.dir(k).join("krb5.keytab")
}

/// Makes a node's clock wrong by some seconds, as far as others can see: what it writes into its tokens is the time of
/// its machine and the difference to the KDC's clock that its ticket cache remembers (MIT's "Credential cache file
/// format", header field 1).
pub(crate) fn set_clock(cache: &Path, seconds: i32) {
    let mut bytes = fs::read(cache).unwrap();
    let header = [5, 4, 0, 12, 0, 1, 0, 8];
    assert_eq!(bytes[..8], header, "version 4 with a header that has the difference alone");
    bytes[8..12].copy_from_slice(&seconds.to_be_bytes());
    fs::write(cache, bytes).unwrap();
}

/// A munged of a test's own.
pub(crate) struct Cell {
    pub(crate) munged: Munged,
    folder: TempDir,
}

impl Cell {
    /// A munged with this key; it runs. `None`, and a loud word, where there is none to be had.
    pub(crate) fn start(key: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        match Munged::create(folder.path(), key) {
            Err(MungedError::Missing) => {
                namespace::skip_authentication("munged");
                None
            }
            created => {
                let mut munged = created.unwrap();
                munged.start().unwrap();
                Some(Cell { munged, folder })
            }
        }
    }

    /// Ends the munged, and starts it with this key.
    pub(crate) fn restart_with(&mut self, key: &str) {
        self.munged.stop();
        self.munged = Munged::create(self.folder.path(), key).unwrap();
        self.munged.start().unwrap();
    }

    /// A path in its folder, which other users can reach.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has a node ask for MUNGE by this munged.
    pub(crate) fn admit(&self, rack: &Rack, k: usize) {
        rack.set(k, "OPENIMEX_AUTH", "munge");
        rack.set(k, "OPENIMEX_MUNGE_SOCKET", self.munged.socket().display());
        rack.set(k, "OPENIMEX_MUNGE_UID", nix::unistd::geteuid());
    }
}
