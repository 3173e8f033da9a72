//! What a run says, line by line: to a file of the job's own and to the journal.
//!
//! The lines are those of the prolog that AWS publishes, so that what reads them goes on reading them:
//! `2026-11-30T18:10:05.123 [INFO] [PID:4711] [JOB:7] text`. The journal gets the text with fields. Neither is ever a
//! reason to fail: a line that cannot be written is dropped.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Where the journal listens.
pub const JOURNAL: &str = "/run/systemd/journal/socket";

/// A log is for whoever looks after the node.
const MODE: u32 = 0o640;

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The ordinary course.
    Info,
    /// Worth a look.
    Warn,
    /// It failed.
    Error,
}

impl Level {
    const fn word(self) -> &'static str {
        match self {
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }

    /// The priority of syslog(3).
    const fn priority(self) -> u8 {
        match self {
            Level::Info => 6,
            Level::Warn => 4,
            Level::Error => 3,
        }
    }
}

/// Whose lines they are.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What runs: `imex-prolog`, `imex-epilog`.
    pub identifier: &'static str,
    /// The job, if it is known.
    pub job: Option<u32>,
    /// Which run of it, if that is known.
    pub run: Option<String>,
    /// The process.
    pub pid: u32,
}

/// A log of one run.
#[derive(Debug)]
pub struct JobLog {
    origin: Origin,
    zone: TimeZone,
    file: Option<File>,
    journal: Option<(UnixDatagram, PathBuf)>,
}

impl JobLog {
    /// Opens the log of a job in `folder`, of which the newest `keep` are kept, and the journal at `journal`. Where no job is
    /// known there is the journal alone.
    pub fn open(origin: Origin, folder: &Path, keep: usize, journal: &Path) -> Self {
        let file = origin.job.and_then(|job| open(job, folder, keep).ok());
        let journal = UnixDatagram::unbound().and_then(|socket| {
            // A journal that does not keep up must not hold back a job.
            socket.set_nonblocking(true)?;
            Ok((socket, journal.to_owned()))
        });
        JobLog { origin, zone: TimeZone::system(), file, journal: journal.ok() }
    }

    /// One line, at the time `now`. Line ends within the text become blanks.
    pub fn line(&mut self, now: Timestamp, level: Level, text: impl fmt::Display) {
        let text = text.to_string().replace('\n', " ");
        if let Some(file) = &mut self.file {
            let time = now.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f").to_string();
            // In one piece, so that a prolog and an epilog may write to the same file.
            let _ = file.write_all(line(&time, level, &self.origin, &text).as_bytes());
        }
        if let Some((socket, path)) = &self.journal {
            let _ = socket.send_to(entry(level, &self.origin, &text).as_bytes(), path);
        }
    }
}

fn open(job: u32, folder: &Path, keep: usize) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("job-{job}.log"));
    if !path.exists() {
        tidy(folder, "job-", ".log", keep.saturating_sub(1));
    }
    let flags = nix::fcntl::OFlag::O_NOFOLLOW.bits();
    File::options().create(true).append(true).mode(MODE).custom_flags(flags).open(&path)
}

fn line(time: &str, level: Level, origin: &Origin, text: &str) -> String {
    let job = origin.job.map_or_else(|| "-".to_owned(), |job| job.to_string());
    format!("{time} [{}] [PID:{}] [JOB:{job}] {text}\n", level.word(), origin.pid)
}

/// A record of the journal's native protocol: `FIELD=value` lines; no value here has a line end.
fn entry(level: Level, origin: &Origin, text: &str) -> String {
    let Origin { identifier, job, run, .. } = origin;
    let run = run.as_ref().map(|run| format!("IMEX_RUN={run}\n")).unwrap_or_default();
    let priority = level.priority();
    let job = job.map(|job| format!("IMEX_JOB={job}\n{run}SLURM_JOB_ID={job}\n")).unwrap_or_default();
    format!("MESSAGE={text}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER={identifier}\n{job}")
}

/// Removes the oldest files of a folder whose names begin and end so, until `keep` are left. What cannot be removed stays.
pub(crate) fn tidy(folder: &Path, begins: &str, ends: &str, keep: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let ours = entries.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(begins) && name.ends_with(ends))
    });
    let mut files: Vec<_> = ours
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.file_name(), entry.path())))
        .collect();
    files.sort();
    let many = files.len().saturating_sub(keep);
    for (_, _, path) in files.into_iter().take(many) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_form_of_the_published_prolog() {
        let told = line("2026-11-30T18:10:05.123", Level::Warn, &origin(), "it is so");
        assert_eq!(told, "2026-11-30T18:10:05.123 [WARN] [PID:4711] [JOB:7] it is so\n");
    }

    #[test]
    fn the_journal_gets_fields() {
        let told = entry(Level::Error, &origin(), "it is so");
        let expected = "MESSAGE=it is so\nPRIORITY=3\nSYSLOG_IDENTIFIER=imex-prolog\nIMEX_JOB=7\nIMEX_RUN=0\nSLURM_JOB_ID=7\n";
        assert_eq!(told, expected);
    }

    #[test]
    fn the_file_and_the_journal_get_each_line_and_old_files_go() {
        let dir = tempfile::tempdir().unwrap();
        for old in 1..=3 {
            fs::write(dir.path().join(format!("job-{old}.log")), "").unwrap();
        }
        let path = dir.path().join("journal");
        let journal = UnixDatagram::bind(&path).unwrap();
        let mut log = JobLog::open(origin(), dir.path(), 2, &path);
        log.line(Timestamp::UNIX_EPOCH, Level::Info, "one\ntwo");
        let written = fs::read_to_string(dir.path().join("job-7.log")).unwrap();
        assert!(written.ends_with(" [INFO] [PID:4711] [JOB:7] one two\n"), "{written}");
        let mut heard = [0; 512];
        let length = journal.recv(&mut heard).unwrap();
        assert!(heard[..length].starts_with(b"MESSAGE=one two\n"));
        let logs = fs::read_dir(dir.path()).unwrap().filter_map(Result::ok);
        let logs = logs.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "log"));
        assert_eq!(logs.count(), 2);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_no_failure() {
        let mut log = JobLog::open(origin(), Path::new("/dev/null/x"), 2, Path::new("/nowhere"));
        log.line(Timestamp::UNIX_EPOCH, Level::Info, "nobody hears it");
    }

    fn origin() -> Origin {
        Origin { identifier: "imex-prolog", job: Some(7), run: Some("0".to_owned()), pid: 4711 }
    }
}
