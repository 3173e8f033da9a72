//! Which nodes share an NVLink fabric, and the topology that Slurm should be given for it.
//!
//! Sources ([`source`]) say where nodes are; [`merge`] makes one [`Inventory`] of them. [`generate`] makes
//! [`Topologies`] of it, with names that stay; [`render`] writes them as `topology.yaml` or `topology.conf`. [`lint`]
//! judges a file that someone else may have written, as slurmctld would and beyond; [`diff`] says what changes between
//! two; [`node_map`] gives the members of a node's domain; [`plan`] says where a job will land.
//!
//! [`reconcile`] decides when a changed topology is applied, [`resting`] keeps powered-down nodes in it, [`held`] tells if
//! the running controller has it. [`follow`] decides when a node takes a new map.
//!
//! Nothing here runs a program, opens a connection, reads a clock or prints. Parsers take arbitrary text and never
//! panic; each source's `parse`, and [`lint::lint`], are entry points for fuzzing.

pub mod bench;
pub mod corpus;
pub mod diff;
pub mod follow;
pub mod generate;
pub mod held;
pub mod inventory;
pub mod lint;
pub mod model;
pub mod naming;
pub mod node_map;
pub mod plan;
pub mod reconcile;
pub mod render;
pub mod resting;
pub mod show_nodes;
pub mod source;
pub mod version;
mod written;
mod yaml;

pub use diff::Diff;
pub use generate::Generated;
pub use inventory::{
    BlockKey, Disagreement, Evidence, Inventory, Merged, Placement, SourceKind, SourceReport, merge,
};
pub use model::{
    Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, Switch, Topologies, Topology, TopologyKind,
    TreeTopology,
};
pub use source::SourceError;
pub use version::SlurmVersion;
pub use written::Form;
