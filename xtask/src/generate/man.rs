//! Man pages: one per program and one per subcommand, named as git names its own (`imex-lab.1`).

use clap::Command;
use clap_mangen::Man;

use super::{Documented, Files};
use crate::error::TaskError;

pub(super) fn add(program: Documented, files: &mut Files) -> Result<(), TaskError> {
    // Building names the subcommands after their parents.
    let mut command = program.command.disable_help_subcommand(true);
    command.build();
    page(command, program.section, files)
}

/// Adds the page of a command and those of its subcommands.
fn page(command: Command, section: &str, files: &mut Files) -> Result<(), TaskError> {
    let shown = |subcommand: &&Command| !subcommand.is_hide_set();
    for subcommand in command.get_subcommands().filter(shown) {
        page(subcommand.clone(), section, files)?;
    }
    let man = Man::new(command).section(section).manual("openimex");
    let path = format!("docs/man/{}", man.get_filename()).into();
    let mut bytes = Vec::new();
    man.render(&mut bytes).map_err(TaskError::file("render", &path))?;
    files.insert(path, bytes);
    Ok(())
}
