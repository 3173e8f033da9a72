//! A file that is begun anew when it has reached its size.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_core::Moment;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::FilePlan;
use super::sink::lost_line;

/// How often it is looked for the file under its name. Looking takes two calls of the system, a record one; what is moved is
/// looked at by people and programs that do not mind a second.
const LOOK: Duration = Duration::from_secs(1);

/// When a file is full, and what happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// The size in bytes that a file does not exceed, unless a single text is larger.
    pub(crate) max_bytes: u64,
    /// How many full files are kept beside the current one, as `NAME.1` (the newest) to `NAME.N`. With 0 nothing more
    /// is written once the file is full, as the original has it.
    pub(crate) keep: u32,
}

/// A file that is begun anew when it has reached its size, or when somebody has moved or removed it: that is noticed within a
/// second, whose records are in the file that was moved, or gone with the one that was removed. Writing to it never fails for
/// the caller: what cannot be written is counted, and the count is written as soon as writing works again.
#[derive(Debug)]
pub(crate) struct RotatingFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    /// How much is in it, if it is a file that can be full. A device or pipe begun anew would no longer be one: `/dev/null`
    /// would become a file for the whole machine.
    written: Option<u64>,
    lost: u64,
    /// When it is looked for next.
    next_look: Moment,
}

impl RotatingFile {
    /// Opens or creates the file.
    pub(crate) fn open(plan: &FilePlan) -> io::Result<Self> {
        let file = open(&plan.path)?;
        if !plan.append {
            file.set_len(0)?;
        }
        let written = size(&file, &plan.path);
        let (path, rotation) = (plan.path.clone(), plan.rotation);
        Ok(RotatingFile { path, rotation, file, written, lost: 0, next_look: Moment::ZERO })
    }

    /// Writes one text.
    pub(crate) fn write(&mut self, text: &[u8], now: Moment) {
        if self.try_write(text, now).is_err() {
            self.lost += 1;
            // Whoever makes room may do so by moving it.
            self.next_look = now;
        }
    }

    /// Notes that so many texts were lost.
    pub(crate) fn miss(&mut self, count: u64, now: Moment) {
        self.lost += count;
        // What is still not told stays counted.
        let _ = self.try_write(&[], now);
    }

    fn try_write(&mut self, text: &[u8], now: Moment) -> io::Result<()> {
        let size = text.len() as u64;
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.find_again();
        }
        let is_full = |written: u64| written > 0 && written.saturating_add(size) > self.rotation.max_bytes;
        if self.written.is_some_and(is_full) {
            if self.rotation.keep == 0 {
                return Ok(());
            }
            self.begin_anew()?;
        }
        if self.lost > 0 {
            self.append(lost_line(self.lost).as_bytes())?;
            self.lost = 0;
        }
        self.append(text)
    }

    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        self.written = self.written.map(|written| written + text.len() as u64);
        Ok(())
    }

    /// Where logrotate or a person has moved the file, records belong into the one that has its name now. As long as none can
    /// be opened there the old one takes them.
    fn find_again(&mut self) {
        let inode = |found: fs::Metadata| (found.dev(), found.ino());
        let (open_one, named) = (self.file.metadata().map(inode), fs::metadata(&self.path).map(inode));
        if named.ok() == open_one.ok() {
            return;
        }
        if let Ok(file) = open(&self.path) {
            self.written = size(&file, &self.path);
            self.file = file;
        }
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        for number in (1..self.rotation.keep).rev() {
            // A gap in the row of files is no reason to stop.
            let _ = fs::rename(numbered(&self.path, number), numbered(&self.path, number + 1));
        }
        match fs::rename(&self.path, numbered(&self.path, 1)) {
            // Somebody else has moved or removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
        self.file = open(&self.path)?;
        self.written = size(&self.file, &self.path);
        Ok(())
    }
}

/// How much is in a plain file. Nothing that counts is in a device or pipe, nor in what one of the system's links leads to
/// (`/dev/stdout`): moved, the link would be gone for all programs.
fn size(file: &File, path: &Path) -> Option<u64> {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if path.starts_with("/dev") && is_link() {
        return None;
    }
    file.metadata().ok().filter(fs::Metadata::is_file).map(|found| found.len())
}

/// Opens for appending. A pipe that nobody reads is refused, where a plain `open` would wait for a reader for ever.
fn open(path: &Path) -> io::Result<File> {
    let options = OFlag::O_NONBLOCK.bits();
    let file = File::options().create(true).append(true).custom_flags(options).open(path)?;
    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_APPEND))?;
    Ok(file)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_move_up_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = rotating(dir.path(), 2);
        for text in ["1111\n", "2222\n", "3333\n", "4444\n"] {
            file.write(text.as_bytes(), Moment::ZERO);
        }
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
        assert_eq!(read("log").as_deref(), Some("4444\n"));
        assert_eq!(read("log.1").as_deref(), Some("3333\n"));
        assert_eq!(read("log.2").as_deref(), Some("2222\n"));
        assert_eq!(read("log.3"), None);
    }

    #[test]
    fn without_rotation_writing_stops_at_the_size() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = rotating(dir.path(), 0);
        (0..10).for_each(|_| file.write(b"1234\n", Moment::ZERO));
        assert_eq!(fs::read_to_string(dir.path().join("log")).unwrap(), "1234\n");
    }

    #[test]
    fn what_is_no_plain_file_is_never_full() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let mut file = rotating(dir.path(), 1);
        (0..10).for_each(|_| file.write(b"1234567890\n", Moment::ZERO));
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("/dev/null"));
        assert!(!dir.path().join("log.1").exists());
        let stdout = Path::new("/dev/stdout");
        assert_eq!(size(&File::open(dir.path()).unwrap(), dir.path()), None);
        assert_eq!(size(&tempfile::tempfile().unwrap(), stdout), None);
    }

    #[test]
    fn a_file_that_was_moved_or_removed_is_begun_anew_within_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("log"), dir.path().join("log-20261130"));
        let mut file = rotating(dir.path(), 1);
        let at = |ms| Moment::after(Duration::from_millis(ms));
        file.rotation.max_bytes = 1000;
        file.write(b"1\n", at(5_000));
        fs::rename(&path, &moved).unwrap();
        file.write(b"2\n", at(5_999));
        assert_eq!(fs::read_to_string(&moved).unwrap(), "1\n2\n", "it is not looked for with every record");
        file.write(b"3\n", at(6_000));
        fs::remove_file(&path).unwrap();
        file.write(b"lost with the file\n", at(6_999));
        file.write(b"4\n", at(7_000));
        assert_eq!(fs::read_to_string(&path).unwrap(), "4\n");
        assert_eq!(fs::read_to_string(&moved).unwrap(), "1\n2\n");
    }

    #[test]
    fn where_no_file_can_be_begun_the_old_one_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("log"), dir.path().join("moved"));
        let mut file = rotating(dir.path(), 1);
        fs::rename(&path, &moved).unwrap();
        fs::create_dir(&path).unwrap();
        file.write(b"kept\n", Moment::ZERO);
        assert_eq!(fs::read_to_string(&moved).unwrap(), "kept\n");
    }

    #[test]
    fn what_stands_in_the_file_stays_or_goes_as_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "old\n").unwrap();
        let mut plan = plan(dir.path(), 1);
        RotatingFile::open(&plan).unwrap().write(b"new\n", Moment::ZERO);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\n");
        plan.append = false;
        RotatingFile::open(&plan).unwrap().write(b"newer\n", Moment::ZERO);
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer\n");
    }

    #[test]
    fn what_could_not_be_written_is_counted_when_it_works_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut file = rotating(dir.path(), 1);
        file.rotation.max_bytes = 1000;
        file.write(b"lost\n", Moment::ZERO);
        file.write(b"lost too\n", Moment::ZERO);
        fs::remove_file(&path).unwrap();
        file.write(b"back\n", Moment::ZERO);
        assert_eq!(fs::read_to_string(&path).unwrap(), "(2 records could not be written here)\nback\n");
    }

    fn plan(dir: &Path, keep: u32) -> FilePlan {
        let rotation = Rotation { max_bytes: 9, keep };
        FilePlan { path: dir.join("log"), append: true, rotation }
    }

    fn rotating(dir: &Path, keep: u32) -> RotatingFile {
        RotatingFile::open(&plan(dir, keep)).unwrap()
    }
}
