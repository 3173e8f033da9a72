//! What a script leaves behind about itself: the job's log, and a record of every run that had something to do.

use std::path::{Path, PathBuf};

use imex_config::operator::Files;
use imex_host::boot;
use imex_slurm::clock::Clock;
use imex_slurm::context::{Environment, JobName};
use imex_slurm::joblog::{JOURNAL, JobLog, Origin};
use imex_slurm::record::{Kind, Record, Result as Ended};

use crate::exit::Exit;

/// Whose script it is, as far as the environment tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    /// The job.
    pub(super) job: Option<u32>,
    /// Which run of it.
    pub(super) run: Option<String>,
}

/// How a run ended, in a word and in a sentence.
pub(super) struct Outcome<'o> {
    pub(super) ending: &'o str,
    pub(super) exit: Exit,
    pub(super) message: &'o str,
}

/// Where a run's log and record go, and what is in every one.
pub(super) struct Account<'f> {
    pub(super) kind: Kind,
    pub(super) clock: Clock,
    pub(super) files: &'f Files,
    pub(super) subject: Subject,
}

impl Subject {
    /// What an environment tells.
    pub(super) fn of(environment: &Environment) -> Self {
        match JobName::read(environment) {
            Ok(JobName { job, run }) => Subject { job: Some(job), run: run.map(|run| run.to_string()) },
            Err(_) => Subject::default(),
        }
    }
}

impl Account<'_> {
    /// The job's log.
    pub(super) fn log(&self) -> JobLog {
        let Subject { job, run } = self.subject.clone();
        let origin = Origin { identifier: self.kind.identifier(), job, run, pid: std::process::id() };
        JobLog::open(origin, &self.files.logs, self.files.keep, Path::new(JOURNAL))
    }

    /// A record of this run.
    pub(super) fn record(&self) -> Record {
        let mut record = Record::begin(self.kind, self.clock.begun());
        record.note("job", &self.subject.job);
        record.note("run", &self.subject.run);
        record
    }

    /// Writes the record. `None` if it cannot be written.
    pub(super) fn keep(&self, record: &Record, outcome: &Outcome<'_>) -> Option<PathBuf> {
        let Outcome { ending, exit, message } = *outcome;
        let ended = Ended { ending, exit_code: exit.code(), message };
        let boot = boot::id(Path::new(boot::DEFAULT_ID_PATH)).ok();
        let text = record.text(&ended, boot.as_ref(), self.clock.wall());
        record.write(&self.files.state, &self.name(), &text, self.files.keep)
    }

    /// `7.0-prolog`; without what is not known.
    fn name(&self) -> String {
        let Subject { job, run } = &self.subject;
        let kind = self.kind.word();
        match job {
            Some(job) => format!("{job}.{}-{kind}", run.as_deref().unwrap_or_default()),
            None => kind.to_owned(),
        }
    }
}
