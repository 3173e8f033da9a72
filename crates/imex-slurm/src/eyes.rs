//! How this node sees its domain: through its own daemon.
//!
//! imexd is subscribed to, so that nothing is polled; that is done by whoever speaks its protocol. NVIDIA's service is asked
//! through its control tool, again and again.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use imex_core::{DomainState, LinkState, NodeMap};
use imex_host::{Program, RunError};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::view::control::{self, ControlError};
use crate::view::{Proof, View, Voice};

/// What sees a domain.
pub trait Eyes {
    /// Waits until the local daemon says that the domain with exactly this map is UP. A daemon that does not answer yet is
    /// tried again; whoever waits has the deadline.
    ///
    /// # Errors
    ///
    /// If trying again is pointless.
    fn until_up(&self, map: &NodeMap) -> impl Future<Output = Result<View, Blind>>;

    /// What the local daemon sees now.
    ///
    /// # Errors
    ///
    /// If it does not answer `within` the time, or not as it should.
    fn look(&self, within: Duration) -> impl Future<Output = Result<View, Blind>>;
}

/// Why the local daemon's view is not known. It is this node's fault.
#[derive(Debug, Error)]
pub enum Blind {
    /// It cannot be asked, or does not answer.
    #[error("this node's service does not answer: {why}")]
    NoAnswer {
        /// In words.
        why: String,
    },
    /// It answers with the map of another domain.
    #[error("this node's service has another node map than the job: {found} nodes, not {expected}")]
    OtherMap {
        /// How many nodes it has.
        found: usize,
        /// How many the job's domain has.
        expected: usize,
    },
}

/// NVIDIA's control tool.
#[derive(Clone, Debug)]
pub struct ControlTool {
    program: Program,
    own: String,
    /// The port between the services.
    port: u16,
}

/// How long a machine may take to say that nobody listens at a port: it is one way there and back.
const KNOCK: Duration = Duration::from_millis(300);

/// How often it is asked: at first quickly, since a domain forms within a second, then seldom enough for a process each.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// How long one answer may take. It asks every member itself, and one that is gone may cost it a time-out.
const ANSWER: Duration = Duration::from_secs(3);

impl ControlTool {
    /// The tool `control`, looked for in `path`, for the service with this configuration file, whose peers listen at `port`;
    /// `own` is this node's entry of the node map.
    pub fn new((control, path): (&str, &str), config: &Path, port: u16, own: impl Into<String>) -> Self {
        let program = Program::new(control).words(["-N", "-j", "-c"]).words([config]).path(path);
        ControlTool { program, own: own.into(), port }
    }

    async fn ask(&self, within: Duration) -> Result<View, Unread> {
        // What it says counts, not how it ends: it ends with 0 over a service that does not run.
        let said = self.program.clone().deadline(within).ask().await?;
        Ok(control::parse(&said.out, &self.own)?)
    }
}

/// Finds out of members that do not answer what the tool does not tell: whether their machines say that nobody listens at the
/// port. One that was connected since this service was started for the job has then been stopped.
async fn knock(view: &mut View, port: u16) {
    let own = view.own;
    let silent = view.members.iter().enumerate().filter(|(_, member)| member.voice == Voice::Silent);
    let mut knocking = JoinSet::new();
    // An entry that is a name is left out: a resolver that does not answer would be waited for. The prologs' maps have addresses.
    let silent = silent.filter_map(|(member, row)| Some((member, row.address.parse::<IpAddr>().ok()?)));
    for (member, address) in silent {
        knocking.spawn(async move {
            let knocked = timeout(KNOCK, TcpStream::connect((address, port))).await;
            let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
            (member, knocked.is_ok_and(|connected| connected.is_err_and(refused)))
        });
    }
    while let Some(answer) = knocking.join_next().await {
        if let Ok((member, true)) = answer {
            let cell = &mut view.members[own].links[member];
            cell.proof = match cell.state {
                LinkState::Recovering | LinkState::Disconnected => Proof::Left,
                LinkState::Invalid
                | LinkState::NeverConnected
                | LinkState::Authenticating
                | LinkState::VersionMismatch
                | LinkState::MapMismatch => Proof::NobodyListens,
                LinkState::Connected => Proof::Nothing,
            };
        }
    }
}

/// Why one answer was none.
#[derive(Debug, Error)]
enum Unread {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Text(#[from] ControlError),
}

impl Eyes for ControlTool {
    async fn until_up(&self, map: &NodeMap) -> Result<View, Blind> {
        let mut pause = PAUSES.0;
        loop {
            if let Ok(view) = self.ask(ANSWER).await
                && view.state == DomainState::Up
                && view.has_members(map.iter().map(|(_, entry)| entry))
            {
                return Ok(view);
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn look(&self, within: Duration) -> Result<View, Blind> {
        let asked = timeout(within, self.ask(within)).await;
        let no_answer = |why: String| Blind::NoAnswer { why };
        match asked {
            // The tool makes a table of the members that answer, whether or not this node's own service does.
            Ok(Ok(view)) if view.members[view.own].voice == Voice::Silent => {
                Err(no_answer("its control tool shows it UNAVAILABLE".to_owned()))
            }
            Ok(Ok(mut view)) => {
                knock(&mut view, self.port).await;
                Ok(view)
            }
            Ok(Err(error)) => Err(no_answer(imex_config::chain(&error))),
            Err(_) => Err(no_answer(format!("no answer within {} ms", within.as_millis()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;

    use imex_core::NodeState;

    use super::*;
    use crate::view::{Cell, Member};

    #[test]
    fn nvidias_tool_is_asked_until_the_domain_is_up() {
        let dir = tempfile::tempdir().unwrap();
        let (eyes, map) = (tool(dir.path()), NodeMap::new(["10.0.0.1"]).unwrap());
        let up = run(async { timeout(Duration::from_secs(20), eyes.until_up(&map)).await.unwrap().unwrap() });
        assert_eq!((up.state, up.ready()), (DomainState::Up, 1));
        let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(asked.lines().count(), 3);
        assert_eq!(asked.lines().next(), Some("-N -j -c /etc/x.cfg"));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let eyes = tool(dir.path());
        let error = run(eyes.look(Duration::from_secs(10))).unwrap_err().to_string();
        assert!(error.contains("something else than its table"), "{error}");
    }

    #[test]
    fn a_service_that_its_tool_cannot_reach_does_not_answer() {
        let dir = tempfile::tempdir().unwrap();
        let eyes = tool(dir.path());
        let look = || run(eyes.look(Duration::from_secs(10)));
        let (_nonsense, silent, heard) = (look(), look().unwrap_err().to_string(), look().unwrap());
        assert_eq!(silent, "this node's service does not answer: its control tool shows it UNAVAILABLE");
        assert_eq!(heard.state, DomainState::Up);
    }

    #[test]
    fn a_silent_member_is_knocked_at() {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for (state, address, proof) in [
            (LinkState::NeverConnected, "127.0.0.3", Proof::NobodyListens),
            (LinkState::Recovering, "127.0.0.3", Proof::Left),
            (LinkState::Recovering, "127.0.0.2", Proof::Nothing),
            // That would be refused if it were asked.
            (LinkState::Recovering, "localhost", Proof::Nothing),
        ] {
            let mut view = view(state, address);
            run(knock(&mut view, port));
            assert_eq!(view.members[0].links[1].proof, proof, "{address} {state}");
        }
    }

    /// This node, and a silent member to which the link is so.
    fn view(state: LinkState, address: &str) -> View {
        let cell = |state| Cell { state, cause: None, proof: Proof::Nothing };
        let member = |address: &str, state, voice, links| Member {
            address: address.to_owned(),
            state,
            version: String::new(),
            voice,
            links,
        };
        let own = vec![cell(LinkState::Connected), cell(state)];
        let silent = vec![cell(LinkState::Invalid), cell(LinkState::Invalid)];
        View {
            own: 0,
            members: vec![
                member("127.0.0.1", NodeState::Ready, Voice::Heard, own),
                member(address, NodeState::Unavailable, Voice::Silent, silent),
            ],
            state: DomainState::Degraded,
        }
    }

    /// It answers something else, then that the domain is DOWN, then that it is UP.
    fn tool(dir: &Path) -> ControlTool {
        let file = dir.join("ctl");
        let answer = |node: &str, domain: &str| {
            format!(
                r#"{{"nodes":{{"0":{{"status":"{node}","host":"10.0.0.1","connections":{{"0":{{"status":"CONNECTED"}}}}}}}},"status":"{domain}"}}"#
            )
        };
        let (down, up) = (answer("UNAVAILABLE", "DOWN"), answer("READY", "UP"));
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {0}/asked\ncase $(wc -l < {0}/asked) in 1) echo no;; 2) echo '{down}';; *) echo '{up}';; esac\n",
            dir.display()
        );
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let path = "/usr/bin:/bin";
        ControlTool::new((file.to_str().unwrap(), path), Path::new("/etc/x.cfg"), 1, "10.0.0.1")
    }

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }
}
