//! The note beside a map that says: it was written, and the service may not run with it yet.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The note of one map: `.NAME.imex-follow` in its folder.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    path: PathBuf,
}

impl Marker {
    /// The note of this map.
    pub(super) fn of(map: &Path) -> Self {
        let name = map.file_name().unwrap_or_default().to_string_lossy();
        Marker { path: map.with_file_name(format!(".{name}.imex-follow")) }
    }

    /// If a run was killed between writing the map and restarting the service.
    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Sets it. It is on the disk when this returns.
    pub(super) fn set(&self) -> io::Result<()> {
        File::create(&self.path)?.sync_all()?;
        File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Takes it away.
    pub(super) fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
