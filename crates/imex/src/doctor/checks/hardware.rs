//! Checks of the driver, the channels and the fabric.

use std::path::Path;

use imex_config::operator::{Channels, Expect};
use imex_host::channel::Access;
use imex_host::{NoFabric, identify};
use imex_slurm::sweep::Life;

use super::{Finding, service};
use crate::doctor::facts::{Facts, Gpu, Told};

/// If this node has anything to form a domain for, as far as the driver tells.
pub(super) fn has_channels(facts: &Facts) -> bool {
    matches!(facts.driver.channels_major, Told::Known(Some(_)))
}

pub(super) fn driver(facts: &Facts) -> Finding {
    match (&facts.driver.version, facts.operator.hardware.expect) {
        (Some(version), _) => Finding::ok(format!("version {version}")),
        (None, Expect::Detect) => match (&facts.driver.idle[..], service::is_enabled(facts)) {
            ([], false) => {
                Finding::not_applicable("NVIDIA's driver is not loaded: IMEX is not applicable here")
            }
            ([], true) => Finding::warn(
                format!(
                    "{} is enabled, and here is neither a driver nor a GPU of NVIDIA's",
                    facts.service.unit
                ),
                "if GPUs should be here, they are lost: `lspci -d 10de:`, `dmesg`; else disable the unit",
            ),
            (idle, _) => Finding::fail(
                format!("no driver has these GPUs: {}", idle.join(", ")),
                "load NVIDIA's driver; `dmesg` says why it does not load. Until then no job gets a domain here",
            ),
        },
        (None, Expect::Always) => Finding::fail(
            "NVIDIA's driver is not loaded, and openimex.toml says that this node has the hardware",
            "install or load it; `dmesg` says why it does not load",
        ),
    }
}

pub(super) fn channel_class(facts: &Facts) -> Finding {
    let driver = &facts.driver;
    match &driver.channels_major {
        Told::Known(Some(major)) => Finding::ok(format!("nvidia-caps-imex-channels has major {major}")),
        Told::Unknown(why) => Finding::unknown(why),
        Told::Known(None) if driver.version.is_none() => {
            Finding::not_applicable("NVIDIA's driver is not loaded")
        }
        Told::Known(None) => {
            let other = driver.caps_major.map_or_else(String::new, |major| {
                format!("; nvidia-caps, with major {major}, is another thing")
            });
            let evidence = format!("/proc/devices has no nvidia-caps-imex-channels{other}");
            match (&driver.channel_count, facts.operator.hardware.expect) {
                (Told::Known(Some(0)), _) => Finding::fail(
                    evidence,
                    "remove NVreg_ImexChannelCount=0 from the module's parameters and reload the driver",
                ),
                (_, Expect::Always) => {
                    Finding::fail(evidence, "install a driver that knows IMEX channels (550 or later)")
                }
                (_, Expect::Detect) => {
                    Finding::not_applicable(format!("{evidence}: IMEX is not applicable here"))
                }
            }
        }
    }
}

pub(super) fn channel_count(facts: &Facts) -> Finding {
    let expected = facts.operator.channels.count;
    match facts.driver.channel_count {
        Told::Unknown(ref why) => Finding::unknown(why),
        Told::Known(None) if facts.driver.version.is_none() => {
            Finding::not_applicable("NVIDIA's driver is not loaded")
        }
        Told::Known(None) => Finding::unknown("the driver does not tell ImexChannelCount"),
        Told::Known(Some(0)) => Finding::fail(
            "ImexChannelCount is 0: channels are switched off, and programs get code 801",
            "remove NVreg_ImexChannelCount=0 from the module's parameters and reload the driver",
        ),
        Told::Known(Some(count)) if count == expected => Finding::ok(format!("{count} channels")),
        Told::Known(Some(count)) => Finding::warn(
            format!("the driver has {count} channels, channels.count of openimex.toml says {expected}"),
            "make them equal, and equal on all nodes of a rack",
        ),
    }
}

pub(super) fn channel_device(facts: &Facts) -> Finding {
    let path = facts.channel.path.display();
    if let Some(finding) = no_channel_wanted(facts) {
        return finding;
    }
    match &facts.channel.faults {
        Told::Unknown(why) => Finding::unknown(format!("{path}: {why}")),
        Told::Known(faults) if faults.is_empty() => Finding::ok(format!("{path} is right")),
        Told::Known(faults) => Finding::fail(
            format!("{path}: {}", faults.join("; ")),
            format!(
                "{} makes it anew; the boot unit makes those of channels.boot at each boot",
                create(facts)
            ),
        ),
    }
}

/// The command that makes the channel that counts.
fn create(facts: &Facts) -> String {
    let name = facts.channel.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!("`imex channel create {}`", name.trim_start_matches("channel"))
}

pub(super) fn channel_access(facts: &Facts) -> Finding {
    if let Some(finding) = no_channel_wanted(facts) {
        return finding;
    }
    let (path, user) = (facts.channel.path.display(), &facts.channel.user);
    let report = match &facts.channel.access {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(report) => report,
    };
    let evidence = |what: &str| {
        let by = report
            .obstacle
            .as_ref()
            .map(|obstacle| format!(": {} has mode {}", obstacle.path.display(), obstacle.mode));
        format!("user {user} {what} {path}{}", by.unwrap_or_default())
    };
    match &report.access {
        Access::Granted if matches!(user.as_str(), "0" | "root") => {
            Finding::not_applicable(format!("root may open {path} as anything; `--as USER` asks for a user"))
        }
        Access::Granted => Finding::ok(evidence("can open")),
        Access::NoDriver => Finding::fail(
            evidence("may open, but no driver stands behind,"),
            format!("the node is stale: {} makes it anew", create(facts)),
        ),
        Access::Denied => {
            Finding::fail(evidence("must not open"), "set channels.mode or channels.owner in openimex.toml")
        }
        Access::Forbidden => Finding::fail(
            evidence("is kept by the control group from opening"),
            "allow the major of nvidia-caps-imex-channels in cgroup.conf or the container's device rules",
        ),
        Access::Missing => Finding::fail(evidence("finds no"), create(facts)),
        Access::Failed { reason } => Finding::unknown(format!("{path}: {reason}")),
    }
}

/// Where no channel is to be had.
fn no_channel_wanted(facts: &Facts) -> Option<Finding> {
    if !has_channels(facts) {
        return Some(Finding::not_applicable("the driver has no IMEX channels here"));
    }
    match facts.operator.channels.channels {
        Channels::Channel0 => None,
        // A node of a running job has no step between two: what its prolog has noted counts.
        Channels::PerJob if job_s_channel(facts).is_some() => None,
        Channels::PerJob | Channels::Switch if facts.job.alive.is_empty() => {
            Some(Finding::not_applicable("channels are made for each job, and no job is here"))
        }
        Channels::Switch => Some(Finding::not_applicable(
            "Slurm makes each job's channel where only the job sees it: `imex validate`",
        )),
        Channels::PerJob => Some(Finding::not_applicable(
            "channels are made for each job, and for the one here none was made: it shares the node, or was skipped",
        )),
        Channels::Off => Some(Finding::not_applicable("channels.use of openimex.toml is off")),
    }
}

/// The channel of the job that has a domain here, unless Slurm says that it has ended.
fn job_s_channel(facts: &Facts) -> Option<&Path> {
    let domain = facts.job.domain.known()?.as_ref()?;
    let ended = facts.job.lives.get(&domain.job) == Some(&Life::Ended);
    domain.channel.as_deref().filter(|_| !ended)
}

pub(super) fn fabric(facts: &Facts) -> Finding {
    let gpus = match gpus(facts) {
        Ok(gpus) => gpus,
        Err(finding) => return finding,
    };
    let fabrics: Vec<_> = gpus.iter().map(|gpu| gpu.fabric.clone()).collect();
    match identify(&fabrics) {
        Ok(id) => Finding::ok(format!("{} GPUs in {id}", gpus.len())),
        Err(none @ (NoFabric::NoGpu | NoFabric::NotSupported { .. } | NoFabric::ZeroCluster { .. })) => {
            let evidence = none.to_string();
            if has_channels(facts) {
                Finding::warn(
                    evidence,
                    "without multi-node NVLink fabric handles work within a node at best: programs get 800 or 801",
                )
            } else {
                Finding::not_applicable(evidence)
            }
        }
        Err(none @ NoFabric::NotCompleted { .. }) => {
            Finding::warn(none.to_string(), "it may take minutes after a boot: look again")
        }
        Err(
            none @ (NoFabric::NotSuccessful { .. } | NoFabric::Incomplete { .. } | NoFabric::Disagree { .. }),
        ) => Finding::fail(
            none.to_string(),
            "drain the node; the fabric manager of the rack's switches knows more; reset the GPUs only while the node is idle",
        ),
    }
}

pub(super) fn fabric_health(facts: &Facts) -> Finding {
    let gpus = match gpus(facts) {
        Ok(gpus) => gpus,
        Err(finding) => return finding,
    };
    let unwell = gpus.iter().filter(|gpu| !gpu.complaints.is_empty());
    let told: Vec<String> =
        unwell.map(|gpu| format!("GPU {}: {}", gpu.fabric.gpu, gpu.complaints.join(", "))).collect();
    if told.is_empty() {
        Finding::ok(format!("no complaint of {} GPUs", gpus.len()))
    } else {
        Finding::fail(told.join("\n"), "drain the node: jobs run slowly, or fail with 719")
    }
}

fn gpus(facts: &Facts) -> Result<&[Gpu], Finding> {
    match &facts.driver.gpus {
        Told::Known(Some(gpus)) => Ok(gpus),
        Told::Known(None) if facts.driver.version.is_none() => {
            Err(Finding::not_applicable("NVIDIA's driver is not loaded"))
        }
        Told::Known(None) => Err(Finding::unknown("libnvidia-ml.so.1 is not installed")),
        Told::Unknown(why) => Err(Finding::unknown(why)),
    }
}
