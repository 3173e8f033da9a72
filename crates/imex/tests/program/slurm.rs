//! Golden files of `imex slurm settings` and `check`: help, misuse, what they say.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{imex, redactions, transcript};

#[test]
fn help_and_wrong_command_lines_of_slurm_are_as_recorded() {
    let _redacted = redactions();
    let dir = Path::new("/nowhere");
    for (name, words) in [
        ("slurm-settings-help", "slurm settings --help"),
        ("slurm-check-help", "slurm check --help"),
        ("slurm-metrics-help", "slurm metrics --help"),
        ("slurm-metrics-no-folder", "slurm metrics --to DIR/none/x.prom"),
        ("slurm-settings-pcs-and-json", "slurm settings --pcs --json"),
        ("slurm-check-file-and-live", "slurm check x --live"),
        ("slurm-check-bad-version", "slurm check x --slurm-version new"),
        ("slurm-check-no-file", "slurm check DIR/slurm.conf"),
        ("slurm-check-no-file-json", "slurm check DIR/slurm.conf --json"),
    ] {
        golden(name, words, dir);
    }
}

#[test]
fn settings_are_printed_as_recorded() {
    let _redacted = redactions();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("openimex.toml", "[prolog]\nbudget = \"20500ms\"\n[channels]\nuse = \"switch\"\n");
    write("none.toml", "");
    write("wrong.toml", "[prolog]\nbudgett = \"1s\"\n");
    for (name, words) in [
        ("slurm-settings", "slurm settings -c DIR/none.toml"),
        ("slurm-settings-newest", "slurm settings -c DIR/none.toml --slurm-version 26.05.5"),
        ("slurm-settings-switch-json", "slurm settings -c DIR/openimex.toml --json"),
        ("slurm-settings-pcs", "slurm settings -c DIR/none.toml --pcs --scripts /shared/imex"),
        ("slurm-settings-no-config", "slurm settings -c DIR/nowhere.toml"),
        ("slurm-settings-wrong-config", "slurm settings -c DIR/wrong.toml"),
    ] {
        golden(name, words, dir.path());
    }
}

#[test]
fn records_become_figures_as_recorded() {
    let _redacted = redactions();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    fs::create_dir(dir.path().join("records")).unwrap();
    write("openimex.toml", &format!("[files]\nstate = {:?}\n", dir.path()));
    for (name, ended, ending, code) in [
        ("1-7.0-prolog", "01", "up", 0),
        ("2-8.0-prolog", "07", "at_fault", 77),
        ("3-8.0-epilog", "02", "done", 0),
    ] {
        let kind = name.rsplit('-').next().unwrap();
        write(
            &format!("records/{name}.json"),
            &format!(
                r#"{{"schema_version":1,"kind":"{kind}","time":"2026-11-30T12:00:00Z","ended":"2026-11-30T12:00:{ended}Z",
                    "steps":[{{"step":"start","ms":40}}],"result":{{"ending":"{ending}","exit_code":{code},"message":"m"}},"cpu_ms":9}}"#
            ),
        );
    }
    write("records/4-9.0-prolog.json", "cut sho");
    golden("slurm-metrics", "slurm metrics -c DIR/openimex.toml", dir.path());
    golden("slurm-metrics-json", "slurm metrics -c DIR/openimex.toml --json", dir.path());
    golden("slurm-metrics-to", "slurm metrics -c DIR/openimex.toml --to DIR/imex.prom", dir.path());
    let written = fs::read_to_string(dir.path().join("imex.prom")).unwrap();
    assert!(written.contains("imex_slurm_last_run_exit_code{kind=\"prolog\"} 77\n"), "{written}");
}

#[test]
fn files_and_controllers_are_judged_as_recorded() {
    let _redacted = redactions();
    let site = Site::new();
    for (name, words) in [
        ("slurm-check-good", "slurm check DIR/good.conf -c DIR/none.toml"),
        ("slurm-check-good-json", "slurm check DIR/good.conf -c DIR/none.toml --json"),
        ("slurm-check-as-documented", "slurm check DIR/documented.conf -c DIR/none.toml --no-scripts"),
        ("slurm-check-folder", "slurm check DIR/folder.conf -c DIR/none.toml"),
        ("slurm-check-folder-json", "slurm check DIR/folder.conf -c DIR/none.toml --json"),
        ("slurm-check-live", "slurm check --live -c DIR/none.toml --path DIR/bin:/usr/bin:/bin"),
        ("slurm-check-live-silent", "slurm check --live -c DIR/none.toml --path DIR/none"),
    ] {
        golden(name, words, site.dir.path());
    }
}

/// A folder with configurations and scripts, and a `scontrol` that says what a controller of 26.05.5 does.
struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Site { dir: tempfile::tempdir().unwrap() };
        fs::write(site.dir.path().join("none.toml"), "").unwrap();
        for folder in ["ours", "mixed", "bin"] {
            fs::create_dir(site.dir.path().join(folder)).unwrap();
        }
        site.write("topology.yaml", 0o644, "");
        for name in ["prolog", "epilog", "task-prolog", "sweep"] {
            site.write(
                &format!("ours/{name}"),
                0o755,
                &format!("#!/bin/sh\nexec /usr/bin/imex slurm {name}\n"),
            );
        }
        site.write("mixed/10-imex", 0o755, "#!/bin/sh\nexec /usr/bin/imex slurm prolog\n");
        site.write("mixed/91_imex.sh", 0o775, "#!/bin/sh\nsystemctl stop nvidia-imex\n> nodes_config.cfg\n");
        site.write("mixed/README", 0o644, "about these\n");
        let lines = "PrologFlags=Alloc,DeferBatch\nPrologTimeout=75\nEpilogTimeout=45\nBatchStartTimeout=85\n\
                     SchedulerParameters=nohold_on_prolog_fail\nHealthCheckProgram=ours/sweep\nHealthCheckInterval=300\n\
                     TaskProlog=ours/task-prolog\nPartitionName=p OverSubscribe=EXCLUSIVE\n";
        let dir = site.dir.path().display();
        let lines = lines.replace("=ours/", &format!("={dir}/ours/"));
        site.write(
            "good.conf",
            0o644,
            &format!("Prolog={dir}/ours/prolog\nEpilog={dir}/ours/epilog\n{lines}"),
        );
        site.write(
            "folder.conf",
            0o644,
            &format!(
                "Prolog={dir}/mixed/*\nEpilog={dir}/gone/*\nTaskProlog={dir}/gone\nInclude more.conf\nnonsense\n{lines}"
            ),
        );
        site.write(
            "documented.conf",
            0o644,
            "Prolog=/shared/scripts/prolog.d/91_nvidia_imex_prolog.sh\nPrologFlags=Alloc,NoHold\n",
        );
        site.write(
            "bin/scontrol",
            0o755,
            &format!(
                "#!/bin/sh\ncase \"$*\" in\n'show config') cat {dir}/config ;;\n\
                 '--oneliner show partitions') cat {dir}/partitions ;;\n*) exit 1 ;;\nesac\n"
            ),
        );
        site.write("config", 0o644, include_str!("../data/slurm/show-config.txt"));
        site.write("partitions", 0o644, include_str!("../data/slurm/show-partitions.txt"));
        site
    }

    fn write(&self, name: &str, mode: u32, text: &str) {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn golden(name: &str, words: &str, dir: &Path) {
    let words = words.replace("DIR", dir.to_str().unwrap());
    let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
    let mut path = std::ffi::OsString::from(dir.join("bin"));
    path.push(":/usr/bin:/bin");
    let command = command.env_remove("SLURM_CONF").env("PATH", path);
    insta::assert_snapshot!(name, transcript(command, dir));
}
