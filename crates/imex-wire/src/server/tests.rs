use std::time::Duration;

use imex_core::{DomainState, DomainTable, NodeId, NodeState};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::time::timeout;

use super::*;
use crate::{ClientError, CommandClient, Endpoint};

/// Far more than anything here takes; a test that waits longer has found a fault.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_client_gets_what_the_view_shows() {
    let daemon = Daemon::start();
    let mut client = CommandClient::connect(&daemon.endpoint, PATIENCE).await.unwrap();
    assert_eq!(client.get_node().await.unwrap(), daemon.view.status());
    let domain = client.get_domain().await.unwrap();
    assert_eq!(domain, daemon.view.domain().await.unwrap());
}

#[tokio::test]
async fn the_service_is_the_same_over_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let view = Arc::new(Shown::new());
    let shown = Arc::clone(&view);
    tokio::spawn(async move { serve(listener.accept().await.unwrap().0, shown).await });
    let mut client = CommandClient::connect(&endpoint, PATIENCE).await.unwrap();
    assert_eq!(client.get_node().await.unwrap(), view.status());
}

#[tokio::test]
async fn a_watch_begins_with_the_present_and_ends_with_the_newest() {
    let daemon = Daemon::start();
    let mut client = CommandClient::connect(&daemon.endpoint, PATIENCE).await.unwrap();
    let mut nodes = client.watch_node().await.unwrap();
    let mut domains = client.watch_domain().await.unwrap();
    drop(client);
    assert_eq!(nodes.next().await.unwrap().unwrap().state, NodeState::Initializing);
    assert_eq!(domains.next().await.unwrap().unwrap().ready, 0);
    for ready in 1..=5 {
        daemon.view.summary.send_modify(|summary| summary.ready = ready);
    }
    daemon.view.node.send_modify(|node| node.state = NodeState::Ready);
    assert_eq!(timeout(PATIENCE, nodes.next()).await.unwrap().unwrap().unwrap().state, NodeState::Ready);
    let newest = async { while domains.next().await.unwrap().unwrap().ready < 5 {} };
    timeout(PATIENCE, newest).await.unwrap();
}

#[tokio::test]
async fn a_daemon_may_decline() {
    let daemon = Daemon::start();
    daemon.view.node.send_modify(|node| node.state = NodeState::ShuttingDown);
    let mut client = CommandClient::connect(&daemon.endpoint, PATIENCE).await.unwrap();
    let error = client.get_domain().await.unwrap_err();
    assert!(matches!(error, ClientError::Declined { why: CommandError::Leaving, .. }), "{error:?}");
}

#[tokio::test]
async fn a_missing_socket_is_told_from_a_dead_one() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("imexd.sock");
    let endpoint = Endpoint::Unix(path.clone());
    let missing = CommandClient::connect(&endpoint, PATIENCE).await.unwrap_err();
    assert!(matches!(missing, ClientError::NoSocket { .. }), "{missing:?}");
    assert_eq!(missing.to_string(), format!("there is no socket at {}", path.display()));
    drop(UnixListener::bind(&path).unwrap());
    let dead = CommandClient::connect(&endpoint, PATIENCE).await.unwrap_err();
    assert!(matches!(dead, ClientError::Refused { .. }), "{dead:?}");
}

#[tokio::test]
async fn a_daemon_that_says_nothing_costs_a_client_its_deadline_and_no_more() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("imexd.sock");
    let _silent = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::Unix(path);
    let asking = async {
        let mut client = CommandClient::connect(&endpoint, Duration::from_millis(50)).await?;
        client.get_node().await
    };
    let error = timeout(PATIENCE, asking).await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Deadline { .. }), "{error:?}");
    assert!(error.to_string().ends_with("within 50 ms"), "{error}");
}

#[tokio::test]
async fn a_daemon_that_hangs_up_is_told_from_one_that_talks_nonsense() {
    for (answer, wanted) in [(&b""[..], "Broken"), (b"SSH-2.0-OpenSSH_9.6\r\n", "Protocol")] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(answer).await.unwrap();
            stream.shutdown().await.unwrap();
            // Takes all there is, so that closing is no reset.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        });
        let mut client = CommandClient::connect(&endpoint, PATIENCE).await.unwrap();
        let error = client.get_node().await.unwrap_err();
        assert!(format!("{error:?}").starts_with(wanted), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_nothing_is_sent_away() {
    for sent in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"] {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(sent).await.unwrap();
        let ended = serve(server, Arc::new(Shown::new())).await;
        assert!(matches!(ended, Err(ServeError::Idle)), "{ended:?}");
    }
}

#[tokio::test]
async fn a_client_that_speaks_something_else_is_sent_away() {
    let (mut client, server) = UnixStream::pair().unwrap();
    client.write_all(&[0x16; 300]).await.unwrap();
    let ended = timeout(PATIENCE, serve(server, Arc::new(Shown::new()))).await.unwrap();
    assert!(matches!(ended, Err(ServeError::Broken(_))), "{ended:?}");
}

/// A served Unix socket.
struct Daemon {
    endpoint: Endpoint,
    view: Arc<Shown>,
    _dir: TempDir,
}

impl Daemon {
    fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("imexd.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let view = Arc::new(Shown::new());
        let shown = Arc::clone(&view);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shown)));
            }
        });
        Daemon { endpoint: Endpoint::Unix(path), view, _dir: dir }
    }
}

struct Shown {
    node: watch::Sender<NodeStatus>,
    summary: watch::Sender<DomainSummary>,
}

impl Shown {
    fn new() -> Self {
        let status = NodeStatus {
            node: NodeId::new(3),
            address: "10.0.0.4".into(),
            state: NodeState::Initializing,
            version: "NO_GPU".into(),
            software: "0.1.0".into(),
            host: "n3".into(),
            links: Vec::new(),
        };
        let summary = DomainSummary { state: DomainState::Down, nodes: 18, ready: 0, complete: 0 };
        Shown { node: watch::Sender::new(status), summary: watch::Sender::new(summary) }
    }

    fn status(&self) -> NodeStatus {
        self.node.borrow().clone()
    }
}

impl View for Shown {
    async fn node(&self) -> Result<NodeStatus, CommandError> {
        Ok(self.status())
    }

    async fn domain(&self) -> Result<DomainStatus, CommandError> {
        if self.status().state == NodeState::ShuttingDown {
            return Err(CommandError::Leaving);
        }
        let table = DomainTable { viewer: Some(NodeId::new(3)), rows: Vec::new(), state: DomainState::Down };
        Ok(DomainStatus { table, taken_at_ms: 1_764_000_000_000 })
    }

    fn node_changes(&self) -> watch::Receiver<NodeStatus> {
        self.node.subscribe()
    }

    fn domain_changes(&self) -> watch::Receiver<DomainSummary> {
        self.summary.subscribe()
    }
}
