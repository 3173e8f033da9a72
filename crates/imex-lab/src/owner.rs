//! The owner of a lab at work: it answers questions about its nodes until it is told to end.

use std::fs::{self, Permissions};
use std::future::Future;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::control::{
    DEADLINE, END_GRACE, LabStatus, MAX_REQUEST, NodeReport, Refused, RefusedWhy, Reply, Request,
};
use crate::lab::Lab;
use crate::layout::{Layout, LayoutError, io_error};

/// How many askers are heard at once; further ones wait in the socket's backlog.
const MAX_ASKERS: usize = 16;

/// How often it is checked that the lab's directory still exists: nobody can reach a lab without one.
const DIRECTORY_CHECK: Duration = Duration::from_secs(1);

/// The socket on which a lab's owner is asked.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    layout: Layout,
}

/// Why a lab ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Somebody asked for it over the control socket.
    Asked,
    /// The owner was told to stop.
    Stopped,
    /// Its directory has gone.
    DirectoryGone,
}

struct Question {
    request: Request,
    answer: oneshot::Sender<Reply>,
}

impl ControlSocket {
    /// Opens the control socket of a lab, for this user alone.
    pub fn open(lab: &Lab) -> Result<Self, LayoutError> {
        let layout = lab.layout().clone();
        let path = layout.control_socket();
        let listener = UnixListener::bind(&path).map_err(io_error(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(io_error(&path))?;
        Ok(ControlSocket { listener, layout })
    }

    /// Serves until somebody asks for the end, `stop` is ready, or the directory has gone; then ends all nodes.
    /// A second `stop` does not hurry the end: drop the lab for that.
    pub async fn serve(self, lab: &mut Lab, stop: impl Future<Output = ()>) -> Result<Ending, io::Error> {
        let mut ended = signal(SignalKind::child())?;
        let mut check = interval(DIRECTORY_CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (questions, mut asked) = mpsc::channel(MAX_ASKERS);
        let mut askers = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let (ending, answer) = loop {
            tokio::select! {
                accepted = self.listener.accept(), if askers.len() < MAX_ASKERS => {
                    // A failed accept concerns that asker alone.
                    if let Ok((stream, _)) = accepted {
                        askers.spawn(hear(stream, questions.clone()));
                    }
                }
                Some(_) = askers.join_next() => {}
                Some(question) = asked.recv() => match question.request {
                    Request::Down => break (Ending::Asked, Some(question.answer)),
                    Request::Status | Request::Kill { .. } | Request::Start { .. } => {
                        // An asker that has left meanwhile needs no answer.
                        drop(question.answer.send(answer(lab, question.request)));
                    }
                },
                // Looking at them reaps those that have ended.
                _ = ended.recv() => drop(lab.lives()),
                _ = check.tick() => if !self.layout.is_held() {
                    break (Ending::DirectoryGone, None);
                },
                () = &mut stop => break (Ending::Stopped, None),
            }
        };
        let killed = lab.end(END_GRACE).await;
        if let Some(answer) = answer {
            drop(answer.send(Reply::Ended { killed }));
            drop(timeout(DEADLINE, askers.join_next()).await);
        }
        // Gone already if the directory is.
        drop(fs::remove_file(self.layout.control_socket()));
        Ok(ending)
    }
}

/// Hears one question and answers it. Whoever takes too long, or asks too much, is dropped.
async fn hear(stream: UnixStream, questions: mpsc::Sender<Question>) {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    let mut read = BufReader::new(read.take(MAX_REQUEST));
    let Ok(Ok(_)) = timeout(DEADLINE, read.read_line(&mut line)).await else {
        return;
    };
    let reply = match serde_json::from_str(&line) {
        Ok(request) => {
            let (answer, answered) = oneshot::channel();
            if questions.send(Question { request, answer }).await.is_err() {
                return;
            }
            let Ok(reply) = answered.await else { return };
            reply
        }
        Err(error) => Reply::Refused(Refused {
            why: RefusedWhy::Malformed,
            message: format!("the question was not understood: {error}"),
            hint: "the lab was started by another version of this program: end it by signal TERM".to_owned(),
        }),
    };
    let mut text = serde_json::to_string(&reply).unwrap_or_default();
    text.push('\n');
    drop(timeout(DEADLINE, write.write_all(text.as_bytes())).await);
}

fn answer(lab: &mut Lab, request: Request) -> Reply {
    let done = match request {
        Request::Status | Request::Down => return Reply::Status(status(lab)),
        Request::Kill { node, signal } => lab.kill(node, signal),
        Request::Start { node } => lab.start_node(node),
    };
    match done {
        Ok(pid) => Reply::Done { pid },
        Err(error) => Reply::Refused(Refused::from(&error)),
    }
}

fn status(lab: &mut Lab) -> LabStatus {
    let nodes = lab.lives().into_iter().enumerate().map(|(node, life)| NodeReport {
        node,
        address: lab.address(node),
        life,
    });
    LabStatus { pid: std::process::id(), nodes: nodes.collect() }
}
