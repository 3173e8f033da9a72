//! The links of this crate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::{BootId, DomainToken, Hello, InstanceId, MapDigest, NodeId, PeerMessage};
use imex_wire::{DialTarget, Dialled, Link, LinkLimits, accept, dial};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::{Failure, Figures, Meter, PINGS};

pub(crate) async fn measure(nodes: usize) -> Result<Figures, Failure> {
    let hello = Arc::new(hello()?);
    let limits = LinkLimits::for_nodes(nodes);
    let mut addresses = Vec::new();
    for _ in 0..nodes {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        addresses.push(listener.local_addr()?);
        tokio::spawn(listen(listener, Arc::clone(&hello), limits));
    }
    let meter = Meter::start()?;
    let mut dials = JoinSet::new();
    for _ in 0..nodes {
        for address in &addresses {
            dials.spawn(open(*address, Arc::clone(&hello), limits));
        }
    }
    let mut links = Vec::new();
    while let Some(link) = dials.join_next().await {
        links.push(link??);
    }
    let (wall, cpu, rss_bytes) = meter.stop()?;
    let ping = ping(links.first_mut().ok_or("no link")?).await?;
    Ok(Figures { wall, cpu, rss_bytes, ping })
}

async fn open(address: SocketAddr, hello: Arc<Hello>, limits: LinkLimits) -> Result<Link, Failure> {
    let target = DialTarget { address, source: None };
    match dial(target, &hello, limits).await? {
        Dialled::Admitted { link, .. } => Ok(link),
        Dialled::Refused(refusal, _) => Err(format!("{refusal:?}").into()),
    }
}

async fn listen(listener: TcpListener, hello: Arc<Hello>, limits: LinkLimits) -> Result<(), Failure> {
    loop {
        let (stream, _) = listener.accept().await?;
        let hello = Arc::clone(&hello);
        tokio::spawn(async move {
            let Link { sender, mut receiver } = accept(stream, limits).await?.admit(&hello);
            while let Ok(message) = receiver.recv().await {
                if let PeerMessage::Ping(number) = message {
                    sender.send(&PeerMessage::Pong(number))?;
                }
            }
            Ok::<(), Failure>(())
        });
    }
}

async fn ping(link: &mut Link) -> Result<(Duration, Duration), Failure> {
    let meter = Meter::start()?;
    for number in 0..PINGS {
        link.sender.send(&PeerMessage::Ping(number.into()))?;
        link.receiver.recv().await?;
    }
    let (wall, cpu, _) = meter.stop()?;
    Ok((wall / PINGS, cpu / PINGS))
}

fn hello() -> Result<Hello, Failure> {
    Ok(Hello::check(Introduction {
        protocol: PROTOCOL_VERSION,
        software: "0.1.0".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(0),
        instance: InstanceId::new(1),
        boot: BootId::new(2),
        digest: MapDigest::from_bytes([3; 32]),
        token: DomainToken::default(),
        host: "localhost".into(),
    })?)
}
