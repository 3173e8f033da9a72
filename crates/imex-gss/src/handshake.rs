//! Authentication at the start of a connection.

use std::time::Duration;

use imex_gssapi::Context;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::error::{AuthError, Blame, Refusal};
use crate::frame::{self, FrameError, HEADER, Header, Kind, PREFACE};
use crate::kerberos::{Kerberos, Sender};
use crate::keys::{Begun, TurnedAway};
use crate::principal::Peer;
use crate::stream::{GssStream, Role};

/// How long a turned-away peer may take to read why: a few round trips.
const LAST_WORDS: Duration = Duration::from_millis(500);

impl Kerberos {
    /// Authenticates over a fresh connection to the host of the node map: the peer must be that host's service.
    ///
    /// It has no deadline of its own but for the library's calls: the caller drops the future when it has waited long
    /// enough.
    pub async fn initiate<I>(&self, mut io: I, host: &str) -> Result<GssStream<I>, AuthError>
    where
        I: AsyncRead + AsyncWrite + Send + Unpin,
    {
        let (begun, token) = self.begin(host).await?;
        let mut first = frame::preface(self.settings().protection).to_vec();
        first.extend(framed(Kind::Token, &token)?);
        io.write_all(&first).await?;
        io.flush().await?;
        let (header, body) = read_frame(&mut io).await?;
        let answered = match header.kind {
            Kind::Token => self.finish(begun, body).await,
            Kind::Refusal => Err(self.refusal(begun, &body).await),
            Kind::Record => Err(FrameError::Unexpected { found: header.kind }.into()),
        };
        let context = match answered {
            Ok(context) => context,
            Err(error) => {
                if error.is_about_a_key() {
                    // It may be the key of somebody else whose name the host was taken for.
                    self.doubt(host).await;
                }
                return Err(error);
            }
        };
        let peer = Peer::new(context.target(), context.source());
        self.judge(&peer, host).await?;
        Ok(GssStream::new(io, context, peer, Role::Initiator { host: host.to_owned() }, self))
    }

    /// Authenticates whoever has just connected. Who that is, [`GssStream::peer`] tells; whether it should be, the
    /// caller judges.
    pub async fn accept<I>(&self, mut io: I) -> Result<GssStream<I>, AuthError>
    where
        I: AsyncRead + AsyncWrite + Send + Unpin,
    {
        let mut preface = [0; PREFACE];
        io.read_exact(&mut preface).await?;
        if let Err(error) = frame::check_preface(&preface, self.settings().protection) {
            // That it could not be told is no news beside what there was to tell.
            let _ = tell_apart(&mut io, error).await;
            return Err(error.into());
        }
        let (header, token) = read_frame(&mut io).await?;
        if header.kind != Kind::Token {
            return Err(FrameError::Unexpected { found: header.kind }.into());
        }
        let context = match self.answer(token, Sender::Newcomer).await {
            Ok(accepted) => {
                io.write_all(&framed(Kind::Token, &accepted.reply)?).await?;
                io.flush().await?;
                accepted.context
            }
            Err(TurnedAway { error, reply }) => {
                let reason = match error.blame() {
                    Blame::Peer => Refusal::Token,
                    Blame::Own | Blame::Kdc => Refusal::Unable,
                };
                // That it could not be told is no news beside what there was to tell.
                let _ = refuse(&mut io, reason, reply).await;
                return Err(error);
            }
        };
        let peer = Peer::new(context.source(), context.target());
        Ok(GssStream::new(io, context, peer, Role::Acceptor, self))
    }

    /// Why the acceptor refused: its token says it in Kerberos's own words, if there is one. It is not protected:
    /// it serves for a message, and as a hint that a peer which was met before has got a new key.
    async fn refusal(&self, begun: Begun, body: &[u8]) -> AuthError {
        let (reason, token) = frame::split_refusal(body);
        if token.is_empty() {
            return AuthError::Refused(reason);
        }
        let context: Result<Context, AuthError> = self.finish(begun, token.to_owned()).await;
        context.err().unwrap_or(AuthError::Refused(reason))
    }
}

/// Tells a peer that wants something else so, in words that it understands.
async fn tell_apart<I>(io: &mut I, error: FrameError) -> Result<(), AuthError>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    if matches!(error, FrameError::OtherProtection { .. }) {
        refuse(io, Refusal::OtherProtection, None).await?;
    } else {
        io.write_all(&frame::NO_TLS_HERE).await?;
        io.shutdown().await?;
    }
    // Closing while its own bytes are unread would reset the connection, and take the words with it.
    let mut unread = [0; 1024];
    let read_on = async { while io.read(&mut unread).await.is_ok_and(|read| read > 0) {} };
    let _ = timeout(LAST_WORDS, read_on).await;
    Ok(())
}

async fn refuse<I>(io: &mut I, reason: Refusal, token: Option<Vec<u8>>) -> Result<(), AuthError>
where
    I: AsyncWrite + Unpin,
{
    let mut body = vec![reason.number()];
    body.extend(token.unwrap_or_default());
    io.write_all(&framed(Kind::Refusal, &body)?).await?;
    io.shutdown().await?;
    Ok(())
}

async fn read_frame<I>(io: &mut I) -> Result<(Header, Vec<u8>), AuthError>
where
    I: AsyncRead + Unpin,
{
    let mut header = [0; HEADER];
    io.read_exact(&mut header).await?;
    let header = Header::parse(header)?;
    let mut body = Vec::new();
    // Memory is taken as bytes come, not as they are promised.
    io.take(header.length as u64).read_to_end(&mut body).await?;
    if body.len() < header.length {
        return Err(AuthError::Broken(std::io::ErrorKind::UnexpectedEof));
    }
    Ok((header, body))
}

fn framed(kind: Kind, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut frame = Header::new(kind, body.len())?.bytes().to_vec();
    frame.extend_from_slice(body);
    Ok(frame)
}
