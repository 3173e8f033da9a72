//! `imex validate member`: what one member knows, as one line of JSON.

use std::io::{self, Write};

use imex_config::operator::{self, Channels as Use, Operator};
use imex_host::boot::{self, BootId};
use imex_host::channel::{Access, Channel, Channels};
use imex_host::identify;
use serde::{Deserialize, Serialize};

use super::args::MemberArgs;
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Admission, JobDomain, Told};
use crate::doctor::gather::{admission, hardware, job_domain, names_of_map, node_name, own_domain};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output;
use crate::pieces;
use crate::run::block_on;
use crate::table::Table;

/// What one member knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Its name in Slurm.
    pub(crate) node: String,
    /// Its view of the domain, if its daemon answers.
    pub(crate) table: Option<Table>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) silent: Option<String>,
    /// Whether that is because this user may not ask it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) denied: bool,
    /// What its prolog says of the domain, if it can be read: names of the members with their entries of the map.
    #[serde(default)]
    pub(crate) members: Vec<(String, String)>,
    /// What tells the domain from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) domain_id: Option<String>,
    /// The block, if the job is divided by blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) block: Option<String>,
    /// The driver's version, if one is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<String>,
    /// The NVLink partition of its GPUs, if NVML tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fabric: Option<String>,
    /// What the names of its map stand for here: entry and addresses; entries that are addresses are not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<(String, String)>,
    /// The channel, as the job's user sees it.
    pub(crate) channel: ChannelSeen,
    /// Why no domain is expected here, by what its prolog says; `None` where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spared: Option<Spared>,
}

/// What the single node of a job in an NVLink partition can have instead of a domain, by `jobs.one_node`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spared {
    /// A channel.
    ChannelOnly,
    /// Nothing.
    Skipped,
}

impl Spared {
    /// By the state of the job's domain, if it is of this job and boot: what an earlier one left here excuses nobody.
    fn of(domain: &JobDomain, job: Option<&str>, boot: Option<&BootId>) -> Option<Self> {
        let own = boot.is_some_and(|boot| boot.as_str() == domain.boot_id)
            && job.is_some_and(|job| job == domain.job.to_string());
        match domain.stage.as_str() {
            _ if !own => None,
            "channel_only" => Some(Spared::ChannelOnly),
            "skipped" => Some(Spared::Skipped),
            _ => None,
        }
    }
}

/// A channel as the job's user sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum ChannelSeen {
    /// It can be opened.
    Open {
        /// Its number.
        number: u32,
    },
    /// It cannot.
    Shut {
        /// Its number, if there is a device.
        number: Option<u32>,
        /// Why: a fragment.
        why: String,
    },
    /// None is wanted, the driver has none, or the job gets none here.
    NotApplicable,
}

/// Runs the command.
pub(super) fn run(args: &MemberArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let operator = operator::load(&args.config).map_err(|error| Failure::new(Exit::Config, &error))?;
    let look = LookArgs {
        config: args.config.clone(),
        user: None,
        ask: args.ask,
        root: args.root.clone(),
        path: args.path.clone(),
        slurm_conf: crate::slurm::args::SLURM_CONF.into(),
    };
    let driver = hardware::driver(&args.root, args.ask);
    let job = job_domain(&operator, args.ask);
    let job = job.known().and_then(Option::as_ref);
    let domain = block_on(own_domain(&look, &operator))?;
    let denied = admission(&look, &operator, &domain) == Admission::Denied;
    let (table, silent) = match domain {
        Told::Known(domain) => (Some(own_row_of(domain.table)), None),
        Told::Unknown(why) => (None, Some(why)),
    };
    let gpus = driver.gpus.known().and_then(Option::as_ref);
    let fabrics: Option<Vec<_>> = gpus.map(|gpus| gpus.iter().map(|gpu| gpu.fabric.clone()).collect());
    let wanted =
        operator.channels.channels != Use::Off && matches!(driver.channels_major, Told::Known(Some(_)));
    let boot = boot::id(&args.root.join(boot::DEFAULT_ID_PATH.trim_start_matches('/'))).ok();
    let spared = job.and_then(|job| Spared::of(job, args.job.as_deref(), boot.as_ref()));
    let channel = match wanted && spared != Some(Spared::Skipped) {
        true => seen(&Channels::at(&operator.channels.directory), args),
        false => ChannelSeen::NotApplicable,
    };
    let report = Report {
        node: args.node.clone().unwrap_or_else(node_name),
        table,
        silent,
        denied,
        members: job.map(|job| job.members.clone()).unwrap_or_default(),
        domain_id: job.and_then(|job| job.domain_id.clone()),
        block: job.and_then(|job| job.block.clone()),
        driver: driver.version,
        fabric: fabrics.and_then(|fabrics| identify(&fabrics).ok()).map(|fabric| fabric.to_string()),
        names: stood_for(&look, &operator),
        channel,
        spared,
    };
    match args.pieces {
        true => pieces::send(&report.node, &serde_json::to_string(&report).map_err(io::Error::from)?, out)?,
        false => output::json_line(&report, out)?,
    }
    Ok(Exit::Done)
}

/// What counts of a table here: what this node says of others' links is no proof, and with many nodes it is most of the text.
fn own_row_of(mut table: Table) -> Table {
    let others = table.members.iter_mut().enumerate().filter(|(index, _)| Some(*index) != table.own);
    others.for_each(|(_, member)| member.links.clear());
    table
}

/// What the names of the map stand for. A resolver that says nothing is told as nothing.
fn stood_for(look: &LookArgs, operator: &Operator) -> Vec<(String, String)> {
    let names = names_of_map(look, operator).into_iter();
    names
        .map(|name| {
            let addresses = name.addresses.known().map_or(&[][..], Vec::as_slice).iter();
            (name.entry, addresses.map(ToString::to_string).collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// The first channel that this user can open, as CUDA takes it; else why not.
fn seen(channels: &Channels, args: &MemberArgs) -> ChannelSeen {
    let user = nix::unistd::geteuid().to_string();
    let none = |why: String| ChannelSeen::Shut { number: None, why };
    let listing = match channels.list() {
        Ok(listing) => listing,
        Err(error) => return none(imex_config::chain(&error)),
    };
    let mut shut = none(format!("{} has no channel", channels.dir().display()));
    for (channel, _) in listing.channels {
        let why = match hardware::opens(&channels.path(channel), &user, args.ask) {
            Told::Unknown(why) => why,
            Told::Known(report) => match report.access {
                Access::Granted => return ChannelSeen::Open { number: number(channel) },
                Access::NoDriver => "no driver stands behind it: the node is stale".to_owned(),
                Access::Denied => "its mode does not let this user open it".to_owned(),
                Access::Forbidden => "the control group does not let this step open it".to_owned(),
                Access::Missing => "it is gone".to_owned(),
                Access::Failed { reason } => reason,
            },
        };
        shut = ChannelSeen::Shut { number: Some(number(channel)), why };
    }
    shut
}

fn number(channel: Channel) -> u32 {
    channel.file_name().trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_excuses_its_own_job_on_its_own_boot_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boot_id");
        std::fs::write(&path, "3f9bd2c8-7f0e-4d2a-9d53-0a4cf1b2c3d4\n").unwrap();
        let boot = boot::id(&path).unwrap();
        let mut domain = JobDomain {
            job: 7,
            node: None,
            uid: None,
            boot_id: boot.as_str().to_owned(),
            stage: "skipped".to_owned(),
            reason: None,
            domain_id: None,
            block: None,
            members: Vec::new(),
            channel: None,
        };
        assert_eq!(Spared::of(&domain, Some("7"), Some(&boot)), Some(Spared::Skipped));
        assert_eq!(Spared::of(&domain, Some("8"), Some(&boot)), None);
        assert_eq!(Spared::of(&domain, None, Some(&boot)), None);
        assert_eq!(Spared::of(&domain, Some("7"), None), None);
        domain.stage = "up".to_owned();
        assert_eq!(Spared::of(&domain, Some("7"), Some(&boot)), None);
        domain.stage = "channel_only".to_owned();
        domain.boot_id = "another".to_owned();
        assert_eq!(Spared::of(&domain, Some("7"), Some(&boot)), None);
    }
}
