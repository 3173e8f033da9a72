//! `imex lab` without a subcommand: in the foreground, until Ctrl-C.

use std::future::pending;
use std::io::Write;

use imex_lab::{ControlSocket, LabClient};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::builder;
use super::formation::Formation;
use crate::cli::{LabArgs, format};
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::Format;
use crate::run::block_on;

/// The node that people are invited to kill, if there are as many.
const EXAMPLE: usize = 5;

/// Runs the command.
pub(crate) fn run(args: &LabArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    block_on(own_and_show(args, out))?
}

/// The lab is owned by one half of this function and looked at by the other, which asks as any other process would.
/// When the second is done, or a signal comes, the first ends all nodes.
async fn own_and_show(args: &LabArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    // Before anything is made: from now on a signal ends the lab with all that belongs to it.
    let (mut first, mut second) = (Signals::listen()?, Signals::listen()?);
    let mut plan = builder(&args.rack)?;
    if let Some(dir) = &args.dir {
        plan = plan.dir(dir);
    }
    let mut lab = plan.prepare()?;
    if args.keep {
        lab.keep();
    }
    let control = ControlSocket::open(&lab)?;
    let client = LabClient::open(lab.layout().dir())?;
    let started = Stopwatch::start();
    lab.start_all()?;
    let (done, is_done) = oneshot::channel::<()>();
    let stop = async {
        tokio::select! {
            () = first.next() => {}
            // The other half never sends: it is done when it drops its end.
            _ = is_done => {}
        }
    };
    let mut shown = None;
    let look = async {
        let exit = show(args, &client, started, out).await;
        let over = args.once || exit.is_err();
        shown = Some(exit);
        let _until_stopped = (!over).then_some(done);
        pending::<()>().await;
    };
    tokio::select! {
        ending = control.serve(&mut lab, stop) => drop(ending?),
        () = look => {}
        // While the nodes are leaving: dropping the lab ends them at once.
        () = second.second() => return Ok(Exit::Interrupted),
    }
    match shown {
        None => Ok(Exit::Interrupted),
        Some(exit) if args.once => exit,
        Some(exit) => exit.map(|_| Exit::Done),
    }
}

async fn show(
    args: &LabArgs,
    lab: &LabClient,
    started: Stopwatch,
    out: &mut dyn Write,
) -> Result<Exit, Stop> {
    let format = format(args.json);
    let formation = Formation::await_up(lab, args.rack.timeout, started).await?;
    formation.show(format, out)?;
    if !args.once && format == Format::Text {
        let dir = lab.layout().dir().display();
        writeln!(out, "try: {dir}/bin/imexctl -c {dir}/node-0/config.cfg -N")?;
        let node = args.rack.nodes.saturating_sub(1).min(EXAMPLE);
        writeln!(out, "     imex lab kill {node} --dir {dir}; imex lab status --dir {dir}")?;
        writeln!(out, "Ctrl-C ends the lab")?;
        out.flush()?;
    }
    Ok(formation.exit_code)
}

/// The signals that end a lab: Ctrl-C, a polite kill, and the end of the terminal.
#[derive(Debug)]
pub(super) struct Signals([Signal; 3]);

impl Signals {
    /// From now on they do not end the process by themselves.
    pub(super) fn listen() -> Result<Self, Failure> {
        let cannot =
            |error| Failure::because(Exit::LabFailed, format!("signals cannot be received: {error}"));
        let listen = |kind| signal(kind).map_err(cannot);
        Ok(Signals([
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
            listen(SignalKind::hangup())?,
        ]))
    }

    /// Waits for one of them.
    pub(super) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }

    async fn second(&mut self) {
        self.next().await;
        self.next().await;
    }
}
