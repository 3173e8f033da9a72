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
    // Even without secrets it is not everybody's business.
    let file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
    let encoder = GzEncoder::new(file.map_err(failed)?, Compression::default());
    let mut bundle = Bundle {
        archive: tar::Builder::new(encoder),
        redactor: Redactor::new(),
        left: IN_ALL,
        omitted: Vec::new(),
        time: u64::try_from(facts.time.as_second()).unwrap_or(0),
        patience: look.ask,
    };
    bundle.fill(facts, examined, look).and_then(|()| bundle.finish()).map_err(failed)
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
        let mut text = Vec::new();
        output::json(body, &mut text)?;
        self.add(name, &String::from_utf8_lossy(&text))
    }

    /// The newest files of a folder, by name.
    fn newest(&mut self, folder: &Path, end: End) -> io::Result<()> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        files.iter().rev().take(NEWEST).try_for_each(|file| self.take(file, end))
    }

    /// Takes a file in, under its path; one that cannot be read is noted.
    fn take(&mut self, path: &Path, end: End) -> io::Result<()> {
        let file = path.to_owned();
        let read = match within(self.patience, "the file", move || part(&file, end)) {
            Told::Known(read) => read,
            Told::Unknown(why) => Err(io::Error::other(why)),
        };
        match read {
            Ok(text) => self.add(&format!("files/{}", path.display()).replace("//", "/"), &text),
            Err(error) => {
                self.omitted.push(format!("{}: {error}", path.display()));
                Ok(())
            }
        }
    }

    fn add(&mut self, name: &str, text: &str) -> io::Result<()> {
        let text = self.redactor.redact(text);
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
