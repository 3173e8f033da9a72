//! A number of channels, as people write them: `0,4-7`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

use super::{Channel, NotAChannel};

/// Channels in ascending order, each once. It may be empty, which no text is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSet(Vec<RangeInclusive<u32>>);

/// A text that is no set of channels.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAChannelSet {
    /// One of its numbers is no channel.
    #[error(transparent)]
    Channel(#[from] NotAChannel),
    /// A range ends before it begins.
    #[error("`{text}` ends before it begins")]
    Backwards {
        /// The range.
        text: String,
    },
}

impl ChannelSet {
    /// The channels of these ranges, first and last number each.
    ///
    /// # Errors
    ///
    /// If a number is no channel, or a range ends before it begins.
    pub fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self, NotAChannelSet> {
        let mut sorted = Vec::new();
        for (first, last) in ranges {
            let (first, last) = (Channel::new(first)?.number(), Channel::new(last)?.number());
            if first > last {
                return Err(NotAChannelSet::Backwards { text: format!("{first}-{last}") });
            }
            sorted.push(first..=last);
        }
        sorted.sort_unstable_by_key(|range| *range.start());
        let mut merged: Vec<RangeInclusive<u32>> = Vec::new();
        for range in sorted {
            match merged.last_mut() {
                Some(before) if *range.start() <= before.end().saturating_add(1) => {
                    *before = *before.start()..=*before.end().max(range.end());
                }
                Some(_) | None => merged.push(range),
            }
        }
        Ok(ChannelSet(merged))
    }

    /// The channels of both.
    #[must_use]
    pub fn and(&self, other: &ChannelSet) -> Self {
        let ranges = self.0.iter().chain(&other.0).map(|range| (*range.start(), *range.end()));
        ChannelSet::of(ranges).expect("they are channels already")
    }

    /// Them in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Channel> {
        self.0.iter().cloned().flatten().map(Channel)
    }

    /// If there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for ChannelSet {
    type Err = NotAChannelSet;

    fn from_str(text: &str) -> Result<Self, NotAChannelSet> {
        let mut ranges = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (Channel, Channel) = (first.trim().parse()?, last.trim().parse()?);
            ranges.push((first.number(), last.number()));
        }
        ChannelSet::of(ranges)
    }
}

impl fmt::Display for ChannelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (first, last) = (range.start(), range.end());
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}-{last}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_sorted_and_has_each_channel_once() {
        let set: ChannelSet = "7,0, 4-6,5,9-9".parse().unwrap();
        assert_eq!(set.to_string(), "0,4-7,9");
        assert_eq!(set.iter().map(Channel::number).collect::<Vec<_>>(), [0, 4, 5, 6, 7, 9]);
        assert_eq!(set.and(&"1-3".parse().unwrap()).to_string(), "0-7,9");
        assert!(ChannelSet::of([]).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for (wrong, told) in [
            ("", "`` is not a channel (a number from 0 to 1048575)"),
            ("1,", "`` is not a channel (a number from 0 to 1048575)"),
            ("7-4", "`7-4` ends before it begins"),
            ("0-1048576", "`1048576` is not a channel (a number from 0 to 1048575)"),
        ] {
            assert_eq!(wrong.parse::<ChannelSet>().unwrap_err().to_string(), told);
        }
    }
}
