//! The Unix socket of the command service: one live daemon per path, made with its mode.
//!
//! The mode is the whole rule of who may ask: the kernel judges it at each connect(2), by all groups of whoever connects.
//! The credentials that a socket tells afterwards (`SO_PEERCRED`) hold the first group alone, so a second rule made of
//! them would turn away those whom the mode lets in; they are told to the log.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
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
    /// Its folder belongs to another user, who could put something else there.
    #[error("open command socket {}: its folder belongs to user {owner}", path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// The folder's owner.
        owner: u32,
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
            SocketError::Folder { .. } => Some(
                "use a folder of root's or of this daemon's user in IMEX_CMD_UNIX_DOMAIN_PATH".to_owned(),
            ),
            SocketError::System { .. } => None,
        }
    }
}

impl CommandSocket {
    /// Binds the socket with these permission bits, replacing what a dead daemon left there.
    pub(crate) async fn bind(path: &Path, mode: u32) -> Result<Self, SocketError> {
        make_folder(path)?;
        clear_away(path).await?;
        bind_with_mode(path, mode).map_err(|source| SocketError::System { path: path.to_owned(), source })
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

/// Makes the folder if there is none. In one of another user the socket could be exchanged for something else, unless
/// the folder is sticky, as /tmp is.
fn make_folder(path: &Path) -> Result<(), SocketError> {
    let failed = |source| SocketError::System { path: path.to_owned(), source };
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    fs::create_dir_all(folder).map_err(failed)?;
    let found = fs::metadata(folder).map_err(failed)?;
    match trusts(found.uid(), found.mode(), geteuid().as_raw()) {
        true => Ok(()),
        false => Err(SocketError::Folder { path: path.to_owned(), owner: found.uid() }),
    }
}

fn trusts(owner: u32, mode: u32, own: u32) -> bool {
    const STICKY: u32 = 0o1000;
    owner == 0 || owner == own || mode & STICKY != 0
}

fn bind_with_mode(path: &Path, mode: u32) -> io::Result<CommandSocket> {
    // A socket is made with what the mask leaves (unix(7)), so its mode is right from its first moment on and nothing is
    // changed by name. The mask belongs to the whole process; at this time no other thread of it makes files.
    let before = umask(Mode::from_bits_truncate(!mode & 0o777));
    let bound = UnixListener::bind(path);
    umask(before);
    let listener = bound?;
    let identity = identity(&fs::symlink_metadata(path)?);
    Ok(CommandSocket { listener, path: path.to_owned(), identity })
}

fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn the_socket_has_its_mode_from_its_first_moment_on() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o660, 0o666, 0o620] {
            let path = dir.path().join(format!("{mode:o}"));
            // Nothing but bind(2) is called: what it makes is what there is.
            let socket = bind_with_mode(&path, mode).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
            drop(socket);
        }
    }

    #[test]
    fn a_folder_of_another_user_is_trusted_only_if_it_is_sticky() {
        for (owner, mode, own, trusted) in [
            (0, 0o755, 1000, true),
            (1000, 0o755, 1000, true),
            (1001, 0o755, 0, false),
            (1001, 0o777, 0, false),
            (1001, 0o1777, 0, true),
        ] {
            assert_eq!(trusts(owner, mode, own), trusted, "{owner} {mode:o} {own}");
        }
    }

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
