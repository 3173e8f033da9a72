//! What `imex doctor` says of a node.

use serde_json::Value;

use super::{COMMAND, parse};
use crate::e2e::rig::{LIMIT, Rig};
use crate::error::TaskError;
use crate::slurm_lab::Seat;

/// The findings of a node.
pub(super) struct Examined {
    told: Value,
}

impl Examined {
    /// Asks a node, as root or as a user.
    pub(super) fn of(rig: &Rig, node: u8, user: Option<&str>) -> Result<Self, TaskError> {
        let seat = Seat { node: Some(node), user };
        let (mut out, mut err) = (String::new(), String::new());
        // A sweep of the HealthCheckProgram comes each five seconds, and what it may be changing is not judged meanwhile.
        rig.until("no script is at work while doctor looks", LIMIT, || {
            let said = rig.cluster().exec_at(seat, &["imex", "doctor", "--json"], COMMAND)?;
            (out, err) = (said.out, said.err);
            Ok(!out.contains("sweep is at work"))
        })?;
        Examined::parse(&out).map_err(|error| error.on(&format!("node{node} says {out}{err}")))
    }

    /// What it printed.
    pub(super) fn parse(text: &str) -> Result<Self, TaskError> {
        Ok(Examined { told: parse("imex doctor --json", text)? })
    }

    /// Claims that nothing fails, warns or could not be told.
    pub(super) fn is_well(&self) -> Result<(), TaskError> {
        TaskError::unless(self.told["exit_code"] == 0, || {
            format!("{} is well; it has {:#?}", self.told["node"], self.not_ok())
        })
    }

    /// The same for who is not root: to that one the records, which are root's, are unknown.
    pub(super) fn is_well_to_a_user(&self) -> Result<(), TaskError> {
        let not_ok = self.not_ok();
        let records =
            |row: &&Value| ["D33", "D35"].iter().any(|id| row["id"] == *id) && row["verdict"] == "unknown";
        TaskError::unless(not_ok.iter().all(records), || {
            format!("{} is well but for records; it has {not_ok:#?}", self.told["node"])
        })
    }

    /// Claims how a check came out.
    pub(super) fn is(&self, id: &str, verdict: &str) -> Result<(), TaskError> {
        TaskError::unless(self.row(id)["verdict"] == verdict, || {
            format!("{id} of {} is {verdict}; it is {:#}", self.told["node"], self.row(id))
        })
    }

    /// Claims what a check has seen.
    pub(super) fn saw(&self, id: &str, words: &str) -> Result<(), TaskError> {
        let evidence = self.row(id)["evidence"].as_str().unwrap_or_default();
        TaskError::unless(evidence.contains(words), || {
            format!("{id} of {} sees {words:?}; it sees {evidence}", self.told["node"])
        })
    }

    /// The fix of a check, which has these words.
    pub(super) fn fix(&self, id: &str, words: &str) -> Result<&str, TaskError> {
        let fix = self.row(id)["fix"].as_str().unwrap_or_default();
        TaskError::unless(fix.contains(words), || format!("the fix of {id} is {words:?}; it is {fix:?}"))?;
        Ok(fix)
    }

    /// The first command in the fix of a check: what stands between backticks.
    pub(super) fn command(&self, id: &str) -> Result<&str, TaskError> {
        let fix = self.fix(id, "`")?;
        Ok(fix.split('`').nth(1).unwrap_or_default())
    }

    fn row(&self, id: &str) -> &Value {
        let rows = self.told["checks"].as_array().into_iter().flatten();
        rows.into_iter().find(|row| row["id"] == id).unwrap_or(&Value::Null)
    }

    fn not_ok(&self) -> Vec<&Value> {
        let rows = self.told["checks"].as_array().into_iter().flatten();
        rows.filter(|row| !["ok", "not_applicable"].iter().any(|quiet| row["verdict"] == *quiet)).collect()
    }
}
