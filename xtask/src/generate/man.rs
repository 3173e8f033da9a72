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
    let usage = command.clone().render_usage().to_string();
    let man = Man::new(command).section(section).source("openimex").manual("openimex");
    let path = format!("docs/man/{}", man.get_filename()).into();
    let mut bytes = Vec::new();
    man.render(&mut bytes).map_err(TaskError::file("render", &path))?;
    files.insert(path, finished(&String::from_utf8_lossy(&bytes), &usage).into_bytes());
    Ok(())
}

/// A page with the usage of the help as its synopsis, which names the values of options, and with the exit codes in the
/// section that manual pages have for them.
fn finished(page: &str, usage: &str) -> String {
    const SYNOPSIS: &str = ".SH SYNOPSIS\n";
    let page = page.replace("\n.SH EXTRA\nExit codes:\n", "\n.SH \"EXIT STATUS\"\n");
    let Some((before, rest)) = page.split_once(SYNOPSIS) else { return page };
    let after = rest.find("\n.SH ").map_or("", |end| &rest[end..]);
    let lines = usage.trim_start_matches("Usage:").lines().map(|line| line.trim().replace('-', "\\-"));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    format!("{before}{SYNOPSIS}{}{after}", lines.join("\n.br\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_synopsis_names_values_and_exit_codes_have_their_section() {
        let page = ".SH NAME\nx\n.SH SYNOPSIS\nold\n.SH OPTIONS\no\n.SH EXTRA\nExit codes:\n    0  done\n";
        let expected = ".SH NAME\nx\n.SH SYNOPSIS\nx \\-c <FILE>\n.br\nx y\n.SH OPTIONS\no\n.SH \"EXIT STATUS\"\n    0  done\n";
        assert_eq!(finished(page, "Usage: x -c <FILE>\n       x y\n"), expected);
    }
}
