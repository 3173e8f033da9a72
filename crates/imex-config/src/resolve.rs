//! From what is written to what it means here.
//!
//! Each section of the file has its own function; all of them run whatever the others find, so that one run reports
//! everything.

mod files;
mod gss;
mod here;
mod lookup;
mod munge;
mod own;
mod security;

use std::path::{Path, PathBuf};

use imex_core::{DomainToken, Grace, NodeMap, QuorumMode, Timing};

pub(crate) use self::gss::key_tables;
use self::here::Here;
use crate::client::{ClientSettings, SecurityUnusable};
use crate::keys::table as key;
use crate::machine::Machine;
use crate::nodes::{NodeAddress, NodeFile};
use crate::problem::{Problem, Problems, Severity, Strictness};
use crate::security::Security;
use crate::service::ServiceFile;
use crate::settings::{
    Command, CommandTcp, Log, LogDestination, LogLevel, LogStart, Overrides, Process, Settings, Stats,
    StatsDestination,
};
use crate::values::Values;

/// The Unix socket of the command service unless the file names another.
pub const DEFAULT_SOCKET: &str = "/var/run/nvidia-imex/command.sock";

/// The longest path of a Unix socket in bytes: `sun_path` of Linux's `unix(7)` less its final zero.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The unit of `LOG_FILE_MAX_SIZE`.
const MEBIBYTE: u64 = 1 << 20;

/// Both files as they are written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where the configuration file is.
    pub service_path: PathBuf,
    /// The configuration file.
    pub service: ServiceFile,
    /// Where the node file is.
    pub nodes_path: PathBuf,
    /// The node file; `None` if it could not be read, which is then a problem already reported.
    pub nodes: Option<NodeFile>,
}

/// Where a configuration file says that the node file is. The path is taken as it stands, so that a bad one hides no
/// problem of the file itself; it is judged with the other values.
pub(crate) fn nodes_path(service: &ServiceFile) -> PathBuf {
    let key = key::IMEX_NODE_CONFIG_FILE;
    let written = service.get(key.name).map(|assignment| assignment.value);
    written.filter(|value| !value.is_empty()).unwrap_or(key.default).into()
}

/// Judges both files for a machine. Gives settings unless a problem is an error.
pub fn resolve(
    written: &Written,
    overrides: &Overrides,
    machine: &impl Machine,
) -> (Option<Settings>, Problems) {
    let mut values = Values::judge(&written.service, &written.service_path);
    let port = overrides.port.unwrap_or_else(|| values.number(&key::SERVER_PORT));
    let security = security::resolve(&mut values, machine);
    let here = Here::look(machine, &mut values);
    let command = command(&mut values, port, here.as_ref());
    let log = log(&values);
    let stats = stats(&values, &log);
    files::report_shared(&mut values, written, machine);
    let own = written.nodes.as_ref().and_then(|nodes| {
        nodes.report(&written.nodes_path, &mut values.problems);
        let map = nodes.map()?.clone();
        let own = own::find(nodes, &written.nodes_path, &mut values, here.as_ref()?)?;
        Some((map, addresses(nodes), own))
    });
    let nodes = own.as_ref().map_or(0, |(map, ..)| map.len());
    let settings = own.map(|(map, addresses, (node, bind))| Settings {
        map,
        addresses,
        node,
        bind,
        port,
        quorum: quorum(&values),
        timing: Timing { auth_retry: security.retry_interval(), ..timing(&values, nodes) },
        security,
        command,
        log,
        stats,
        process: match values.on(&key::DAEMONIZE) {
            true => Process::Daemon,
            false => Process::Foreground,
        },
        persist: values.path(&key::OPENIMEX_PERSIST_FILE),
        token: token(&values),
    });
    let problems = values.problems;
    (settings.filter(|_| !problems.fail(Strictness::Lenient)), problems)
}

/// Reads for a control tool. Looks up no name and does not mind errors, as long as there is a map.
pub fn resolve_client(
    written: &Written,
    map: &NodeMap,
    machine: &impl Machine,
) -> (ClientSettings, Problems) {
    let mut values = Values::judge(&written.service, &written.service_path);
    let nodes = written.nodes.as_ref();
    let settings = ClientSettings {
        nodes_path: written.nodes_path.clone(),
        map: map.clone(),
        addresses: nodes.map(addresses).unwrap_or_default(),
        node: nodes.and_then(|nodes| own::guess(nodes, &mut values, machine)),
        socket: socket(&values),
        security: security::resolve_client(&mut values, machine),
        tcp: tcp(&values),
    };
    if let Some(nodes) = nodes {
        nodes.report(&written.nodes_path, &mut values.problems);
    }
    (settings, values.problems)
}

/// Judges the authentication keys of a configuration file for a control tool that asks another machine.
pub(crate) fn resolve_client_security(
    service: &ServiceFile,
    path: &Path,
    machine: &impl Machine,
) -> Result<Security, SecurityUnusable> {
    security::resolve_client(&mut Values::judge(service, path), machine)
}

fn addresses(nodes: &NodeFile) -> Vec<NodeAddress> {
    nodes.entries().iter().map(|entry| entry.address.clone()).collect()
}

fn quorum(values: &Values<'_>) -> QuorumMode {
    match values.text(&key::IMEX_WAIT_FOR_QUORUM) {
        "NONE" => QuorumMode::None,
        "FULL" => QuorumMode::Full,
        _ => QuorumMode::Recovery,
    }
}

fn timing(values: &Values<'_>, nodes: usize) -> Timing {
    let retry_max = values.millis(&key::OPENIMEX_RECONNECT_MAX_MS);
    let default = Timing::default().paced(nodes);
    Timing {
        // Who sets an interval has weighed it: on machines of their own 144 nodes can well ping once a second.
        ping_interval: values
            .optional_millis(&key::OPENIMEX_PING_INTERVAL_MS)
            .unwrap_or(default.ping_interval),
        ping_misses: values.number(&key::OPENIMEX_PING_MISSES),
        retry_max,
        dial_deadline: values.millis(&key::OPENIMEX_DIAL_TIMEOUT_MS),
        grace: values.seconds(&key::IMEX_NODE_DISCONNECTED_GRACE_TIME).map_or(Grace::Forever, Grace::For),
        ..default
    }
}

fn token(values: &Values<'_>) -> DomainToken {
    DomainToken::new(values.text(&key::OPENIMEX_DOMAIN_TOKEN)).expect("the value was judged as a token")
}

fn command(values: &mut Values<'_>, peer_port: u16, here: Option<&Here<'_>>) -> Command {
    let socket = socket(values);
    let length = socket.as_os_str().len();
    if length > MAX_SOCKET_PATH_BYTES {
        let what = format!(
            "path of the Unix socket has {length} bytes, at most {MAX_SOCKET_PATH_BYTES} are possible"
        );
        let hint = "use a directory with a shorter path".to_owned();
        values.report(Severity::Error, &key::IMEX_CMD_UNIX_DOMAIN_PATH, what, hint);
    }
    let mut tcp = tcp(values);
    if let Some(tcp) = &mut tcp {
        report_tcp(values, *tcp, peer_port);
        tcp.scope_id = here.map_or(0, |here| own::command_scope(values, here));
    }
    Command { socket, socket_mode: values.mode(&key::OPENIMEX_CMD_SOCKET_MODE), tcp }
}

fn socket(values: &Values<'_>) -> PathBuf {
    values.non_empty(&key::IMEX_CMD_UNIX_DOMAIN_PATH).unwrap_or(DEFAULT_SOCKET).into()
}

fn tcp(values: &Values<'_>) -> Option<CommandTcp> {
    let enabled = values.on(&key::IMEX_CMD_ENABLED);
    let port = values.port(&key::IMEX_CMD_PORT).filter(|_| enabled)?;
    let bind = values.address(&key::IMEX_CMD_BIND_INTERFACE_IP).map(|(ip, _)| ip);
    Some(CommandTcp { bind, scope_id: 0, port })
}

fn report_tcp(values: &mut Values<'_>, tcp: CommandTcp, peer_port: u16) {
    let own_address = values.address(&key::BIND_INTERFACE_IP).map(|(ip, _)| ip);
    let command_address = tcp.bind.filter(|ip| !ip.is_unspecified());
    let apart = command_address.is_some() && own_address.is_some() && command_address != own_address;
    if tcp.port == peer_port && tcp.port != 0 && !apart {
        let what = format!("port {peer_port} is asked for twice, for peers and for questions over TCP");
        let hint = "SERVER_PORT and IMEX_CMD_PORT must differ".to_owned();
        values.report(Severity::Error, &key::IMEX_CMD_PORT, what, hint);
    } else if command_address.is_none() {
        let what =
            format!("anyone who reaches port {} of this machine can read the domain's state", tcp.port);
        let hint = "name one address in IMEX_CMD_BIND_INTERFACE_IP to offer it there only".to_owned();
        values.report(Severity::Note, &key::IMEX_CMD_ENABLED, what, hint);
    }
}

fn log(values: &Values<'_>) -> Log {
    let file = values.non_empty(&key::LOG_FILE_NAME).map(PathBuf::from);
    Log {
        level: match values.number::<u8>(&key::LOG_LEVEL) {
            0 => LogLevel::Off,
            1 => LogLevel::Critical,
            2 => LogLevel::Error,
            3 => LogLevel::Warning,
            _ => LogLevel::Info,
        },
        destination: match file {
            _ if values.on(&key::LOG_USE_SYSLOG) => LogDestination::Syslog,
            Some(file) => LogDestination::File(file),
            None => LogDestination::Stderr,
        },
        start: match values.on(&key::LOG_APPEND_TO_LOG) {
            true => LogStart::Append,
            false => LogStart::Overwrite,
        },
        max_size: values.number::<u64>(&key::LOG_FILE_MAX_SIZE) * MEBIBYTE,
        rotate_count: values.number(&key::LOG_MAX_ROTATE_COUNT),
        verbose_file: values.path(&key::OPENIMEX_VERBOSE_LOG_FILE_NAME),
    }
}

fn stats(values: &Values<'_>, log: &Log) -> Stats {
    let destination = match values.non_empty(&key::STATS_FILE_NAME).map(PathBuf::from) {
        Some(file) if log.destination == LogDestination::File(file.clone()) => StatsDestination::Log,
        Some(file) => StatsDestination::File(file),
        None => StatsDestination::Stderr,
    };
    Stats {
        destination,
        interval: values.seconds(&key::OPENIMEX_STATS_INTERVAL_SEC).expect("the range begins at 1"),
    }
}

/// A problem of the node file that is about this machine.
fn node_problem(severity: Severity, path: &Path, what: String, hint: &str) -> Problem {
    Problem::new(severity, path, what).hint(hint.to_owned())
}
