//! The Unix socket of the command service: one live daemon per path, closed to others until its mode is set.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::stat::{Mode, umask};
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};

/// How long a daemon that holds the socket may take to accept a connection before it counts as live but busy.
const PROBE: Duration = Duration::from_millis(500);

/// The socket, bound. Its file is removed with it, unless it is no longer the one that was bound.
#[derive(Debug)]
pub(crate) struct CommandSocket {
    listener: UnixListener,
    path: PathBuf,
    identity: (u64, u64),
}

/// Why the command socket cannot be had.
#[derive(Debug, Error)]
pub(crate) enum SocketError {
    /// A live daemon serves it.
    #[error("open command socket {}: another imexd{} serves it", path.display(), process(*pid))]
    Served {
        /// The path.
        path: PathBuf,
        /// Its process, if the system tells.
        pid: Option<i32>,
    },
    /// Something else is there.
    #[error("open command socket {}: something that is no socket is there", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("open command socket {}", path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn process(pid: Option<i32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl SocketError {
    /// What an operator can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            SocketError::Served { .. } => {
                Some("stop it, or give this daemon its own IMEX_CMD_UNIX_DOMAIN_PATH".to_owned())
            }
            SocketError::NoSocket { .. } => {
                Some("remove it, or set IMEX_CMD_UNIX_DOMAIN_PATH elsewhere".to_owned())
            }
            SocketError::System { .. } => None,
        }
    }
}

impl CommandSocket {
    /// Binds the socket, replacing what a dead daemon left there. Nobody but this user can connect before `mode` is set.
    pub(crate) async fn bind(path: &Path, mode: u32) -> Result<Self, SocketError> {
        clear_away(path).await?;
        bind_closed(path, mode).map_err(|source| SocketError::System { path: path.to_owned(), source })
    }

    /// Where connections come in.
    pub(crate) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for CommandSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            // Whoever comes next finds a dead socket and replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

async fn clear_away(path: &Path) -> Result<(), SocketError> {
    let failed = |source| SocketError::System { path: path.to_owned(), source };
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?,
    };
    if !found.file_type().is_socket() {
        return Err(SocketError::NoSocket { path: path.to_owned() });
    }
    match tokio::time::timeout(PROBE, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        Ok(Ok(stream)) => {
            let pid = stream.peer_cred().ok().and_then(|credentials| credentials.pid());
            Err(SocketError::Served { path: path.to_owned(), pid })
        }
        // It does not accept, but somebody holds it: stopped, or too busy.
        Ok(Err(_)) | Err(_) => Err(SocketError::Served { path: path.to_owned(), pid: None }),
    }
}

fn bind_closed(path: &Path, mode: u32) -> io::Result<CommandSocket> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        fs::create_dir_all(dir)?;
    }
    // The mask belongs to the whole process; at this time no other thread of it makes files.
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    let listener = bound?;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    let identity = identity(&fs::symlink_metadata(path)?);
    Ok(CommandSocket { listener, path: path.to_owned(), identity })
}

fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_gets_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let socket = CommandSocket::bind(&path, 0o660).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_live_socket_is_left_alone_and_its_process_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let first = CommandSocket::bind(&path, 0o600).await.unwrap();
        let error = CommandSocket::bind(&path, 0o600).await.unwrap_err();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(matches!(error, SocketError::Served { pid: Some(pid), .. } if pid == own), "{error:?}");
        drop(first);
    }

    #[tokio::test]
    async fn the_longest_path_that_the_configuration_lets_through_can_be_bound() {
        let dir = tempfile::tempdir().unwrap();
        let room = imex_config::MAX_SOCKET_PATH_BYTES - dir.path().as_os_str().len() - 1;
        let fits = dir.path().join("s".repeat(room));
        assert!(CommandSocket::bind(&fits, 0o600).await.is_ok());
        let longer = dir.path().join("s".repeat(room + 1));
        assert!(CommandSocket::bind(&longer, 0o600).await.is_err());
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_never_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious");
        fs::write(&path, "data").unwrap();
        let error = CommandSocket::bind(&path, 0o600).await.unwrap_err();
        assert!(matches!(error, SocketError::NoSocket { .. }), "{error:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }

    #[tokio::test]
    async fn the_file_of_a_successor_is_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let old = CommandSocket::bind(&path, 0o600).await.unwrap();
        fs::remove_file(&path).unwrap();
        let new = CommandSocket::bind(&path, 0o600).await.unwrap();
        drop(old);
        assert!(path.exists());
        drop(new);
    }
}
