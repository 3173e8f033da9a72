//! What a control tool needs of the same files: less, and more forgivingly.

use std::path::PathBuf;

use imex_core::{NodeId, NodeMap};
use thiserror::Error;

use crate::nodes::NodeAddress;
use crate::security::Security;
use crate::settings::CommandTcp;

/// A control tool's settings.
///
/// Made by [`crate::load_client`] whenever both files can be read and the node map is one, even where a daemon would
/// refuse to start: somebody who looks for the reason must get an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// Where the node map is.
    pub nodes_path: PathBuf,
    /// The domain's nodes.
    pub map: NodeMap,
    /// The same entries, parsed, in the same order.
    pub addresses: Vec<NodeAddress>,
    /// Which of them this machine is, if that is plain without looking up a name.
    pub node: Option<NodeId>,
    /// The local daemon's Unix socket.
    pub socket: PathBuf,
    /// How peers prove who they are: the command service over TCP asks for the same.
    pub security: Result<Security, SecurityUnusable>,
    /// The command service over TCP, if the file enables it: the port is that of the other nodes too.
    pub tcp: Option<CommandTcp>,
}

/// Why it is not known how to ask securely, though security is asked for, or may be: a key of the configuration is wrong,
/// or what it names cannot be used by this user. It is not the same as no security.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}")]
pub struct SecurityUnusable {
    /// What is wrong.
    pub(crate) what: String,
}
