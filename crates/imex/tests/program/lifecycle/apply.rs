//! `apply` under every misbehaviour: the controller holds what the file says, or the old file is back.

use std::time::{Duration, Instant};

use crate::lifecycle::site::{AFTER, BEFORE, POISON, Site, yaml};
use crate::program::run;

#[test]
fn a_topology_is_written_loaded_and_the_one_before_is_kept() {
    let site = Site::new();
    let said = run(&mut site.apply("after.yaml"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    for (file, text) in [("topology.yaml", AFTER), ("loaded", AFTER), ("topology.yaml.bak", BEFORE)] {
        assert_eq!(site.read(file), yaml(text), "{file}");
    }
    assert_eq!(site.left_over(), [""; 0]);
}

#[test]
fn what_the_controller_does_not_take_is_rolled_back() {
    for (mode, why) in [
        ("refuse", "ended with exit status: 1: slurm_reconfigure error:Unspecified error"),
        ("ignore", "it holds another `nvlink`"),
        ("unknown", "it does not know `nvlink` (fake scontrol: no topology nvlink)"),
        ("half", "prints cannot be understood: line 1: there is no BlockSize"),
    ] {
        let site = Site::new();
        site.mode(mode);
        let said = run(&mut site.apply("poison.yaml"));
        assert_eq!(said.code, 52, "{mode}: {}{}", said.out, said.err);
        assert!(said.out.contains(why), "{mode}: {}", said.out);
        for file in ["topology.yaml", "loaded"] {
            assert_eq!(site.read(file), yaml(BEFORE), "{mode}: {file}");
        }
        assert_eq!(site.left_over(), [""; 0], "{mode}");
    }
}

#[test]
fn a_controller_that_dies_of_it_finds_the_old_file_and_the_next_run_looks_again() {
    let site = Site::new();
    site.mode("die");
    let said = run(&mut site.apply("poison.yaml"));
    assert_eq!(said.code, 53, "{}{}", said.out, said.err);
    assert_eq!(site.read("topology.yaml"), yaml(BEFORE));
    // It is started again.
    std::fs::remove_file(site.path("dead")).unwrap();
    let said = run(&mut site.apply("after.yaml"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(
        said.out.contains("an earlier run was cut short: the file before it is in use again"),
        "{}",
        said.out
    );
    assert_eq!(site.read("loaded"), yaml(AFTER));
}

#[test]
fn a_controller_that_hangs_is_not_waited_for() {
    let site = Site::new();
    site.mode("hang");
    let started = now();
    let said = run(&mut site.apply("after.yaml"));
    assert_eq!(said.code, 51, "{}{}", said.out, said.err);
    assert!(said.err.contains("`scontrol show topology` did not end within 1000 ms"), "{}", said.err);
    assert_eq!(
        site.read("topology.yaml"),
        yaml(BEFORE),
        "nothing is written for a controller that is silent"
    );
    site.mode("hang-reconfigure");
    let said = run(&mut site.apply("after.yaml"));
    assert_eq!(said.code, 53, "{}{}", said.out, said.err);
    assert_eq!(site.read("topology.yaml"), yaml(BEFORE));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn what_is_in_use_already_is_not_written_again() {
    let site = Site::new();
    site.write("same.yaml", &format!("# another comment\n{}", yaml(BEFORE)));
    let said = run(&mut site.apply("same.yaml"));
    assert_eq!((said.code, site.reloads()), (0, 0), "{}{}", said.out, said.err);
    assert_eq!(site.read("topology.yaml"), yaml(BEFORE));
    // The file is right and the controller was told otherwise: that heals by loading.
    site.write("loaded", &yaml(POISON));
    let said = run(&mut site.apply("same.yaml"));
    assert_eq!((said.code, site.reloads()), (0, 1), "{}{}", said.out, said.err);
}

#[test]
fn two_runs_do_not_change_one_file() {
    let site = Site::new();
    let lock = std::fs::File::create(site.path(".topology.yaml.imex-lock")).unwrap();
    lock.lock().unwrap();
    let said = run(&mut site.apply("after.yaml"));
    assert_eq!(said.code, 54, "{}{}", said.out, said.err);
}

#[expect(clippy::disallowed_methods, reason = "how long a hanging program is waited for is measured")]
fn now() -> Instant {
    Instant::now()
}
