//! What must hold for every input, as plain functions; each target in `targets/` hands one of them to libFuzzer.
//!
//! A function returns when all is well and panics when it is not.

mod aws_answer;
mod command_answer;
mod config_file;
mod machine;
mod node_map;
mod peer_frame;

pub use aws_answer::aws_answer;
pub use command_answer::command_answer;
pub use config_file::config_file;
pub use machine::machine;
pub use node_map::node_map;
pub use peer_frame::peer_frame;
