//! What a lab is to be, and how it comes into being.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use thiserror::Error;

use crate::address::{AddressError, Addresses};
use crate::files::{self, FilesError, Setting};
use crate::lab::{Lab, NodeError};
use crate::layout::{Layout, LayoutError, io_error};

/// The nodes of one NVLink rack (NVL72).
const RACK: usize = 18;

/// The port for peers that NVIDIA's service has, too.
const PORT: u16 = 50_000;

/// The longest directory name in which temporary labs are made; in a longer one, socket paths would be too long.
const MAX_TEMP_DIR: usize = 50;

/// A lab to be.
#[derive(Clone, Debug)]
pub struct LabBuilder {
    imexd: PathBuf,
    imexctl: Option<PathBuf>,
    nodes: usize,
    port: u16,
    dir: Option<PathBuf>,
    settings: Vec<Setting>,
}

/// Why a lab did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The number of nodes is out of range.
    #[error("a lab has 1 to {max} nodes, not {found}", max = Addresses::MAX_NODES)]
    Nodes {
        /// What was asked for.
        found: usize,
    },
    /// There is no such daemon.
    #[error("{} is no program that could be run as imexd", path.display())]
    Program {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No place for its files.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Its files could not be written.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// No addresses for its nodes.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A node could not be started.
    #[error(transparent)]
    Node(#[from] NodeError),
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StartError::Nodes { .. } => "choose another number with --nodes",
            StartError::Program { .. } => "name the daemon with --imexd",
            StartError::Layout(error) | StartError::Files(FilesError::Layout(error)) => error.hint(),
            StartError::Files(FilesError::Setting { .. }) => {
                "a key has letters, digits and '_'; a value is one line"
            }
            StartError::Address(_) => {
                "if a service listens on this port of all addresses, choose another with --port"
            }
            StartError::Node(error) => error.hint(),
        }
    }
}

impl LabBuilder {
    pub(crate) fn new(imexd: &Path) -> Self {
        LabBuilder {
            imexd: imexd.to_owned(),
            imexctl: None,
            nodes: RACK,
            port: PORT,
            dir: None,
            settings: Vec::new(),
        }
    }

    /// How many nodes; 18 if not said.
    #[must_use]
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// The TCP port of all nodes; 50000 if not said.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Where the files go; a temporary directory, removed with the lab, if not said.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// The program that is to be found as `DIR/bin/imexctl`.
    #[must_use]
    pub fn imexctl(mut self, program: impl Into<PathBuf>) -> Self {
        self.imexctl = Some(program.into());
        self
    }

    /// A key of every node's `config.cfg`, for instance `IMEX_WAIT_FOR_QUORUM`. The last of several holds.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Makes everything and starts all nodes, without waiting for any.
    pub fn start(self) -> Result<Lab, StartError> {
        let mut lab = self.prepare()?;
        lab.start_all()?;
        Ok(lab)
    }

    /// Makes everything but starts nothing.
    pub fn prepare(self) -> Result<Lab, StartError> {
        if !(1..=Addresses::MAX_NODES).contains(&self.nodes) {
            return Err(StartError::Nodes { found: self.nodes });
        }
        let imexd = program(&self.imexd)?;
        let imexctl = self.imexctl.as_deref().map(program).transpose()?;
        let (layout, temporary) = match &self.dir {
            Some(dir) => (Layout::new(dir)?, None),
            None => temporary()?,
        };
        let ownership = layout.take(self.nodes)?;
        let addresses = Addresses::claim(self.nodes, self.port)?;
        link(&layout, "imexd", &imexd)?;
        if let Some(imexctl) = imexctl {
            link(&layout, "imexctl", &imexctl)?;
        }
        let map = files::map((0..self.nodes).map(|node| addresses.of(node)));
        for node in 0..self.nodes {
            let paths = layout.node(node);
            let settings = files::settings(&paths, addresses.of(node), self.port);
            files::write(&paths, settings.iter().chain(&self.settings), &map)?;
        }
        Ok(Lab::prepared(layout, ownership, addresses, temporary))
    }
}

/// The absolute path of a program, which must exist.
fn program(path: &Path) -> Result<PathBuf, StartError> {
    path.canonicalize().map_err(|source| StartError::Program { path: path.to_owned(), source })
}

fn temporary() -> Result<(Layout, Option<TempDir>), LayoutError> {
    let usual = std::env::temp_dir();
    let place = if usual.as_os_str().len() > MAX_TEMP_DIR { PathBuf::from("/tmp") } else { usual };
    let directory =
        tempfile::Builder::new().prefix("imex-lab-").tempdir_in(&place).map_err(io_error(&place))?;
    Ok((Layout::new(directory.path())?, Some(directory)))
}

fn link(layout: &Layout, name: &str, to: &Path) -> Result<(), LayoutError> {
    let path = layout.program(name);
    let bin = path.parent().unwrap_or(layout.dir());
    fs::create_dir_all(bin).map_err(io_error(bin))?;
    symlink(to, &path).map_err(io_error(&path))
}
