//! The channels of IMEX: device nodes without which no CUDA program can share memory between machines.
//!
//! Channel *N* is the character device `channelN` in [`DEFAULT_DIR`], its minor is *N*, its major the one that
//! [`devices`](crate::devices) tells, different on each boot. The driver's file has no operations but open and close: who
//! may open the node may use the channel, so its mode and owner are all the access control there is.
//!
//! [`node`] judges what is there against what should be; it is pure. [`folder`] looks, makes and removes. [`access`]
//! answers whether a certain user could open a channel. [`limit`] is how many there are.
//!
//! Nothing here runs beside a program that manages the same folder: Slurm's `switch/nvidia_imex` empties it whenever
//! slurmd starts, and gives each job a folder of its own.

pub mod access;
pub mod folder;
pub mod limit;
pub mod node;
pub mod set;

pub use access::{Access, AccessReport, Evidence, Obstacle};
pub use folder::{ChannelError, Channels, Ensured, FolderOutcome, Listing, NodeOutcome, Removed};
pub use limit::{BeyondLimit, ChannelLimit};
pub use node::{Facts, Fault, Kind, Mode, Owner, Spec};
pub use set::{ChannelSet, NotAChannelSet};

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

/// The folder in which NVIDIA's libraries look for channels.
pub const DEFAULT_DIR: &str = "/dev/nvidia-caps-imex-channels";

/// What the name of a channel's node begins with; the number follows.
const PREFIX: &str = "channel";

/// A channel's number: 0 to 1,048,575, the 20 bits of a minor. It means the same on all machines of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Channel(u32);

/// A text or number that is no channel.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a channel (a number from 0 to {})", Channel::MAX.0)]
pub struct NotAChannel {
    text: String,
}

impl Channel {
    /// The one that everybody uses where jobs have none of their own.
    pub const ZERO: Channel = Channel(0);

    /// The largest number that a minor can be.
    pub const MAX: Channel = Channel((1 << 20) - 1);

    /// The channel with this number.
    ///
    /// # Errors
    ///
    /// If it is above [`MAX`](Channel::MAX).
    pub fn new(number: u32) -> Result<Self, NotAChannel> {
        let channel = Channel(number);
        if channel <= Channel::MAX { Ok(channel) } else { Err(NotAChannel { text: number.to_string() }) }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The name of its node.
    pub fn file_name(self) -> String {
        format!("{PREFIX}{}", self.0)
    }

    /// The channel whose node has this name: `channel` and the number, without a leading zero.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let channel: Channel = name.strip_prefix(PREFIX)?.parse().ok()?;
        (channel.file_name() == name).then_some(channel)
    }
}

impl FromStr for Channel {
    type Err = NotAChannel;

    fn from_str(text: &str) -> Result<Self, NotAChannel> {
        let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let channel = number.and_then(|number| Channel::new(number).ok());
        channel.ok_or_else(|| NotAChannel { text: text.to_owned() })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_and_the_name_of_its_node_are_one_to_one() {
        let channel: Channel = "17".parse().unwrap();
        assert_eq!(channel.file_name(), "channel17");
        assert_eq!(Channel::from_file_name("channel17"), Some(channel));
        for wrong in
            ["channel", "channel017", "channel+1", "Channel1", "channel1048576", ".channel1", "channel1.old"]
        {
            assert_eq!(Channel::from_file_name(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_number_beyond_a_minor_is_no_channel() {
        assert_eq!("1048575".parse(), Ok(Channel::MAX));
        for wrong in ["", "-1", "+1", "1048576", "99999999999", "x"] {
            assert!(wrong.parse::<Channel>().is_err(), "{wrong:?}");
        }
    }
}
