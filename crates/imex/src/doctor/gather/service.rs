//! The service: its units, its files, its view of the domain.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_config::operator::{Operator, Provider};
use imex_config::{
    DEFAULT_CONFIG, Overrides, Problem, Security, ServiceFile, Settings, Severity, ThisMachine, load,
    load_client, read_nodes, read_service,
};
use imex_ctl::{View, domain_table};
use imex_host::Program;
use imex_host::systemd::{DEFAULT_BUS, ServiceName, Systemd, SystemdError};
use imex_tls::judge::judge;
use imex_tls::name::PeerName;
use jiff::Timestamp;

use super::{under, within};
use crate::clock;
use crate::diagnosis::Diagnosis;
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Admission, Config, Domain, Process, Service, Told, Unit};
use crate::table::Table;

/// Where the node map is unless the configuration names it.
const NODE_MAP: &str = "/etc/nvidia-imex/nodes_config.cfg";

/// The port for peers unless the configuration names it.
const PORT: u16 = 50_000;

/// Names of processes that are a daemon.
const DAEMONS: [&str; 2] = ["imexd", "nvidia-imex"];

/// How much of the end of a statistics file is read: a block has about 4 KiB.
const STATISTICS: u64 = 64 * 1024;

/// How a block of statistics begins.
const BLOCK: &str = "Performance statistics for last";

/// Units and processes.
pub(super) async fn service(look: &LookArgs, operator: &Operator) -> Service {
    let unit = operator.service.unit.clone();
    let other_unit = match operator.service.provider {
        Provider::Imexd => "nvidia-imex.service",
        Provider::NvidiaImex => "imexd.service",
    };
    let systemd = Systemd::connect_to(&under(&look.root, DEFAULT_BUS), look.ask).await;
    let (state, other) = match &systemd {
        Ok(systemd) => (ask(systemd, &unit, look).await, ask(systemd, other_unit, look).await),
        Err(error) => {
            let why = imex_config::chain(error);
            (Told::Unknown(why.clone()), Told::Unknown(why))
        }
    };
    let processes = processes(&look.root);
    Service { unit, state, other_unit: other_unit.to_owned(), other, processes }
}

async fn ask(systemd: &Systemd, unit: &str, look: &LookArgs) -> Told<Unit> {
    let name: ServiceName = match unit.parse() {
        Ok(name) => name,
        Err(error) => return Told::from(Err::<Unit, _>(error)),
    };
    match systemd.service(&name, look.ask).await {
        Ok(facts) => Told::Known(Unit::Found(Box::new(facts))),
        Err(SystemdError::NotFound { .. }) => Told::Known(Unit::Missing),
        Err(error) => Told::Unknown(imex_config::chain(&error)),
    }
}

fn processes(root: &Path) -> Vec<Process> {
    let mut found: Vec<Process> = super::jobs::numbered(root)
        .filter_map(|(pid, folder)| {
            let name = fs::read_to_string(folder.join("comm")).ok()?.trim().to_owned();
            DAEMONS.contains(&name.as_str()).then_some(Process { pid, name })
        })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// The files, wherever they lie.
pub(super) fn config(look: &LookArgs, operator: &Operator) -> Config {
    let (ask, policy) = (look.ask, operator.clone());
    let path = operator.service.config.clone();
    // The resolver and the statistics may take their time within.
    match within(ask.saturating_mul(3), "the service's files", move || files(ask, &policy)) {
        Told::Known(config) => config,
        Told::Unknown(why) => Config {
            map: operator.service.node_map.clone().unwrap_or_else(|| NODE_MAP.into()),
            path,
            entries: Told::Unknown(why.clone()),
            own: None,
            map_changed: None,
            port: None,
            command_port: None,
            problems: Vec::new(),
            map_problems: Vec::new(),
            judged: Told::Unknown(why),
            certificates: None,
            counters: BTreeMap::new(),
        },
    }
}

fn files(ask: Duration, operator: &Operator) -> Config {
    let path = operator.service.config.clone();
    let written = read_service(&path).ok();
    let value =
        |key: &str| written.as_ref().and_then(|file: &ServiceFile| Some(file.get(key)?.value.to_owned()));
    let map = operator.service.node_map.clone().or_else(|| value("IMEX_NODE_CONFIG_FILE").map(PathBuf::from));
    let map = map.unwrap_or_else(|| NODE_MAP.into());
    let entries = Told::from(
        read_nodes(&map)
            .map(|file| file.entries().iter().map(|entry| entry.text.to_string()).collect::<Vec<_>>()),
    );
    let config = path.clone();
    let denied = fs::File::open(&path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let judged = match denied {
        true => Told::Unknown(format!("{}: this user may not read it, root may", path.display())),
        false => within(ask, "the resolver", move || load(&config, &Overrides::default(), &ThisMachine)),
    };
    let (own, of_map, problems, judged, certificates) = match judged {
        Told::Unknown(why) => (None, Vec::new(), Vec::new(), Told::Unknown(why), None),
        Told::Known(loaded) => {
            let own = loaded.settings.as_ref().map(|settings| settings.node.index());
            let (of_map, problems): (Vec<_>, Vec<_>) =
                loaded.problems.iter().partition(|problem| problem.file == map);
            let certificates = loaded.settings.as_ref().and_then(certificates);
            (own, told(of_map), told(problems), Told::Known(()), certificates)
        }
    };
    let client = || load_client(&path, &ThisMachine).ok()?.settings.node.map(|node| node.index());
    let changed = fs::metadata(&map).and_then(|meta| meta.modified()).ok();
    let enabled = value("IMEX_CMD_ENABLED").is_some_and(|value| value == "1");
    Config {
        own: own.or_else(client),
        map_changed: changed.and_then(|time| Timestamp::try_from(time).ok()),
        port: written
            .as_ref()
            .map(|_| value("SERVER_PORT").and_then(|port| port.parse().ok()).unwrap_or(PORT)),
        command_port: value("IMEX_CMD_PORT").filter(|_| enabled).and_then(|port| port.parse().ok()),
        counters: value("STATS_FILE_NAME")
            .and_then(|file| {
                within(ask, "the statistics", move || counters(Path::new(&file))).known().cloned()
            })
            .unwrap_or_default(),
        path,
        map,
        entries,
        problems,
        map_problems: of_map,
        judged,
        certificates,
    }
}

/// Problems as they are told here, where another option names the file than for the daemon.
fn told(problems: Vec<&Problem>) -> Vec<(Severity, String)> {
    let told = problems.into_iter().map(|problem| {
        let mut problem = problem.clone();
        if problem.hint.as_deref().is_some_and(|hint| hint.ends_with("with -c")) {
            let hint =
                "copy the example config.cfg there, or name another in service.config of openimex.toml";
            problem.hint = Some(hint.to_owned());
        }
        (problem.severity, problem.to_string())
    });
    told.collect()
}

/// What is wrong with the certificates of a daemon with these settings, or soon will be.
fn certificates(settings: &Settings) -> Option<Vec<(Severity, String)>> {
    let Security::Tls(tls) = &settings.security else { return None };
    let name = match &tls.target_override {
        Some(name) => PeerName::of_host(name),
        None => PeerName::of_entry(settings.addresses.get(settings.node.index())?),
    };
    let found = match name {
        Ok(name) => judge(tls, &name, clock::timestamp())
            .into_iter()
            .map(|finding| (finding.severity, finding.what))
            .collect(),
        Err(error) => vec![(Severity::Error, imex_config::chain(&error))],
    };
    Some(found)
}

/// The counters since the daemon's start in the last whole block of a statistics file.
fn counters(file: &Path) -> BTreeMap<String, u64> {
    let read = || -> io::Result<String> {
        let mut file = fs::File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(STATISTICS)))?;
        let mut bytes = Vec::new();
        file.take(STATISTICS).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().ok().and_then(|text| last_block(&text)).unwrap_or_default()
}

fn last_block(text: &str) -> Option<BTreeMap<String, u64>> {
    let blocks = text.rmatch_indices(BLOCK).map(|(start, _)| &text[start..]);
    blocks.into_iter().find_map(|block| {
        let json = &block[block.find('{')?..];
        let whole = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Value>().next()?.ok()?;
        let counters = whole.get("SinceStart")?.as_object()?.iter();
        Some(
            counters
                .filter_map(|(name, count)| Some((name.clone(), count.as_str()?.parse().ok()?)))
                .collect(),
        )
    })
}

/// The local daemon's view.
pub(crate) async fn domain(look: &LookArgs, operator: &Operator, own: Option<usize>) -> Told<Domain> {
    match operator.service.provider {
        Provider::Imexd => {
            let config = operator.service.config.clone();
            let loaded = within(look.ask, "the service's files", move || load_client(&config, &ThisMachine));
            let settings = match loaded {
                Told::Known(Ok(loaded)) => loaded.settings,
                Told::Known(Err(error)) => return Told::Unknown(imex_config::chain(&error)),
                Told::Unknown(why) => return Told::Unknown(why),
            };
            let report = match domain_table(&settings).await {
                Ok(report) => report,
                Err(error) => return Told::Unknown(imex_config::chain(&error)),
            };
            if let View::Tool { because, .. } = report.view {
                return Told::Unknown(because);
            }
            let mut diagnosis = Vec::new();
            // A vector takes all that is written.
            let _ = Diagnosis::of(&report.table).write(&mut diagnosis);
            let diagnosis = String::from_utf8_lossy(&diagnosis).trim_end().to_owned();
            Told::Known(Domain { table: Table::of(&report.table), diagnosis })
        }
        Provider::NvidiaImex => {
            let program = Program::new(&operator.service.control).words(["-N", "-j"]);
            let config = &operator.service.config;
            let program = match config == Path::new(DEFAULT_CONFIG) {
                true => program,
                false => program.words(["-c".as_ref(), config.as_os_str()]),
            };
            let said = match program.path(look.path.folders()).deadline(look.ask).run().await {
                Ok(said) => said,
                Err(error) => return Told::Unknown(imex_config::chain(&error)),
            };
            match Table::parse(&said.out, own) {
                Ok(table) => Told::Known(Domain { table, diagnosis: String::new() }),
                Err(error) => Told::Unknown(imex_config::chain(&error)),
            }
        }
    }
}

/// If it is permissions that keep a daemon from answering.
pub(crate) fn admission(look: &LookArgs, operator: &Operator, domain: &Told<Domain>) -> Admission {
    let config = operator.service.config.clone();
    let denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let asked = match domain {
        Told::Known(_) => return Admission::Admitted,
        Told::Unknown(_) => within(look.ask, "the daemon's socket", move || {
            fs::File::open(&config).is_err_and(|error| denied(&error))
                || load_client(&config, &ThisMachine).is_ok_and(|loaded| {
                    UnixStream::connect(loaded.settings.socket).is_err_and(|error| denied(&error))
                })
        }),
    };
    match asked {
        Told::Known(true) => Admission::Denied,
        Told::Known(false) | Told::Unknown(_) => Admission::Admitted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_those_of_the_last_whole_block() {
        let text = "Performance statistics for last 30 seconds  : {\n \"SinceStart\": { \"RefusedMap\": \"1\" }\n}\n\
                    Performance statistics for last 30 seconds  : {\n \"SinceStart\": { \"RefusedMap\": \"2\", \"x\": 3 }\n}\n\
                    Performance statistics for last 30 seconds  : {\n \"SinceSt";
        assert_eq!(last_block(text), Some(BTreeMap::from([("RefusedMap".to_owned(), 2)])));
        assert_eq!(last_block("nothing"), None);
    }
}
