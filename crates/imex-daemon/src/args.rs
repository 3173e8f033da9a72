//! The command line of `imexd`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{ArgAction, Parser};
use imex_config::DEFAULT_CONFIG;

use crate::exit::Exit;

/// What the command line says.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "imexd",
    about = "Serves as one node of an IMEX domain",
    long_about = "Serves as one node of an IMEX domain: connects to the daemons of all nodes in the node map, \
                  shows the state of the domain to tools on this machine, and notices when a node is lost.",
    disable_version_flag = true,
    after_help = Exit::help()
)]
pub struct Args {
    /// Configuration file
    #[arg(short = 'c', long = "config", value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// TCP port for peers, in place of the configured SERVER_PORT
    #[arg(short = 'p', long = "port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Run without a GPU driver (also -nogpu)
    #[arg(long = "nogpu")]
    pub nogpu: bool,
    /// Report every problem of the configuration and of the node map, then exit
    #[arg(long = "check")]
    pub check: bool,
    /// Print the version and exit
    #[arg(long = "version", action = ArgAction::SetTrue)]
    pub version: bool,
    /// End when the process that started this one, whose number it gives here, ends; for labs and tests
    #[arg(long = "die-with-parent", value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
    /// The second half of a start with DAEMONIZE=1: reports on standard output that it runs
    #[arg(long = "daemon-child", hide = true)]
    pub daemon_child: bool,
}

impl Args {
    /// Reads a command line, the program's name first.
    pub fn read<I>(line: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = OsString>,
    {
        Args::try_parse_from(line.into_iter().map(spell_out))
    }
}

/// NVIDIA's daemon takes `-nogpu` with one dash; to clap that would be five short options.
fn spell_out(word: OsString) -> OsString {
    if word == OsStr::new("-nogpu") { "--nogpu".into() } else { word }
}

/// The text of `--version`. Scripts take its last word.
pub(crate) fn version_line() -> String {
    format!("IMEX version is: {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_nogpu_mean_the_same() {
        assert!(read(&["-nogpu"]).unwrap().nogpu);
        assert!(read(&["--nogpu"]).unwrap().nogpu);
        assert!(!read(&[]).unwrap().nogpu);
    }

    #[test]
    fn without_options_the_usual_file_is_read() {
        let args = read(&[]).unwrap();
        assert_eq!(args.config, PathBuf::from("/etc/nvidia-imex/config.cfg"));
        assert_eq!(args.port, None);
    }

    #[test]
    fn a_port_is_a_number_from_1_to_65535() {
        assert_eq!(read(&["-p", "50000"]).unwrap().port, Some(50000));
        assert_eq!(read(&["--port=1"]).unwrap().port, Some(1));
        for wrong in ["0", "65536", "-1", "x", ""] {
            assert!(read(&["--port", wrong]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_command_definition_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    fn read(options: &[&str]) -> Result<Args, clap::Error> {
        Args::read(std::iter::once("imexd").chain(options.iter().copied()).map(OsString::from))
    }
}
