//! A directory with a daemon's files, and the real `imexctl` run on it.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use imex_core::DomainTable;
use tempfile::TempDir;

/// A directory with `config.cfg` and `nodes_config.cfg`, and a place for a command socket.
pub(crate) struct Rig {
    dir: TempDir,
    /// A TCP port of the test's own, `PORT` in lines and golden files.
    pub(crate) port: u16,
}

impl Rig {
    /// Files for the nodes of a table, with the command service on the socket only.
    pub(crate) fn new(table: &DomainTable) -> Self {
        let rig = Rig {
            dir: TempDir::with_prefix("imexctl-").expect("there is room for a directory"),
            port: free_port(),
        };
        let nodes = table.rows.iter().map(|row| format!("{}\n", row.address));
        rig.write("nodes_config.cfg", &nodes.collect::<String>());
        rig.configure("IMEX_CMD_ENABLED=0");
        rig
    }

    /// The same with the command service on the rig's port too.
    pub(crate) fn with_port(table: &DomainTable) -> Self {
        Self::secured(table, "")
    }

    /// The same with more lines in the configuration.
    pub(crate) fn secured(table: &DomainTable, lines: &str) -> Self {
        let rig = Self::new(table);
        let port = rig.port;
        rig.configure(&format!(
            "IMEX_CMD_ENABLED=1\nIMEX_CMD_BIND_INTERFACE_IP=127.0.0.1\nIMEX_CMD_PORT={port}\n{lines}"
        ));
        rig
    }

    fn configure(&self, lines: &str) {
        let (nodes, socket) = (self.path("nodes_config.cfg"), self.socket());
        let (nodes, socket) = (nodes.display(), socket.display());
        let text = format!("IMEX_NODE_CONFIG_FILE={nodes}\nIMEX_CMD_UNIX_DOMAIN_PATH={socket}\n{lines}\n");
        self.write("config.cfg", &text);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("imex.sock")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("the directory is the test's own");
    }

    /// A session as a golden file has it: `line` with `DIR` for this directory and
    /// `PORT` for its port, and all that came of it.
    pub(crate) fn session(&self, line: &str) -> String {
        let output = self.command(line).output().expect("the program is there");
        self.told(line, &output)
    }

    /// The program, to be started. It sees no environment but a time zone.
    pub(crate) fn command(&self, line: &str) -> Command {
        let dir = self.dir.path().to_str().expect("temporary paths are text");
        let mut command = Command::new(env!("CARGO_BIN_EXE_imexctl"));
        let line = line.replace("DIR", dir).replace("PORT", &self.port.to_string());
        command.args(line.split_whitespace());
        command.env_clear().env("TZ", "UTC").stdin(Stdio::null());
        command
    }

    /// What a golden file has of a run.
    pub(crate) fn told(&self, line: &str, output: &Output) -> String {
        let mut text = format!("$ imexctl {line}\n");
        text += &self.redacted(&output.stdout);
        let complaint = self.redacted(&output.stderr);
        for line in complaint.lines() {
            writeln!(text, "stderr| {line}").expect("a string takes any text");
        }
        let code = output.status.code().expect("it ended by itself");
        write!(text, "exit: {code}").expect("a string takes any text");
        text
    }

    /// Text without what differs from run to run: this directory, its port, and times, whatever their width.
    pub(crate) fn redacted(&self, text: &[u8]) -> String {
        let dir = self.dir.path().to_str().expect("temporary paths are text");
        let text = std::str::from_utf8(text).expect("all output is text");
        let text = text.replace(dir, "DIR").replace(&self.port.to_string(), "PORT");
        let time = regex::Regex::new(r"\b\d{1,2}/\d{1,2}/\d{4} \d\d:\d\d:\d\d\.\d{3}\b").expect("it is one");
        time.replace_all(&text, "M/D/YYYY HH:MM:SS.mmm").into_owned()
    }
}

/// How a program ends, which it does soon.
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    for _ in 0..HANG.as_millis() / 10 {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _killed = child.kill();
    panic!("it hangs");
}

/// A session without the reason why a daemon could not be asked: of one that speaks something else it depends on
/// which end notices first.
pub(crate) fn without_reason(session: &str) -> String {
    let reason = regex::Regex::new(r"(ask the daemon: |local daemon \().*?(\);|\n)").expect("it is one");
    reason.replace_all(session, "${1}WHY$2").into_owned()
}

/// A TCP port that nobody uses on 127.0.0.1, and in all likelihood nowhere on the loopback network.
fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    probe.local_addr().expect("it is bound").port()
}

/// Far longer than anything here takes, so that only a hang reaches it.
pub(crate) const HANG: Duration = Duration::from_secs(20);
