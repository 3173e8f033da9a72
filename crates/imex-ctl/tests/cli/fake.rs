//! A command service that is none: it answers from a table that the test gives it, or misbehaves as it is told.
//!
//! What goes over the wire is real; there is no daemon behind it.

use std::net::SocketAddr;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use imex_core::{DomainState, DomainSummary, DomainTable, NodeId, NodeState};
use imex_wire::{CommandError, DomainStatus, Io, NodeStatus, View, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// How a fake treats those that connect.
#[derive(Clone)]
pub(crate) enum Manner {
    /// It answers.
    Answer(Arc<Canned>),
    /// It takes what it is sent and answers nothing.
    Hang,
    /// It answers with what is no protocol at all.
    Garbage,
    /// It closes the connection at once.
    Close,
}

/// A running fake. It ends, and its connections with it, when it is dropped.
pub(crate) struct Fake {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a fake knows: a table, seen from one of its nodes.
pub(crate) struct Canned {
    node: usize,
    table: Mutex<DomainTable>,
    node_changes: watch::Sender<NodeStatus>,
    domain_changes: watch::Sender<DomainSummary>,
}

impl Fake {
    /// Listens on a Unix socket.
    pub(crate) fn on_socket(path: &Path, manner: Manner) -> Self {
        let listener = StdUnixListener::bind(path).expect("the directory is the test's own");
        listener.set_nonblocking(true).expect("a socket can be set so");
        Self::start(move |end| async move {
            let listener = UnixListener::from_std(listener).expect("it listens");
            let accept = async || listener.accept().await.expect("it listens").0;
            serve_all(accept, manner, end).await;
        })
    }

    /// Listens on a TCP port of the loopback network.
    pub(crate) fn on_port(address: SocketAddr, manner: Manner) -> Self {
        let listener = std::net::TcpListener::bind(address).expect("the port is free");
        listener.set_nonblocking(true).expect("a socket can be set so");
        Self::start(move |end| async move {
            let listener = TcpListener::from_std(listener).expect("it listens");
            let accept = async || listener.accept().await.expect("it listens").0;
            serve_all(accept, manner, end).await;
        })
    }

    fn start<F: Future<Output = ()>>(run: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static) -> Self {
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be built").block_on(run(ended));
        });
        Fake { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a fake does not panic");
        }
    }
}

async fn serve_all<I: Io>(
    mut accept: impl AsyncFnMut() -> I,
    manner: Manner,
    mut end: oneshot::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            io = accept() => {
                let manner = manner.clone();
                connections.spawn(async move { treat(io, manner).await });
            }
            _ = &mut end => return,
        }
    }
}

async fn treat<I: Io>(mut io: I, manner: Manner) {
    match manner {
        Manner::Answer(canned) => {
            // However a client ends is its own affair.
            let _ended = serve(io, canned).await;
        }
        Manner::Hang => {
            let mut ignored = Vec::new();
            let _ended = io.read_to_end(&mut ignored).await;
        }
        Manner::Garbage => {
            let _ended = io.write_all(b"220 mail.example.org ESMTP ready\r\n").await;
            let mut ignored = Vec::new();
            let _ended = io.read_to_end(&mut ignored).await;
        }
        Manner::Close => drop(io),
    }
}

impl Canned {
    /// The view that node `node` has of `table`.
    pub(crate) fn new(node: usize, mut table: DomainTable) -> Arc<Self> {
        table.viewer = Some(id(node));
        Arc::new(Canned {
            node,
            node_changes: watch::Sender::new(status(node, &table)),
            domain_changes: watch::Sender::new(summary(&table)),
            table: Mutex::new(table),
        })
    }

    /// Lets something happen.
    pub(crate) fn change(&self, happen: impl FnOnce(&mut DomainTable)) {
        let mut table = self.table.lock().expect("no holder panics");
        happen(&mut table);
        table.state = DomainTable::judge(&table.rows);
        self.node_changes.send_replace(status(self.node, &table));
        self.domain_changes.send_replace(summary(&table));
    }

    /// Lets something happen that the domain's summary does not tell of.
    pub(crate) fn change_silently(&self, happen: impl FnOnce(&mut DomainTable)) {
        happen(&mut self.table.lock().expect("no holder panics"));
    }
}

impl View for Canned {
    async fn node(&self) -> Result<NodeStatus, CommandError> {
        Ok(status(self.node, &self.table.lock().expect("no holder panics")))
    }

    async fn domain(&self) -> Result<DomainStatus, CommandError> {
        Ok(DomainStatus { table: self.table.lock().expect("no holder panics").clone(), taken_at_ms: 0 })
    }

    fn node_changes(&self) -> watch::Receiver<NodeStatus> {
        self.node_changes.subscribe()
    }

    fn domain_changes(&self) -> watch::Receiver<DomainSummary> {
        self.domain_changes.subscribe()
    }
}

fn id(node: usize) -> NodeId {
    NodeId::new(u16::try_from(node).expect("tables of tests are small"))
}

fn status(node: usize, table: &DomainTable) -> NodeStatus {
    let row = table.rows[node].clone();
    NodeStatus {
        node: id(node),
        address: row.address,
        state: row.state,
        version: row.version,
        software: "0.1.0".into(),
        host: row.host,
        links: row.links,
    }
}

fn summary(table: &DomainTable) -> DomainSummary {
    let ready = table.rows.iter().filter(|row| row.state == NodeState::Ready).count();
    DomainSummary {
        state: table.state,
        nodes: table.rows.len(),
        ready,
        complete: if table.state == DomainState::Up { ready } else { 0 },
    }
}
