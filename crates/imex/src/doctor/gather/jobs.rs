//! Jobs: steps, leases, states, records. What others wrote is read as far as it can be understood.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_config::operator::{Files, Operator};
use imex_host::lease::Leases;
use imex_host::{Program, boot};
use imex_slurm::lock;
use imex_slurm::machine::Unknown;
use imex_slurm::record::FOLDER;
use imex_slurm::sweep::{Life, life};
use serde_json::Value;

use super::{text, told, under, within};
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Job, JobDomain, Run, Told};

/// How many of the newest records are read.
const RECORDS: usize = 40;

/// The most jobs of which Slurm is asked: a node has one domain, and more leases than this are ill enough.
const ASKED: usize = 4;

/// What is known of jobs.
pub(super) fn job(look: &LookArgs, operator: &Operator) -> Job {
    let folder = operator.files.state.join(FOLDER);
    let (prologs, epilogs) = match told(look.ask, "the folder of records", move || records(&folder)) {
        Told::Unknown(why) => (Told::Unknown(why.clone()), Told::Unknown(why)),
        Told::Known(records) => {
            let (prologs, epilogs) = records.into_iter().partition(|(kind, _)| kind == "prolog");
            let runs = |of: Vec<(String, Run)>| Told::Known(of.into_iter().map(|(_, run)| run).collect());
            (runs(prologs), runs(epilogs))
        }
    };
    let leases = operator.files.leases();
    let leases = told(look.ask, "the folder of leases", move || Told::from(Leases::at(leases).held()));
    Job {
        boot_id: Told::from(
            boot::id(&under(&look.root, boot::DEFAULT_ID_PATH)).map(|id| id.as_str().to_owned()),
        ),
        alive: alive(&look.root),
        leases: match leases {
            Told::Known(held) => {
                Told::Known(held.into_iter().map(|lease| lease.holder.as_str().to_owned()).collect())
            }
            Told::Unknown(why) => Told::Unknown(why),
        },
        domain: state(operator, look.ask),
        lives: BTreeMap::new(),
        prologs,
        epilogs,
        at_work: at_work(look, operator),
        shared: shared(&under(&look.root, "/proc/self/mountinfo"), &operator.files),
    }
}

/// If a prolog, epilog or sweep has its turn. Where that cannot be told nobody is taken to be at work.
pub(super) fn at_work(look: &LookArgs, operator: &Operator) -> bool {
    let (run, locks) = (operator.files.run.clone(), under(&look.root, "/proc/locks"));
    match within(look.ask, "the folder of turns", move || lock::is_taken(&run, &locks)) {
        Told::Known(taken) => taken.unwrap_or(false),
        Told::Unknown(_) => false,
    }
}

/// File systems that many machines have at a time, by the kernel's name; of those that a program serves after `fuse.`.
const NETWORK: [&str; 16] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.glusterfs",
    "fuse.s3fs",
    "fuse.sshfs",
    "gfs2",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "smb3",
    "wekafs",
];

/// The folders that lie on one of those. Only the list of mounts is read: a server that is dead holds nobody up.
fn shared(mounts: &Path, files: &Files) -> Told<Vec<(String, PathBuf, String)>> {
    let mounts = match text(mounts) {
        Ok(mounts) => mounts,
        Err(error) => return Told::Unknown(format!("{} cannot be read: {error}", mounts.display())),
    };
    let folders = [("files.state", &files.state), ("files.run", &files.run), ("files.logs", &files.logs)];
    let on = folders.into_iter().filter_map(|(key, folder)| {
        let system = file_system(&mounts, folder).filter(|system| NETWORK.contains(system))?;
        Some((key.to_owned(), folder.clone(), system.to_owned()))
    });
    Told::Known(on.collect())
}

/// The type of the file system on which a folder lies, by the kernel's list (proc(5), `/proc/pid/mountinfo`): of the mounts
/// above it the nearest, of several there the last.
fn file_system<'m>(mounts: &'m str, folder: &Path) -> Option<&'m str> {
    let above = mounts.lines().filter_map(|line| {
        let (mount, of) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?.replace("\\040", " ");
        folder.starts_with(&point).then_some((point.len(), of.split(' ').next()?))
    });
    above.max_by_key(|(length, _)| *length).map(|(_, system)| system)
}

/// The state of the job's domain, wherever its folder lies.
pub(super) fn state(operator: &Operator, ask: Duration) -> Told<Option<JobDomain>> {
    let file = operator.files.state.join("domain.json");
    told(ask, "the folder of states", move || domain(&file))
}

/// What Slurm says of the jobs that a lease or domain names and that have no step here. Without Contain of PrologFlags a
/// node of a job has none between two steps.
pub(super) async fn lives(look: &LookArgs, operator: &Operator, job: &Job) -> BTreeMap<u32, Life> {
    let leases = job.leases.known().map_or(&[][..], Vec::as_slice).iter();
    let named = leases.filter_map(|holder| Some((holder.split_once('.')?.0.parse().ok()?, None)));
    let mut jobs: BTreeMap<u32, Option<&str>> = named.collect();
    // The machine's own name need not be the node's: its prolog has noted it.
    let domain = job.domain.known().and_then(Option::as_ref);
    jobs.extend(domain.map(|domain| (domain.job, domain.node.as_deref())));
    jobs.retain(|named, _| !job.alive.contains(named));
    let mut lives = BTreeMap::new();
    for (job, node) in jobs.into_iter().take(ASKED) {
        let words = ["show", "job", &job.to_string(), "--json"];
        let program =
            Program::new(&operator.tools.scontrol).words(words).path(look.path.folders()).deadline(look.ask);
        let said = program.run().await.map(|said| said.out).map_err(|error| Unknown::because(&error));
        lives.insert(job, life(&said, job, node));
    }
    lives
}

/// The processes: their numbers and folders.
pub(super) fn numbered(root: &Path) -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir(under(root, "/proc")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

/// The jobs that have a step here. Slurm's daemon of a step calls itself `slurmstepd: [7.batch]`.
fn alive(root: &Path) -> Vec<u32> {
    let mut jobs: Vec<u32> = numbered(root)
        .filter_map(|(_, folder)| {
            let line = fs::read(folder.join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            line.strip_prefix("slurmstepd: [")?.split('.').next()?.parse().ok()
        })
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// The state of the job's domain.
fn domain(file: &Path) -> Told<Option<JobDomain>> {
    let text = match text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Told::Known(None),
        Err(error) => return Told::Unknown(format!("{} cannot be read: {error}", file.display())),
    };
    match serde_json::from_str::<Value>(&text).ok().as_ref().and_then(job_domain) {
        Some(domain) => Told::Known(Some(domain)),
        None => Told::Unknown(format!("{} is no state of a job's domain", file.display())),
    }
}

fn job_domain(value: &Value) -> Option<JobDomain> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let members = value.get("members").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of =
        |member: &Value, key: &str| member.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(JobDomain {
        job: u32::try_from(value.get("job")?.as_u64()?).ok()?,
        node: text("node"),
        uid: value.get("uid").and_then(Value::as_u64).and_then(|uid| u32::try_from(uid).ok()),
        boot_id: text("boot_id")?,
        stage: text("stage").unwrap_or_default(),
        reason: text("reason"),
        domain_id: text("domain_id"),
        block: text("block"),
        members: members.iter().map(|member| (of(member, "node"), of(member, "address"))).collect(),
        channel: value.get("channel").and_then(|channel| channel.get("path")?.as_str()).map(PathBuf::from),
    })
}

/// The newest records, the newest first: their names begin with their time.
fn records(folder: &Path) -> Told<Vec<(String, Run)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Told::Known(Vec::new()),
        Err(error) => return Told::Unknown(format!("{} cannot be read: {error}", folder.display())),
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let newest: Vec<_> = files.iter().rev().take(RECORDS).collect();
    let read: Vec<_> = newest.iter().filter_map(|file| record(file)).collect();
    match (read.is_empty(), newest.first()) {
        (true, Some(file)) => Told::Unknown(format!("{} and older ones cannot be read", file.display())),
        (_, _) => Told::Known(read),
    }
}

fn record(file: &Path) -> Option<(String, Run)> {
    let value: Value = serde_json::from_str(&text(file).ok()?).ok()?;
    let kind = value.get("kind")?.as_str()?.to_owned();
    let result = value.get("result")?;
    let job = value.get("job");
    let job = job.and_then(Value::as_u64).or_else(|| job?.get("job")?.as_u64());
    let run = Run {
        file: file.file_name()?.to_string_lossy().into_owned(),
        time: value.get("time").and_then(Value::as_str).unwrap_or_default().to_owned(),
        job,
        boot_id: value.get("boot_id").and_then(Value::as_str).map(str::to_owned),
        ending: result.get("ending").and_then(Value::as_str).unwrap_or_default().to_owned(),
        exit_code: result.get("exit_code").and_then(Value::as_u64)?,
        message: result.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    Some((kind, run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_newest_first_and_what_is_none_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            (
                "1-prolog.json",
                r#"{"kind":"prolog","time":"T1","job":7,"result":{"exit_code":12,"message":"m"}}"#,
            ),
            ("2-prolog.json", r#"{"kind":"prolog","time":"T2","job":{"job":8},"result":{"exit_code":0}}"#),
            ("3-epilog.json", r#"{"kind":"epilog","result":{}}"#),
            ("4-x.json", "not JSON"),
            ("5.txt", "{}"),
        ] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let Told::Known(read) = records(dir.path()) else { panic!("it is a folder") };
        let read: Vec<_> = read.into_iter().map(|(_, run)| (run.job, run.exit_code)).collect();
        assert_eq!(read, [(Some(8), 0), (Some(7), 12)]);
    }

    #[test]
    fn folders_on_file_systems_of_many_machines_are_told_by_the_nearest_mount() {
        let dir = tempfile::tempdir().unwrap();
        let mounts = dir.path().join("mountinfo");
        let files = |logs: &str| Files { logs: logs.into(), ..Operator::default().files };
        assert!(matches!(shared(&mounts, &files("/x")), Told::Unknown(_)));
        let text = "22 1 0:20 / / rw shared:1 - ext4 /dev/vda1 rw\n\
                    23 22 0:21 / /srv rw - nfs4 host:/srv rw\n\
                    24 23 0:22 / /srv/of\\040me rw shared:2 master:3 - tmpfs tmpfs rw\n";
        fs::write(&mounts, text).unwrap();
        for (logs, system) in
            [("/srv/log", Some("nfs4")), ("/srv/of me/log", None), ("/srvlog", None), ("/var/log", None)]
        {
            let told = system.map(|system| ("files.logs".to_owned(), logs.into(), system.to_owned()));
            assert_eq!(shared(&mounts, &files(logs)), Told::Known(Vec::from_iter(told)), "{logs}");
        }
    }

    #[test]
    fn a_state_is_read_as_far_as_it_is_understood() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("domain.json");
        assert_eq!(domain(&file), Told::Known(None));
        fs::write(
            &file,
            r#"{"job":7,"boot_id":"b","stage":"up","members":[{"node":"n1","address":"a"}],"new":1}"#,
        )
        .unwrap();
        let Told::Known(Some(known)) = domain(&file) else { panic!("it is a state") };
        assert_eq!((known.job, known.members.len(), known.channel), (7, 1, None));
        fs::write(&file, "{}").unwrap();
        assert!(matches!(domain(&file), Told::Unknown(_)));
    }
}
