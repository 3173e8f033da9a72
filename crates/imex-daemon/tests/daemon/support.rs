//! Real daemons on addresses of their own, cleaned up by process id.
//!
//! Every rack has a random /24 of 127.0.0.0/8, so that tests run side by side and every node has the same port. A record
//! of level ERROR or CRITICAL in a node's log fails the test, unless the test said that it expects it.

pub(crate) mod flood;
pub(crate) mod namespace;
pub(crate) mod pki;
pub(crate) mod realm;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use imex_core::{DomainState, DomainTable, LinkState, NodeState};
use imex_wire::{CommandClient, Endpoint, NodeStatus};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long anything may take before a test fails: far longer than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The port for peers on every node.
pub(crate) const PORT: u16 = 50000;

/// Nodes that share a map, each with its files in a directory of its own.
pub(crate) struct Rack {
    dir: TempDir,
    subnet: String,
    keys: RefCell<Vec<BTreeMap<String, String>>>,
    variables: RefCell<BTreeMap<(usize, String), String>>,
}

impl Rack {
    /// A rack of `nodes` nodes, none of which runs.
    pub(crate) fn new(nodes: usize) -> Self {
        let mut random = [0; 2];
        getrandom::fill(&mut random).unwrap();
        let rack = Rack {
            dir: tempfile::tempdir().unwrap(),
            subnet: format!("127.{}.{}", random[0].max(2), random[1]),
            keys: RefCell::default(),
            variables: RefCell::default(),
        };
        let map: String = (0..nodes).map(|k| rack.address(k).to_string() + "\n").collect();
        for k in 0..nodes {
            fs::create_dir(rack.dir(k)).unwrap();
            rack.keys.borrow_mut().push(rack.default_keys(k));
            rack.write_nodes(k, &map);
        }
        rack
    }

    fn default_keys(&self, k: usize) -> BTreeMap<String, String> {
        let file = |name: &str| self.dir(k).join(name).display().to_string();
        let keys = [
            ("BIND_INTERFACE_IP", self.address(k).to_string()),
            ("DAEMONIZE", "0".to_owned()),
            ("IMEX_CMD_ENABLED", "0".to_owned()),
            ("IMEX_CMD_UNIX_DOMAIN_PATH", file("socket")),
            ("IMEX_NODE_CONFIG_FILE", file("nodes.cfg")),
            ("LOG_FILE_NAME", file("log")),
            ("OPENIMEX_PERSIST_FILE", file("persist.dat")),
            ("OPENIMEX_VERBOSE_LOG_FILE_NAME", file("verbose")),
            ("SERVER_PORT", PORT.to_string()),
            ("STATS_FILE_NAME", file("stats")),
        ];
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The address of a node; also of nodes that the rack does not have.
    pub(crate) fn address(&self, k: usize) -> IpAddr {
        format!("{}.{}", self.subnet, k + 1).parse().unwrap()
    }

    /// Where a node listens for peers.
    pub(crate) fn peer_address(&self, k: usize) -> SocketAddr {
        (self.address(k), PORT).into()
    }

    /// Where a node's files are.
    pub(crate) fn dir(&self, k: usize) -> PathBuf {
        self.dir.path().join(format!("node-{k}"))
    }

    /// Sets a key of a node's configuration for its next start.
    pub(crate) fn set(&self, k: usize, key: &str, value: impl ToString) {
        self.keys.borrow_mut()[k].insert(key.to_owned(), value.to_string());
    }

    /// The value that a node's configuration has for a key; empty if it has none.
    pub(crate) fn get(&self, k: usize, key: &str) -> String {
        self.keys.borrow()[k].get(key).cloned().unwrap_or_default()
    }

    /// Sets a key of every node.
    pub(crate) fn set_all(&self, key: &str, value: impl ToString) {
        self.keys.borrow_mut().iter_mut().for_each(|keys| _ = keys.insert(key.to_owned(), value.to_string()));
    }

    /// Sets a variable of a node's environment for its next start; an empty value is none.
    pub(crate) fn set_variable(&self, k: usize, name: &str, value: impl ToString) {
        self.variables.borrow_mut().insert((k, name.to_owned()), value.to_string());
    }

    /// Replaces a node's map file.
    pub(crate) fn write_nodes(&self, k: usize, text: impl AsRef<[u8]>) {
        fs::write(self.dir(k).join("nodes.cfg"), text).unwrap();
    }

    /// The daemon's command line for a node, its configuration written.
    pub(crate) fn command(&self, k: usize) -> Command {
        let text: String =
            self.keys.borrow()[k].iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        let config = self.dir(k).join("config.cfg");
        fs::write(&config, text).unwrap();
        let mut command = imexd();
        command.arg("-c").arg(config).arg("--nogpu");
        let variables = self.variables.borrow();
        for ((_, name), value) in
            variables.iter().filter(|((node, _), value)| *node == k && !value.is_empty())
        {
            command.env(name, value);
        }
        command
    }

    /// Starts a node.
    pub(crate) fn start(&self, k: usize) -> Node {
        let mut command = self.command(k);
        self.spawn(k, command.arg(die_with_this_process()))
    }

    /// Starts a node with this command line.
    pub(crate) fn spawn(&self, k: usize, command: &mut Command) -> Node {
        let stderr = fs::File::create(self.dir(k).join("stderr")).unwrap();
        let child = command.stderr(stderr).spawn().unwrap();
        Node { child, dir: self.dir(k), expected: Vec::new() }
    }

    /// Starts all nodes and waits until every one sees the domain UP.
    pub(crate) fn start_all(&self) -> Vec<Node> {
        let nodes = self.keys.borrow().len();
        let nodes: Vec<Node> = (0..nodes).map(|k| self.start(k)).collect();
        nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
        nodes
    }

    /// Has a daemon check a node's files; returns its exit code and what it found.
    pub(crate) fn check(&self, k: usize) -> (i32, String) {
        let output = run(self.command(k).arg("--check"));
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    /// Runs a daemon that is expected not to start; returns its exit code and what it wrote to standard error.
    pub(crate) fn refused(&self, k: usize) -> (i32, String) {
        let output = run(&mut self.command(k));
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

/// The option with which a daemon ends when this process does.
pub(crate) fn die_with_this_process() -> String {
    format!("--die-with-parent={}", std::process::id())
}

/// The daemon's program, with nothing of a service manager around it.
pub(crate) fn imexd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_imexd"));
    command.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if !eventually(|| child.try_wait().unwrap().is_some()) {
        child.kill().unwrap();
        panic!("{command:?} did not end");
    }
    child.wait_with_output().unwrap()
}

/// A running daemon.
pub(crate) struct Node {
    child: Child,
    dir: PathBuf,
    expected: Vec<String>,
}

impl Node {
    /// Its process id.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// Its command socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("socket")
    }

    /// One of its files; empty if it is not there or no regular file.
    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.dir.join(name);
        if path.is_file() { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
    }

    /// Its log.
    pub(crate) fn log(&self) -> String {
        self.file("log")
    }

    /// Says that a record of level ERROR with this text is no failure.
    pub(crate) fn expect_error(&mut self, text: &str) {
        self.expected.push(text.to_owned());
    }

    /// Waits until a text stands in its log.
    pub(crate) fn await_log(&self, text: &str) {
        assert!(eventually(|| self.log().contains(text)), "no {text:?} in\n{}", self.log());
    }

    /// Waits until a text stands among what its level holds back from its log.
    pub(crate) fn await_verbose(&self, text: &str) {
        let said = || {
            self.signal(Signal::SIGHUP);
            self.file("verbose").contains(text)
        };
        assert!(eventually(said), "no {text:?} in\n{}", self.file("verbose"));
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Whether it runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end; returns its exit code, `None` if a signal ended it.
    pub(crate) fn await_end(&mut self) -> Option<i32> {
        assert!(eventually(|| self.child.try_wait().unwrap().is_some()), "it did not end\n{}", self.log());
        self.child.wait().unwrap().code()
    }

    /// Ends it as an operator does; it must end well.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        assert_eq!(self.await_end(), Some(0), "{}", self.log());
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks its command service; `None` if it does not answer.
    pub(crate) fn ask<T, F>(&self, question: impl FnOnce(CommandClient) -> F) -> Option<T>
    where
        F: Future<Output = Result<T, imex_wire::ClientError>>,
    {
        let endpoint = Endpoint::Unix(self.socket());
        let answer = async {
            let client = CommandClient::connect(&endpoint, Duration::from_secs(5)).await?;
            question(client).await
        };
        block_on(answer).ok()
    }

    /// Its domain's table.
    pub(crate) fn table(&self) -> Option<DomainTable> {
        self.ask(async |mut client| client.get_domain().await).map(|status| status.table)
    }

    /// Its own status.
    pub(crate) fn status(&self) -> Option<NodeStatus> {
        self.ask(async |mut client| client.get_node().await)
    }

    /// The state of its link to a node.
    pub(crate) fn link(&self, k: usize) -> Option<LinkState> {
        self.status().map(|status| status.links[k].state)
    }

    /// Waits until it sees the domain in a state.
    pub(crate) fn await_domain(&self, state: DomainState) {
        let seen = eventually(|| self.table().is_some_and(|table| table.state == state));
        assert!(seen, "it never saw the domain {state}\n{}\n{}", self.log(), self.file("stderr"));
    }

    /// Waits until it is in a state.
    pub(crate) fn await_state(&self, state: NodeState) {
        let seen = eventually(|| self.status().is_some_and(|status| status.state == state));
        assert!(seen, "it never became {state}\n{}\n{}", self.log(), self.file("stderr"));
    }

    /// Waits until its link to a node is in a state.
    pub(crate) fn await_link(&self, k: usize, state: LinkState) {
        assert!(eventually(|| self.link(k) == Some(state)), "link to {k} never {state}\n{}", self.log());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Fails only if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            assert_no_errors(&self.log(), &self.expected);
        }
    }
}

fn assert_no_errors(log: &str, expected: &[String]) {
    let grave = |line: &&str| line.contains("] [ERROR] [") || line.contains("] [CRITICAL] [");
    let unexpected = |line: &&str| !expected.iter().any(|text| line.contains(text));
    let found: Vec<&str> = log.lines().filter(grave).filter(unexpected).collect();
    assert!(found.is_empty(), "unexpected errors in the log:\n{}", found.join("\n"));
}

/// Whether something becomes so within [`PATIENCE`].
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let watch = Stopwatch::start();
    while watch.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Runs a future to its end.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Measures time.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    #[expect(clippy::disallowed_methods, reason = "the one place of the tests that reads the clock")]
    pub(crate) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Until now.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A process that is not this one's child, ended with the test.
pub(crate) struct Stray(pub(crate) Pid);

impl Drop for Stray {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = kill(self.0, Signal::SIGKILL);
    }
}

/// Whether there is a process with this id that has not ended.
pub(crate) fn lives(pid: Pid) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
