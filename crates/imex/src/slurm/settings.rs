//! `imex slurm settings`: the lines for `slurm.conf`, or what AWS PCS takes of them.

use std::io::{self, Write};

use imex_config::operator;
use imex_slurm::settings::{Budget, ChannelMaker, Line, Pcs, Wanted, lines};
use serde::Serialize;

use super::args::SettingsArgs;
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// What is printed.
#[derive(Debug, Serialize)]
struct Settings {
    lines: Vec<Line>,
    /// What AWS PCS takes.
    slurm_configuration: SlurmConfiguration,
}

/// The argument of `aws pcs update-cluster --slurm-configuration`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SlurmConfiguration {
    slurm_custom_settings: Vec<CustomSetting>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CustomSetting {
    parameter_name: &'static str,
    parameter_value: String,
}

/// Runs the command.
pub(super) fn run(args: &SettingsArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    let operator = operator::load(&args.config).map_err(|error| Failure::new(Exit::Config, &error))?;
    let wanted = Wanted {
        scripts: args.scripts.clone(),
        budget: Budget::from(&operator),
        channels: ChannelMaker::from(&operator),
        release: args.slurm_version,
    };
    let settings = Settings::of(lines(&wanted));
    if args.pcs {
        settings.pcs(out, err)?;
        return Ok(Exit::Done);
    }
    match format(args.json) {
        Format::Json => output::json(&settings, out)?,
        Format::Text => settings.write(out)?,
    }
    Ok(Exit::Done)
}

impl Settings {
    fn of(lines: Vec<Line>) -> Self {
        let custom = lines.iter().filter(|line| line.pcs == Pcs::Custom);
        let custom = custom
            .map(|line| CustomSetting { parameter_name: line.key, parameter_value: line.value.clone() });
        let slurm_configuration = SlurmConfiguration { slurm_custom_settings: custom.collect() };
        Settings { lines, slurm_configuration }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "# Lines for slurm.conf. Merge them: of a key that stands twice the later line counts."
        )?;
        for Line { key, value, why, pcs: _ } in &self.lines {
            writeln!(out)?;
            for text in *why {
                writeln!(out, "# {text}")?;
            }
            writeln!(out, "{key}={value}")?;
        }
        writeln!(out)?;
        writeln!(out, "# On each partition of NVLink nodes: a domain serves one job.")?;
        writeln!(out, "#PartitionName=... OverSubscribe=EXCLUSIVE")
    }

    /// The argument alone on `out`, so that a command line can take it.
    fn pcs(&self, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &self.slurm_configuration)?;
        writeln!(out)?;
        writeln!(err, "imex: AWS PCS does not list these as settings of a cluster; without them:")?;
        for Line { key, value, why: _, pcs } in &self.lines {
            if let Pcs::NotListed { cost } = pcs {
                writeln!(err, "  {key}={value}\n    {cost}")?;
            }
        }
        writeln!(
            err,
            "imex: SchedulerParameters are replaced as a whole: add the words that the cluster has already"
        )?;
        writeln!(
            err,
            "imex: each queue of NVLink nodes needs its own setting as well, a domain serves one job:"
        )?;
        let queue =
            CustomSetting { parameter_name: "OverSubscribe", parameter_value: "EXCLUSIVE".to_owned() };
        let queue = SlurmConfiguration { slurm_custom_settings: vec![queue] };
        let queue = serde_json::to_string(&queue)?;
        writeln!(
            err,
            "  aws pcs update-queue --cluster-identifier ID --queue-identifier ID --slurm-configuration '{queue}'"
        )
    }
}
