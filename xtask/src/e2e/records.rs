//! What a node's records say of a job's prologs and epilogs.

use serde_json::{Deserializer, Value};

use super::jobs::JobId;
use super::rig::Rig;
use crate::error::TaskError;

/// How one run ended, as its record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    time: String,
    /// In a word: `up`, `at_fault`, `passed_innocent`, …
    pub(crate) ending: String,
    /// What Slurm was told.
    pub(crate) exit_code: i64,
    /// In a sentence.
    pub(crate) message: String,
    /// All of it.
    pub(crate) whole: Value,
}

/// The runs of a job's prolog on a node, the first one first.
pub(crate) fn of_prologs(rig: &Rig, node: u8, job: JobId) -> Result<Vec<Verdict>, TaskError> {
    of(rig, node, &format!("*-{job}.*-prolog"))
}

/// Those of its epilog.
pub(crate) fn of_epilogs(rig: &Rig, node: u8, job: JobId) -> Result<Vec<Verdict>, TaskError> {
    of(rig, node, &format!("*-{job}.*-epilog"))
}

fn of(rig: &Rig, node: u8, name: &str) -> Result<Vec<Verdict>, TaskError> {
    let line = format!("cat /var/lib/openimex/records/{name}.json 2>/dev/null || true");
    let mut verdicts = parse(&rig.on(node, &line)?)?;
    verdicts.sort_by(|a, b| a.time.cmp(&b.time));
    Ok(verdicts)
}

fn parse(text: &str) -> Result<Vec<Verdict>, TaskError> {
    let records = Deserializer::from_str(text).into_iter::<Value>();
    let verdicts = records.map(|record| {
        let record = record
            .map_err(|error| TaskError::Output { line: "a record".to_owned(), why: error.to_string() })?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let result = &record["result"];
        Ok(Verdict {
            time: text(&record["time"]),
            ending: text(&result["ending"]),
            exit_code: result["exit_code"].as_i64().unwrap_or(-1),
            message: text(&result["message"]),
            whole: record,
        })
    });
    verdicts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_follow_each_other_are_told_apart() {
        let record = r#"{"time":"t","result":{"ending":"up","exit_code":0,"message":"m"}}"#;
        let verdicts = parse(&format!("{record}\n{record}\n")).unwrap();
        assert_eq!(verdicts.len(), 2);
        assert_eq!((verdicts[0].ending.as_str(), verdicts[0].exit_code), ("up", 0));
        assert!(parse("{").is_err());
    }
}
