//! Golden files of the sources that ask AWS, against a fake of it on a loopback address.

use std::path::Path;

use imex_aws::fake::{Cloud, Fake, Fault};

use crate::program::{imex, redactions, transcript};

#[test]
fn topologies_are_generated_from_what_ec2_and_pcs_say_as_recorded() {
    let _redacted = redactions();
    for (name, words) in [
        ("topology-generate-ec2", "topology generate --source ec2"),
        (
            "topology-generate-ec2-disagreement",
            "topology generate --source ec2 --source inventory:DIR/aws-disagrees.yaml",
        ),
        ("topology-generate-pcs", "topology generate --source pcs:rack --endpoint-url URL --json"),
        ("topology-node-map-ec2", "topology node-map --source ec2 --node ip-10-0-0-1 --scope domain"),
    ] {
        golden(name, words, &[], &[]);
    }
}

#[test]
fn queues_of_pcs_are_judged_as_recorded() {
    let _redacted = redactions();
    golden("topology-lint-pcs", "topology lint DIR/good.yaml --pcs-cluster rack", &[], &[]);
    golden("topology-lint-pcs-unknown", "topology lint DIR/good.yaml --pcs-cluster other --json", &[], &[]);
}

#[test]
fn what_passes_changes_nothing() {
    let _redacted = redactions();
    let faults = [
        ("DescribeInstanceTopology", Fault::Throttle),
        ("DescribeInstanceTopology", Fault::HalfBytes),
        ("DescribeInstances", Fault::Proxy(502)),
        ("DescribeCapacityBlocks", Fault::Close),
    ];
    golden("topology-generate-ec2", "topology generate --source ec2", &faults, &[]);
}

#[test]
fn what_stays_wrong_is_told_with_what_to_do_as_recorded() {
    let _redacted = redactions();
    let words = "topology generate --source ec2";
    let action = "DescribeInstances";
    golden(
        "topology-generate-ec2-refused",
        words,
        &[(action, Fault::Refuse(403, "UnauthorizedOperation"))],
        &[],
    );
    golden("topology-generate-ec2-expired", words, &[(action, Fault::Refuse(400, "ExpiredToken"))], &[]);
    golden("topology-generate-ec2-rubbish", words, &[(action, Fault::Rubbish)], &[]);
    golden("topology-generate-ec2-half", words, &[(action, Fault::HalfText)], &[]);
    golden("topology-generate-ec2-proxy", words, &[(action, Fault::Proxy(407))], &[]);
    let metadata = ("AWS_EC2_METADATA_DISABLED", "true");
    golden("topology-generate-ec2-no-region", words, &[], &[("AWS_REGION", ""), metadata]);
    let nobody = [("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", ""), metadata];
    golden("topology-generate-ec2-no-credentials", words, &[], &nobody);
    golden("topology-generate-ec2-half-credentials", words, &[], &nobody[1..2]);
    golden("topology-generate-ec2-bad-region", &format!("{words} --region us.east"), &[], &[]);
    golden("topology-generate-ec2-bad-endpoint", &format!("{words} --endpoint-url ec2.local"), &[], &[]);
    golden("topology-generate-ec2-no-profile", &format!("{words} --profile nobody --json"), &[], &[]);
}

/// Compares what the program says with the golden file. `DIR` is where the test's files are, `URL` the fake; variables
/// are set besides the fake's.
fn golden(name: &str, words: &str, faults: &[(&'static str, Fault)], variables: &[(&str, &str)]) {
    let fake = Fake::start(site(), faults).unwrap();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/topology");
    let words = words.replace("DIR", dir.to_str().unwrap()).replace("URL", &fake.url());
    let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
    command.env_clear().envs(fake.environment()).envs(variables.iter().copied());
    let said = transcript(&mut command, &dir).replace(&fake.url(), "URL");
    insta::assert_snapshot!(name, said);
}

/// Two UltraServers with two instances each, an instance that has just been started, one that has ended, and one of
/// another cluster; a PCS cluster that breaks every rule.
fn site() -> Cloud {
    let instance = |index: usize, state: &str, group: &str, block: &str| {
        let (id, name) = (format!("i-{index}"), format!("ip-10-0-0-{index}.ec2.internal"));
        let kind = "p6e-gb200.36xlarge";
        [id.as_str(), kind, state, if state == "terminated" { "" } else { &name }, group, block]
            .map(str::to_owned)
    };
    let block = |id: &str, end: &str, reservation: &str| {
        [id, "u-p6e-gb200x72", "active", end, reservation].map(str::to_owned)
    };
    let group = |id: &str, name: &str, kind: &str, template: &str, most: usize| {
        ([id, name, kind, template].map(str::to_owned), most)
    };
    let queue = |id: &str, name: &str, groups: &[&str]| {
        (id.to_owned(), name.to_owned(), groups.iter().map(|group| (*group).to_owned()).collect())
    };
    Cloud {
        instances: vec![
            instance(1, "running", "g1", "cb-0a"),
            instance(2, "running", "g1", "cb-0a"),
            instance(3, "running", "g2", "cb-0b"),
            instance(4, "running", "g2", "cb-0b"),
            instance(5, "running", "g2", ""),
            instance(6, "terminated", "g1", ""),
            instance(7, "running", "other", "cb-0c"),
        ],
        blocks: vec![
            block("cb-0a", "2027-01-31T11:30:00Z", "cr-a"),
            block("cb-0b", "2027-02-28T11:30:00Z", "cr-b"),
        ],
        templates: vec![
            ["lt-a", "cr-a"].map(str::to_owned),
            ["lt-b", "cr-b"].map(str::to_owned),
            ["lt-c", "cr-a"].map(str::to_owned),
        ],
        groups: vec![
            group("g1", "one", "p6e-gb200.36xlarge", "lt-a", 12),
            group("g2", "two", "p6e-gb200.36xlarge", "lt-c", 18),
            group("g3", "asleep", "p6e-gb200.36xlarge", "lt-b", 18),
            group("g4", "cpus", "c7i.large", "lt-none", 4),
        ],
        queues: vec![
            queue("q1", "uneven", &["g1", "g3"]),
            queue("q2", "mixed", &["g3", "g4"]),
            queue("q3", "double", &["g2"]),
            queue("q4", "good", &["g3"]),
        ],
        page: 3,
    }
}
