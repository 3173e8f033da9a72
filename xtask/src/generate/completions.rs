//! Completions for the three shells that are met on clusters.

use clap_complete::Shell;

use super::{Documented, Files};

pub(super) fn add(program: &Documented, files: &mut Files) {
    let name = program.command.get_name().to_owned();
    // Each shell looks for a program's completions under a name of its own.
    let shells = [
        (Shell::Bash, format!("bash/{name}")),
        (Shell::Fish, format!("fish/{name}.fish")),
        (Shell::Zsh, format!("zsh/_{name}")),
    ];
    for (shell, file) in shells {
        let mut bytes = Vec::new();
        clap_complete::generate(shell, &mut program.command.clone(), &name, &mut bytes);
        files.insert(format!("dist/completions/{file}").into(), bytes);
    }
}
