//! Mounts and networks of a test's own. They need root; a test that cannot have them says so and is skipped.

use std::process::{Child, Command, Stdio};

use crate::support::die_with_this_process;

/// Whether this user may make namespaces; says so on standard error if not.
pub(crate) fn available() -> bool {
    let made = Command::new("unshare").args(["--mount", "--net", "true"]).stderr(Stdio::null()).status();
    let available = made.is_ok_and(|status| status.success());
    if !available {
        skip("root, for namespaces of its own");
    }
    available
}

/// The same for want of what authentication is tested with; fails where `cargo xtask verify` has found or installed it.
#[expect(clippy::disallowed_methods, reason = "the only place in which the tests read their environment")]
pub(crate) fn skip_authentication(program: &str) {
    assert!(
        std::env::var_os(NOT_SKIPPED).is_none(),
        "{program} is needed, and `cargo xtask verify` has found it"
    );
    skip(&format!("{program}; `cargo xtask verify` installs it"));
}

/// Set by `cargo xtask verify` where nothing that authentication is tested with is missing.
const NOT_SKIPPED: &str = "OPENIMEX_TEST_AUTHENTICATION";

/// Says on standard error that the test is skipped for want of something.
#[expect(clippy::print_stderr, reason = "whoever runs the tests is to see what was not tested")]
pub(crate) fn skip(needed: &str) {
    eprintln!("SKIPPED: this test needs {needed}");
}

/// A command that first runs a shell script in mounts of its own.
pub(crate) fn with_mounts(script: &str, command: &Command) -> Command {
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "--propagation", "private", "sh", "-e", "-c"]);
    inside.arg(format!(r#"{script}; exec "$@""#)).arg("sh");
    append(inside, command)
}

/// Puts a command behind another one that runs it.
pub(crate) fn append(mut outer: Command, command: &Command) -> Command {
    outer.arg(command.get_program()).args(command.get_args()).arg(die_with_this_process());
    outer.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC").stdin(Stdio::null()).stdout(Stdio::null());
    outer
}

/// A network of its own, held by a process that sleeps.
pub(crate) struct Network(Child);

impl Network {
    /// A network with nothing but a loopback interface.
    pub(crate) fn new() -> Self {
        let holder = Command::new("unshare").args(["--net", "sleep", "600"]).spawn().unwrap();
        let network = Network(holder);
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        let theirs = || std::fs::read_link(format!("/proc/{}/ns/net", network.pid())).ok();
        assert!(crate::support::eventually(|| theirs().is_some_and(|theirs| theirs != own)));
        network.ip("link set lo up");
        network
    }

    /// The process that holds it.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// What runs a command in it.
    pub(crate) fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.pid().to_string(), "--"]);
        command
    }

    /// Runs `ip` in it.
    pub(crate) fn ip(&self, words: &str) {
        let status = self.enter().arg("ip").args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Fails only if it has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
