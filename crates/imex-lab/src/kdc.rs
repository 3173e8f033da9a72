//! A real KDC for a lab: MIT's, with its own realm and database, on the loopback.
//!
//! It needs Debian's krb5-kdc, krb5-admin-server (for `kadmin.local`) and krb5-user (for `kinit` and `kvno`); where one
//! of their programs is missing, [`KdcError::Missing`] says which.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use thiserror::Error;

/// How long a KDC may take to answer after its start; it takes a hundredth of that.
const START_DEADLINE: Duration = Duration::from_secs(3);

/// How often it is asked whether it answers.
const START_POLL: Duration = Duration::from_millis(5);

/// Where packages put programs; not everybody's PATH has those for administrators.
const PLACES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// A realm with its KDC. Dropping it ends the KDC; the folder is the caller's.
#[derive(Debug)]
pub struct Kdc {
    folder: PathBuf,
    realm: String,
    address: SocketAddr,
    process: Option<Child>,
}

/// Why there is no KDC.
#[derive(Debug, Error)]
pub enum KdcError {
    /// A program is not installed.
    #[error("{program} is not installed (Debian: krb5-kdc, krb5-admin-server, krb5-user)")]
    Missing {
        /// Which.
        program: &'static str,
    },
    /// A file or a process failed.
    #[error("{what}")]
    System {
        /// What was to be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program failed.
    #[error("{program} failed: {said}")]
    Program {
        /// Which.
        program: String,
        /// What it said on its standard error.
        said: String,
    },
    /// The KDC does not answer.
    #[error("the KDC at {address} did not answer within {START_DEADLINE:?}")]
    Silent {
        /// Where it should.
        address: SocketAddr,
    },
}

impl Kdc {
    /// Makes a realm in an existing empty folder; its tickets live for `lifetime` at most. The KDC is not started.
    pub fn create(folder: &Path, realm: &str, lifetime: Duration) -> Result<Self, KdcError> {
        for program in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit", "kvno"] {
            find(program).ok_or(KdcError::Missing { program })?;
        }
        // The port is free now, and the kernel gives it to nobody else for a while.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = free.map_err(system("find a free port"))?;
        let kdc = Kdc { folder: folder.to_owned(), realm: realm.to_owned(), address, process: None };
        kdc.write("kdc.conf", &kdc.kdc_conf(lifetime))?;
        kdc.write("krb5.conf", &kdc.krb5_conf())?;
        kdc.run("kdb5_util", ["create", "-s", "-r", realm, "-P", "of a test"], "")?;
        Ok(kdc)
    }

    /// Its realm.
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// The configuration with which members of the realm find it (`KRB5_CONFIG`).
    pub fn config(&self) -> PathBuf {
        self.folder.join("krb5.conf")
    }

    /// Adds a principal such as `host/127.0.0.2`, and a key table of its own with its key.
    pub fn add(&self, principal: &str) -> Result<PathBuf, KdcError> {
        let table = self.folder.join(format!("{}.keytab", principal.replace('/', "_")));
        self.administer(&format!(
            "addprinc -randkey {principal}\nktadd -q -k {} {principal}\n",
            table.display()
        ))?;
        Ok(table)
    }

    /// Lets `kadmin.local` carry out commands, one a line.
    pub fn administer(&self, commands: &str) -> Result<(), KdcError> {
        self.run("kadmin.local", ["-r", self.realm.as_str()], commands)
    }

    /// Gets a ticket with a key table into a cache such as `FILE:/path`, and one for each service besides.
    pub fn ticket(
        &self,
        table: &Path,
        principal: &str,
        cache: &str,
        services: &[&str],
    ) -> Result<(), KdcError> {
        let table = table.display().to_string();
        self.run("kinit", ["-k", "-t", &table, "-c", cache, principal], "")?;
        services.iter().try_for_each(|service| self.run("kvno", ["-q", "-c", cache, service], ""))
    }

    /// Starts the KDC and waits until it answers.
    pub fn start(&mut self) -> Result<(), KdcError> {
        let process = self
            // Ends with the thread that started it, whatever ends that.
            .command("setpriv")
            .args(["--pdeathsig", "KILL", "krb5kdc", "-n", "-r", &self.realm])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.process = Some(process.map_err(system("start krb5kdc"))?);
        for _ in 0..START_DEADLINE.as_millis() / START_POLL.as_millis() {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            thread::sleep(START_POLL);
        }
        Err(KdcError::Silent { address: self.address })
    }

    /// Ends the KDC, which may be started again.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Fails only if it has ended already.
            drop(process.kill());
            drop(process.wait());
        }
    }

    fn run<const N: usize>(&self, program: &str, arguments: [&str; N], input: &str) -> Result<(), KdcError> {
        let mut child = self
            .command(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(system(program))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(system(program))?;
        }
        let output = child.wait_with_output().map_err(system(program))?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // kadmin.local ends well whatever it was told.
        let failed = said.lines().any(|line| line.contains(" while "));
        match output.status.success() && !failed {
            true => Ok(()),
            false => Err(KdcError::Program { program: program.to_owned(), said }),
        }
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("PATH", PLACES.join(":"))
            .env("KRB5_CONFIG", self.config())
            .env("KRB5_KDC_PROFILE", self.folder.join("kdc.conf"))
            .env("LC_ALL", "C");
        command
    }

    fn write(&self, name: &str, text: &str) -> Result<(), KdcError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(system(&format!("write {}", path.display())))
    }

    /// With room for the connections of a rack that starts, as docs/security.md advises: it has five otherwise.
    fn kdc_conf(&self, lifetime: Duration) -> String {
        let (folder, realm, address) = (self.folder.display(), &self.realm, self.address);
        let lifetime = lifetime.as_secs();
        format!(
            "[kdcdefaults]\n kdc_listen = \"\"\n kdc_tcp_listen = {address}\n \
             kdc_tcp_listen_backlog = 128\n\
             [realms]\n {realm} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n  \
             acl_file = {folder}/acl\n  max_life = {lifetime}s\n  supported_enctypes = aes256-cts:normal\n }}\n\
             [logging]\n kdc = FILE:{folder}/kdc.log\n default = FILE:{folder}/kdc.log\n"
        )
    }

    /// TCP alone: a KDC that is down refuses at once, as a firewall that answers does.
    fn krb5_conf(&self) -> String {
        let (realm, address) = (&self.realm, self.address);
        format!(
            "[libdefaults]\n default_realm = {realm}\n dns_lookup_realm = false\n dns_lookup_kdc = false\n \
             dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n\
             [realms]\n {realm} = {{\n  kdc = {address}\n }}\n"
        )
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        self.stop();
    }
}

fn find(program: &str) -> Option<PathBuf> {
    PLACES.iter().map(|place| Path::new(place).join(program)).find(|path| path.is_file())
}

fn system(what: &str) -> impl FnOnce(io::Error) -> KdcError {
    let what = what.to_owned();
    move |source| KdcError::System { what, source }
}
