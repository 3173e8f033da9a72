//! What security costs: forming a domain, and a message there and back, as multiples of the same without.
//!
//! To add a kind: one entry of [`KINDS`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use imex_config::{Security, ServiceFile, ThisMachine, load_client, read_service};
use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::message::Report;
use imex_core::{BootId, DomainToken, Hello, InstanceId, NodeId, NodeMap, NodeState, PeerMessage};
use imex_lab::Lab;
use imex_tls::{Ends, PeerName};
use imex_wire::{DialTarget, Dialled, Io, Link, LinkLimits};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use super::error::BenchError;
use super::rack::Rack;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach, program};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::process::Program;

/// How many messages go there and back in one run.
const ROUNDS: u64 = 5_000;

/// The nodes of a rack.
const NODES: usize = 18;

/// A kind of security.
struct Kind {
    name: &'static str,
    /// Gives every node of a lab what it needs, in its files.
    secure: fn(&Lab) -> Result<(), BenchError>,
    /// Forming a rack, as a multiple of the same without security.
    reach: Reach,
    form: fn(&Plan) -> Result<Series, BenchError>,
}

const TLS: Kind =
    Kind { name: "tls", secure: issue, reach: Reach::AtMost(3.0), form: |plan| formed(&TLS, plan) };

const KINDS: [&Kind; 1] = [&TLS];

pub(super) fn measurements() -> Vec<Measurement> {
    let forming = KINDS.iter().map(|kind| Measurement {
        name: format!("secure-{}", kind.name),
        what: format!("{NODES} daemons started at once with {} → UP, as a multiple of plain", kind.name),
        unit: Unit::Ratio,
        reach: kind.reach,
        nodes: NODES,
        runs: (11, 3),
        run: kind.form,
    });
    let message = Measurement {
        name: "secure-message-tls".to_owned(),
        what: "a message there and back with tls, as a multiple of plain".to_owned(),
        unit: Unit::Ratio,
        reach: Reach::Baseline,
        nodes: 2,
        runs: (11, 3),
        run: message,
    };
    forming.chain([message]).collect()
}

/// Each run beside one without security, so that both meet the machine in the same mood.
fn formed(kind: &Kind, plan: &Plan) -> Result<Series, BenchError> {
    let run = |_| {
        let plain = Rack::prepare(plan.nodes)?.start_all()?;
        let mut rack = Rack::prepare(plan.nodes)?;
        (kind.secure)(rack.lab())?;
        Ok(rack.start_all()?.as_secs_f64() / plain.as_secs_f64())
    };
    let runs: Result<Vec<f64>, BenchError> = (0..plan.runs).map(run).collect();
    Series::new(runs?).ok_or(BenchError::NoRun)
}

/// Certificates for every node, by the tool that sites use.
fn issue(lab: &Lab) -> Result<(), BenchError> {
    let dir = lab.layout().dir().join("pki");
    let pki = |words: &str| Program::new(program("imex")).words(words).arg("--dir").arg(&dir);
    pki("pki init --force").stdout()?;
    pki("pki issue --force").arg("--nodes").arg(&lab.paths(0).nodes_config).stdout()?;
    (0..lab.nodes()).try_for_each(|node| {
        let own = dir.join("nodes").join(lab.address(node).to_string());
        switch_on(&lab.paths(node).config, &own)
    })
}

fn switch_on(config: &Path, own: &Path) -> Result<(), BenchError> {
    let text = |what: &'static str| {
        move |error: &dyn std::error::Error| BenchError::Text { what, text: error.to_string() }
    };
    let mut service: ServiceFile =
        read_service(config).map_err(|error| text("a lab's configuration")(&error))?;
    let file = |name: &str| own.join(name).display().to_string();
    let mut settings = vec![
        ("IMEX_ENABLE_AUTH_ENCRYPTION", "1".to_owned()),
        ("IMEX_AUTH_SOURCE", "FILE".to_owned()),
        ("IMEX_SERVER_CERT_AUTH", file("ca.crt")),
        ("IMEX_CLIENT_CERT_AUTH", file("ca.crt")),
    ];
    settings.extend([
        ("IMEX_SERVER_KEY", file("server.key")),
        ("IMEX_SERVER_CERT", file("server.crt")),
        ("IMEX_CLIENT_KEY", file("client.key")),
        ("IMEX_CLIENT_CERT", file("client.crt")),
    ]);
    for (key, value) in settings {
        service.set(key, &value).map_err(|error| text("a key of the configuration")(&error))?;
    }
    std::fs::write(config, service.to_string())
        .map_err(|source| TaskError::file("write", config)(source).into())
}

/// Messages there and back over one link, both ends on one thread.
fn message(plan: &Plan) -> Result<Series, BenchError> {
    let rack = &mut Rack::prepare(plan.nodes)?;
    issue(rack.lab())?;
    let ends = ends(rack.lab())?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(BenchError::Runtime)?;
    let run = |_| {
        let plain = runtime.block_on(exchange(rack.lab(), None))?;
        let secure = runtime.block_on(exchange(rack.lab(), Some(&ends)))?;
        Ok(secure.as_secs_f64() / plain.as_secs_f64())
    };
    let runs: Result<Vec<f64>, BenchError> = (0..plan.runs).map(run).collect();
    Series::new(runs?).ok_or(BenchError::NoRun)
}

fn ends(lab: &Lab) -> Result<Arc<Ends>, BenchError> {
    let what = "the credentials of a lab's node";
    let unusable = |text: String| BenchError::Text { what, text };
    let loaded = load_client(&lab.paths(0).config, &ThisMachine);
    let loaded = loaded.map_err(|error| unusable(error.to_string()))?;
    let Ok(Security::Tls(tls)) = loaded.settings.security else {
        return Err(unusable(loaded.problems.to_string()));
    };
    Ok(Arc::new(Ends::new(&tls).map_err(|errors| unusable(format!("{errors:?}")))?))
}

async fn exchange(lab: &Lab, ends: Option<&Arc<Ends>>) -> Result<Duration, BenchError> {
    let failed = |text: String| BenchError::Text { what: "a link under measurement", text };
    let own = lab.address(0);
    let listener = TcpListener::bind((own, 0)).await.map_err(|error| failed(error.to_string()))?;
    let address = listener.local_addr().map_err(|error| failed(error.to_string()))?;
    let target = DialTarget { address, source: Some(own.into()) };
    let hello = introduction();
    let limits = LinkLimits::for_nodes(2);
    let far = async {
        let (tcp, _) = listener.accept().await.map_err(|error| failed(error.to_string()))?;
        tcp.set_nodelay(true).map_err(|error| failed(error.to_string()))?;
        let io: Box<dyn Io> = match ends {
            Some(ends) => Box::new(ends.accept(tcp).await.map_err(|error| failed(error.to_string()))?.io),
            None => Box::new(tcp),
        };
        let incoming = imex_wire::await_hello(io, limits).await.map_err(|error| failed(error.to_string()))?;
        answer(incoming.admit(&introduction())).await;
        Ok::<(), BenchError>(())
    };
    let near = async {
        let tcp = imex_wire::connect(target).await.map_err(|error| failed(error.to_string()))?;
        let io: Box<dyn Io> = secured(tcp, ends, own).await.map_err(failed)?;
        let dialled = imex_wire::introduce(io, &hello, None, limits).await;
        match dialled.map_err(|error| failed(error.to_string()))? {
            Dialled::Admitted { link, .. } => ask(link).await.map_err(failed),
            Dialled::Refused(refusal, _) => Err(failed(format!("{refusal:?}"))),
        }
    };
    let (far, near) = tokio::join!(far, near);
    far.and(near)
}

async fn secured(
    tcp: TcpStream,
    ends: Option<&Arc<Ends>>,
    own: std::net::Ipv4Addr,
) -> Result<Box<dyn Io>, String> {
    let Some(ends) = ends else { return Ok(Box::new(tcp)) };
    let secured = ends.connect(tcp, &PeerName::of_ip(own.into())).await;
    secured.map(|secured| Box::new(secured.io) as Box<dyn Io>).map_err(|error| error.to_string())
}

/// The time for all rounds; the link is closed at their end.
async fn ask(link: Link) -> Result<Duration, String> {
    let Link { sender, mut receiver } = link;
    let report = Report { number: 1, state: NodeState::Ready, missing: 0 };
    sender.send(&PeerMessage::Report(report)).map_err(|error| error.to_string())?;
    let watch = Stopwatch::start();
    for number in 0..ROUNDS {
        sender.send(&PeerMessage::Ping(number)).map_err(|error| error.to_string())?;
        while receiver.recv().await.map_err(|error| error.to_string())? != PeerMessage::Pong(number) {}
    }
    Ok(watch.elapsed())
}

async fn answer(link: Link) {
    let Link { sender, mut receiver } = link;
    while let Ok(message) = receiver.recv().await {
        if let PeerMessage::Ping(number) = message
            && sender.send(&PeerMessage::Pong(number)).is_err()
        {
            return;
        }
    }
}

fn introduction() -> Hello {
    let map = NodeMap::new(["a", "b"]).expect("two names are a map");
    let introduction = Introduction {
        protocol: PROTOCOL_VERSION,
        software: "bench".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(0),
        instance: InstanceId::new(1),
        boot: BootId::default(),
        digest: map.digest(),
        token: DomainToken::default(),
        host: "".into(),
    };
    Hello::check(introduction).expect("its texts are short")
}
