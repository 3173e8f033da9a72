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

/// The most that is taken of one file: of logs the end, of others the beginning.
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
    let encoder = GzEncoder::new(file, Compression::default());
    let mut bundle = Bundle {
        archive: tar::Builder::new(encoder),
        redactor: Redactor::new(),
        left: IN_ALL,
        omitted: Vec::new(),
        time: u64::try_from(facts.time.as_second()).unwrap_or(0),
        patience: look.ask,
    };
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
            Ok(text) => return self.add(&format!("files/{}", path.display()).replace("//", "/"), &text),
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
fn part(path: &Path, end: End) -> io::Result<String> {
    // A pipe would already hold up its opening.
    let meta = fs::metadata(path)?;
    let mut file = if meta.is_file() {
        fs::File::open(path)?
    } else {
        return Err(io::Error::other("it is no plain file"));
    };
    if end == End::Last {
        file.seek(SeekFrom::Start(meta.len().saturating_sub(OF_ONE)))?;
    }
    let mut bytes = Vec::new();
    file.take(OF_ONE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
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
