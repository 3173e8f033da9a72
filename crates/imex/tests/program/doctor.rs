//! Golden files of `imex doctor` and `imex validate`: help, misuse, what they say of machines made of files.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::program::{imex, redactions, run, transcript};

#[test]
fn help_and_wrong_command_lines_of_doctor_and_validate_are_as_recorded() {
    let _redacted = redactions();
    let site = Site::new();
    for (name, words) in [
        ("doctor-help", "doctor --help"),
        ("doctor-explain-help", "doctor explain --help"),
        ("doctor-explain-list", "doctor explain"),
        ("doctor-explain-unknown", "doctor explain 42"),
        ("doctor-explain-unknown-json", "doctor explain 42 --json"),
        ("doctor-bad-time", "doctor --ask soon"),
        ("doctor-unknown-check", "doctor --only D01,D99"),
        ("doctor-no-check-left", "doctor --only D04 --skip D04"),
        ("doctor-options-and-subcommand", "doctor --quiet explain 800"),
        ("validate-help", "validate --help"),
        ("validate-no-job", "validate"),
        ("validate-no-job-json", "validate --json"),
        ("validate-bad-partition", "validate --script -p a;b"),
        ("validate-nodes-without-script", "validate -N 4"),
        ("validate-script", "validate --script"),
        (
            "validate-script-with-all-options",
            "validate --script --timeout 30m --bandwidth --bandwidth-timeout 1h --json -c it's.toml --gpus-per-node 8 \
             --min-bandwidth 10 --path /opt/x",
        ),
        ("validate-script-with-reports", "validate --script --reports x"),
        ("validate-script-with-options", "validate --script -N 18 -p ultra --bandwidth --min-bandwidth 300"),
    ] {
        golden(&site, name, words);
    }
}

#[test]
fn codes_are_explained_as_recorded() {
    let _redacted = redactions();
    let site = Site::new();
    for code in ["101", "400", "401", "719", "800", "801", "802"] {
        golden(&site, &format!("doctor-explain-{code}"), &format!("doctor explain {code}"));
    }
    golden(&site, "doctor-explain-name-json", "doctor explain cudaErrorNotPermitted --json");
}

#[test]
fn machines_are_examined_as_recorded() {
    let _redacted = redactions();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"(?m)^\S+: (\d+ failed)", "NODE: $1");
    settings.add_filter(r#""node": "[^"]*""#, r#""node": "NODE""#);
    settings.add_filter(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME");
    let _names = settings.bind_to_scope();
    let site = Site::new();
    for (name, words) in [
        ("doctor-bare", "doctor --root DIR/bare -c DIR/bare.toml --slurm-conf DIR/none --ask 500ms"),
        ("doctor-ill", "doctor --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --ask 500ms"),
        (
            "doctor-ill-only",
            "doctor --only d14,D16,D40 --skip D40 --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --ask 500ms",
        ),
        (
            "doctor-ill-quiet-json",
            "doctor -q --json --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --ask 500ms",
        ),
    ] {
        golden(&site, name, words);
    }
}

#[test]
fn a_planted_secret_is_not_in_the_bundle_and_what_helps_is() {
    let site = Site::new();
    let file = site.path("bundle.tar.gz");
    // Somebody else has laid a file there that all may read.
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let words = "doctor --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --ask 500ms --bundle";
    let said = run(site.command(words).arg(&file));
    assert_eq!(said.code, 100, "{}{}", said.out, said.err);
    let mut all = String::new();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let unpacked = flate2::read::GzDecoder::new(bytes.as_slice());
    let mut archive = tar::Archive::new(unpacked);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        assert!(name.starts_with("imex-doctor/") && !name.contains(".."), "{name}");
        all.push_str(&format!("### {name}\n"));
        entry.read_to_string(&mut all).unwrap();
    }
    for secret in SECRETS {
        assert!(!all.contains(secret), "{secret} is in the bundle");
    }
    for helpful in [
        "facts.json",
        "findings.txt",
        "SERVER_PORT=50000",
        "nodes_config.cfg",
        "job 7 failed",
        "D31",
        "PrologFlags=Alloc",
        "map_digest\": \"d0d0",
        "of a hostile name",
        "omitted.txt",
    ] {
        assert!(all.contains(helpful), "{helpful} is not in the bundle");
    }
    assert!(bytes.len() < 200_000);
}

#[test]
fn jobs_are_validated_as_recorded() {
    let _redacted = redactions();
    let site = Site::new();
    let job = "validate --job 7 --nodelist n[1-2] --reports";
    for (name, words) in [
        ("validate-verified", "DIR/good.jsonl"),
        ("validate-verified-json", "DIR/good.jsonl --json"),
        ("validate-not-verified", "DIR/bad.jsonl"),
        ("validate-silent", "DIR/one.jsonl"),
        ("validate-no-reports", "DIR/none.jsonl"),
        ("validate-no-channels", "DIR/channelless.jsonl"),
        ("validate-not-measured", "DIR/good.jsonl --bandwidth --min-bandwidth 300 --path DIR/none"),
    ] {
        golden(&site, name, &format!("{job} {words}"));
    }
    for (name, srun) in [
        // Two of three nodes report, and srun says why the third does not.
        ("some", "cat DIR/good.jsonl\necho 'srun: error: n3: task 2: Exited with exit code 2' >&2\nexit 2"),
        ("hangs", "exec sleep 60"),
        // Each sends its report in pieces, whose lines come in any order; of n3's one is cut.
        ("pieces", "sort DIR/pieces.txt\necho 'srun: error: n3: task 2: Killed' >&2\nexit 137"),
        ("babbles", "printf '\\377\\376{]\\n{\"node\":7}\\n'\nexit 0"),
    ] {
        let srun = srun.replace("DIR", site.dir.path().to_str().unwrap());
        site.script(&format!("{name}/srun"), &srun);
        let words =
            format!("validate --job 7 --nodelist n[1-3] --timeout 500ms --path DIR/{name}:/usr/bin:/bin");
        golden(&site, &format!("validate-srun-{name}"), &words);
    }
    golden(&site, "validate-no-srun", "validate --job 7 --nodelist n[1-2] --path DIR/none");
    golden(&site, "validate-bad-list", "validate --job 7 --nodelist n[1-");
}

#[test]
fn a_member_of_a_lab_tells_its_own_row() {
    let lab = crate::program::Background::up(2);
    let dir = tempfile::tempdir().unwrap();
    let operator = dir.path().join("openimex.toml");
    let config = lab.file(1, "config.cfg");
    let text = format!(
        "[service]\nconfig = {config:?}\n[channels]\nuse = \"off\"\n[files]\nstate = {:?}\n",
        dir.path()
    );
    fs::write(&operator, text).unwrap();
    let said = run(imex(&["validate", "member", "--node", "n2", "-c"]).arg(&operator));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["node"], "n2");
    assert_eq!(report["table"]["own"], 1);
    assert_eq!(report["table"]["members"][1]["links"], serde_json::json!(["CONNECTED", "CONNECTED"]));
    assert_eq!(report["channel"]["state"], "not_applicable");

    // For srun it is sent in short lines, one write for each: a pipe of packets shows every write.
    let (packets, to) = nix::unistd::pipe2(OFlag::O_DIRECT | OFlag::O_CLOEXEC).unwrap();
    let mut member = imex(&["validate", "member", "--pieces", "--node", "n2", "-c"]);
    assert!(member.arg(&operator).stdout(to).status().unwrap().success());
    drop(member);
    let (mut packets, mut lines) = (fs::File::from(packets), Vec::new());
    loop {
        let mut packet = vec![0; 4096];
        let length = packets.read(&mut packet).unwrap();
        if length == 0 {
            break;
        }
        lines.push(String::from_utf8(packet[..length].to_vec()).unwrap());
    }
    assert!(lines.len() > 1, "{lines:?}");
    for line in &lines {
        let whole =
            line.starts_with("imex-piece n2 ") && line.ends_with('\n') && line.matches('\n').count() == 1;
        assert!(whole && line.len() <= 512, "{line:?}");
    }
}

#[test]
fn a_bus_and_a_daemon_that_say_nothing_do_not_hold_it_up() {
    let site = Site::new();
    fs::create_dir_all(site.path("ill/run/dbus")).unwrap();
    let silent = ["ill/run/dbus/system_bus_socket", "ill/sock"]
        .map(|name| UnixListener::bind(site.path(name)).unwrap());
    let said =
        run(&mut site
            .command("doctor -q --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --ask 300ms"));
    drop(silent);
    assert_eq!(said.code, 100, "{}", said.err);
    assert!(said.out.contains("D10 unknown"), "{}", said.out);
    assert!(said.out.contains("D20 FAIL"), "{}", said.out);
}

/// A pipe that nobody writes into stands for a file on a server that is dead: whoever opens it waits.
#[test]
fn files_on_a_dead_server_do_not_hold_it_up() {
    let site = Site::new();
    for file in ["ill/state/domain.json", "ill/stats"] {
        fs::remove_file(site.path(file)).unwrap();
        mkfifo(&site.path(file), Mode::S_IRUSR).unwrap();
    }
    // A record that is a pipe stands for their folder.
    let record = site.path("ill/state/records/20991130T120000.000Z-8-prolog.json");
    mkfifo(&record, Mode::S_IRUSR).unwrap();
    let words = "doctor --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --ask 200ms";
    let mut doctor = site.command(words);
    let ended = thread::spawn(move || run(&mut doctor));
    for _ in 0..LOOKS {
        if ended.is_finished() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(ended.is_finished(), "it hangs");
    let said = ended.join().unwrap();
    for unknown in ["D31 unknown", "D33 unknown", "D35 unknown"] {
        assert!(said.out.contains(unknown), "{unknown}: {}{}", said.out, said.err);
    }
}

#[test]
fn slurm_is_asked_before_a_job_without_a_step_is_called_left_behind() {
    let site = Site::new();
    site.write("ill/run/leases/7.0.lease", "");
    for (state, verdict) in [("RUNNING", "D30 ok"), ("COMPLETED", "D30 warn"), ("NEW_STATE", "D30 unknown")] {
        let answer = format!(r#"{{"jobs":[{{"job_id":6,"job_state":["{state}"],"nodes":""}}]}}"#);
        site.script("bin/scontrol", &format!("echo '{answer}'"));
        let words =
            "doctor --root DIR/ill -c DIR/ill.toml --slurm-conf DIR/slurm.conf --path DIR/bin --ask 5s";
        let said = run(&mut site.command(words));
        assert!(said.out.contains(verdict), "{state}: {}{}", said.out, said.err);
    }
}

/// Of NVIDIA's service only its command line is used: our control tool under another name stands for it.
#[test]
fn a_member_is_asked_through_the_command_line_where_the_provider_is_nvidia() {
    let lab = crate::program::Background::up(2);
    let dir = tempfile::tempdir().unwrap();
    let control = dir.path().join("imexctl");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_imex"), &control).unwrap();
    let operator = dir.path().join("openimex.toml");
    let text = format!(
        "[service]\nprovider = \"nvidia-imex\"\ncontrol = {control:?}\nconfig = {:?}\n[channels]\nuse = \"off\"\n\
         [files]\nstate = {:?}\n",
        lab.file(0, "config.cfg"),
        dir.path()
    );
    fs::write(&operator, text).unwrap();
    let said = run(imex(&["validate", "member", "--node", "n1", "-c"]).arg(&operator));
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&report["table"]["own"], &report["table"]["state"]),
        (&0.into(), &"UP".into()),
        "{}",
        said.out
    );
    assert_eq!(report["table"]["members"][0]["links"], serde_json::json!(["CONNECTED", "CONNECTED"]));
}

/// A minute of 50 ms: many times what a few questions of 200 ms take on a busy machine.
const LOOKS: u32 = 1200;

/// What must not leave the machine.
const SECRETS: [&str; 14] = [
    "hunter2hunter2",
    "MIIEvQIBADANBg",
    "s3cr3t-t0ken",
    "AwQFAAC8nDrfc",
    "storagepass1",
    "dXNlcjpwYXNzd29yZA",
    "horse battery",
    "two words",
    "c2lnbmF0dXJl",
    "urlpassword",
    "optionpass",
    "said-in-json",
    "after-quote",
    "of a reason",
];

/// Machines made of files.
struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Site { dir: tempfile::tempdir().unwrap() };
        let dir = site.dir.path().display();
        let tools = |machine: &str| {
            format!(
                "[service]\nconfig = \"{dir}/{machine}/config.cfg\"\n\
                 node_map = \"{dir}/{machine}/nodes_config.cfg\"\n[files]\nstate = \"{dir}/{machine}/state\"\n\
                 run = \"{dir}/{machine}/run\"\nlogs = \"{dir}/{machine}/logs\"\n[scope]\nreports = \"{dir}/none\"\n"
            )
        };
        site.write("bare.toml", &tools("bare"));
        site.write("bare/proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n");
        site.write("bare/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
        site.write("bare/proc/net/tcp", "");
        let root = "1 0 0:1 / / rw shared:1 - ext4 /dev/vda1 rw\n";
        site.write("bare/proc/self/mountinfo", root);
        let logs = format!("{root}2 1 0:2 / {dir}/ill/logs rw - nfs4 host:/logs rw\n");
        site.write("ill/proc/self/mountinfo", &logs);
        site.write("ill.toml", &tools("ill"));
        for (name, text) in [
            (
                "ill/proc/devices",
                "Character devices:\n235 nvidia-caps\n234 nvidia-caps-imex-channels\n\nBlock devices:\n",
            ),
            (
                "ill/proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module  580.95.05  Release\n",
            ),
            ("ill/proc/driver/nvidia/params", "ImexChannelCount: 1024\n"),
            ("ill/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n"),
            ("ill/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("ill/proc/net/tcp", "   0: 00000000:C350 00000000:0000 0A 0:0 00:0 0 0 0 4711 1 0 100\n"),
            ("ill/proc/42/comm", "nc\n"),
            ("ill/proc/77/cmdline", "slurmstepd: [7.batch]"),
            (
                "ill/config.cfg",
                &format!(
                    "SERVER_PORT=50000\nIMEX_NODE_CONFIG_FILE={dir}/ill/nodes_config.cfg\nLOG_FILE_NAME={dir}/ill/daemon.log\nSTATS_FILE_NAME={dir}/ill/stats\nIMEX_SERVER_KEY_PASSWORD=hunter2hunter2\nIMEX_CMD_UNIX_DOMAIN_PATH={dir}/ill/sock\n"
                ),
            ),
            ("ill/nodes_config.cfg", "192.0.2.1\n192.0.2.2\n"),
            (
                "ill/daemon.log",
                "started\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\ncredential MUNGE:AwQFAAC8nDrfc:\n",
            ),
            (
                "ill/stats",
                "Performance statistics for last 30 seconds  : {\n \"SinceStart\": { \"RefusedMap\": \"3\" }\n}\n",
            ),
            (
                "ill/logs/job-7.log",
                "job 7 failed, api_token=s3cr3t-t0ken\nAuthorization: Basic dXNlcjpwYXNzd29yZA==\n\
                 passphrase = correct horse battery\nSLURM_JWT=eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl\n\
                 GET https://user:urlpassword@192.0.2.9/\nran x --password optionpass\n",
            ),
            ("ill/logs/a\nname.log", "of a hostile name\n"),
            ("ill/run/leases/6.0.lease", ""),
            (
                "ill/state/domain.json",
                r#"{"schema_version":1,"job":7,"run":"0","boot_id":"99999999-2222-3333-4444-555555555555","stage":"up","reason":"passphrase = of a reason",
                    "members":[{"node":"n1","address":"192.0.2.1"},{"node":"n3","address":"192.0.2.3"}]}"#,
            ),
            (
                "ill/state/records/20261130T120000.000Z-7-prolog.json",
                r#"{"kind":"prolog","time":"2026-11-30T12:00:00Z","job":7,"result":{"ending":"failed","exit_code":77,"message":"n3 is at fault"},"token":"ab\"after-quote","map_digest":"d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0","said":"password=\"said-in-json\""}"#,
            ),
        ] {
            site.write(name, text);
        }
        std::os::unix::fs::symlink("socket:[4711]", site.path("ill/proc/42/fd-3")).unwrap();
        fs::create_dir(site.path("ill/proc/42/fd")).unwrap();
        fs::rename(site.path("ill/proc/42/fd-3"), site.path("ill/proc/42/fd/3")).unwrap();
        site.write(
            "slurm.conf",
            "PrologFlags=Alloc\nAccountingStoragePass=storagepass1\n# SlurmdbdPass = two words\n",
        );
        site.write_reports();
        site
    }

    /// What the members of jobs of two tell.
    fn write_reports(&self) {
        let member = |node: &str, own: usize, link: &str, channel: &str| {
            format!(
                r#"{{"node":"{node}","table":{{"own":{own},"state":"UP","members":[{{"address":"10.0.0.1","state":"READY","version":"NO_GPU","links":["CONNECTED","{link}"]}},{{"address":"10.0.0.2","state":"READY","version":"NO_GPU","links":["CONNECTED","CONNECTED"]}}]}},"channel":{channel}}}"#
            ) + "\n"
        };
        let open = r#"{"state":"open","number":0}"#;
        let shut = r#"{"state":"shut","number":0,"why":"its mode does not let this user open it"}"#;
        let (one, two) = (member("n1", 0, "CONNECTED", open), member("n2", 1, "CONNECTED", open));
        self.write("good.jsonl", &format!("Welcome to n1\n{one}{two}"));
        self.write(
            "bad.jsonl",
            &(member("n1", 0, "MAP_MISMATCH", open) + &member("n2", 1, "CONNECTED", shut)),
        );
        self.write("one.jsonl", &one);
        let cut = pieces("n3", one.trim_end()).replacen("CONNECTED", "CONNE", 1);
        let whole = pieces("n1", one.trim_end()) + &pieces("n2", two.trim_end());
        self.write("pieces.txt", &format!("Welcome to n1\n{whole}{cut}"));
        let none = r#"{"state":"not_applicable"}"#;
        let channelless = member("n1", 0, "CONNECTED", none) + &member("n2", 1, "CONNECTED", none);
        self.write("channelless.jsonl", &channelless);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, lines: &str) {
        self.write(name, &format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, words: &str) -> std::process::Command {
        let words = words.replace("DIR", self.dir.path().to_str().unwrap());
        let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
        for variable in
            ["SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_STEP_ID", "SLURMD_NODENAME"]
        {
            command.env_remove(variable);
        }
        command.env("PATH", Path::new("/usr/bin"));
        command
    }
}

/// A text as a member sends it through srun: in lines with their sender, their place, the whole text's check and their own.
fn pieces(node: &str, text: &str) -> String {
    let parts: Vec<&[u8]> = text.as_bytes().chunks(100).collect();
    let check = |text: &str| {
        let sum = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, sum))
    };
    let line = |(index, part): (usize, &&[u8])| {
        let part = std::str::from_utf8(part).unwrap();
        let (place, whole) = (format!("{}/{}", index + 1, parts.len()), check(text));
        let own = check(&format!("{node} {place} {whole} {part}"));
        format!("imex-piece {node} {place} {whole} {own} {part}\n")
    };
    parts.iter().enumerate().map(line).collect()
}

fn golden(site: &Site, name: &str, words: &str) {
    let said = transcript(&mut site.command(words), site.dir.path());
    insta::assert_snapshot!(name, said.replace(env!("CARGO_BIN_EXE_imex"), "IMEX"));
}
