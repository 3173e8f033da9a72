//! `imexctl` over TCP where security is on: the real tool, real daemons, and the credentials of `imex pki`.
//!
//! The tool reads a configuration of its own, so that what it shows and believes can differ from what the daemons do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imex_config::{ServiceFile, read_service};
use imex_lab::Lab;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use regex::Regex;
use tempfile::TempDir;
use time::{Duration, OffsetDateTime};

use crate::program::{Said, imex, run, until};

#[test]
fn with_a_good_certificate_every_answer_is_the_one_of_the_unix_socket() {
    let site = Site::new();
    for words in ["-q", "-s -t 200", "-N", "-N -H", "-N -j"] {
        let (tcp, unix) = (site.ask(words), site.ask_at_socket(words));
        assert_eq!((tcp.code, untimed(&tcp.out), tcp.err), (0, untimed(&unix.out), unix.err), "{words}");
    }
    assert_eq!(site.ask("-q").out, "READY\n");
    assert!(site.ask("-N -j").out.contains(r#""status": "UP""#), "{}", site.ask("-N -j").out);
}

#[test]
fn each_reason_for_not_being_answered_has_its_message_and_its_code() {
    let site = Site::new();
    let other = site.pki("other", &["init", "--name", "Other"]).join("ca.crt");
    let others = site.issue("other");
    site.pki("namesake", &["init"]);
    let namesakes = site.issue("namesake");
    let cases: [(&str, i32, &str, Change<'_>); 8] = [
        ("no security here", 2, "ADDRESS:50005 gave no proper answer", &|tool| {
            tool.set("IMEX_ENABLE_AUTH_ENCRYPTION", "0");
        }),
        ("no certificate", 6, "IMEX_CLIENT_CERT: /nonexistent: file does not exist", &|tool| {
            tool.set("IMEX_CLIENT_CERT", "/nonexistent");
        }),
        ("key of another", 6, "does not fit the certificate", &|tool| {
            tool.set("IMEX_CLIENT_KEY", &tool.value("IMEX_SERVER_KEY"));
        }),
        ("of another authority", 7, "this node's credential (it trusts another authority: ", &|tool| {
            tool.show(&others.join("client.crt"), &others.join("client.key"));
        }),
        (
            "of a namesake",
            7,
            "this node's credential (it trusts another authority of the same name: ",
            &|tool| {
                tool.show(&namesakes.join("client.crt"), &namesakes.join("client.key"));
            },
        ),
        ("the tool trusts another", 7, "comes from an authority that is not trusted here", &|tool| {
            tool.set("IMEX_CLIENT_CERT_AUTH", other.to_str().unwrap());
        }),
        ("expired", 7, "this node's credential (it is out of date there: ", &|tool| {
            let (certificate, key) = site.sign(-Duration::HOUR, ExtendedKeyUsagePurpose::ClientAuth);
            tool.show(&certificate, &key);
        }),
        ("not for clients", 7, "this node's credential (it is for another purpose: ", &|tool| {
            let (certificate, key) = site.sign(Duration::HOUR, ExtendedKeyUsagePurpose::ServerAuth);
            tool.show(&certificate, &key);
        }),
    ];
    let address = site.lab.address(0).to_string();
    for (name, code, why, change) in cases {
        let why = why.replace("ADDRESS", &address);
        let mut tool = site.tool();
        change(&mut tool);
        let said = site.ask_by(&tool, "-q");
        assert_eq!((said.code, said.out.as_str()), (code, "UNAVAILABLE\n"), "{name}: {}", said.err);
        assert!(said.err.contains(&why), "{name}: no {why:?} in {}", said.err);
        // A table can be had all the same, of nodes that nobody knows anything of; it says why.
        let said = site.ask_by(&tool, "-N");
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        assert!(said.err.contains(&why), "{name}: no {why:?} in {}", said.err);
        assert!(!said.out.contains("READY"), "{name}: {}", said.out);
    }
}

#[test]
fn a_daemon_that_is_another_node_is_not_believed_and_each_node_is_at_its_own_address() {
    let site = Site::new();
    let mut tool = site.tool();
    // The file is node 0's, and says that its command port is where node 1's is.
    tool.set("IMEX_CMD_BIND_INTERFACE_IP", &site.lab.address(1).to_string());
    let why = "its credential is not for its entry in the node map";
    let said = site.ask_by(&tool, "-q");
    assert_eq!((said.code, said.out.as_str()), (7, "UNAVAILABLE\n"), "{}", said.err);
    assert!(said.err.contains(why), "{}", said.err);
    let said = site.ask_by(&tool, "-N");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains(why), "{}", said.err);
    assert!(said.out.contains("Domain State: UP"), "{}", said.out);
}

/// What is wrong with the tool's configuration.
type Change<'a> = &'a dyn Fn(&mut Tool);

/// Two daemons with security on, both of which answer over TCP, and whatever else a test makes.
struct Site {
    lab: Lab,
    dir: TempDir,
}

/// A configuration for the tool.
struct Tool(ServiceFile);

impl Site {
    fn new() -> Self {
        let program = env!("CARGO_BIN_EXE_imex");
        let lab = Lab::builder(program).imexctl(program).nodes(2).prepare().unwrap();
        let site = Site { lab, dir: tempfile::tempdir().unwrap() };
        site.pki("site", &["init"]);
        for node in 0..2 {
            let address = site.lab.address(node).to_string();
            let own = site.dir.path().join("site/nodes").join(&address);
            let issued = ["issue", "--node", &address, "--installed", own.to_str().unwrap()];
            let said = site.said("site", &issued);
            let mut file = Tool(read_service(&site.lab.paths(node).config).unwrap());
            let lines = said.out.lines().filter(|line| line.starts_with("IMEX_"));
            lines.filter_map(|line| line.split_once('=')).for_each(|(key, value)| file.set(key, value));
            file.set("IMEX_CMD_ENABLED", "1");
            file.set("IMEX_CMD_BIND_INTERFACE_IP", &address);
            fs::write(&site.lab.paths(node).config, file.0.to_string()).unwrap();
        }
        let mut site = site;
        site.lab.start_all().unwrap();
        until("the domain is UP", || site.ask_at_socket("-N").out.contains("Domain State: UP"));
        site
    }

    /// Runs `imex pki` for an authority of this name; returns its directory.
    fn pki(&self, authority: &str, words: &[&str]) -> PathBuf {
        self.said(authority, words);
        self.dir.path().join(authority)
    }

    fn said(&self, authority: &str, words: &[&str]) -> Said {
        let dir = self.dir.path().join(authority);
        let said = run(imex(&["pki"]).args(words).arg("--dir").arg(dir));
        assert_eq!(said.code, 0, "{}", said.err);
        said
    }

    /// Has another authority issue to node 0; returns the directory of what was issued.
    fn issue(&self, authority: &str) -> PathBuf {
        let address = self.lab.address(0).to_string();
        self.pki(authority, &["issue", "--node", &address]).join("nodes").join(address)
    }

    /// Signs a certificate for node 0 that `imex pki` would not; returns where it and its key are.
    fn sign(&self, ends: Duration, purpose: ExtendedKeyUsagePurpose) -> (PathBuf, PathBuf) {
        let read = |name: &str| fs::read_to_string(self.dir.path().join("site").join(name)).unwrap();
        let authority = KeyPair::from_pem(&read("ca.key")).unwrap();
        let issuer = Issuer::from_ca_cert_pem(&read("ca.crt"), authority).unwrap();
        let mut params = CertificateParams::new([self.lab.address(0).to_string()]).unwrap();
        params.not_before = OffsetDateTime::now_utc() - Duration::DAY;
        params.not_after = OffsetDateTime::now_utc() + ends;
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let paths = (self.dir.path().join("signed.crt"), self.dir.path().join("signed.key"));
        write_secret(&paths.0, &params.signed_by(&key, &issuer).unwrap().pem());
        write_secret(&paths.1, &key.serialize_pem());
        paths
    }

    /// The configuration of node 0's daemon, but for the socket: at the one that it names nobody listens.
    fn tool(&self) -> Tool {
        let mut tool = Tool(read_service(&self.lab.paths(0).config).unwrap());
        tool.set("IMEX_CMD_UNIX_DOMAIN_PATH", self.dir.path().join("nobody").to_str().unwrap());
        tool
    }

    /// Asks over TCP.
    fn ask(&self, words: &str) -> Said {
        self.ask_by(&self.tool(), words)
    }

    fn ask_by(&self, tool: &Tool, words: &str) -> Said {
        let path = self.dir.path().join("tool.cfg");
        fs::write(&path, tool.0.to_string()).unwrap();
        self.control(&path, words)
    }

    /// Asks node 0's daemon on this machine.
    fn ask_at_socket(&self, words: &str) -> Said {
        self.control(&self.lab.paths(0).config, words)
    }

    fn control(&self, config: &Path, words: &str) -> Said {
        let mut imexctl = Command::new(self.lab.layout().program("imexctl"));
        run(imexctl.env("TZ", "UTC").arg("-c").arg(config).args(words.split(' ')))
    }
}

impl Tool {
    fn set(&mut self, key: &str, value: &str) {
        self.0.set(key, value).unwrap();
    }

    fn value(&self, key: &str) -> String {
        self.0.get(key).unwrap().value.to_owned()
    }

    fn show(&mut self, certificate: &Path, key: &Path) {
        self.set("IMEX_CLIENT_CERT", certificate.to_str().unwrap());
        self.set("IMEX_CLIENT_KEY", key.to_str().unwrap());
    }
}

fn write_secret(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Text without the time at which it was made.
fn untimed(text: &str) -> String {
    let time = Regex::new(r"\d{1,2}/\d{1,2}/\d{4} [\d:.]+").unwrap();
    time.replace_all(text, "TIME").into_owned()
}
