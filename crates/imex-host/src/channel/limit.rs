//! How many channels the driver has: a parameter of its module, the same on all machines of a domain.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Channel;

/// Where NVIDIA's driver shows its parameters.
pub const DEFAULT_PATH: &str = "/proc/driver/nvidia/params";

/// The line of the parameter `NVreg_ImexChannelCount`.
const KEY: &str = "ImexChannelCount:";

/// How many channels there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelLimit {
    /// So many, from 0 on. None means that channels are switched off; the driver's own number is 2048.
    Count(u32),
    /// The driver does not tell: it is not loaded, or older than the parameter.
    Unknown,
}

/// Why the parameters cannot be understood.
#[derive(Debug, Error)]
pub enum LimitError {
    /// The file is there but cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The number of channels is no number.
    #[error("`{KEY}{text}` is not a number of channels")]
    Malformed {
        /// What was found.
        text: String,
    },
}

/// A channel that the driver does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BeyondLimit {
    /// The driver has none at all.
    #[error("the driver has no channels (its parameter NVreg_ImexChannelCount is 0)")]
    SwitchedOff,
    /// The number is too high.
    #[error(
        "there is no channel {channel}: the driver has {count}, from 0 (its parameter NVreg_ImexChannelCount)"
    )]
    TooHigh {
        /// The channel.
        channel: Channel,
        /// How many there are.
        count: u32,
    },
}

impl ChannelLimit {
    /// Reads the parameters at `path`, as a rule [`DEFAULT_PATH`]. A file that is not there is no error.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or gives something else than a number.
    pub fn read(path: &Path) -> Result<Self, LimitError> {
        match fs::read(path) {
            Ok(bytes) => ChannelLimit::parse(&String::from_utf8_lossy(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ChannelLimit::Unknown),
            Err(source) => Err(LimitError::Read { path: path.to_owned(), source }),
        }
    }

    /// Reads the text of the parameters: lines `Name: value`.
    ///
    /// # Errors
    ///
    /// If the value is no number.
    pub fn parse(text: &str) -> Result<Self, LimitError> {
        match text.lines().find_map(|line| line.strip_prefix(KEY)) {
            None => Ok(ChannelLimit::Unknown),
            Some(value) => value
                .trim()
                .parse()
                .map(ChannelLimit::Count)
                .map_err(|_| LimitError::Malformed { text: value.to_owned() }),
        }
    }

    /// Passes if the driver has `channel`, or does not tell.
    ///
    /// # Errors
    ///
    /// If it does not have it.
    pub fn admits(self, channel: Channel) -> Result<(), BeyondLimit> {
        match self {
            ChannelLimit::Unknown => Ok(()),
            ChannelLimit::Count(0) => Err(BeyondLimit::SwitchedOff),
            ChannelLimit::Count(count) if channel.number() < count => Ok(()),
            ChannelLimit::Count(count) => Err(BeyondLimit::TooHigh { channel, count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_a_line_among_others() {
        let text = "ResmanDebugLevel: 4294967295\nCreateImexChannel0: 0\nImexChannelCount: 2048\n";
        assert_eq!(ChannelLimit::parse(text).unwrap(), ChannelLimit::Count(2048));
        assert_eq!(ChannelLimit::parse("MaxImexChannelCount: 3\n").unwrap(), ChannelLimit::Unknown);
        assert_eq!(ChannelLimit::read(Path::new("/nowhere/params")).unwrap(), ChannelLimit::Unknown);
        assert!(ChannelLimit::parse("ImexChannelCount: many\n").is_err());
    }

    #[test]
    fn channels_are_counted_from_0_and_none_at_all_is_said_as_such() {
        let channel = |number| Channel::new(number).unwrap();
        assert_eq!(ChannelLimit::Count(4).admits(channel(3)), Ok(()));
        assert_eq!(ChannelLimit::Unknown.admits(Channel::MAX), Ok(()));
        assert_eq!(ChannelLimit::Count(0).admits(channel(0)), Err(BeyondLimit::SwitchedOff));
        let beyond = BeyondLimit::TooHigh { channel: channel(4), count: 4 };
        assert_eq!(ChannelLimit::Count(4).admits(channel(4)), Err(beyond));
    }
}
