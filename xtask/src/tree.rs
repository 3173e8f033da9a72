//! The files of the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::TaskError;

/// Folders that hold nothing written by people.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "artifacts"];

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one level below the root")
}

/// Where cargo builds, which is where this program lies; also the place for what tasks leave behind.
pub(crate) fn target() -> PathBuf {
    let own = std::env::current_exe().ok();
    let target = own.as_deref().and_then(Path::parent).and_then(Path::parent);
    target.map_or_else(|| root().join("target"), Path::to_owned)
}

/// The file of this program. `verify` builds the workspace, this program included, so by the time that a later step
/// starts it again its own file may have been replaced; the kernel then marks the path, and the newer file serves as
/// well.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let replaced = own.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.filter(|path| path.is_file()).unwrap_or(own))
}

/// All files under a folder, sorted; build output is left out. No folder means no files.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, TaskError> {
    let mut found = Vec::new();
    if folder.is_dir() {
        collect(folder, &mut found)?;
    }
    found.sort();
    Ok(found)
}

/// All Rust files of the workspace and of the fuzz targets, sorted.
pub(crate) fn rust_files() -> Result<Vec<PathBuf>, TaskError> {
    let mut found = Vec::new();
    for folder in ["crates", "fuzz", "xtask"] {
        found.extend(files(&root().join(folder))?);
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    Ok(found)
}

/// The text of a file; what is not UTF-8 is replaced.
pub(crate) fn read(path: &Path) -> Result<String, TaskError> {
    let bytes = fs::read(path).map_err(TaskError::file("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A path as people write it: from the root of the repository.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), TaskError> {
    let entries = fs::read_dir(folder).map_err(TaskError::file("list", folder))?;
    for entry in entries {
        let path = entry.map_err(TaskError::file("list", folder))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(&path, found)?;
        } else if path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}
