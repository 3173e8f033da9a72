//! The same with the ordinary transport of the tonic library.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use imex_wire::proto::peer_client::PeerClient;
use imex_wire::proto::peer_frame::Content;
use imex_wire::proto::peer_server::{Peer, PeerServer};
use imex_wire::proto::{PeerFrame, Ping, Pong};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};

use crate::{Failure, Figures, Meter, PINGS};

#[derive(Debug)]
struct Echo;

#[tonic::async_trait]
impl Peer for Echo {
    type LinkStream = Pin<Box<dyn Stream<Item = Result<PeerFrame, Status>> + Send>>;

    async fn link(
        &self,
        request: Request<Streaming<PeerFrame>>,
    ) -> Result<Response<Self::LinkStream>, Status> {
        let pong = |frame: Result<PeerFrame, Status>| {
            frame.map(|_| PeerFrame { content: Some(Content::Pong(Pong { number: 1 })) })
        };
        Ok(Response::new(Box::pin(request.into_inner().map(pong))))
    }
}

/// One open stream; the channel is what keeps its connection.
struct Open {
    sender: mpsc::Sender<PeerFrame>,
    receiver: Streaming<PeerFrame>,
    _channel: Channel,
}

pub(crate) async fn measure(nodes: usize) -> Result<Figures, Failure> {
    let mut addresses = Vec::new();
    for _ in 0..nodes {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        addresses.push(listener.local_addr()?);
        let accepted = TcpListenerStream::new(listener).map(|stream| {
            let stream = stream?;
            stream.set_nodelay(true)?;
            Ok::<_, std::io::Error>(stream)
        });
        let server = Server::builder().add_service(PeerServer::new(Echo));
        tokio::spawn(server.serve_with_incoming(accepted));
    }
    let meter = Meter::start()?;
    let mut dials = JoinSet::new();
    for _ in 0..nodes {
        for address in &addresses {
            dials.spawn(open(*address));
        }
    }
    let mut links = Vec::new();
    while let Some(link) = dials.join_next().await {
        links.push(link??);
    }
    let (wall, cpu, rss_bytes) = meter.stop()?;
    let ping = pings(links.first_mut().ok_or("no link")?).await?;
    Ok(Figures { wall, cpu, rss_bytes, ping })
}

async fn open(address: SocketAddr) -> Result<Open, Failure> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
    let channel = endpoint.connect().await?;
    let (sender, frames) = mpsc::channel(4);
    sender.send(ping()).await?;
    let mut client = PeerClient::new(channel.clone());
    let mut receiver = client.link(ReceiverStream::new(frames)).await?.into_inner();
    receiver.message().await?.ok_or("no answer")?;
    Ok(Open { sender, receiver, _channel: channel })
}

async fn pings(link: &mut Open) -> Result<(Duration, Duration), Failure> {
    let meter = Meter::start()?;
    for _ in 0..PINGS {
        link.sender.send(ping()).await?;
        link.receiver.message().await?.ok_or("no answer")?;
    }
    let (wall, cpu, _) = meter.stop()?;
    Ok((wall / PINGS, cpu / PINGS))
}

fn ping() -> PeerFrame {
    PeerFrame { content: Some(Content::Ping(Ping { number: 1 })) }
}
