//! Known vulnerabilities of what is built in.
//!
//! The database comes over the network. A network that is not there says nothing about this repository, so it is no
//! failure; but it is said where nobody overlooks it.

use std::time::Duration;

use super::tools;
use crate::error::TaskError;
use crate::report::Report;

/// How long the database may take to arrive; it is some ten megabytes.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(report: &mut Report) -> Result<(), TaskError> {
    let fetched = tools::cargo_deny(report)?.words("fetch db").limit(FETCH_LIMIT).run();
    if let Err(error) = fetched {
        report.warning(format_args!("advisories: their database could not be fetched ({error})"));
        return Ok(());
    }
    tools::cargo_deny(report)?.words("check --disable-fetch advisories").run()
}
