//! Lint against the recorded verdicts of slurmctld.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// How many random files of each form have recorded verdicts.
const RECORDED: usize = 150;

#[test]
fn lint_says_what_slurmctld_did_with_every_recorded_file() {
    let recorded: BTreeMap<&str, &str> = include_str!("../../tests/data/verdicts.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let cases = cases(SEED, RECORDED);
    assert_eq!(recorded.len(), cases.len(), "each file has a verdict");
    let mut wrong = Vec::new();
    for case in &cases {
        let word = match case.verdict() {
            Verdict::Loads => "LOADED",
            Verdict::Refuses => "REFUSED",
        };
        let real = recorded.get(case.file_name().as_str()).copied();
        if real != Some(word) {
            wrong.push(format!("{}: lint {word}, slurmctld {real:?}\n{}", case.file_name(), case.text));
        }
    }
    assert!(wrong.is_empty(), "{} disagree\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_files_are_the_same_each_time_and_differ_in_name() {
    let (first, second) = (cases(7, 20), cases(7, 20));
    assert_eq!(first, second);
    assert_ne!(first, cases(8, 20));
    let names: BTreeSet<String> = first.iter().map(Case::file_name).collect();
    assert_eq!(names.len(), first.len());
    assert!(first.len() >= 200);
}
