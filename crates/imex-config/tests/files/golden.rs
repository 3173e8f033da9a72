//! Every directory of `tests/data` holds both files and what is to be reported about them.

use std::fs;
use std::path::Path;

use imex_config::{Overrides, Severity, resolve};

use crate::fake::{FakeMachine, written};

#[test]
fn each_pair_of_files_has_its_problems() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut cases: Vec<_> = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 20, "the cases are there");
    for case in cases {
        let read = |name| fs::read(case.join(name)).unwrap();
        let written = written(&read("config.cfg"), &read("nodes_config.cfg"));
        let (settings, problems) = resolve(&written, &Overrides::default(), &FakeMachine::default());
        let error = problems.worst() == Some(Severity::Error);
        assert_eq!(
            settings.is_none(),
            error,
            "{}: settings if and only if there is no error",
            case.display()
        );
        insta::with_settings!({
            snapshot_path => &case,
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!("problems", problems);
        });
    }
}
