//! A fake AWS on a loopback address, for tests: EC2 and PCS as far as this crate asks them, the instance metadata
//! service and a container's. It says in every answer that it is a fake (`server: openimex-fake-aws`).
//!
//! It answers from a [`Cloud`], checks that requests are signed for the right scope, and can be told to misbehave: a
//! [`Fault`] for the next request of an action. What it was asked is kept.

mod answers;
mod request;

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use request::Request;

/// The secrets that it accepts.
pub const ACCESS_KEY_ID: &str = "AKIDFAKE";
/// The token of a session, where credentials come from the metadata service or a container.
pub const SESSION_TOKEN: &str = "fake-session-token";
/// What a container proves itself with.
pub const CONTAINER_TOKEN: &str = "fake-container-token";
/// The region that it is in.
pub const REGION: &str = "us-east-1";

/// The longest that it hangs; tests that let it hang give up long before.
const HANG: Duration = Duration::from_secs(30);

/// What there is.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    /// Instances: id, type, state, private DNS name, node group's id, Capacity Block's id. Empty texts are none.
    pub instances: Vec<[String; 6]>,
    /// Capacity Blocks: id, UltraServer type, state, end, reservation.
    pub blocks: Vec<[String; 5]>,
    /// Launch templates: id, reservation.
    pub templates: Vec<[String; 2]>,
    /// Node groups of the one cluster: id, name, instance type, launch template.
    pub groups: Vec<([String; 4], usize)>,
    /// Queues of the one cluster: id, name, ids of groups.
    pub queues: Vec<(String, String, Vec<String>)>,
    /// Entries of a page, whatever a request would like.
    pub page: usize,
}

/// How a request is answered wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too many requests, in the words of the service.
    Throttle,
    /// An error of the service: status and code.
    Refuse(u16, &'static str),
    /// A status with a page of HTML, as proxies do.
    Proxy(u16),
    /// Success, and something else than the answer.
    Rubbish,
    /// Success, and the first half of the answer's text, whole for HTTP.
    HalfText,
    /// The first half of the bytes, then the connection ends.
    HalfBytes,
    /// Nothing, and the connection stays open.
    Hang,
    /// The connection ends.
    Close,
    /// An answer without end.
    Endless,
    /// The answer, and a next page that is always the same.
    Circle,
}

/// A fake that runs until it is dropped.
#[derive(Debug)]
pub struct Fake {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    cloud: Cloud,
    faults: VecDeque<(&'static str, Fault)>,
    asked: Vec<String>,
    requests: usize,
    connections: usize,
    over: bool,
}

impl Fake {
    /// Starts on a free port of 127.0.0.1. Each fault meets the next request of its action, in this order.
    ///
    /// # Errors
    ///
    /// If no port can be had.
    pub fn start(cloud: Cloud, faults: &[(&'static str, Fault)]) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let faults = faults.iter().cloned().collect();
        let state = State { cloud, faults, asked: Vec::new(), requests: 0, connections: 0, over: false };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut state = lock(&shared);
                if state.over {
                    break;
                }
                state.connections += 1;
                drop(state);
                let shared = Arc::clone(&shared);
                // A client that goes away in the middle is part of the play.
                thread::spawn(move || converse(&stream, &shared).ok());
            }
        });
        Ok(Fake { address, state })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The actions that it was asked for, in order, with the page's token if one was given.
    pub fn asked(&self) -> Vec<String> {
        lock(&self.state).asked.clone()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        lock(&self.state).connections
    }

    /// The environment of a program that is to ask it, and nobody else.
    pub fn environment(&self) -> Vec<(String, String)> {
        let url = self.url();
        let variables = [
            ("AWS_ENDPOINT_URL", url.as_str()),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID),
            ("AWS_SECRET_ACCESS_KEY", "fake"),
            ("AWS_CONFIG_FILE", "/nonexistent"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        lock(&self.state).over = true;
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn converse(stream: &TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader)? {
        let (fault, answer, id) = {
            let mut state = lock(state);
            state.requests += 1;
            let action = request.action();
            state.asked.push(request.told());
            let at = state.faults.iter().position(|(name, _)| *name == action);
            let fault = at.and_then(|at| state.faults.remove(at)).map(|(_, fault)| fault);
            let circle = fault == Some(Fault::Circle);
            if circle {
                state.faults.push_back(("DescribeInstances", Fault::Circle));
            }
            (fault, answers::answer(&request, &state.cloud, circle), state.requests)
        };
        let (status, body) = answer;
        let stays = match fault {
            None | Some(Fault::Circle) => reply(stream, status, body.as_bytes(), id)?,
            Some(fault) => misbehave(stream, &request, &fault, &body, id)?,
        };
        if !stays {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends a whole answer.
fn reply(mut stream: &TcpStream, status: u16, body: &[u8], id: usize) -> io::Result<bool> {
    stream.write_all(&head(status, body.len(), id))?;
    stream.write_all(body)?;
    Ok(true)
}

fn head(status: u16, length: usize, id: usize) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Fake\r\nserver: openimex-fake-aws\r\nx-amzn-requestid: fake-{id}\r\n\
         content-length: {length}\r\n\r\n"
    )
    .into_bytes()
}

/// Answers wrongly; false if the connection is over.
fn misbehave(
    mut stream: &TcpStream,
    request: &Request,
    fault: &Fault,
    body: &str,
    id: usize,
) -> io::Result<bool> {
    let half = &body.as_bytes()[..body.len() / 2];
    match fault {
        Fault::Throttle => {
            let (status, body) = answers::throttled(request);
            reply(stream, status, body.as_bytes(), id)
        }
        Fault::Refuse(status, code) => {
            let body = answers::refusal(request, code, "the fake was told to refuse");
            reply(stream, *status, body.as_bytes(), id)
        }
        Fault::Proxy(status) => reply(stream, *status, b"<html>a fake proxy</html>", id),
        Fault::Rubbish => reply(stream, 200, b"\xff\xfe{]<rubbish", id),
        Fault::HalfText => reply(stream, 200, half, id),
        Fault::HalfBytes => {
            stream.write_all(&head(200, body.len(), id))?;
            stream.write_all(half)?;
            Ok(false)
        }
        Fault::Hang => {
            thread::sleep(HANG);
            Ok(false)
        }
        Fault::Close => Ok(false),
        Fault::Endless => {
            stream.write_all(&head(200, usize::MAX / 2, id))?;
            loop {
                stream.write_all(&[b' '; 65536])?;
            }
        }
        Fault::Circle => Ok(true),
    }
}
