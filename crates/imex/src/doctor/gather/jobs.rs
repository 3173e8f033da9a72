//! Jobs: steps, leases, states, records. What others wrote is read as far as it can be understood.

use std::fs;
use std::path::{Path, PathBuf};

use imex_config::operator::Operator;
use imex_host::boot;
use imex_host::lease::Leases;
use serde_json::Value;

use super::{text, under};
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Job, JobDomain, Run, Told};

/// How many of the newest records are read.
const RECORDS: usize = 40;

/// What is known of jobs.
pub(super) fn job(look: &LookArgs, operator: &Operator) -> Job {
    let records = records(&operator.files.state.join("records"));
    let (prologs, epilogs) = records.into_iter().partition(|(kind, _)| kind == "prolog");
    let runs = |records: Vec<(String, Run)>| records.into_iter().map(|(_, run)| run).collect();
    let leases = Leases::at(operator.files.leases()).held();
    Job {
        boot_id: Told::from(
            boot::id(&under(&look.root, boot::DEFAULT_ID_PATH)).map(|id| id.as_str().to_owned()),
        ),
        alive: alive(&look.root),
        leases: Told::from(
            leases.map(|held| held.into_iter().map(|lease| lease.holder.as_str().to_owned()).collect()),
        ),
        domain: domain(&operator.files.state.join("domain.json")),
        prologs: runs(prologs),
        epilogs: runs(epilogs),
    }
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
pub(crate) fn domain(file: &Path) -> Told<Option<JobDomain>> {
    let text = match text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Told::Known(None),
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
fn records(folder: &Path) -> Vec<(String, Run)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files.iter().rev().take(RECORDS).filter_map(|file| record(file)).collect()
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
        let read: Vec<_> = records(dir.path()).into_iter().map(|(_, run)| (run.job, run.exit_code)).collect();
        assert_eq!(read, [(Some(8), 0), (Some(7), 12)]);
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
