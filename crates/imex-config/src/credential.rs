//! Keys and certificates: where they are kept, and what is in them.
//!
//! A secret is opened once: what is checked (owner, mode, kind) is what is then read, and nobody can put another file
//! in between. Its bytes are kept where they are needed and are in no log and no debug text.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::geteuid;
use thiserror::Error;

use crate::file::{self, FileError};
use crate::machine::Machine;

/// The largest key or certificate in bytes: a bundle of all public authorities has a quarter of it.
const MAX_BYTES: usize = 1 << 20;

/// A key, a certificate or the certificates of an authority, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The key of the configuration that says where it is.
    pub key: &'static str,
    /// The line of the configuration that says so, from 1.
    pub line: Option<usize>,
    /// Where it is kept.
    pub place: Place,
    /// Whether others may know it.
    pub secrecy: Secrecy,
    /// What was there.
    pub pem: Pem,
}

/// Where a credential is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this file; it may be replaced and read again (SIGUSR1).
    File(PathBuf),
    /// In the environment variable of this name, which stays as it is until the daemon ends.
    Variable(String),
}

/// Whether others may know a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// A private key: its file must be the daemon's or root's, and closed to everybody else but a group that reads it.
    Secret,
    /// A certificate, or an authority's: whoever can change that one is the authority. Its file must be the daemon's or
    /// root's, and nobody else's to change. Who may change its folder is for the site to see to.
    Public,
}

/// PEM text: at least one encapsulation boundary of RFC 7468. What is between them is judged when it is used.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(Arc<[u8]>);

/// Why a credential was not read.
#[derive(Debug, Error)]
pub enum CredentialError {
    /// The file cannot be read.
    #[error("{}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// Somebody else owns it.
    #[error("{}: user {owner} owns this {secrecy}, not the user of this process ({own}) nor root", path.display())]
    Owner {
        /// Which file.
        path: PathBuf,
        /// What it is.
        secrecy: Secrecy,
        /// Whose it is.
        owner: u32,
        /// Who this process is.
        own: u32,
    },
    /// Others can read a secret, or change either.
    #[error("{}: mode {mode:04o} lets others {verb} this {secrecy}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// What it is.
        secrecy: Secrecy,
        /// Its permission bits.
        mode: u32,
        /// What others can do.
        verb: &'static str,
    },
    /// There is no such variable.
    #[error("environment variable {name} is not set")]
    Unset {
        /// Its name.
        name: String,
    },
    /// There is no PEM text.
    #[error("{place} holds no PEM text")]
    NoPem {
        /// Where.
        place: Place,
    },
}

impl CredentialError {
    /// What to do about it, where the text does not say it.
    pub fn hint(&self) -> Option<String> {
        match self {
            CredentialError::Owner { path, .. } => Some(format!("chown root {}", path.display())),
            CredentialError::Open { path, secrecy: Secrecy::Secret, .. } => {
                Some(format!("chmod 0600 {}", path.display()))
            }
            CredentialError::Open { path, secrecy: Secrecy::Public, .. } => {
                Some(format!("chmod 0644 {}", path.display()))
            }
            CredentialError::File { .. } | CredentialError::Unset { .. } | CredentialError::NoPem { .. } => {
                None
            }
        }
    }
}

impl Credential {
    /// The same credential as it is there now.
    pub fn reread(&self, machine: &impl Machine) -> Result<Credential, CredentialError> {
        let pem = read(&self.place, self.secrecy, machine)?;
        Ok(Credential { pem, ..self.clone() })
    }
}

impl Pem {
    /// The text. Whoever asks for a secret must not show it.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pem({} bytes)", self.0.len())
    }
}

impl fmt::Display for Secrecy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Secrecy::Secret => "private key",
            Secrecy::Public => "certificate",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// Reads what is kept at a place.
pub fn read(place: &Place, secrecy: Secrecy, machine: &impl Machine) -> Result<Pem, CredentialError> {
    let bytes = match place {
        Place::File(path) => read_file(path, secrecy)?,
        Place::Variable(name) => {
            let value =
                machine.variable(name).ok_or_else(|| CredentialError::Unset { name: name.clone() })?;
            value.into_encoded_bytes()
        }
    };
    if is_pem(&bytes) { Ok(Pem(bytes.into())) } else { Err(CredentialError::NoPem { place: place.clone() }) }
}

/// Whether a key table is as closed to others as a private key. It is looked at, not opened.
pub(crate) fn judge_key_table(path: &Path) -> Result<(), CredentialError> {
    let failed =
        |error: io::Error| CredentialError::File { path: path.to_owned(), source: FileError::of(error) };
    let found = path.metadata().map_err(failed)?;
    check(path, Secrecy::Secret, (found.uid(), found.mode() & 0o7777))
}

fn read_file(path: &Path, secrecy: Secrecy) -> Result<Vec<u8>, CredentialError> {
    let failed = |source| CredentialError::File { path: path.to_owned(), source };
    let (opened, found) = file::open(path).map_err(failed)?;
    let mode = found.mode() & 0o7777;
    check(path, secrecy, (found.uid(), mode))?;
    take(opened).map_err(|error| failed(FileError::of(error)))
}

/// A group may read a secret, as Debian's `ssl-cert` does; nobody else may do anything. What is no secret, all may read.
fn check(path: &Path, secrecy: Secrecy, (owner, mode): (u32, u32)) -> Result<(), CredentialError> {
    let own = geteuid().as_raw();
    if owner != 0 && owner != own {
        return Err(CredentialError::Owner { path: path.to_owned(), secrecy, owner, own });
    }
    let verb = match secrecy {
        _ if mode & 0o022 != 0 => "change",
        Secrecy::Secret if mode & 0o004 != 0 => "read",
        Secrecy::Secret | Secrecy::Public => return Ok(()),
    };
    Err(CredentialError::Open { path: path.to_owned(), secrecy, mode, verb })
}

fn take(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_pem(bytes: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN ";
    bytes.windows(BEGIN.len()).any(|window| window == BEGIN)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::machine::ThisMachine;

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----\n";

    #[test]
    fn a_secret_that_others_can_read_or_change_is_not_read() {
        let cases = [
            (0o600, None),
            (0o400, None),
            (0o640, None),
            (0o644, Some("mode 0644 lets others read this private key")),
            (0o604, Some("mode 0604 lets others read this private key")),
            (0o660, Some("mode 0660 lets others change this private key")),
            (0o602, Some("mode 0602 lets others change this private key")),
        ];
        for (mode, wanted) in cases {
            let told = refusal(&file_with(mode), Secrecy::Secret);
            match (&told, wanted) {
                (None, None) => {}
                (Some(told), Some(wanted)) => assert!(told.ends_with(wanted), "{told}"),
                _ => panic!("{mode:04o}: {told:?}"),
            }
        }
    }

    #[test]
    fn a_certificate_that_others_can_change_is_not_read() {
        assert_eq!(refusal(&file_with(0o644), Secrecy::Public), None);
        for mode in [0o666, 0o664, 0o646] {
            let told = refusal(&file_with(mode), Secrecy::Public).unwrap();
            assert!(
                told.ends_with(&format!("mode {mode:04o} lets others change this certificate")),
                "{told}"
            );
        }
    }

    #[test]
    fn neither_a_secret_nor_a_certificate_of_another_user_is_read() {
        for secrecy in [Secrecy::Secret, Secrecy::Public] {
            let told = check(Path::new("file"), secrecy, (geteuid().as_raw() + 7, 0o600)).unwrap_err();
            assert!(matches!(told, CredentialError::Owner { .. }), "{told}");
        }
    }

    #[test]
    fn no_debug_text_shows_a_secret() {
        let file = file_with(0o600);
        let pem = read(&Place::File(file.path().to_owned()), Secrecy::Secret, &ThisMachine).unwrap();
        let shown = format!("{pem:?}");
        assert_eq!(shown, format!("Pem({} bytes)", KEY.len()));
    }

    fn file_with(mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), KEY).unwrap();
        fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
        file
    }

    fn refusal(file: &tempfile::NamedTempFile, secrecy: Secrecy) -> Option<String> {
        let read = read(&Place::File(file.path().to_owned()), secrecy, &ThisMachine);
        read.err().map(|error| error.to_string())
    }
}
