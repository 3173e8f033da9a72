//! `imex channel list`.

use std::io::{self, Write};

use imex_host::channel::{Channel, ChannelLimit, Facts, Fault, Kind, Owner, Spec, node};
use imex_host::devices::Major;
use serde::Serialize;

use super::args::ListArgs;
use super::place::Place;
use crate::exit::Exit;
use crate::failure::Stop;
use crate::output;

/// What is in the folder.
#[derive(Debug, Serialize)]
struct List {
    folder: String,
    driver_major: Option<Major>,
    /// Why there is no major.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_driver: Option<String>,
    /// How many channels the driver has, if it tells.
    driver_channels: Option<u32>,
    channels: Vec<Row>,
    /// Names that are no channel's.
    others: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    channel: Channel,
    #[serde(flatten)]
    facts: Facts,
    /// Left out where there is no driver to judge by.
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<Vec<Fault>>,
}

pub(super) fn run(args: &ListArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let place = Place::read(&args.place)?;
    let listing = place.channels.list().map_err(|error| super::failure(&error))?;
    let spec = place.spec(None);
    let list = List {
        folder: place.channels.dir().display().to_string(),
        driver_major: place.major.as_ref().ok().copied(),
        no_driver: place.major.as_ref().err().map(|failure| failure.message().to_owned()),
        driver_channels: match place.limit {
            ChannelLimit::Count(count) => Some(count),
            ChannelLimit::Unknown => None,
        },
        channels: listing
            .channels
            .into_iter()
            .map(|(channel, facts)| row(channel, facts, spec.as_ref().ok()))
            .collect(),
        others: listing.others,
    };
    if args.place.json {
        output::json(&list, out)?
    } else {
        list.write(out)?
    }
    // A machine without the driver has none, and that is an answer; one whose kernel cannot be asked has given none.
    let unread = place.major.err().map(|failure| failure.exit()).filter(|exit| *exit == Exit::Failed);
    Ok(unread.unwrap_or(Exit::Done))
}

/// A channel may be a user's: whose it is, is no fault here.
fn row(channel: Channel, facts: Facts, spec: Option<&Spec>) -> Row {
    let faults = spec.map(|spec| {
        let spec = Spec { owner: Owner { uid: facts.owner.uid, ..spec.owner }, ..*spec };
        node::judge(&facts, channel, &spec)
    });
    Row { channel, facts, faults }
}

impl List {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let count = output::count(self.channels.len(), "channel");
        let driver = match (&self.driver_major, &self.no_driver) {
            (Some(major), _) => format!("driver major {major}"),
            (None, reason) => reason.clone().unwrap_or_default(),
        };
        let has = self.driver_channels.map(|count| {
            format!(
                "; {} by its parameters",
                output::count(usize::try_from(count).unwrap_or(usize::MAX), "channel")
            )
        });
        writeln!(out, "{}: {count}; {driver}{}", self.folder, has.unwrap_or_default())?;
        if !self.channels.is_empty() {
            writeln!(out, "{:<8} {:<13} {:<5} {:<12} STATE", "CHANNEL", "DEVICE", "MODE", "OWNER")?;
        }
        for row in &self.channels {
            let Facts { kind, mode, owner } = row.facts;
            let device = if let Kind::CharDevice { major, minor } = kind {
                format!("{major}:{minor}")
            } else {
                kind.word().to_owned()
            };
            let state = match row.faults.as_deref() {
                None => "unknown".to_owned(),
                Some([]) => "right".to_owned(),
                Some(faults) => super::told(faults),
            };
            let (mode, owner) = (mode.to_string(), owner.to_string());
            writeln!(out, "{:<8} {device:<13} {mode:<5} {owner:<12} {state}", row.channel.to_string())?;
        }
        if !self.others.is_empty() {
            writeln!(out, "no channels: {}", self.others.join(", "))?;
        }
        Ok(())
    }
}
