//! docs/exit-codes.md lists exactly the codes that the programs have.

use crate::error::TaskError;
use crate::tree;

pub(super) fn findings() -> Result<Vec<String>, TaskError> {
    let document = tree::read(&tree::root().join("docs/exit-codes.md"))?;
    let programs = [
        ("imexd", imex_daemon::exit::Exit::ALL.map(imex_daemon::exit::Exit::code).to_vec()),
        ("imex", imex::exit::Exit::TABLE.iter().map(|(exit, _)| exit.code()).collect()),
        ("imexctl", imex_ctl::Exit::ALL.map(imex_ctl::Exit::code).to_vec()),
    ];
    let judged = programs.iter().filter_map(|(name, codes)| judge(&document, name, codes));
    Ok(judged.collect())
}

fn judge(document: &str, program: &str, codes: &[u8]) -> Option<String> {
    let listed = listed(document, program);
    (listed != codes).then(|| format!("docs/exit-codes.md: {program} has {codes:?}, listed are {listed:?}"))
}

/// The numbers in the first column of the table under a program's heading.
fn listed(document: &str, program: &str) -> Vec<u8> {
    let heading = format!("\n## {program}\n");
    let section = document.split_once(&heading).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    cells.filter_map(|cell| cell.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_and_a_surplus_code_are_found() {
        let document = "# x\n\n## one\n\n| code | meaning |\n|---|---|\n| 0 | good |\n| 7 | bad |\n\n## two\n\n| 1 | x |\n";
        assert_eq!(judge(document, "one", &[0, 7]), None);
        assert!(judge(document, "one", &[0, 7, 8]).is_some());
        assert!(judge(document, "one", &[0]).is_some());
        assert_eq!(judge(document, "two", &[1]), None);
    }
}
