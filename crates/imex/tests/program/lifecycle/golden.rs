//! Golden files of `apply`, `verify` and `watch`: help, misuse, what they say.

use crate::lifecycle::site::{BEFORE, ENDED_BLOCK, POISON, Site, yaml};
use crate::program::{redactions, transcript};

#[test]
fn help_and_wrong_command_lines_of_the_life_cycle_are_as_recorded() {
    let _redacted = redactions();
    let site = Site::new();
    for (name, words) in [
        ("topology-apply-help", "apply --help"),
        ("topology-verify-help", "verify --help"),
        ("topology-watch-help", "watch --help"),
        ("topology-apply-nothing", "apply"),
        ("topology-watch-no-source", "watch"),
        ("topology-watch-bad-loss", "watch --source inventory:x --max-loss 101"),
        ("topology-watch-other-form", "watch --source inventory:x --to DIR/topology.conf"),
        ("topology-apply-bad-time", "apply x --load soon"),
    ] {
        golden(&site, name, words);
    }
}

#[test]
fn what_apply_and_verify_say_is_as_recorded() {
    let _redacted = redactions();
    let site = Site::new();
    site.write("wrong.yaml", "- topology: t\n  block:\n    block_sizes: [3, 4]\n");
    for (name, words) in [
        ("topology-apply-dry-run", "apply DIR/after.yaml --dry-run --to DIR/topology.yaml"),
        ("topology-apply-refused", "apply DIR/wrong.yaml --to DIR/topology.yaml"),
        ("topology-apply", "apply DIR/after.yaml --to DIR/topology.yaml"),
        ("topology-apply-again", "apply DIR/after.yaml --to DIR/topology.yaml"),
        ("topology-apply-json", "apply DIR/poison.yaml --json --to DIR/topology.yaml"),
        ("topology-verify", "verify DIR/topology.yaml"),
        ("topology-verify-source", "verify DIR/topology.yaml --source inventory:DIR/inventory.yaml"),
    ] {
        golden(&site, name, words);
    }
    site.write("ended.json", ENDED_BLOCK);
    let words = "verify DIR/topology.yaml --source ec2:DIR/ended.json --ec2-name id";
    golden(&site, "topology-verify-ended-block", words);
    golden(&site, "topology-verify-ended-block-json", &format!("{words} --json"));
    site.write("topology.yaml", &yaml(POISON));
    site.write("loaded", &site.read("after.yaml"));
    for (name, words) in [
        ("topology-verify-differs", "verify DIR/topology.yaml"),
        ("topology-verify-differs-json", "verify DIR/topology.yaml --json"),
    ] {
        golden(&site, name, words);
    }
    for file in ["topology.yaml", "loaded"] {
        site.write(file, &yaml(BEFORE));
    }
    site.mode("ignore");
    for (name, words) in [
        ("topology-apply-rolled-back", "apply DIR/poison.yaml --load 100ms --to DIR/topology.yaml"),
        (
            "topology-apply-rolled-back-json",
            "apply DIR/poison.yaml --json --load 100ms --to DIR/topology.yaml",
        ),
    ] {
        golden(&site, name, words);
    }
    site.write("dead", "");
    golden(&site, "topology-verify-silent", "verify DIR/topology.yaml");
    golden(&site, "topology-verify-silent-json", "verify DIR/topology.yaml --json");
}

fn golden(site: &Site, name: &str, words: &str) {
    insta::assert_snapshot!(name, transcript(&mut site.command(words), site.dir()));
}
