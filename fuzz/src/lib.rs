//! What must hold for every input, as plain functions; each target in `targets/` hands one of them to libFuzzer.
//!
//! A function returns when all is well and panics when it is not.

mod auth_message;
mod aws_answer;
mod certificate;
mod command_answer;
mod config_file;
mod host_text;
mod machine;
mod node_map;
mod peer_frame;
mod slurm_text;
mod topology_file;

pub use auth_message::auth_message;
pub use aws_answer::aws_answer;
pub use certificate::certificate;
pub use command_answer::command_answer;
pub use config_file::config_file;
pub use host_text::host_text;
pub use machine::machine;
pub use node_map::node_map;
pub use peer_frame::peer_frame;
pub use slurm_text::slurm_text;
pub use topology_file::topology_file;

/// What reads the rest of an input, chosen by its first byte: `A` is the first reader. Seeds can be read that way, and
/// one target covers many small parsers.
fn by_first_byte<'b>(bytes: &'b [u8], readers: &[fn(&str)]) -> Option<(fn(&str), &'b str)> {
    let (first, rest) = bytes.split_first()?;
    let text = std::str::from_utf8(rest).ok()?;
    Some((readers[usize::from(first.wrapping_sub(b'A')) % readers.len()], text))
}
