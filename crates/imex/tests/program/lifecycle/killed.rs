//! `apply` killed at each of its steps, as by `kill -9`: the file is the old one or the new one, whole, and the next run
//! leaves the controller holding it.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::lifecycle::site::{AFTER, BEFORE, POISON, Site, yaml};
use crate::program::run;

#[test]
fn killed_on_the_way_forward_the_next_run_completes_it() {
    for (step, file, loaded) in [
        ("journal", BEFORE, BEFORE),
        ("backup", BEFORE, BEFORE),
        ("written", AFTER, BEFORE),
        ("reloaded", AFTER, AFTER),
        ("held", AFTER, AFTER),
    ] {
        let site = Site::new();
        killed(&site, "after.yaml", step);
        assert_eq!(site.read("topology.yaml"), yaml(file), "{step}");
        assert_eq!(site.read("loaded"), yaml(loaded), "{step}");
        let said = run(&mut site.apply("after.yaml"));
        assert_eq!(said.code, 0, "{step}: {}{}", said.out, said.err);
        assert!(said.out.contains("an earlier run was cut short"), "{step}: {}", said.out);
        assert_eq!((site.read("topology.yaml"), site.read("loaded")), (yaml(AFTER), yaml(AFTER)), "{step}");
        assert_eq!(site.left_over(), [""; 0], "{step}");
    }
}

#[test]
fn killed_on_the_way_back_the_next_run_goes_on_back() {
    for (step, file) in
        [("back-journal", POISON), ("back-written", BEFORE), ("reloaded", BEFORE), ("back-held", BEFORE)]
    {
        let site = Site::new();
        site.mode("refuse");
        killed(&site, "poison.yaml", step);
        assert_eq!(site.read("topology.yaml"), yaml(file), "{step}");
        // Any next run does: this one has nothing to change itself.
        site.write("same.yaml", &yaml(BEFORE));
        let said = run(&mut site.apply("same.yaml"));
        assert_eq!(said.code, 0, "{step}: {}{}", said.out, said.err);
        assert_eq!((site.read("topology.yaml"), site.read("loaded")), (yaml(BEFORE), yaml(BEFORE)), "{step}");
        assert_eq!(site.left_over(), [""; 0], "{step}");
    }
}

#[test]
fn a_new_file_that_is_not_taken_is_undone_by_the_next_run_too() {
    let site = Site::new();
    killed(&site, "poison.yaml", "written");
    site.mode("refuse");
    site.write("same.yaml", &yaml(BEFORE));
    let said = run(&mut site.apply("same.yaml"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("the file before it is in use again"), "{}", said.out);
    assert_eq!((site.read("topology.yaml"), site.read("loaded")), (yaml(BEFORE), yaml(BEFORE)));
}

#[test]
fn a_file_that_somebody_wrote_since_stays() {
    let site = Site::new();
    killed(&site, "after.yaml", "written");
    site.write("topology.yaml", &yaml(POISON));
    let said = run(&mut site.apply("poison.yaml"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("the file was changed since and stayed"), "{}", said.out);
    assert_eq!(site.read("loaded"), yaml(POISON));
}

#[test]
fn watch_completes_what_a_killed_run_left() {
    let site = Site::new();
    site.sources(AFTER);
    killed(&site, "after.yaml", "written");
    let words = "watch --once --source inventory:DIR/inventory.yaml --to DIR/topology.yaml --sizes 4,8";
    let said = site.run(words);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains(r#""recovered":"finished""#), "{}", said.out);
    assert_eq!(site.read("loaded"), yaml(AFTER));
}

fn killed(site: &Site, new: &str, step: &str) {
    let mut command = site.apply(new);
    let status = command.env("IMEX_DIE_AT", step).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(9), "{step}");
}
