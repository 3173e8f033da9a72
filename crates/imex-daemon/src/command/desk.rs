//! Between those who ask and the driver loop that knows.

use imex_core::{DomainSummary, DomainTable};
use imex_wire::{CommandError, DomainStatus, NodeStatus, View};
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::WallTime;

/// How many questions may wait for the driver loop: one per connection of both listeners. At the brim an asker is told
/// that the daemon is busy.
const QUESTIONS: usize = 2 * super::CONNECTIONS;

/// The place for an answer.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, CommandError>>;

/// A question to the driver loop, with the place for its answer.
#[derive(Debug)]
pub(crate) enum Question {
    /// This node alone.
    Node(Reply<NodeStatus>),
    /// The whole domain.
    Domain(Reply<DomainTable>),
}

/// What tools see of the daemon. One per daemon, shared by all connections.
#[derive(Debug)]
pub(crate) struct Desk {
    questions: mpsc::Sender<Question>,
    node: watch::Receiver<NodeStatus>,
    domain: watch::Receiver<DomainSummary>,
}

/// The driver loop's end of the [`Desk`].
#[derive(Debug)]
pub(crate) struct Publication {
    /// What is asked.
    pub(crate) questions: mpsc::Receiver<Question>,
    node: watch::Sender<NodeStatus>,
    domain: watch::Sender<DomainSummary>,
}

impl Desk {
    /// A desk that shows a daemon which has not begun.
    pub(crate) fn open(node: NodeStatus, domain: DomainSummary) -> (Desk, Publication) {
        let (ask, questions) = mpsc::channel(QUESTIONS);
        let (node, watched_node) = watch::channel(node);
        let (domain, watched_domain) = watch::channel(domain);
        let desk = Desk { questions: ask, node: watched_node, domain: watched_domain };
        (desk, Publication { questions, node, domain })
    }

    /// The time that an answer takes is bounded by the driver loop, which answers a table within the core's deadline.
    async fn ask<T>(&self, question: impl FnOnce(Reply<T>) -> Question) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.questions.try_send(question(reply)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => CommandError::Busy,
            mpsc::error::TrySendError::Closed(_) => CommandError::Leaving,
        })?;
        answer.await.unwrap_or(Err(CommandError::Leaving))
    }
}

impl View for Desk {
    async fn node(&self) -> Result<NodeStatus, CommandError> {
        self.ask(Question::Node).await
    }

    async fn domain(&self) -> Result<DomainStatus, CommandError> {
        // Before anything is made: a table has as many cells as the square of its nodes.
        if self.domain.borrow().nodes > DomainTable::MOST_NODES {
            return Err(CommandError::TooLarge);
        }
        let table = self.ask(Question::Domain).await?;
        Ok(DomainStatus { table, taken_at_ms: WallTime::now().unix_millis() })
    }

    fn node_changes(&self) -> watch::Receiver<NodeStatus> {
        self.node.clone()
    }

    fn domain_changes(&self) -> watch::Receiver<DomainSummary> {
        self.domain.clone()
    }
}

impl Publication {
    /// Shows a node's state to those who watch, if it is news.
    pub(crate) fn show_node(&self, state: imex_core::NodeState) {
        self.node.send_if_modified(|shown| std::mem::replace(&mut shown.state, state) != state);
    }

    /// Shows the domain to those who watch, if it is news.
    pub(crate) fn show_domain(&self, summary: DomainSummary) {
        self.domain.send_if_modified(|shown| std::mem::replace(shown, summary) != summary);
    }
}
