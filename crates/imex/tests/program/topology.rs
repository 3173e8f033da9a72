//! Golden files of `imex topology`: every command, its help, its misuse, its refusals.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{imex, redactions, transcript};

#[test]
fn help_and_wrong_command_lines_of_topology_are_as_recorded() {
    let _redacted = redactions();
    for (name, words) in [
        ("topology-help", "topology --help"),
        ("topology-generate-help", "topology generate --help"),
        ("topology-lint-help", "topology lint --help"),
        ("topology-diff-help", "topology diff --help"),
        ("topology-identify-help", "topology identify --help"),
        ("topology-collect-help", "topology collect --help"),
        ("topology-node-map-help", "topology node-map --help"),
        ("topology-plan-help", "topology plan --help"),
        ("topology-plan-no-nodes", "topology plan --topology x"),
        ("topology-plan-bad-number", "topology plan --nodes 0"),
        (
            "topology-plan-two-ways-to-segment",
            "topology plan --nodes 2 --spread-segments --consolidate-segments",
        ),
        ("topology-plan-bad-gres", "topology plan --nodes 2 --gres gpu:"),
        ("topology-plan-two-ways-to-share", "topology plan --nodes 2 --exclusive --shared"),
        ("topology-no-command", "topology"),
        ("topology-generate-no-source", "topology generate"),
        ("topology-generate-unknown-source", "topology generate --source ldap:x"),
        ("topology-generate-bad-sizes", "topology generate --source inventory:x --sizes 18,54"),
        ("topology-generate-bad-version", "topology generate --source inventory:x --slurm-version new"),
        ("topology-generate-bad-pattern", "topology generate --source features:x --feature nvl"),
        ("topology-lint-no-file", "topology lint"),
        ("topology-diff-one-file", "topology diff x"),
        ("topology-collect-nothing", "topology collect"),
        ("topology-node-map-bad-scope", "topology node-map --source nvml:x --node n1 --scope rack"),
    ] {
        golden(name, words);
    }
}

#[test]
fn topologies_are_generated_as_recorded() {
    let _redacted = redactions();
    for (name, words) in [
        ("topology-generate", "topology generate --source inventory:DIR/inventory.yaml"),
        (
            "topology-generate-previous",
            "topology generate --source inventory:DIR/inventory.yaml --previous DIR/moved.yaml --flat rest",
        ),
        (
            "topology-generate-old-slurm",
            "topology generate --source inventory:DIR/inventory.yaml --slurm-version 24.11",
        ),
        (
            "topology-generate-nvml",
            "topology generate --source nvml:DIR/reports.jsonl --names short --sizes 2",
        ),
        ("topology-generate-ec2-json", "topology generate --source ec2:DIR/ec2.json --json"),
        ("topology-generate-ended-block", "topology generate --source ec2:DIR/ended.json --ec2-name id"),
        (
            "topology-generate-ended-block-json",
            "topology generate --source ec2:DIR/ended.json --ec2-name id --json",
        ),
        (
            "topology-generate-agreement",
            "topology generate --source slurm:DIR/shown.txt --source inventory:DIR/inventory.yaml --name t1",
        ),
        (
            "topology-generate-disagreement",
            "topology generate --source inventory:DIR/inventory.yaml --source inventory:DIR/disagrees.yaml",
        ),
        ("topology-generate-no-blocks", "topology generate --source ec2:DIR/ec2.json --ec2-name tag:Name"),
        ("topology-generate-refused-source", "topology generate --source slurm:DIR/bad.yaml"),
        ("topology-generate-missing-source", "topology generate --source inventory:DIR/nothing.yaml --json"),
    ] {
        golden(name, words);
    }
}

#[test]
fn files_are_judged_and_compared_as_recorded() {
    let _redacted = redactions();
    for (name, words) in [
        ("topology-lint-good", "topology lint DIR/good.yaml"),
        ("topology-lint-bad", "topology lint DIR/bad.yaml"),
        ("topology-lint-bad-json", "topology lint DIR/bad.yaml --json"),
        ("topology-lint-warning", "topology lint DIR/shared.yaml"),
        ("topology-lint-strict", "topology lint DIR/shared.yaml --strict"),
        (
            "topology-lint-slurm-conf",
            "topology lint DIR/good.yaml --slurm-conf DIR/slurm.conf --slurm-version 24.11",
        ),
        ("topology-lint-missing-file", "topology lint DIR/nothing.yaml"),
        ("topology-diff-same", "topology diff DIR/good.yaml DIR/shown.txt"),
        ("topology-diff", "topology diff DIR/good.yaml DIR/moved.yaml"),
        ("topology-diff-json", "topology diff DIR/good.yaml DIR/moved.yaml --json"),
        ("topology-diff-refused", "topology diff DIR/good.yaml DIR/bad.yaml"),
    ] {
        golden(name, words);
    }
}

#[test]
fn nodes_are_identified_collected_and_mapped_as_recorded() {
    let _redacted = redactions();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#""time":"\d{4}-[^"]+""#, r#""time":"TIME""#);
    let _times = settings.bind_to_scope();
    for (name, words) in [
        ("topology-identify", "topology identify --node n1 --nvidia-smi DIR/smi-good.txt"),
        ("topology-identify-pending", "topology identify --node n1 --nvidia-smi DIR/smi-pending.txt"),
        ("topology-identify-failed", "topology identify --node n1 --nvidia-smi DIR/smi-failed.txt"),
        ("topology-identify-none", "topology identify --node n1 --nvidia-smi DIR/smi-none.txt"),
        (
            "topology-identify-no-gpus-here",
            "topology identify --library /nowhere/libnvidia-ml.so.1 --path /nowhere",
        ),
        ("topology-identify-no-library", "topology identify --by nvml --library /nowhere/libnvidia-ml.so.1"),
        ("topology-identify-not-nvml", "topology identify --library libc.so.6"),
        ("topology-identify-both", "topology identify --by nvml --nvidia-smi DIR/smi-good.txt"),
        ("topology-identify-no-text", "topology identify --node n1 --nvidia-smi DIR/good.yaml"),
        ("topology-collect", "topology collect DIR/reports.jsonl"),
        ("topology-collect-no-report", "topology collect DIR/nodes.json"),
        ("topology-collect-bad-list", "topology collect --srun n[1-"),
        ("topology-node-map", "topology node-map --source nvml:DIR/reports.jsonl --node n2 --scope domain"),
        (
            "topology-node-map-addresses",
            "topology node-map --source nvml:DIR/reports.jsonl --node n2 --scope partition --addresses DIR/nodes.json --json",
        ),
        (
            "topology-node-map-ended-block",
            "topology node-map --source ec2:DIR/ended.json --ec2-name id --node n5 --scope domain",
        ),
        (
            "topology-node-map-no-fabric",
            "topology node-map --source nvml:DIR/reports.jsonl --node n3 --scope domain",
        ),
        (
            "topology-node-map-unknown",
            "topology node-map --source nvml:DIR/reports.jsonl --node n9 --scope domain",
        ),
    ] {
        golden(name, words);
    }
}

#[test]
fn the_library_is_asked_and_says_what_the_tool_would() {
    let _redacted = redactions();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#""time":"\d{4}-[^"]+""#, r#""time":"TIME""#);
    let _times = settings.bind_to_scope();
    let dir = tempfile::tempdir().unwrap();
    let rack = "5b1e6f4e-8d3a-4c0b-9a52-0123456789ab";
    for (name, pretend) in [
        ("topology-identify-nvml", format!("gpu {rack} 7 completed\ngpu {rack} 7 completed\n")),
        ("topology-identify-nvml-failed", format!("gpu {rack} 0 completed 23\n")),
        ("topology-identify-nvml-no-driver", "error 9\n".to_owned()),
        ("topology-identify-nvml-hangs", "slow 60000\n".to_owned()),
    ] {
        fs::write(dir.path().join("pretend"), pretend).unwrap();
        let library = fake_nvml(dir.path());
        let mut command = imex(&["topology", "identify", "--node", "n1", "--timeout", "5s", "--library"]);
        command.arg(library).env("IMEX_FAKE_NVML", dir.path().join("pretend"));
        insta::assert_snapshot!(name, transcript(&mut command, dir.path()));
    }
}

#[test]
fn jobs_are_planned_as_recorded() {
    let _redacted = redactions();
    let good = "topology plan --topology DIR/good.yaml";
    for (name, words) in [
        ("topology-plan", "--nodes 24"),
        ("topology-plan-segments", "--nodes 24 --segment 12 --down node[1-2]"),
        ("topology-plan-json", "--nodes 24 --segment 12 --down node[1-2] --json"),
        ("topology-plan-shared", "--nodes 18 --nodes-json DIR/busy.json --shared"),
        ("topology-plan-waits-for-jobs", "--nodes 18 --nodes-json DIR/busy.json"),
        ("topology-plan-waits-for-nodes", "--nodes 18 --down node[1,19]"),
        ("topology-plan-refused", "--nodes 36 --segment 12"),
        ("topology-plan-refused-json", "--nodes 36 --segment 12 --json"),
        ("topology-plan-uneven", "--nodes 24 --segment 5"),
        ("topology-plan-named", "--nodes 18 -w node5 -x node6"),
        ("topology-plan-spread", "--nodes 8 --segment 4 --spread-segments"),
        (
            "topology-plan-consolidated",
            "--nodes 16 --segment 4 --consolidate-segments --down node[1-4,19-24]",
        ),
        ("topology-plan-gres", "--nodes 18 --gres gpu:4 --nodes-json DIR/kinds.json"),
        ("topology-plan-gres-unknown", "--nodes 18 --gres gpu:4"),
        (
            "topology-plan-job-options",
            "--job 8 --job-json DIR/job-options.json --nodes-json DIR/kinds.json --down node[33-36]",
        ),
        ("topology-plan-job-options-json", "--job 8 --job-json DIR/job-options.json --json"),
        ("topology-plan-group", "--nodes 24 --gpus-per-group 32"),
        ("topology-plan-group-uneven", "--nodes 20 --gpus-per-group 32"),
        ("topology-plan-job", "--job 7 --job-json DIR/job.json --down node[1-8]"),
        ("topology-plan-no-such-job", "--job 8 --job-json DIR/job.json"),
        ("topology-plan-unknown-topology", "--nodes 2 --name other"),
    ] {
        golden(name, &format!("{good} {words}"));
    }
    golden("topology-plan-shown", "topology plan --topology DIR/shown.txt --nodes 19");
}

/// Compares what the program says to these words with the golden file; `DIR` is where the test's files are.
fn golden(name: &str, words: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/topology");
    let words = words.replace("DIR", dir.to_str().unwrap());
    let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
    insta::assert_snapshot!(name, transcript(command.env_remove("SLURMD_NODENAME"), &dir));
}

/// The fake library, as a file in `dir`.
fn fake_nvml(dir: &Path) -> PathBuf {
    let built = env::current_exe().unwrap().with_file_name("libimex_fake_nvml.so");
    let library = dir.join("libnvidia-ml.so.1");
    fs::copy(built, &library).unwrap();
    library
}
