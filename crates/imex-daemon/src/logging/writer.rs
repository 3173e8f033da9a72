//! The thread that writes: the only one that may wait for a disk, a pipe or the journal.
//!
//! Everybody else leaves what is to be written in a bounded queue and goes on. When whoever is written to does not take
//! anything, the queue fills, and what comes then is counted instead; the count is written where the gap is.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::sink::Sink;
use super::verbose::Flush;
use crate::clock::Clock;

/// The most bytes that wait: about 2,000 records, more than a rack writes when it forms, and little beside the 10 MiB
/// that a daemon may take.
const MAX_BYTES: usize = 256 * 1024;

/// The thread's stack: it formats one line and calls the system. Only what is touched takes memory.
const STACK: usize = 256 * 1024;

/// Where something is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where the records go.
    Log,
    /// The statistics' own file.
    Stats,
    /// Standard error.
    Stderr,
}

/// How many places there are.
const PLACES: usize = 3;

/// The way to the thread that writes.
#[derive(Clone, Debug)]
pub(super) struct Writer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something to do.
    work: Condvar,
    /// There is nothing to do any more.
    rest: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    bytes: usize,
    lost: [u64; PLACES],
    writing: bool,
    flushing: bool,
}

#[derive(Debug)]
enum Job {
    Open(Place, Box<Sink>),
    Write(Place, Vec<u8>),
    /// So many texts for a place did not fit here.
    Lost(Place, u64),
    Flush(Flush),
}

impl Writer {
    /// Starts the thread with the log's sink.
    pub(super) fn start(log: Sink, clock: Clock) -> io::Result<Self> {
        let writer = Writer(Arc::default());
        let thread = std::thread::Builder::new().name("log".to_owned()).stack_size(STACK);
        let shared = Arc::clone(&writer.0);
        thread.spawn(move || shared.write_for_ever(log, clock))?;
        Ok(writer)
    }

    /// Gives the thread the sink of a place, in place of the one that it had.
    pub(super) fn open(&self, place: Place, sink: Sink) {
        self.0.add(Job::Open(place, Box::new(sink)));
    }

    /// Has a text written after all that is waiting; counts it if there is no room. Never waits.
    pub(super) fn write(&self, place: Place, text: Vec<u8>) {
        let mut state = self.0.lock();
        if state.bytes + text.len() > MAX_BYTES {
            state.lost[place as usize] += 1;
            return;
        }
        let lost = state.take_lost(place);
        state.jobs.extend(lost);
        state.bytes += text.len();
        state.jobs.push_back(Job::Write(place, text));
        drop(state);
        self.0.work.notify_one();
    }

    /// Has a verbose buffer written; gives it back if another one is still being written.
    pub(super) fn flush(&self, flush: Flush) -> Result<(), Flush> {
        let mut state = self.0.lock();
        if state.flushing {
            return Err(flush);
        }
        state.flushing = true;
        drop(state);
        self.0.add(Job::Flush(flush));
        Ok(())
    }

    /// Waits until all is written, but no longer than `limit`.
    pub(super) fn finish(&self, limit: Duration) {
        let state = self.0.lock();
        // Poisoned or late: either way the process ends.
        let _ = self.0.rest.wait_timeout_while(state, limit, |state| state.is_at_work());
    }
}

impl State {
    fn is_at_work(&self) -> bool {
        self.writing || !self.jobs.is_empty()
    }

    fn take_lost(&mut self, place: Place) -> Option<Job> {
        let lost = std::mem::take(&mut self.lost[place as usize]);
        (lost > 0).then_some(Job::Lost(place, lost))
    }

    /// The next job; losses at the end of the queue come when all before them is written.
    fn next(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front().or_else(|| {
            [Place::Log, Place::Stats, Place::Stderr].into_iter().find_map(|place| self.take_lost(place))
        });
        if let Some(Job::Write(_, text)) = &job {
            self.bytes -= text.len();
        }
        self.writing = job.is_some();
        job
    }
}

impl Shared {
    /// A panic while the lock was held leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.work.notify_one();
    }

    fn write_for_ever(&self, log: Sink, clock: Clock) {
        let mut sinks: [Option<Sink>; PLACES] = [Some(log), None, Some(Sink::Stderr)];
        loop {
            match self.wait() {
                Job::Open(place, sink) => sinks[place as usize] = Some(*sink),
                Job::Write(place, text) => {
                    if let Some(sink) = &mut sinks[place as usize] {
                        sink.write(&text, clock.now());
                    }
                }
                Job::Lost(place, count) => {
                    if let Some(sink) = &mut sinks[place as usize] {
                        sink.miss(count, clock.now());
                    }
                }
                Job::Flush(flush) => {
                    flush.perform();
                    self.lock().flushing = false;
                }
            }
        }
    }

    fn wait(&self) -> Job {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.next() {
                return job;
            }
            self.rest.notify_all();
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{BufRead, BufReader};
    use std::path::{Path, PathBuf};
    use std::sync::mpsc;
    use std::thread;

    use nix::fcntl::{FcntlArg, fcntl};
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::super::file::{RotatingFile, Rotation};
    use super::super::{FilePlan, verbose::VerboseBuffer};
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn texts_arrive_in_order_and_finish_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let writer = Writer::start(file(&path), Clock::start()).unwrap();
        (0..500).for_each(|n| writer.write(Place::Log, format!("{n}\n").into_bytes()));
        writer.finish(PATIENCE);
        let expected: String = (0..500).map(|n| format!("{n}\n")).collect();
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn nobody_waits_for_a_sink_that_takes_nothing_and_each_gap_is_told_when_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, far_end) = pipe(dir.path());
        let holds = usize::try_from(fcntl(&far_end, FcntlArg::F_GETPIPE_SZ).unwrap()).unwrap();
        let writer = Writer::start(file(&pipe), Clock::start()).unwrap();
        let line = [b'x'; 1023].iter().chain(b"\n").copied().collect::<Vec<u8>>();
        let count = 2 * (holds + MAX_BYTES) / line.len();
        // Would wait for ever if it waited for all to be written.
        (0..count).for_each(|_| writer.write(Place::Log, line.clone()));
        writer.finish(Duration::from_millis(10));
        assert!(writer.0.lock().bytes <= MAX_BYTES);
        let (done, wait) = mpsc::channel();
        thread::spawn(move || done.send(written_and_lost(far_end, count)));
        let (written, lost) = wait.recv_timeout(PATIENCE).unwrap();
        assert_eq!(written + lost, count);
        assert!(
            written <= (holds + MAX_BYTES) / line.len() + 1,
            "{written} of {count} written while nobody read"
        );
    }

    #[test]
    fn a_verbose_buffer_that_cannot_be_written_comes_back_with_what_came_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let writer = Writer::start(file(&dir.path().join("log")), Clock::start()).unwrap();
        let home = Arc::new(Mutex::new(VerboseBuffer::default()));
        home.lock().unwrap().push("one\n".to_owned());
        let flush = Flush::take(&home, dir.path());
        home.lock().unwrap().push("two\n".to_owned());
        writer.flush(flush).unwrap();
        writer.finish(PATIENCE);
        let path = dir.path().join("verbose");
        assert_eq!(home.lock().unwrap().flush_to(&path).unwrap(), 2);
        assert_eq!(fs::read_to_string(path).unwrap(), "one\ntwo\n");
    }

    fn file(path: &Path) -> Sink {
        let rotation = Rotation { max_bytes: u64::MAX, keep: 1 };
        let plan = FilePlan { path: path.to_owned(), append: true, rotation };
        Sink::File(RotatingFile::open(&plan).unwrap())
    }

    /// How many of `count` records arrived, and how many were told as lost: in one gap or in several, as the thread has its
    /// turns and makes room.
    fn written_and_lost(far_end: File, count: usize) -> (usize, usize) {
        let (mut written, mut lost) = (0, 0);
        let mut lines = BufReader::new(far_end).lines();
        while written + lost < count {
            let text = lines.next().unwrap().unwrap();
            match text
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(" records could not be written here)"))
            {
                Some(gap) => lost += gap.parse::<usize>().unwrap(),
                None => written += 1,
            }
        }
        (written, lost)
    }

    /// A named pipe with a far end that reads only when told.
    fn pipe(dir: &Path) -> (PathBuf, File) {
        let path = dir.join("pipe");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        // Opened for both, so that neither end waits for the other.
        let far_end = File::options().read(true).write(true).open(&path).unwrap();
        (path, far_end)
    }
}
