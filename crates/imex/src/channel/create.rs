//! `imex channel create`.

use std::io::{self, Write};

use imex_config::operator;
use imex_host::channel::{Channel, ChannelSet, Ensured, FolderOutcome, NodeOutcome, Spec};
use serde::Serialize;

use super::args::CreateArgs;
use super::place::{Place, together};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output;

/// What became of the channels.
#[derive(Debug, Serialize)]
struct Creation {
    folder: String,
    /// Why none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    nothing: Option<&'static str>,
    channels: Vec<Made>,
}

#[derive(Debug, Serialize)]
struct Made {
    channel: Channel,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Ensured(Ensured),
    Failed { error: Failure },
}

pub(super) fn run(args: &CreateArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let place = Place::read(&args.place)?;
    let (set, nothing) = wanted(args, &place)?;
    let mut channels = Vec::new();
    if nothing.is_none() {
        let spec = place.spec(args.owner.as_deref())?;
        channels.extend(set.iter().map(|channel| Made { channel, outcome: make(&place, channel, &spec) }));
    }
    let creation = Creation { folder: place.channels.dir().display().to_string(), nothing, channels };
    if args.place.json {
        output::json(&creation, out)?
    } else {
        creation.write(out)?
    }
    Ok(creation.exit())
}

/// Which channels, or why none.
fn wanted(args: &CreateArgs, place: &Place) -> Result<(ChannelSet, Option<&'static str>), Failure> {
    if !args.boot {
        return Ok((together(&args.channels), None));
    }
    let policy = &place.operator.channels;
    let set =
        ChannelSet::of(policy.at_boot.iter().copied()).map_err(|error| Failure::new(Exit::Config, &error))?;
    let nothing = match policy.channels {
        operator::Channels::Switch => Some("Slurm's switch/nvidia_imex makes the channels"),
        // One that stands beside the jobs' own is everybody's, and the first that a program finds.
        operator::Channels::PerJob => Some("each job gets a channel of its own"),
        operator::Channels::Off => Some("the configuration has channels off"),
        operator::Channels::Channel0 if set.is_empty() => {
            Some("the configuration has no channels for the boot")
        }
        operator::Channels::Channel0 => None,
    };
    Ok((set, nothing))
}

fn make(place: &Place, channel: Channel, spec: &Spec) -> Outcome {
    if let Err(error) = place.limit().admits(channel) {
        return Outcome::Failed { error: Failure::new(super::beyond(&error), &error) };
    }
    match place.channels.ensure(channel, spec) {
        Ok(ensured) => Outcome::Ensured(ensured),
        Err(error) => Outcome::Failed { error: super::failure(&error) },
    }
}

impl Creation {
    /// The first failure's code: all channels are tried.
    fn exit(&self) -> Exit {
        let mut failures = self.channels.iter().filter_map(|made| match &made.outcome {
            Outcome::Ensured(_) => None,
            Outcome::Failed { error } => Some(error.exit()),
        });
        failures.next().unwrap_or(Exit::Done)
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(nothing) = self.nothing {
            return writeln!(out, "nothing to do: {nothing}");
        }
        for Made { channel, outcome } in &self.channels {
            match outcome {
                Outcome::Ensured(Ensured { folder, node }) => {
                    match folder {
                        FolderOutcome::Right => {}
                        FolderOutcome::Created => writeln!(out, "{}: created", self.folder)?,
                        FolderOutcome::Repaired { faults } => {
                            writeln!(out, "{}: repaired: {}", self.folder, super::told(faults))?;
                        }
                    }
                    match node {
                        NodeOutcome::Right => writeln!(out, "channel {channel}: right")?,
                        NodeOutcome::Created => writeln!(out, "channel {channel}: created")?,
                        NodeOutcome::Replaced { faults } => {
                            writeln!(out, "channel {channel}: replaced: {}", super::told(faults))?;
                        }
                    }
                }
                Outcome::Failed { error } => error.write_about(&format!("channel {channel}"), out)?,
            }
        }
        Ok(())
    }
}
