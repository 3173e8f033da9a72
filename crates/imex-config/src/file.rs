//! Reading a whole file, with a bound and with a reason when it fails.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use thiserror::Error;

use crate::text::TextError;

/// Why a file was not read.
#[derive(Debug, Error)]
pub enum FileError {
    /// There is none.
    #[error("file does not exist")]
    Missing,
    /// This user may not read it.
    #[error("permission to read the file is denied")]
    Denied,
    /// It is a directory.
    #[error("is a directory, not a file")]
    Directory,
    /// It is a pipe, a device or a socket: reading it might never end.
    #[error("is not a regular file")]
    Special,
    /// The system refused in another way.
    #[error("file cannot be read")]
    Io(#[source] io::Error),
    /// It was read, but is no text.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl FileError {
    /// The line it is about, from 1.
    pub fn line(&self) -> Option<usize> {
        match self {
            FileError::Text(error) => error.line(),
            FileError::Missing
            | FileError::Denied
            | FileError::Directory
            | FileError::Special
            | FileError::Io(_) => None,
        }
    }

    pub(crate) fn of(error: io::Error) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "io::ErrorKind is foreign and open")]
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::Missing,
            io::ErrorKind::PermissionDenied => FileError::Denied,
            // open(2): a socket, or a device that is not there.
            _ if error.raw_os_error() == Some(Errno::ENXIO as i32) => FileError::Special,
            _ => FileError::Io(error),
        }
    }
}

/// Reads a regular file: at most `max` bytes and one more, so that the parser sees that there are too many. Never waits for a
/// pipe's writer.
///
/// # Errors
///
/// What lies there instead, or what the system says.
pub fn read(path: &Path, max: usize) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let (file, _) = open(path)?;
    file.take(max as u64 + 1).read_to_end(&mut bytes).map_err(FileError::of)?;
    Ok(bytes)
}

/// Opens a regular file and tells what it is. It is the opened one that is judged, so nobody can put another in between.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    // Without the flag, opening a pipe waits for a writer; for a regular file it means nothing.
    let opened = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    let file = opened.map_err(FileError::of)?;
    let found = file.metadata().map_err(FileError::of)?;
    match found.file_type() {
        kind if kind.is_dir() => Err(FileError::Directory),
        kind if kind.is_file() => Ok((file, found)),
        _ => Err(FileError::Special),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_gets_a_name_where_the_advice_differs() {
        let error = |kind: io::ErrorKind| FileError::of(kind.into());
        assert!(matches!(error(io::ErrorKind::NotFound), FileError::Missing));
        assert!(matches!(error(io::ErrorKind::NotADirectory), FileError::Missing));
        assert!(matches!(error(io::ErrorKind::PermissionDenied), FileError::Denied));
        assert!(matches!(error(io::ErrorKind::Interrupted), FileError::Io(_)));
    }

    #[test]
    fn one_byte_more_than_allowed_is_read_and_no_further() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, b"0123456789").unwrap();
        assert_eq!(read(file.path(), 4).unwrap(), b"01234");
    }
}
