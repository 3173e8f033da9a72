//! Changing the topology file and having the controller hold it, or nothing at all.
//!
//! Before each step the journal says where the change is, and both texts are in it. A run that is killed leaves the old
//! file or the new one, never a part; the next run, or `watch` at its next poll, goes on from the journal:
//!
//! | journal | file is | next run |
//! |---|---|---|
//! | forward | old | nothing was written: the journal goes |
//! | forward | new | reloads and looks; if the controller does not hold it, back |
//! | back | new | writes the old file, reloads and looks |
//! | back | old | reloads and looks |
//! | either | neither | somebody else wrote it since: it stays, the journal goes |

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use imex_config::chain;
use serde::Serialize;

use super::controller::Controller;
use super::files;
use super::journal::{Entry, Journal, Phase, beside};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fault;

/// A topology file that no other run changes meanwhile.
#[derive(Debug)]
pub(crate) struct Target {
    file: PathBuf,
    journal: Journal,
    _lock: File,
}

/// What a change came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The controller holds the new topology.
    Held,
    /// It did not, for this reason; it holds the old one again.
    RolledBack {
        /// Why.
        why: String,
    },
    /// It did not, nor did it confirm the old one, whose file is back.
    RollbackUnconfirmed {
        /// Why the change failed.
        why: String,
        /// Why the way back is not confirmed.
        then: String,
    },
}

/// What became of a change that an earlier run left unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "recovered", rename_all = "snake_case")]
pub(crate) enum Recovered {
    /// It had written nothing.
    NothingWritten,
    /// The controller holds what it had written.
    Finished,
    /// The file before is back.
    Undone,
    /// The file was changed by somebody else since, and stays.
    ChangedSince,
}

impl Target {
    /// Takes the file for this run. A symbolic link is followed.
    pub(crate) fn take(path: &Path) -> Result<Self, Failure> {
        let file = match path.canonicalize() {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(cannot(path, &error)),
        };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let what = format!("the folder {} is not there", folder.display());
            return Err(
                Failure::because(Exit::Failed, what).hint("--to names the file that the controller reads")
            );
        }
        let path = beside(&file, "lock");
        let lock = File::options().write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(|error| cannot(&path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Target { journal: Journal::of(&file), file, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let what = format!("another process changes {}", file.display());
                Err(Failure::because(Exit::TopologyBusy, what).hint("try again when it has ended"))
            }
            Err(TryLockError::Error(error)) => Err(cannot(&path, &error)),
        }
    }

    /// The file's text; `None` if there is none.
    pub(crate) fn text(&self) -> Result<Option<String>, Failure> {
        read(&self.file)
    }

    /// Where the text before is kept.
    pub(crate) fn backup(&self) -> PathBuf {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        self.file.with_file_name(format!("{name}.bak"))
    }

    /// Finishes or undoes what an earlier run left, if it left anything.
    pub(crate) async fn recover(&self, controller: &Controller) -> Result<Option<Recovered>, Failure> {
        let Some(Entry { phase, old, new, .. }) = self.journal.read()? else { return Ok(None) };
        self.remove_parts()?;
        let text = self.text()?;
        let recovered = if text == old && phase == Phase::Forward {
            self.journal.clear()?;
            Recovered::NothingWritten
        } else if text.as_ref() == Some(&new) && phase == Phase::Forward {
            match self.load(controller, &new).await {
                Ok(()) => {
                    self.journal.clear()?;
                    Recovered::Finished
                }
                Err(_) => self.undo(controller, old.as_deref(), &new).await?,
            }
        } else if text == old || text.as_ref() == Some(&new) {
            self.undo(controller, old.as_deref(), &new).await?
        } else {
            self.journal.clear()?;
            Recovered::ChangedSince
        };
        Ok(Some(recovered))
    }

    /// Writes the new text and has the controller hold it; else brings the old one back.
    pub(crate) async fn put(&self, controller: &Controller, new: &str) -> Result<Outcome, Failure> {
        let old = self.text()?;
        self.journal.write(Phase::Forward, old.as_deref(), new)?;
        fault::point("journal");
        if let Some(old) = &old {
            write(&self.backup(), old)?;
        }
        fault::point("backup");
        write(&self.file, new)?;
        fault::point("written");
        let Err(why) = self.load(controller, new).await else {
            fault::point("held");
            self.journal.clear()?;
            return Ok(Outcome::Held);
        };
        match self.back(controller, old.as_deref(), new).await? {
            Ok(()) => Ok(Outcome::RolledBack { why }),
            Err(then) => Ok(Outcome::RollbackUnconfirmed { why, then }),
        }
    }

    async fn undo(
        &self,
        controller: &Controller,
        old: Option<&str>,
        new: &str,
    ) -> Result<Recovered, Failure> {
        let confirmed = self.back(controller, old, new).await?;
        confirmed.map(|()| Recovered::Undone).map_err(|why| {
            Failure::because(Exit::RollbackUnconfirmed, format!("the file before is back, but {why}"))
                .hint("start slurmctld; the next run looks again")
        })
    }

    /// Brings the old text back. The inner error says why the controller did not confirm it; the journal stays then.
    async fn back(
        &self,
        controller: &Controller,
        old: Option<&str>,
        new: &str,
    ) -> Result<Result<(), String>, Failure> {
        self.journal.write(Phase::Back, old, new)?;
        fault::point("back-journal");
        match old {
            Some(old) => write(&self.file, old)?,
            None => match fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot(&self.file, &error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        fault::point("back-written");
        let loaded = match old {
            Some(old) => self.load(controller, old).await,
            None => controller.reload().await.map_err(|error| chain(&error)),
        };
        if loaded.is_ok() {
            fault::point("back-held");
            self.journal.clear()?;
        }
        Ok(loaded)
    }

    async fn load(&self, controller: &Controller, text: &str) -> Result<(), String> {
        match files::parse(&self.file, text) {
            Ok(topologies) => controller.load(&topologies).await.map_err(|error| chain(&error)),
            // Whoever wrote it before: the controller takes it or not, there is nothing to compare.
            Err(_) => controller.reload().await.map_err(|error| chain(&error)),
        }
    }

    /// Removes files that a run which was killed in the middle of a write left: `.NAME.PID-N`.
    fn remove_parts(&self) -> Result<(), Failure> {
        let Some(folder) = self.file.parent() else { return Ok(()) };
        let prefix = format!(".{}.", self.file.file_name().unwrap_or_default().to_string_lossy());
        let entries = fs::read_dir(folder).map_err(|error| cannot(folder, &error))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix(&prefix).and_then(|rest| rest.split_once('-'));
            let is_part = number.is_some_and(|(pid, attempt)| {
                [pid, attempt].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            });
            if is_part {
                fs::remove_file(entry.path()).map_err(|error| cannot(&entry.path(), &error))?;
            }
        }
        Ok(())
    }
}

/// The text of a topology file; `None` if there is none.
pub(crate) fn read(file: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(Exit::SourceUnreadable, &error).about(&file.display().to_string())),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    imex_config::replace(file, text.as_bytes()).map_err(|error| Failure::new(Exit::Failed, &error))
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, error).about(&format!("{} cannot be used", path.display()))
}
