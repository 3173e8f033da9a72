//! Completions for the three shells that are met on clusters.

use clap::{Arg, Command, ValueHint};
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
        clap_complete::generate(shell, &mut hinted(program.command.clone()), &name, &mut bytes);
        files.insert(format!("dist/completions/{file}").into(), bytes);
    }
}

/// What the values of options are called that are files. Bash would offer files for all others too.
const FILES: [&str; 4] = ["FILE", "DIR", "PATH", "PROGRAM"];

fn hinted(command: Command) -> Command {
    command.mut_args(hint).mut_subcommands(hinted)
}

fn hint(arg: Arg) -> Arg {
    let is_file = arg.get_value_names().into_iter().flatten().any(|name| FILES.contains(&name.as_str()));
    let is_open = arg.get_value_hint() == ValueHint::Unknown && arg.get_action().takes_values();
    if is_open && !is_file { arg.value_hint(ValueHint::Other) } else { arg }
}
