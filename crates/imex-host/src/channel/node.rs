//! What a channel's node is, what it should be, and what is wrong with it: pure judgement.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

use super::Channel;
use crate::devices::Major;

/// Permission bits: 0 to 0o7777 without the type of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct Mode(u32);

/// A text or number that is no mode.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a mode (octal, 0 to 0777)")]
pub struct NotAMode {
    text: String,
}

/// Who owns a file, by number. Written `UID:GID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// What every channel's node should be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The driver's major, from [`CharDevices::imex_channels`](crate::devices::CharDevices::imex_channels).
    pub major: Major,
    /// The permission bits. NVIDIA's own tool makes nodes with 0666.
    pub mode: Mode,
    /// The owner.
    pub owner: Owner,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A character device.
    CharDevice {
        /// Its driver.
        major: u32,
        /// Its number with that driver.
        minor: u32,
    },
    /// A block device.
    BlockDevice,
    /// A folder.
    Directory,
    /// A symbolic link. It is never followed.
    Symlink,
    /// A regular file.
    File,
    /// A pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// What there is under a channel's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
    /// Its permission bits.
    pub mode: Mode,
    /// Its owner.
    pub owner: Owner,
}

/// One thing that is wrong with a channel's node or with the folder it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// There is no folder.
    #[error("the folder is missing")]
    FolderMissing,
    /// The folder has other permission bits.
    #[error("the folder's mode is {found}, not {expected}")]
    FolderMode {
        /// What it should be.
        expected: Mode,
        /// What it is.
        found: Mode,
    },
    /// The folder is somebody else's, who can put anything in place of a node.
    #[error("the folder's owner is {found}, not {expected}")]
    FolderOwner {
        /// Who it should be.
        expected: Owner,
        /// Who it is.
        found: Owner,
    },
    /// There is no node.
    #[error("the node is missing")]
    Missing,
    /// It is something else than a character device.
    #[error("it is a {}, not a character device", found.word())]
    Kind {
        /// What it is.
        found: Kind,
    },
    /// It is the device of another driver, as a rule from a boot before.
    #[error("its major is {found}, not {expected}")]
    Major {
        /// The driver's.
        expected: u32,
        /// The node's.
        found: u32,
    },
    /// It is another channel.
    #[error("its minor is {found}, not {expected}")]
    Minor {
        /// The channel's.
        expected: u32,
        /// The node's.
        found: u32,
    },
    /// It has other permission bits.
    #[error("its mode is {found}, not {expected}")]
    Mode {
        /// What it should be.
        expected: Mode,
        /// What it is.
        found: Mode,
    },
    /// It is somebody else's.
    #[error("its owner is {found}, not {expected}")]
    Owner {
        /// Who it should be.
        expected: Owner,
        /// Who it is.
        found: Owner,
    },
}

/// The mode of the folder: everybody may look, only its owner may change it.
pub(super) const FOLDER_MODE: Mode = Mode(0o755);

/// All that is wrong with the folder. It must be root's, or of whoever looks (`me`), and nobody else may put anything
/// into it.
pub(super) fn judge_folder(mode: Mode, owner: Owner, me: u32) -> Vec<Fault> {
    let mut faults = Vec::new();
    if mode != FOLDER_MODE {
        faults.push(Fault::FolderMode { expected: FOLDER_MODE, found: mode });
    }
    if owner.uid != Owner::ROOT.uid && owner.uid != me {
        faults.push(Fault::FolderOwner { expected: Owner::ROOT, found: owner });
    }
    faults
}

/// All that is wrong with `channel`'s node; nothing if it is as it should be. Of what is no character device only that
/// counts.
pub fn judge(facts: &Facts, channel: Channel, spec: &Spec) -> Vec<Fault> {
    let Kind::CharDevice { major, minor } = facts.kind else {
        return vec![Fault::Kind { found: facts.kind }];
    };
    let mut faults = Vec::new();
    if major != spec.major.number() {
        faults.push(Fault::Major { expected: spec.major.number(), found: major });
    }
    if minor != channel.number() {
        faults.push(Fault::Minor { expected: channel.number(), found: minor });
    }
    if facts.mode != spec.mode {
        faults.push(Fault::Mode { expected: spec.mode, found: facts.mode });
    }
    if facts.owner != spec.owner {
        faults.push(Fault::Owner { expected: spec.owner, found: facts.owner });
    }
    faults
}

impl Kind {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::CharDevice { .. } => "character device",
            Kind::BlockDevice => "block device",
            Kind::Directory => "folder",
            Kind::Symlink => "symbolic link",
            Kind::File => "regular file",
            Kind::Fifo => "pipe",
            Kind::Socket => "socket",
        }
    }

    /// If it is a device node, which holds nothing that its removal would lose.
    pub const fn is_device(self) -> bool {
        matches!(self, Kind::CharDevice { .. } | Kind::BlockDevice)
    }
}

impl Mode {
    /// Read and write for everybody: what NVIDIA's own tool gives a channel.
    pub const OPEN: Mode = Mode(0o666);

    /// The mode with these bits.
    ///
    /// # Errors
    ///
    /// If there are others than the nine for reading, writing and executing.
    pub fn new(bits: u32) -> Result<Self, NotAMode> {
        if bits <= 0o777 { Ok(Mode(bits)) } else { Err(NotAMode { text: format!("{bits:04o}") }) }
    }

    /// The bits that a file has, its type left out.
    pub(super) const fn of(st_mode: u32) -> Self {
        Mode(st_mode & 0o7777)
    }

    /// The bits.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl Owner {
    /// The superuser and its group.
    pub const ROOT: Owner = Owner { uid: 0, gid: 0 };
}

impl FromStr for Mode {
    type Err = NotAMode;

    fn from_str(text: &str) -> Result<Self, NotAMode> {
        let wrong = || NotAMode { text: text.to_owned() };
        let octal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let bits = u32::from_str_radix(text, 8).ok().filter(|_| octal).ok_or_else(wrong)?;
        Mode::new(bits).map_err(|_| wrong())
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.to_string()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.uid, self.gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_can_be_wrong_is_told_with_both_values() {
        let right = Facts { kind: device(234, 3), mode: Mode::OPEN, owner: Owner::ROOT };
        let nobody = Owner { uid: 65534, gid: 0 };
        let table: [(Facts, &[&str]); 8] = [
            (right, &[]),
            (Facts { kind: device(498, 3), ..right }, &["its major is 498, not 234"]),
            (Facts { kind: device(234, 0), ..right }, &["its minor is 0, not 3"]),
            (Facts { kind: Kind::BlockDevice, ..right }, &["it is a block device, not a character device"]),
            (
                Facts { kind: Kind::Symlink, mode: Mode::of(0o777), ..right },
                &["it is a symbolic link, not a character device"],
            ),
            (Facts { mode: Mode::of(0o104_600), ..right }, &["its mode is 4600, not 0666"]),
            (Facts { owner: nobody, ..right }, &["its owner is 65534:0, not 0:0"]),
            (
                Facts { kind: device(1, 0), mode: Mode(0), owner: nobody },
                &[
                    "its major is 1, not 234",
                    "its minor is 0, not 3",
                    "its mode is 0000, not 0666",
                    "its owner is 65534:0, not 0:0",
                ],
            ),
        ];
        for (facts, expected) in table {
            let faults: Vec<String> =
                judge(&facts, "3".parse().unwrap(), &spec()).iter().map(Fault::to_string).collect();
            assert_eq!(faults, expected, "{facts:?}");
        }
    }

    #[test]
    fn a_folder_is_roots_or_ones_own_whoever_looks() {
        let alice = Owner { uid: 2001, gid: 2001 };
        for (mode, owner, me, expected) in [
            (0o755, Owner::ROOT, 0, &[][..]),
            (0o755, Owner::ROOT, 2001, &[]),
            (0o755, alice, 2001, &[]),
            (0o755, alice, 0, &["the folder's owner is 2001:2001, not 0:0"]),
            (0o1777, Owner::ROOT, 0, &["the folder's mode is 1777, not 0755"]),
        ] {
            let faults = judge_folder(Mode(mode), owner, me);
            assert_eq!(faults.iter().map(Fault::to_string).collect::<Vec<_>>(), expected, "{owner} for {me}");
        }
    }

    #[test]
    fn a_mode_is_octal_and_has_no_bits_beyond_the_nine() {
        assert_eq!("0666".parse(), Ok(Mode::OPEN));
        assert_eq!("600".parse::<Mode>().unwrap().to_string(), "0600");
        for wrong in ["", "8", "0o666", "1777", "+7", "rw"] {
            assert!(wrong.parse::<Mode>().is_err(), "{wrong:?}");
        }
    }

    fn device(major: u32, minor: u32) -> Kind {
        Kind::CharDevice { major, minor }
    }

    fn spec() -> Spec {
        Spec { major: Major::new(234).unwrap(), mode: Mode::OPEN, owner: Owner::ROOT }
    }
}
