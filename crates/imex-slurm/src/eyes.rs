//! How this node sees its domain: through its own daemon.
//!
//! imexd is subscribed to, so that nothing is polled; that is done by whoever speaks its protocol. NVIDIA's service is asked
//! through its control tool, again and again.

use std::path::PathBuf;
use std::time::Duration;

use imex_core::{DomainState, NodeMap};
use imex_host::{Program, RunError};
use thiserror::Error;
use tokio::time::{sleep, timeout};

use crate::view::control::{self, ControlError};
use crate::view::{View, Voice};

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
}

/// How often it is asked: at first quickly, since a domain forms within a second, then seldom enough for a process each.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// How long one answer may take. It asks every member itself, and one that is gone may cost it a time-out.
const ANSWER: Duration = Duration::from_secs(3);

impl ControlTool {
    /// The tool `control`, looked for in `path`, for the service with this configuration file; `own` is this node's entry of
    /// the node map.
    pub fn new(control: &str, path: &str, config: &PathBuf, own: impl Into<String>) -> Self {
        let program = Program::new(control).words(["-N", "-j", "-c"]).words([config]).path(path);
        ControlTool { program, own: own.into() }
    }

    async fn ask(&self, within: Duration) -> Result<View, Unread> {
        // What it says counts, not how it ends: it ends with 0 over a service that does not run.
        let said = self.program.clone().deadline(within).ask().await?;
        Ok(control::parse(&said.out, &self.own)?)
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
            Ok(Ok(view)) => Ok(view),
            Ok(Err(error)) => Err(no_answer(imex_config::chain(&error))),
            Err(_) => Err(no_answer(format!("no answer within {} ms", within.as_millis()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

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
        ControlTool::new(file.to_str().unwrap(), path, &"/etc/x.cfg".into(), "10.0.0.1")
    }

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }
}
