//! What members tell one another: one line of JSON to whoever connects, nothing in return.
//!
//! `{"schema_version":1,"node":"n1","map":"<64 hex digits>","stage":"free"}`. It is not signed and need not be: it decides
//! when a member restarts, never whether a job is disturbed. docs/deployment-models.md has the whole of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use imex_core::MapDigest;
use imex_topology::follow::{Announcement, Stage, Told};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::args::FollowArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// The version of the line. A member that tells another is not understood, as if it were silent.
const SCHEMA_VERSION: u32 = 1;

/// How long one question may take, connecting included. Members are near.
const ANSWER: Duration = Duration::from_secs(1);

/// The longest line that is read.
const MAX_LINE: u64 = 1024;

/// How many ask or are asked at the same time.
const AT_ONCE: usize = 64;

/// This member's ear and mouth.
#[derive(Debug)]
pub(super) struct Talk {
    port: u16,
    said: watch::Sender<Option<Announcement>>,
    // Ends with it.
    _answering: JoinSet<()>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    schema_version: u32,
    node: String,
    map: String,
    stage: Stage,
}

impl Talk {
    /// Begins to answer. Until [`Talk::say`] there is nothing to tell.
    pub(super) async fn listen(args: &FollowArgs) -> Result<Self, Failure> {
        let at = SocketAddr::new(args.listen, args.port);
        let listener = TcpListener::bind(at).await.map_err(|error| {
            Failure::because(Exit::Failed, format!("{at} cannot be listened on: {error}"))
                .hint("choose another port with --port, the same on all members")
        })?;
        let (said, hear) = watch::channel(None);
        let mut answering = JoinSet::new();
        answering.spawn(answer(listener, hear, args.node.clone()));
        Ok(Talk { port: args.port, said, _answering: answering })
    }

    /// What is told from now on.
    pub(super) fn say(&self, announcement: Option<Announcement>) {
        self.said.send_replace(announcement);
    }

    /// Asks the members with these entries of the map.
    pub(super) async fn ask(&self, members: Vec<String>) -> Vec<Told> {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let mut asked = JoinSet::new();
        for (place, member) in members.into_iter().enumerate() {
            let (turns, port) = (Arc::clone(&turns), self.port);
            asked.spawn(async move {
                let _turn = turns.acquire().await;
                let told = timeout(ANSWER, hear(&member, port)).await.ok().flatten();
                (place, (member, told))
            });
        }
        let mut told = asked.join_all().await;
        told.sort_by_key(|(place, _)| *place);
        told.into_iter().map(|(_, told)| told).collect()
    }
}

async fn answer(listener: TcpListener, said: watch::Receiver<Option<Announcement>>, node: String) {
    /// The pause after a connection that could not be accepted, for instance for want of file descriptors.
    const PAUSE: Duration = Duration::from_millis(100);
    let mut answers = JoinSet::new();
    loop {
        while answers.try_join_next().is_some() {}
        if answers.len() >= AT_ONCE {
            answers.join_next().await;
        }
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let announced = *said.borrow();
        let line = announced.map(|Announcement { map, stage }| {
            let (node, map) = (node.clone(), map.to_string());
            serde_json::to_string(&Line { schema_version: SCHEMA_VERSION, node, map, stage })
                .unwrap_or_default()
        });
        answers.spawn(async move {
            // Who does not listen is not told.
            let line = format!("{}\n", line.unwrap_or_default());
            let _ = timeout(ANSWER, stream.write_all(line.as_bytes())).await;
        });
    }
}

async fn hear(member: &str, port: u16) -> Option<Announcement> {
    let stream = TcpStream::connect((member, port)).await.ok()?;
    let mut line = String::new();
    stream.take(MAX_LINE).read_to_string(&mut line).await.ok()?;
    let Line { schema_version, map, stage, .. } = serde_json::from_str(&line).ok()?;
    let map = digest(&map)?;
    (schema_version == SCHEMA_VERSION).then_some(Announcement { map, stage })
}

/// The digest of 64 hexadecimal digits.
fn digest(text: &str) -> Option<MapDigest> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(MapDigest::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let map = imex_core::NodeMap::new(["a", "b"]).unwrap();
        assert_eq!(digest(&map.digest().to_string()), Some(map.digest()));
        for wrong in ["", &"0".repeat(63), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(digest(wrong), None, "{wrong}");
        }
    }
}
