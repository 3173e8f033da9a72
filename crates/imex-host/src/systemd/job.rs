//! Jobs: asked for, awaited, and how they end.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use serde::Serialize;
use tokio::join;
use tokio_stream::StreamExt;
use zbus::message::Type;
use zbus::{MatchRule, MessageStream, OwnedObjectPath};

use super::error::{Call, SystemdError};
use super::name::ServiceName;
use super::{MANAGER, MANAGER_PATH, Systemd};

/// How many ends of other units' jobs may come before ours is looked for: more than a machine has units.
const QUEUE: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// What systemd is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// To be spoken to.
    Connect,
    /// To tell of a unit.
    Ask,
    /// To start one.
    Start,
    /// To stop one.
    Stop,
    /// To restart one.
    Restart,
    /// To forget that one failed.
    ResetFailed,
    /// To send a signal to one.
    Kill,
}

/// The jobs that are asked for here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Start,
    /// A start that is not refused for the failures before it.
    StartAfresh,
    Stop,
    Restart,
}

/// A job that systemd has taken.
#[derive(Debug)]
pub(super) struct Begun {
    /// The ends of all jobs since before it was asked for.
    ends: MessageStream,
    number: OwnedObjectPath,
}

/// How a job ends well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobDone {
    /// It is done.
    Done,
    /// There was nothing to do in the state that the unit is in.
    Skipped,
}

/// How a job ends otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum JobFailure {
    /// The unit failed: for a service, its process ended or could not be run.
    Failed,
    /// Another unit that this one requires failed.
    Dependency,
    /// The job's own time-out was over, that of the unit's file.
    Timeout,
    /// Another job, which somebody asked for, took its place.
    Canceled,
    /// Another end: `assert`, `unsupported`, `collected`, `once`, and what later versions may have.
    Other {
        /// systemd's word.
        word: String,
    },
}

impl Systemd {
    /// Asks for a job and waits for its end.
    pub(super) async fn run(
        &self,
        job: Job,
        name: &ServiceName,
        within: Duration,
    ) -> Result<JobDone, SystemdError> {
        let call = Call { operation: job.operation(), unit: Some(name), within };
        call.within(async { self.begin(job, &call, name).await?.end(&call, name).await }).await
    }

    /// Asks for a job. It is systemd's from here on.
    pub(super) async fn begin(
        &self,
        job: Job,
        call: &Call<'_>,
        name: &ServiceName,
    ) -> Result<Begun, SystemdError> {
        // None waits for another's answer: the bus keeps the order in which they are asked, and systemd answers in it.
        let (ends, wanted, (), ()) = join!(biased; self.ends(call), self.want(call), self.hold(call, name), self.forget(job, call, name));
        let ends = ends?;
        wanted?;
        // "replace": a job that is pending for the unit gives way, as it does to systemctl.
        let body = (name.as_str(), "replace");
        let number = call.read(&self.manager(call, job.method(), &body).await?)?;
        Ok(Begun { ends, number })
    }

    /// Loads a unit and holds it in memory for as long as the connection lasts. One that nobody holds is forgotten as soon
    /// as it does not run, and with it why: a condition that did not hold is lost with its job, and a unit that is not
    /// loaded is as unknown to systemd as one that is not there. If it cannot be held, what is asked of it tells why.
    pub(super) async fn hold(&self, call: &Call<'_>, name: &ServiceName) {
        let _ = self.manager(call, "RefUnit", &name.as_str()).await;
    }

    /// Forgets failures where the job is not to be refused for them. One that never failed is no error.
    async fn forget(&self, job: Job, call: &Call<'_>, name: &ServiceName) {
        if job == Job::StartAfresh {
            let _ = self.manager(call, "ResetFailedUnit", &name.as_str()).await;
        }
    }

    /// The ends of jobs from now on.
    async fn ends(&self, call: &Call<'_>) -> Result<MessageStream, SystemdError> {
        let rule = MatchRule::builder()
            .msg_type(Type::Signal)
            .path(MANAGER_PATH)
            .interface(MANAGER)
            .member("JobRemoved")
            .build()
            .map_err(|error| call.failed(error))?;
        let stream = MessageStream::for_match_rule(rule, &self.connection, Some(QUEUE));
        stream.await.map_err(|error| call.failed(error))
    }

    /// Wants signals: systemd emits nothing until somebody does. To want them twice is refused and means the same.
    async fn want(&self, call: &Call<'_>) -> Result<(), SystemdError> {
        match self.manager(call, "Subscribe", &()).await {
            Ok(_) => Ok(()),
            Err(SystemdError::Refused { name, .. }) if name.ends_with(".AlreadySubscribed") => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Begun {
    /// Waits for its end.
    pub(super) async fn end(mut self, call: &Call<'_>, name: &ServiceName) -> Result<JobDone, SystemdError> {
        while let Some(message) = self.ends.next().await {
            let body = message.map_err(|error| call.failed(error))?.body();
            let (_, ended, _, word): (u32, OwnedObjectPath, String, String) = call.read(&body)?;
            if ended == self.number {
                return judge(&word).map_err(|end| SystemdError::Job {
                    operation: call.operation,
                    unit: name.as_str().to_owned(),
                    end,
                });
            }
        }
        Err(call.malformed("the connection ended before the job".to_owned()))
    }
}

/// How a job ended, by systemd's word for it.
pub(super) fn judge(word: &str) -> Result<JobDone, JobFailure> {
    match word {
        "done" => Ok(JobDone::Done),
        "skipped" => Ok(JobDone::Skipped),
        "failed" => Err(JobFailure::Failed),
        "dependency" => Err(JobFailure::Dependency),
        "timeout" => Err(JobFailure::Timeout),
        "canceled" => Err(JobFailure::Canceled),
        other => Err(JobFailure::Other { word: other.to_owned() }),
    }
}

impl Job {
    /// The method of the manager that asks for it.
    fn method(self) -> &'static str {
        match self {
            Job::Start | Job::StartAfresh => "StartUnit",
            Job::Stop => "StopUnit",
            Job::Restart => "RestartUnit",
        }
    }

    fn operation(self) -> Operation {
        match self {
            Job::Start | Job::StartAfresh => Operation::Start,
            Job::Stop => Operation::Stop,
            Job::Restart => Operation::Restart,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Connect => "answer",
            Operation::Ask => "tell of",
            Operation::Start => "start",
            Operation::Stop => "stop",
            Operation::Restart => "restart",
            Operation::ResetFailed => "reset",
            Operation::Kill => "signal",
        })
    }
}

impl fmt::Display for JobFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobFailure::Failed => f.write_str("failed"),
            JobFailure::Dependency => f.write_str("failed with a unit that it depends on"),
            JobFailure::Timeout => f.write_str("took longer than the unit's own time-out"),
            JobFailure::Canceled => f.write_str("was canceled by another job"),
            JobFailure::Other { word } => write!(f, "ended with `{word}`"),
        }
    }
}
