//! `imex pki`: a small authority and certificates for the nodes, for sites that have none.
//!
//! Two commands switch security on: `init` makes the authority, `issue` the six files of every node of a map and the
//! lines for their `config.cfg`. A site with an authority of its own uses that; the daemon asks for no more than the
//! names in the certificates.

pub(crate) mod args;
mod authority;
mod files;
mod issue;
mod lock;
mod show;

use std::io::Write;

pub(crate) use args::{PkiArgs, PkiCommand};

use crate::exit::Exit;
use crate::failure::Stop;

/// Runs a command.
pub(crate) fn run(command: &PkiCommand, out: &mut dyn Write) -> Result<Exit, Stop> {
    match command {
        PkiCommand::Init(args) => authority::init(args, out),
        PkiCommand::Issue(args) => issue::run(args, out),
        PkiCommand::Show(args) => show::run(args, out),
    }
}
