//! `imex doctor --bundle`: what somebody else needs to understand a node, in one file, without secrets.
//!
//! Only named files are taken, each up to a bound and through [`Redactor`]; keys, keytabs and certificates are none of them.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::args::LookArgs;
use super::facts::{Facts, Told};
use super::gather::within;
use super::redact::Redactor;
use super::report::{Examined, Shown};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// The most that is taken of one file, in bytes: of logs the end, of others the beginning.
const OF_ONE: u64 = 256 * 1024;

/// The most that is taken in all. With compression a bundle fits into a mail.
const IN_ALL: usize = 8 * 1024 * 1024;

/// How many of the newest records and logs of jobs are taken of each.
const NEWEST: usize = 10;

/// How many names of a new file are tried: others may have been left by runs that were killed.
const NAMES_TRIED: u32 = 100;

/// Which end of a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl End {
    const fn word(self) -> &'static str {
        match self {
            End::First => "first",
            End::Last => "last",
        }
    }
}

/// What was taken of a file.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    text: String,
    /// How many bytes the whole file has, if this is not all of it.
    of: Option<u64>,
}

/// Writes the bundle.
///
/// # Errors
///
/// If the file cannot be written. What cannot be read is noted in it.
pub(super) fn write(path: &Path, facts: &Facts, examined: &Examined, look: &LookArgs) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::because(Exit::Failed, format!("`{}` cannot be written: {error}", path.display()))
    };
    let (beside, file) = fresh(path).map_err(failed)?;
    let written = archive(file, facts, examined, look).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // What is half written helps nobody; if it cannot be removed, the error below says enough.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
}

/// A new file beside the one that is wanted, to be renamed to it: what lay there before, whoever may read it, is not
/// written into, and no link is followed.
fn fresh(path: &Path) -> io::Result<(PathBuf, fs::File)> {
    if fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(io::Error::other("something lies there that is no plain file"));
    }
    let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?.to_string_lossy();
    let pid = std::process::id();
    let names = (0..NAMES_TRIED).map(|number| path.with_file_name(format!(".{name}.{pid}-{number}")));
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for beside in names {
        // Even without secrets it is not everybody's business.
        match fs::File::options().write(true).create_new(true).mode(0o600).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

fn archive(file: fs::File, facts: &Facts, examined: &Examined, look: &LookArgs) -> io::Result<()> {
    let mut bundle = Bundle::new(file, u64::try_from(facts.time.as_second()).unwrap_or(0), look.ask);
    bundle.fill(facts, examined, look)?;
    bundle.finish()
}

struct Bundle<W: Write> {
    archive: tar::Builder<W>,
    redactor: Redactor,
    left: usize,
    omitted: Vec<String>,
    time: u64,
    /// How long one file may take: it may lie on a server that is dead.
    patience: Duration,
}

impl Bundle<GzEncoder<fs::File>> {
    fn new(file: fs::File, time: u64, patience: Duration) -> Self {
        Bundle {
            archive: tar::Builder::new(GzEncoder::new(file, Compression::default())),
            redactor: Redactor::new(),
            left: IN_ALL,
            omitted: Vec::new(),
            time,
            patience,
        }
    }

    fn finish(mut self) -> io::Result<()> {
        let omitted = self.omitted.join("\n");
        self.left = self.left.max(omitted.len());
        self.add("omitted.txt", &omitted)?;
        self.archive.into_inner()?.finish()?.sync_all()
    }
}

impl<W: Write> Bundle<W> {
    fn fill(&mut self, facts: &Facts, examined: &Examined, look: &LookArgs) -> io::Result<()> {
        let mut text = Vec::new();
        examined.write(Shown::All, &mut text)?;
        self.add("findings.txt", &String::from_utf8_lossy(&text))?;
        self.document("findings.json", examined)?;
        self.document("facts.json", facts)?;
        let operator = &facts.operator;
        for file in
            [&look.config, &facts.config.path, &facts.config.map, &operator.peers.map, &look.slurm_conf]
        {
            self.take(file, End::First)?;
        }
        for beside in ["topology.yaml", "topology.conf", "cgroup.conf"] {
            self.take(&look.slurm_conf.with_file_name(beside), End::First)?;
        }
        for file in [
            "proc/devices",
            "proc/driver/nvidia/version",
            "proc/driver/nvidia/params",
            "proc/net/tcp",
            "etc/hosts",
        ] {
            self.take(&look.root.join(file), End::First)?;
        }
        self.take(&operator.files.state.join("domain.json"), End::First)?;
        self.newest(&operator.files.state.join("records"), End::First)?;
        self.newest(&operator.files.logs, End::Last)?;
        let service = imex_config::read_service(&facts.config.path).ok();
        for key in ["LOG_FILE_NAME", "STATS_FILE_NAME"] {
            if let Some(named) = service.as_ref().and_then(|file| file.get(key)) {
                self.take(Path::new(named.value), End::Last)?;
            }
        }
        Ok(())
    }

    fn document(&mut self, name: &str, body: &impl Serialize) -> io::Result<()> {
        let value = serde_json::to_value(body)?;
        let text = self.without_secrets(value)?;
        self.put(name, &text)
    }

    /// A document as text, redacted string by string.
    fn without_secrets(&self, mut value: serde_json::Value) -> io::Result<String> {
        self.redactor.redact_json(&mut value);
        let mut text = Vec::new();
        output::json(&value, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The files of a folder that were changed last.
    fn newest(&mut self, folder: &Path, end: End) -> io::Result<()> {
        let path = folder.to_owned();
        match within(self.patience, "the folder", move || newest(&path)) {
            Told::Known(Ok(files)) => return files.iter().try_for_each(|file| self.take(file, end)),
            Told::Known(Err(error)) => self.omit(folder, &error),
            Told::Unknown(why) => self.omit(folder, &why),
        }
        Ok(())
    }

    fn omit(&mut self, path: &Path, why: &dyn std::fmt::Display) {
        self.omitted.push(format!("{}: {why}", path.display()));
    }

    /// Takes a file in, under its path; one that cannot be read is noted.
    fn take(&mut self, path: &Path, end: End) -> io::Result<()> {
        let file = path.to_owned();
        let read = match within(self.patience, "the file", move || part(&file, end)) {
            Told::Known(read) => read,
            Told::Unknown(why) => Err(io::Error::other(why)),
        };
        match read {
            Ok(Part { text, of }) => {
                if let Some(whole) = of {
                    self.omit(path, &format!("only the {} {} of {whole} bytes", end.word(), text.len()));
                }
                return self.add(&format!("files/{}", path.display()).replace("//", "/"), &text);
            }
            Err(error) => self.omit(path, &error),
        }
        Ok(())
    }

    /// Adds a text without its secrets.
    fn add(&mut self, name: &str, text: &str) -> io::Result<()> {
        let text = match serde_json::from_str(text) {
            Ok(value @ (serde_json::Value::Object(_) | serde_json::Value::Array(_))) => {
                self.without_secrets(value)?
            }
            Ok(_) | Err(_) => self.redactor.redact(text),
        };
        self.put(name, &text)
    }

    fn put(&mut self, name: &str, text: &str) -> io::Result<()> {
        // A name of the configuration may lead upwards; in an archive nothing may.
        let name = name.replace("/../", "/__/");
        if text.len() > self.left {
            self.omitted.push(format!("{name}: the bundle is full"));
            return Ok(());
        }
        self.left -= text.len();
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(text.len()).unwrap_or(u64::MAX));
        header.set_mode(0o600);
        header.set_mtime(self.time);
        header.set_cksum();
        self.archive.append_data(&mut header, Path::new("imex-doctor").join(name), text.as_bytes())
    }
}

/// The plain files of a folder that were changed last, the newest first. Links are not followed.
fn newest(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.flatten().filter_map(|entry| {
        let meta = entry.metadata().ok()?;
        meta.is_file().then_some((meta.modified().ok()?, entry.path()))
    });
    let mut files: Vec<_> = entries.collect();
    files.sort();
    Ok(files.into_iter().rev().take(NEWEST).map(|(_, path)| path).collect())
}

/// The first or last part of a file. Only plain files are read: a pipe or a device would never end.
fn part(path: &Path, end: End) -> io::Result<Part> {
    // A pipe would already hold up its opening.
    let meta = fs::metadata(path)?;
    let mut file = if meta.is_file() {
        fs::File::open(path)?
    } else {
        return Err(io::Error::other("it is no plain file"));
    };
    let cut = meta.len() > OF_ONE;
    if cut && end == End::Last {
        file.seek(SeekFrom::Start(meta.len() - OF_ONE))?;
    }
    let mut bytes = Vec::new();
    file.take(OF_ONE).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let of = cut.then_some(meta.len());
    match (cut, end) {
        (true, End::Last) => Ok(Part { text: after_the_cut(&text).to_owned(), of }),
        (true, End::First) | (false, _) => Ok(Part { text, of }),
    }
}

/// What can be judged by itself of a text whose beginning is cut off: a line without its beginning may be a secret without its
/// name, and so may what ends a key.
fn after_the_cut(text: &str) -> &str {
    let whole_lines = text.split_once('\n').map_or("", |(_, rest)| rest);
    let (begin, end) = (whole_lines.find("-----BEGIN "), whole_lines.find("-----END "));
    match end {
        Some(end) if begin.is_none_or(|begin| end < begin) => {
            whole_lines[end..].split_once('\n').map_or("", |(_, rest)| rest)
        }
        Some(_) | None => whole_lines,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_lies_in_a_bundle_s_place_is_neither_written_into_nor_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (open, link) = (dir.path().join("open"), dir.path().join("link"));
        fs::write(&open, "old").unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
        let (beside, file) = fresh(&open).unwrap();
        assert_ne!(beside, open);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        symlink(&open, &link).unwrap();
        assert!(fresh(&link).is_err());
        assert_eq!(fs::read_to_string(&open).unwrap(), "old");
        // A name that somebody has taken beforehand is passed over, link or not.
        let taken = dir.path().join(format!(".new.{}-0", std::process::id()));
        symlink(&open, taken).unwrap();
        assert!(fresh(&dir.path().join("new")).unwrap().0.to_string_lossy().ends_with("-1"));
    }

    #[test]
    fn of_a_long_log_the_end_is_taken_without_the_secret_at_its_cut_and_the_bundle_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("long.log");
        // The cut falls into the value, whose name is before it.
        let (secret, after) = ("hunter2".repeat(10), "it began\npassword=hunter2\nit ended\n");
        let filler = "a line of a log\n".repeat(usize::try_from(OF_ONE).unwrap() / 16);
        let rest = &filler[..filler.len() - after.len() - 17];
        let begin = "before\n".repeat(IN_ALL / 7 + 1);
        fs::write(&log, format!("{begin}password={secret}\n{rest}{after}")).unwrap();
        let written = fs::metadata(&log).unwrap().len();
        assert!(written > u64::try_from(IN_ALL).unwrap());
        let read = bundled(dir.path(), |bundle| bundle.take(&log, End::Last));
        let text = &read[&format!("files{}", log.display())];
        assert!(text.ends_with("it began\npassword=[redacted]\nit ended\n"), "{text:.200}");
        assert!(text.starts_with("a line of a log\n") && !text.contains("hunter2"), "{text:.200}");
        assert!(read["omitted.txt"].contains("long.log: only the last 26"), "{}", read["omitted.txt"]);
        assert!(read["omitted.txt"].ends_with(&format!(" of {written} bytes")), "{}", read["omitted.txt"]);
    }

    #[test]
    fn a_text_without_its_beginning_is_judged_from_its_first_whole_line_on() {
        for (text, left) in [
            ("cret\nnext\n", "next\n"),
            ("one line without an end", ""),
            ("AB\nCD==\n-----END PRIVATE KEY-----\nnext\n", "next\n"),
            ("AB\n-----END KEY-----\n-----BEGIN KEY-----\nAB\n", "-----BEGIN KEY-----\nAB\n"),
            ("x\n-----BEGIN KEY-----\n-----END KEY-----\n", "-----BEGIN KEY-----\n-----END KEY-----\n"),
            ("x\n-----END KEY-----", ""),
        ] {
            assert_eq!(after_the_cut(text), left, "{text:?}");
        }
    }

    #[test]
    fn a_bundle_that_is_full_names_what_it_leaves_out() {
        let dir = tempfile::tempdir().unwrap();
        let text = "a line of a log\n".repeat(usize::try_from(OF_ONE).unwrap() / 16);
        let logs: Vec<_> = (0..40).map(|number| format!("files/{number:02}.log")).collect();
        let read = bundled(dir.path(), |bundle| logs.iter().try_for_each(|log| bundle.put(log, &text)));
        let (taken, fit) = (read.len() - 1, IN_ALL / text.len());
        assert_eq!((taken, read["omitted.txt"].lines().count()), (fit, logs.len() - fit));
        for (log, line) in logs[fit..].iter().zip(read["omitted.txt"].lines()) {
            assert_eq!(line, format!("{log}: the bundle is full"));
        }
    }

    /// What a bundle holds that was filled so, by name.
    fn bundled(
        dir: &Path,
        fill: impl Fn(&mut Bundle<GzEncoder<fs::File>>) -> io::Result<()>,
    ) -> BTreeMap<String, String> {
        let path = dir.join("bundle.tar.gz");
        let mut bundle = Bundle::new(fs::File::create(&path).unwrap(), 0, Duration::from_secs(60));
        fill(&mut bundle).unwrap();
        bundle.finish().unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()));
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().strip_prefix("imex-doctor").unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (name, text)
        });
        entries.collect()
    }

    #[test]
    fn the_logs_taken_are_those_changed_last_whatever_their_names() {
        let dir = tempfile::tempdir().unwrap();
        for job in 990_u64..1005 {
            let file = fs::File::create(dir.path().join(format!("job-{job}.log"))).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(job)).unwrap();
        }
        symlink("job-990.log", dir.path().join("job-9999.log")).unwrap();
        let names: Vec<_> = (995..1005).rev().map(|job| dir.path().join(format!("job-{job}.log"))).collect();
        assert_eq!(newest(dir.path()).unwrap(), names);
    }
}
