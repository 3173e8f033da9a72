//! `imex channel check`.

use std::io::{self, Write};

use imex_host::channel::{Access, AccessReport, Channel, Evidence, Fault, Spec, access};
use imex_host::person::Person;
use serde::Serialize;

use super::args::CheckArgs;
use super::place::{Place, person, together};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output;

/// The verdict about each channel.
#[derive(Debug, Serialize)]
struct Check {
    folder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    channels: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    channel: Channel,
    faults: Vec<Fault>,
    /// What stands under its name, if it could not be judged at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<AccessReport>,
}

pub(super) fn run(args: &CheckArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let place = Place::read(&args.place)?;
    let spec = place.spec(args.owner.as_deref())?;
    let user = args.user.as_deref().map(person).transpose()?;
    let check = Check {
        folder: place.channels.dir().display().to_string(),
        user: user.as_ref().map(|user| user.name().to_owned()),
        channels: together(&args.channels)
            .iter()
            .map(|channel| row(&place, channel, &spec, user.as_ref()))
            .collect(),
    };
    if args.place.json {
        output::json(&check, out)?
    } else {
        check.write(out)?
    }
    Ok(check.channels.iter().map(Row::exit).find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done))
}

fn row(place: &Place, channel: Channel, spec: &Spec, user: Option<&Person>) -> Row {
    let beyond = place.limit().admits(channel).err();
    let (faults, error) = match (beyond, place.channels.check(channel, spec)) {
        (Some(error), _) => (Vec::new(), Some(Failure::new(super::beyond(&error), &error))),
        (None, Ok(faults)) => (faults, None),
        (None, Err(error)) => (Vec::new(), Some(super::failure(&error))),
    };
    let access = user.map(|user| access::access(&place.channels.path(channel), user));
    Row { channel, faults, error, access }
}

impl Row {
    /// What is wrong with the device comes before what keeps a user from it: it is the cause.
    fn exit(&self) -> Exit {
        if let Some(error) = &self.error {
            return error.exit();
        }
        match (super::gravest(&self.faults), self.access.as_ref().map(|report| &report.access)) {
            (Exit::Done, None | Some(Access::Granted)) => Exit::Done,
            (Exit::Done, Some(Access::NoDriver)) => Exit::ChannelNoDriver,
            (Exit::Done, Some(Access::Denied | Access::Forbidden)) => Exit::ChannelDenied,
            (Exit::Done, Some(Access::Missing)) => Exit::ChannelMissing,
            (Exit::Done, Some(Access::Failed { .. })) => Exit::Failed,
            (wrong, _) => wrong,
        }
    }

    fn state(&self) -> String {
        match &self.error {
            Some(error) => error.message().to_owned(),
            None if self.faults.is_empty() => "right".to_owned(),
            None => super::told(&self.faults),
        }
    }
}

impl Check {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.channels {
            writeln!(out, "channel {}: {}", row.channel, row.state())?;
            if let (Some(user), Some(report)) = (&self.user, &row.access) {
                writeln!(out, "  {user} {}", sentence(report))?;
            }
        }
        Ok(())
    }
}

fn sentence(report: &AccessReport) -> String {
    let because = report.obstacle.as_ref().map(|obstacle| {
        format!(": {} has mode {} and owner {}", obstacle.path.display(), obstacle.mode, obstacle.owner)
    });
    let because = because.unwrap_or_default();
    let evidence = match report.evidence {
        Evidence::Tried => "tried",
        Evidence::ModeBits => "by the mode bits, not tried",
    };
    let told = match &report.access {
        Access::Granted => "can open it".to_owned(),
        Access::NoDriver => "may open it, but there is no driver behind it".to_owned(),
        Access::Denied => format!("may not open it{because}"),
        Access::Forbidden => "may not open it: the device rules of the control group forbid it".to_owned(),
        Access::Missing => "finds nothing to open".to_owned(),
        Access::Failed { reason } => format!("cannot open it: {reason}"),
    };
    format!("{told} ({evidence})")
}
