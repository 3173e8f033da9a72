//! `imex channel remove`.

use std::io::{self, Write};

use imex_host::channel::{Channel, Removed};
use serde::Serialize;

use super::args::RemoveArgs;
use super::place::{Place, together};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output;

/// What became of the channels.
#[derive(Debug, Serialize)]
struct Removal {
    folder: String,
    channels: Vec<Gone>,
}

#[derive(Debug, Serialize)]
struct Gone {
    channel: Channel,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Removed { removed: Removed },
    Failed { error: Failure },
}

pub(super) fn run(args: &RemoveArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let place = Place::read(&args.place)?;
    let wanted: Vec<Channel> = if args.all {
        let listing = place.channels.list().map_err(|error| super::failure(&error))?;
        listing.channels.into_iter().map(|(channel, _)| channel).collect()
    } else {
        together(&args.channels).iter().collect()
    };
    let remove = |channel| match place.channels.remove(channel) {
        Ok(removed) => Gone { channel, outcome: Outcome::Removed { removed } },
        Err(error) => Gone { channel, outcome: Outcome::Failed { error: super::failure(&error) } },
    };
    let removal = Removal {
        folder: place.channels.dir().display().to_string(),
        channels: wanted.into_iter().map(remove).collect(),
    };
    if args.place.json {
        output::json(&removal, out)?
    } else {
        removal.write(out)?
    }
    Ok(removal.exit())
}

impl Removal {
    /// The first failure's code: all channels are tried.
    fn exit(&self) -> Exit {
        let mut failures = self.channels.iter().filter_map(|gone| match &gone.outcome {
            Outcome::Removed { .. } => None,
            Outcome::Failed { error } => Some(error.exit()),
        });
        failures.next().unwrap_or(Exit::Done)
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.channels.is_empty() {
            return writeln!(out, "{}: there are no channels", self.folder);
        }
        for Gone { channel, outcome } in &self.channels {
            match outcome {
                Outcome::Removed { removed: Removed::Now } => writeln!(out, "channel {channel}: removed")?,
                Outcome::Removed { removed: Removed::Before } => {
                    writeln!(out, "channel {channel}: was not there")?;
                }
                Outcome::Failed { error } => error.write_about(&format!("channel {channel}"), out)?,
            }
        }
        Ok(())
    }
}
