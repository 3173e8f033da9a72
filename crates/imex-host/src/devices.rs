//! The character devices that the kernel's drivers have registered, from the text of `/proc/devices`.
//!
//! A driver whose major is dynamic gets another one on another machine, or after another boot; this text is the only
//! place that tells it. It is read by column: the major stands right-aligned before the first blank, all after that
//! blank is the name (proc_devices(5), `chrdev_show` and `cdev` of the kernel). A name counts only as a whole:
//! NVIDIA's driver registers `nvidia-caps` and `nvidia-caps-imex-channels`, and each is a prefix or a part of what a
//! search for the other finds.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

/// Where the kernel shows its devices.
pub const DEFAULT_PATH: &str = "/proc/devices";

/// The name under which NVIDIA's driver registers the channels of IMEX.
pub const IMEX_CHANNELS: &str = "nvidia-caps-imex-channels";

/// The name under which NVIDIA's driver registers its capabilities.
pub const CAPABILITIES: &str = "nvidia-caps";

/// The line before the character devices, and the one before the block devices.
const SECTIONS: [&str; 2] = ["Character devices:", "Block devices:"];

/// A driver's number: 1 to 4095, as the kernel has 12 bits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Major(u32);

/// The registered character devices, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharDevices(Vec<(Major, String)>);

/// Why a text is no list of devices.
#[derive(Debug, Error)]
pub enum DevicesError {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It has no section of character devices.
    #[error("there is no line `{}`", SECTIONS[0])]
    NoSection,
    /// A line of the section is not a number and a name.
    #[error("line {line}: `{text}` is not a major number (1 to 4095) and a name")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What was found.
        text: String,
    },
}

/// Why a name has no major.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoMajor {
    /// No driver has registered it.
    #[error("no driver has registered `{name}`")]
    Absent {
        /// The name.
        name: String,
    },
    /// Several majors have the name; which one is meant cannot be told.
    #[error("`{name}` is registered as {first} and as {second}")]
    Ambiguous {
        /// The name.
        name: String,
        /// The major of its first line.
        first: Major,
        /// The major of another.
        second: Major,
    },
}

impl CharDevices {
    /// Reads the list that the kernel shows at `path`, as a rule [`DEFAULT_PATH`].
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no such list.
    pub fn read(path: &Path) -> Result<Self, DevicesError> {
        let bytes = fs::read(path).map_err(|source| DevicesError::Read { path: path.to_owned(), source })?;
        CharDevices::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Reads the text of a list. Block devices are not looked at: the same name and number mean other devices there.
    ///
    /// # Errors
    ///
    /// If there is no section of character devices, or a line in it is malformed.
    pub fn parse(text: &str) -> Result<Self, DevicesError> {
        let mut lines = text.lines().enumerate();
        if !lines.by_ref().any(|(_, line)| line.trim_end() == SECTIONS[0]) {
            return Err(DevicesError::NoSection);
        }
        let section = lines.take_while(|(_, line)| !SECTIONS.contains(&line.trim_end()));
        section
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(index, line)| {
                entry(line).ok_or_else(|| DevicesError::Malformed { line: index + 1, text: line.to_owned() })
            })
            .collect::<Result<_, _>>()
            .map(CharDevices)
    }

    /// The major that has exactly this name.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn major(&self, name: &str) -> Result<Major, NoMajor> {
        let mut majors = self.0.iter().filter(|(_, registered)| registered == name).map(|(major, _)| *major);
        let first = majors.next().ok_or_else(|| NoMajor::Absent { name: name.to_owned() })?;
        match majors.find(|other| *other != first) {
            None => Ok(first),
            Some(second) => Err(NoMajor::Ambiguous { name: name.to_owned(), first, second }),
        }
    }

    /// The major of the channels of IMEX. It is registered if and only if the driver's channel count is not zero.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn imex_channels(&self) -> Result<Major, NoMajor> {
        self.major(IMEX_CHANNELS)
    }

    /// All of them, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (Major, &str)> {
        self.0.iter().map(|(major, name)| (*major, name.as_str()))
    }
}

impl Major {
    /// The largest number that the kernel's 12 bits hold.
    pub const MAX: Major = Major(4095);

    /// The major with this number, if there can be one.
    pub fn new(number: u32) -> Option<Self> {
        (1..=Major::MAX.0).contains(&number).then_some(Major(number))
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Major {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `%3d %s`: blanks, a number, one blank, a name that may itself contain blanks.
fn entry(line: &str) -> Option<(Major, String)> {
    let (number, name) = line.trim_start_matches(' ').split_once(' ')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let major = Major::new(number.parse().ok().filter(|_| digits)?)?;
    (!name.trim().is_empty()).then(|| (major, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: &str = "Character devices:\n  1 mem\n 10 misc\n195 nvidia\n234 nvidia-caps\n  \
                        7 nvidia-caps-imex-channels\n505 nvidia-caps-imex-channels-old\n\n\
                        Block devices:\n  7 loop\n 99 nvidia-caps-imex-channels\n";

    #[test]
    fn names_that_contain_one_another_are_told_apart_whatever_the_width_of_the_number() {
        let devices = CharDevices::parse(BOTH).unwrap();
        assert_eq!(devices.imex_channels().unwrap().number(), 7);
        assert_eq!(devices.major(CAPABILITIES).unwrap().number(), 234);
    }

    #[test]
    fn a_block_device_is_no_character_device() {
        let without = BOTH.replace("  7 nvidia-caps-imex-channels\n", "");
        let absent = CharDevices::parse(&without).unwrap().imex_channels().unwrap_err();
        assert_eq!(absent.to_string(), "no driver has registered `nvidia-caps-imex-channels`");
        let block_first = "Block devices:\n  7 nvidia-caps-imex-channels\nCharacter devices:\n  1 mem\n";
        assert!(CharDevices::parse(block_first).unwrap().imex_channels().is_err());
    }

    #[test]
    fn two_majors_of_one_name_are_not_chosen_between() {
        let text = "Character devices:\n234 nvidia-caps-imex-channels\n235 nvidia-caps-imex-channels\n";
        let error = CharDevices::parse(text).unwrap().imex_channels().unwrap_err();
        assert_eq!(error.to_string(), "`nvidia-caps-imex-channels` is registered as 234 and as 235");
        let twice = "Character devices:\n  5 console\n  5 console\n";
        assert_eq!(CharDevices::parse(twice).unwrap().major("console").unwrap().number(), 5);
    }

    #[test]
    fn what_is_no_list_of_devices_is_refused_with_its_line() {
        assert!(matches!(CharDevices::parse("").unwrap_err(), DevicesError::NoSection));
        for wrong in ["x mem", " 12", "0 null", "4096 big", "+7 signed", "7 ", "99999999999 huge"] {
            let error = CharDevices::parse(&format!("Character devices:\n  1 mem\n{wrong}\n")).unwrap_err();
            assert!(matches!(&error, DevicesError::Malformed { line: 3, .. }), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn this_machines_list_is_read() {
        let devices = CharDevices::read(Path::new(DEFAULT_PATH)).unwrap();
        assert_eq!(devices.major("mem").unwrap().number(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(Character devices:\n)?([ 0-9]{0,5} ?[a-z\\-é ]{0,9}\n?)*") {
            if let Ok(devices) = CharDevices::parse(&text) {
                prop_assert!(devices.iter().all(|(major, name)| major <= Major::MAX && !name.is_empty()));
            }
        }
    }
}
