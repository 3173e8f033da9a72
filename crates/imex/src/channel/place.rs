//! Where channels are on this node and what they should be like: configuration, driver and folder, read once.

use std::path::Path;

use imex_config::operator::{self, Operator, OperatorError};
use imex_host::channel::{ChannelLimit, ChannelSet, Channels, Mode, Owner, Spec};
use imex_host::devices::{CharDevices, DevicesError, Major};
use imex_host::person::Person;

use super::args::PlaceArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// What was read.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) channels: Channels,
    pub(super) operator: Operator,
    pub(super) limit: ChannelLimit,
    /// The driver's major, or why there is none.
    pub(super) major: Result<Major, Failure>,
    mode: Mode,
}

impl Place {
    pub(super) fn read(args: &PlaceArgs) -> Result<Self, Failure> {
        let operator = operator::load(&args.config).map_err(|error| {
            let hint = match &error {
                OperatorError::Unreadable { .. } => "root reads it on every node",
                OperatorError::Wrong { .. } => "dist/conf/openimex.toml is an example with every key",
            };
            Failure::new(Exit::Config, &error).hint(hint)
        })?;
        let dir = args.dir.as_ref().unwrap_or(&operator.channels.directory);
        let mode = Mode::new(operator.channels.mode).map_err(|error| Failure::new(Exit::Config, &error))?;
        let limit = ChannelLimit::read(&args.params).map_err(|error| Failure::new(Exit::Failed, &error))?;
        Ok(Place { channels: Channels::at(dir), limit, major: major(&args.devices), mode, operator })
    }

    /// What a channel of `owner`'s should be like.
    pub(super) fn spec(&self, owner: Option<&str>) -> Result<Spec, Failure> {
        let owner = match owner {
            None => Owner::ROOT,
            Some(name) => Owner { uid: person(name)?.uid(), gid: Owner::ROOT.gid },
        };
        Ok(Spec { major: self.major.clone()?, mode: self.mode, owner })
    }

    /// How many channels there are, as far as the driver or else the configuration tells.
    pub(super) fn limit(&self) -> ChannelLimit {
        match self.limit {
            ChannelLimit::Unknown => ChannelLimit::Count(self.operator.channels.count),
            known @ ChannelLimit::Count(_) => known,
        }
    }
}

fn major(devices: &Path) -> Result<Major, Failure> {
    let read = CharDevices::read(devices).map_err(|error| match &error {
        DevicesError::Read { .. } => Failure::new(Exit::Failed, &error),
        DevicesError::NoSection | DevicesError::Malformed { .. } => {
            Failure::new(Exit::Failed, &error).about(&devices.display().to_string())
        }
    })?;
    read.imex_channels().map_err(|error| {
        Failure::new(Exit::NoChannels, &error)
            .hint("NVIDIA's driver is not loaded, or its parameter NVreg_ImexChannelCount is 0")
    })
}

/// The user with this name or number.
pub(super) fn person(name: &str) -> Result<Person, Failure> {
    Person::find(name).map_err(|error| Failure::new(Exit::Usage, &error))
}

/// All of the sets of a command line together.
pub(super) fn together(sets: &[ChannelSet]) -> ChannelSet {
    sets.iter().fold(ChannelSet::default(), |all, set| all.and(set))
}
