//! The first lines of a log: what the daemon runs with and what it made of the files.
//!
//! Their beginnings are those of the original (reference, chapters on the start sequence and on logs).

use std::fmt;

use imex_config::settings::{LogDestination, LogLevel, LogStart, StatsDestination};
use imex_config::{NodeAddress, Problem, Problems, Security, Settings, Severity};
use imex_core::{Hello, QuorumMode};
use tracing::{info, warn};

/// Writes what the daemon runs with. `driver` is the driver version or `NO_GPU`.
pub(crate) fn options(settings: &Settings, driver: &str) {
    let version = env!("CARGO_PKG_VERSION");
    if driver == Hello::NO_GPU {
        info!("IMEX version {version} is running in NO GPU MODE");
    }
    info!("IMEX version {version} is running with the following configuration options:");
    let log = &settings.log;
    info!("Logging level = {}", level_number(log.level));
    let (file, syslog) = match &log.destination {
        LogDestination::File(path) => (path.display().to_string(), 0),
        LogDestination::Stderr => (String::new(), 0),
        LogDestination::Syslog => (String::new(), 1),
    };
    info!("Logging file name/path = {file}");
    info!("Append to log file = {}", i32::from(log.start == LogStart::Append));
    info!("Max Log file size = {} (MBs)", log.max_size >> 20);
    info!("Log file rotations = {}", log.rotate_count);
    info!("Use Syslog file = {syslog}");
    let statistics = match &settings.stats.destination {
        StatsDestination::File(path) => path.display().to_string(),
        StatsDestination::Log => file,
        StatsDestination::Stderr => String::new(),
    };
    info!("Statistics file name/path = {statistics}");
    info!("Authentication and Encryption enabled = {}", i32::from(settings.security != Security::Off));
    info!("IMEX library communication bind interface = {}", settings.bind.address);
    info!("IMEX library communication bind port = {}", settings.port);
}

/// Writes what is doubtful about the files but did not stand in the way.
pub(crate) fn problems(problems: &Problems) {
    for problem in problems.iter() {
        let place = Place(problem);
        let (what, hint) = (&problem.what, problem.hint.as_deref());
        match problem.severity {
            Severity::Note => info!(hint, "{place}: {what}"),
            Severity::Warning | Severity::Error => warn!(hint, "{place}: {what}"),
        }
    }
}

/// The file and, if it is about one, the line.
struct Place<'a>(&'a Problem);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.file.display())?;
        self.0.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// Writes what the node map says.
pub(crate) fn nodes(settings: &Settings) {
    for address in &settings.addresses {
        if let NodeAddress::Name(name) = address {
            info!("Treating node config entry '{name}' as a host name.");
        }
    }
    let bind = &settings.bind;
    info!(
        "Identified this node as ID {}, using bind IP of '{}', and network interface of {}",
        settings.node, bind.address, bind.interface
    );
}

/// Writes that the links begin.
pub(crate) fn links(settings: &Settings) {
    info!("Creating gRPC channels to all peers (nPeers = {}).", settings.map.len());
    match settings.quorum {
        QuorumMode::Full => info!("IMEX_WAIT_FOR_QUORUM == FULL, waiting for connections to all nodes."),
        QuorumMode::None | QuorumMode::Recovery => {
            info!(
                "IMEX_WAIT_FOR_QUORUM != FULL, continuing initialization without waiting for connections to all nodes."
            );
        }
    }
}

fn level_number(level: LogLevel) -> u8 {
    match level {
        LogLevel::Off => 0,
        LogLevel::Critical => 1,
        LogLevel::Error => 2,
        LogLevel::Warning => 3,
        LogLevel::Info => 4,
    }
}
