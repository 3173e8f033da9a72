//! The command line of `imex follow`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use imex_host::systemd::{NotAService, ServiceName};

use crate::cli::timeout;
use crate::topology::{ScopeArg, SourceArgs};

#[derive(Clone, Debug, Args)]
pub(crate) struct FollowArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Whose domain it is
    #[arg(long, value_enum)]
    pub(crate) scope: ScopeArg,
    /// This node, by the name that the sources know it by
    #[arg(long, value_name = "NAME", env = "SLURMD_NODENAME")]
    pub(crate) node: String,
    /// Write the addresses that scontrol show nodes --json tells instead of names
    #[arg(long, value_name = "FILE")]
    pub(crate) addresses: Option<PathBuf>,
    /// Configuration file of the local daemon
    #[arg(short = 'c', long, value_name = "FILE", default_value = imex_config::DEFAULT_CONFIG)]
    pub(crate) config: PathBuf,
    /// The node map to keep; it must be the one that the configuration names, and need not be said
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Where jobs leave their leases
    #[arg(long, value_name = "DIR", default_value = imex_host::lease::DEFAULT_DIR)]
    pub(crate) leases: PathBuf,
    /// The service to restart: systemd:UNIT, or lab:DIR/node-K for a node of `imex lab up`
    #[arg(long, value_name = "SERVICE", default_value = "systemd:nvidia-imex.service")]
    pub(crate) service: ServiceArg,
    /// Address on which the other members ask how far this one is
    #[arg(long, value_name = "IP", default_value = "::")]
    pub(crate) listen: IpAddr,
    /// TCP port for that, the same on all members
    #[arg(long, value_name = "PORT", default_value_t = 50_006, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The time between looks at the topology, for instance 30s, 1m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout)]
    pub(crate) interval: Duration,
    /// How long the new domain may take to be UP; jobs wait for as long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub(crate) up: Duration,
}

/// Who restarts the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServiceArg {
    /// systemd.
    Systemd {
        /// The unit.
        unit: ServiceName,
    },
    /// The owner of a lab.
    Lab {
        /// The lab's folder.
        dir: PathBuf,
        /// The node's number.
        node: usize,
    },
}

impl FromStr for ServiceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be systemd:UNIT or lab:DIR/node-K".to_owned();
        match text.split_once(':') {
            Some(("systemd", unit)) => {
                let unit = unit.parse().map_err(|error: NotAService| error.to_string())?;
                Ok(ServiceArg::Systemd { unit })
            }
            Some(("lab", path)) => {
                let (dir, node) = path.rsplit_once("/node-").ok_or_else(wrong)?;
                let node = node.parse().map_err(|_| wrong())?;
                Ok(ServiceArg::Lab { dir: PathBuf::from(dir), node })
            }
            Some(_) | None => Err(wrong()),
        }
    }
}
