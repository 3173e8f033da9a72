//! What security costs that a service of the machines vouches for: a domain that forms with Kerberos or MUNGE as a multiple
//! of the same without, and a daemon at rest.

use std::path::Path;
use std::time::Duration;

use imex_lab::{Kdc, KdcError, Lab, LabBuilder, Munged, MungedError};
use tempfile::TempDir;

use super::error::BenchError;
use super::footprint;
use super::rack::Rack;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach};

/// How long Kerberos tickets live: longer than any measurement.
const TICKETS: Duration = Duration::from_secs(36_000);

pub(super) fn measurements() -> Vec<Measurement> {
    let row = |name: &str, what: &str, unit, run| Measurement {
        name: name.to_owned(),
        what: what.to_owned(),
        unit,
        // Nothing is promised: a KDC and a munged are what they are, and on one machine 18 nodes share one of each.
        reach: Reach::Baseline,
        nodes: 18,
        runs: if unit == Unit::Ratio { (11, 3) } else { (1, 1) },
        run,
    };
    vec![
        row(
            "secure-gss",
            "18 started at once with Kerberos, as a multiple of without",
            Unit::Ratio,
            |plan| ratio(plan, kerberos),
        ),
        row("secure-munge", "18 started at once with MUNGE, as a multiple of without", Unit::Ratio, |plan| {
            ratio(plan, munge)
        }),
        row("secure-idle-gss", "processor time of one idle daemon with Kerberos", Unit::Percent, |plan| {
            footprint::idle_of(plan, &mut kerberos(plan.nodes)?.up()?)
        }),
        row("secure-idle-munge", "processor time of one idle daemon with MUNGE", Unit::Percent, |plan| {
            footprint::idle_of(plan, &mut munge(plan.nodes)?.up()?)
        }),
        row("secure-memory-gss", "memory of one daemon with Kerberos", Unit::Mebibytes, |plan| {
            footprint::memory_of(&mut kerberos(plan.nodes)?.up()?)
        }),
    ]
}

/// A rack with what its security needs, which must last as long.
struct Secured {
    rack: Rack,
    _service: Service,
    _folder: TempDir,
}

#[expect(dead_code, reason = "held so that they end with the rack")]
enum Service {
    Kerberos(Kdc),
    Munge(Munged),
}

impl Secured {
    /// All nodes running, at rest.
    fn up(mut self) -> Result<Rack, BenchError> {
        self.rack.start_all()?;
        self.rack.rest();
        // What authenticated the nodes is not asked any more.
        Ok(self.rack)
    }
}

/// Each run beside a run without security, so that both meet the machine in the same mood.
fn ratio(plan: &Plan, secured: fn(usize) -> Result<Secured, BenchError>) -> Result<Series, BenchError> {
    let run = |_| {
        let open = Rack::prepare(plan.nodes)?.start_all()?;
        let closed = secured(plan.nodes)?.rack.start_all()?;
        Ok(closed.as_secs_f64() / open.as_secs_f64())
    };
    let runs: Result<Vec<f64>, BenchError> = (0..plan.runs).map(run).collect();
    Series::new(runs?).ok_or(BenchError::NoRun)
}

/// Nodes that have a key each and no ticket yet.
fn kerberos(nodes: usize) -> Result<Secured, BenchError> {
    let folder = folder()?;
    let mut kdc = Kdc::create(folder.path(), "RACK.TEST", TICKETS).map_err(no_kdc)?;
    kdc.start().map_err(no_kdc)?;
    let modes = [("IMEX_ENABLE_AUTH_ENCRYPTION", "1"), ("IMEX_AUTH_ENCRYPTION_MODE", "GSS_AUTH_ENCRYPT")];
    let builder = modes.into_iter().fold(builder(nodes), |builder, (key, value)| builder.setting(key, value));
    let mut rack = Rack::of(builder.prepare()?)?;
    for node in 0..nodes {
        admit(rack.lab(), node, &kdc, folder.path())?;
    }
    Ok(Secured { rack, _service: Service::Kerberos(kdc), _folder: folder })
}

fn admit(lab: &mut Lab, node: usize, kdc: &Kdc, folder: &Path) -> Result<(), BenchError> {
    let table = kdc.add(&format!("host/{}", lab.address(node))).map_err(no_kdc)?;
    let table = table.display().to_string();
    for (name, value) in [
        ("KRB5_CONFIG", kdc.config().display().to_string()),
        ("KRB5_KTNAME", table.clone()),
        ("KRB5_CLIENT_KTNAME", table),
        ("KRB5RCACHEDIR", folder.display().to_string()),
    ] {
        lab.set_variable(node, name, value);
    }
    Ok(())
}

fn munge(nodes: usize) -> Result<Secured, BenchError> {
    let folder = folder()?;
    let mut munged = Munged::create(folder.path(), "bench").map_err(no_munged)?;
    munged.start().map_err(no_munged)?;
    let uid = nix::unistd::geteuid();
    let builder = builder(nodes)
        .setting("OPENIMEX_AUTH", "munge")
        .setting("OPENIMEX_MUNGE_SOCKET", munged.socket().display().to_string())
        .setting("OPENIMEX_MUNGE_UID", uid.to_string());
    let rack = Rack::of(builder.prepare()?)?;
    Ok(Secured { rack, _service: Service::Munge(munged), _folder: folder })
}

fn builder(nodes: usize) -> LabBuilder {
    Lab::builder(super::program("imexd")).nodes(nodes)
}

fn folder() -> Result<TempDir, BenchError> {
    tempfile::tempdir().map_err(|error| BenchError::NotHere(error.to_string()))
}

fn no_kdc(error: KdcError) -> BenchError {
    BenchError::NotHere(error.to_string())
}

fn no_munged(error: MungedError) -> BenchError {
    BenchError::NotHere(error.to_string())
}
