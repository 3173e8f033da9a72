//! Which nodes share an NVLink fabric, and the topology that Slurm should be given for it.
//!
//! Sources ([`source`]) say where nodes are; they become one [`Inventory`]. [`generate`] makes [`Topologies`] of it,
//! with names that stay; [`render`] writes them as `topology.yaml` or `topology.conf`. [`lint`] judges a file that
//! someone else may have written, as slurmctld would and beyond; [`diff`] says what changes between two.
//!
//! Nothing here runs a program, opens a connection, reads a clock or prints. Parsers take arbitrary text and never
//! panic; each source's `parse` is an entry point for fuzzing.

pub mod inventory;
pub mod model;
pub mod version;

pub use inventory::{
    BlockKey, Disagreement, Evidence, Inventory, Merged, Placement, SourceKind, SourceReport, merge,
};
pub use model::{Block, BlockSizes, BlockTopology, Switch, Topologies, Topology, TopologyKind, TreeTopology};
pub use version::SlurmVersion;
