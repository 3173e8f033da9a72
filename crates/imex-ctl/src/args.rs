//! The command line of `imexctl`: the options of `nvidia-imex-ctl` as its guide and the scripts in use have them.
//!
//! What clap accepts is turned into a [`Request`], in which nothing contradicts itself.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgGroup, CommandFactory, FromArgMatches, Parser};
use imex_config::DEFAULT_CONFIG;

use crate::exit::Exit;
use crate::render::HostNames;

/// What is asked, and of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of whom.
    pub whom: Whom,
    /// What.
    pub verb: Verb,
}

/// The daemon that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The one of this configuration file (`-c`).
    Config(PathBuf),
    /// The one that listens at this address (`-i`).
    Tcp(SocketAddr),
    /// The one that listens on this Unix socket (`-u`).
    Socket(PathBuf),
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The daemon's state, once (`-q`).
    State,
    /// The daemon's state at each change (`-s`), for at most this long (`-t`).
    Subscribe {
        /// `None`: until the daemon ends.
        limit: Option<Duration>,
    },
    /// The domain, once (`-N`).
    Domain(Layout),
    /// The domain at each change (`-n`).
    Monitor(Layout),
}

/// How a domain is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// As text or as JSON (`-j`).
    pub format: Format,
    /// With the machines' names or without (`-H`).
    pub names: HostNames,
}

/// The two layouts of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people, and for scripts that cut lines.
    Text,
    /// For scripts.
    Json,
}

/// Why a command line is no request. What is to be printed ends with a newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRequest {
    /// `--help` or `--version`: goes to standard output.
    Information(String),
    /// `-h`: the usage goes to standard output, and the exit code is that of misuse, as with `nvidia-imex-ctl -h`.
    Usage(String),
    /// It is wrong: what and how goes to standard error.
    Misuse(String),
}

impl NoRequest {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            NoRequest::Information(_) => Exit::Success,
            NoRequest::Usage(_) | NoRequest::Misuse(_) => Exit::Usage,
        }
    }
}

/// The definition that the help, the man page and the shell completions are made of.
pub fn command() -> clap::Command {
    Args::command().after_help(Exit::help())
}

/// Reads a command line; its first word is the program's name.
///
/// # Errors
///
/// Help, version and misuse are not requests: [`NoRequest`] says what to print instead.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Request, NoRequest> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(line);
    let args = matches.and_then(|matches| Args::from_arg_matches(&matches)).map_err(no_request)?;
    if args.usage {
        return Err(NoRequest::Usage(command.render_help().to_string()));
    }
    if let Some(letter) = args.not_supported() {
        let why = "what it does in nvidia-imex-ctl is not public";
        return Err(NoRequest::Misuse(format!("imexctl: -{letter} is not supported: {why}\n")));
    }
    args.request().map_err(|what| no_request(command.error(ErrorKind::ValueValidation, what)))
}

/// The usage line alone, for the one error that shows it: no configuration file.
pub fn usage() -> String {
    format!("{}\n", command().render_usage())
}

fn no_request(error: clap::Error) -> NoRequest {
    let text = error.render().to_string();
    match error.exit_code() {
        0 => NoRequest::Information(text),
        _ => NoRequest::Misuse(text),
    }
}

/// Shows what an IMEX daemon and its domain are doing.
#[derive(Debug, Parser)]
#[command(
    name = "imexctl",
    version,
    disable_help_flag = true,
    override_usage = "imexctl [-c FILE | -i IP PORT | -u PATH] <-q | -N | -n | -s> [-H] [-j] [-t MS]",
    group = ArgGroup::new("verb").args(["state", "once", "live", "subscribe", "d", "m", "usage"]),
    group = ArgGroup::new("whom").args(["config", "address", "socket"]),
)]
struct Args {
    /// Print the daemon's state, once
    #[arg(short = 'q')]
    state: bool,

    /// Print the whole domain, once
    #[arg(short = 'N')]
    once: bool,

    /// Print the whole domain now and whenever it changes
    #[arg(short = 'n')]
    live: bool,

    /// Print the daemon's state now and whenever it changes, until the daemon ends
    #[arg(short = 's')]
    subscribe: bool,

    /// With -s: end after so many milliseconds
    #[arg(short = 't', value_name = "MS", conflicts_with_all = ["state", "once", "live"])]
    limit: Option<u64>,

    /// With -N and -n: print the machines' names too
    #[arg(short = 'H', conflicts_with_all = ["state", "subscribe"])]
    names: bool,

    /// With -N and -n: print JSON
    #[arg(short = 'j', conflicts_with_all = ["state", "subscribe"])]
    json: bool,

    /// Ask the daemon of this configuration file [default: /etc/nvidia-imex/config.cfg]
    #[arg(short = 'c', alias = "c", value_name = "FILE")]
    config: Option<PathBuf>,

    /// Ask the daemon that listens at this address
    #[arg(short = 'i', num_args = 2, value_names = ["IP", "PORT"])]
    address: Option<Vec<String>>,

    /// Ask the daemon that listens on this Unix socket
    #[arg(short = 'u', alias = "u", value_name = "PATH")]
    socket: Option<PathBuf>,

    /// Ignored: scripts for old versions pass it
    #[arg(short = 'a', hide = true)]
    all: bool,

    /// Listed in the usage of `nvidia-imex-ctl`, meaning not public
    #[arg(short = 'd', hide = true)]
    d: bool,

    /// Listed in the usage of `nvidia-imex-ctl`, meaning not public
    #[arg(short = 'm', hide = true)]
    m: bool,

    /// Print this help and exit with 1, as nvidia-imex-ctl does
    #[arg(short = 'h')]
    usage: bool,

    /// Print this help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

impl Args {
    fn not_supported(&self) -> Option<char> {
        [(self.d, 'd'), (self.m, 'm')].into_iter().find_map(|(given, letter)| given.then_some(letter))
    }

    fn request(self) -> Result<Request, String> {
        let layout = Layout {
            format: if self.json { Format::Json } else { Format::Text },
            names: if self.names { HostNames::Shown } else { HostNames::Hidden },
        };
        // The group admits at most one of them.
        let verb = if self.state {
            Verb::State
        } else if self.once {
            Verb::Domain(layout)
        } else if self.live {
            Verb::Monitor(layout)
        } else if self.subscribe {
            let limit = self.limit.map(Duration::from_millis);
            Verb::Subscribe { limit }
        } else {
            return Err("one of -q, -N, -n and -s has to say what to print".to_owned());
        };
        let whom = match (self.address, self.socket) {
            (Some(words), _) => Whom::Tcp(socket_address(&words)?),
            (None, Some(path)) => Whom::Socket(path),
            (None, None) => Whom::Config(self.config.unwrap_or_else(|| DEFAULT_CONFIG.into())),
        };
        Ok(Request { whom, verb })
    }
}

fn socket_address(words: &[String]) -> Result<SocketAddr, String> {
    let [address, port] = words else {
        return Err("-i takes an IP address and a port".to_owned());
    };
    let ip: IpAddr =
        (address.parse()).map_err(|_| format!("-i takes an IP address first, not {address:?}"))?;
    let port: u16 =
        (port.parse()).map_err(|_| format!("-i takes a port from 0 to 65535 second, not {port:?}"))?;
    Ok(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests;
