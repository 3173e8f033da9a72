//! `imex lab up`: a lab in the background.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use imex_lab::LabClient;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::formation::Formation;
use super::own::Verdict;
use super::this_program;
use crate::cli::{RackArgs, UpArgs, format};
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::Format;
use crate::run::block_on;

/// How long the owner may take to write all files and start all processes, whatever their number.
const MAKING: Duration = Duration::from_secs(30);

/// How much longer it may take for each node. That is a few milliseconds while nothing else runs, but those that are
/// started dial one another while the owner still starts the rest: on a busy machine 137 of 144 took 30 s.
const MAKING_ONE: Duration = Duration::from_secs(1);

/// Runs the command. When the time is over the lab goes on running, so that one can look at it.
pub(crate) fn run(args: &UpArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let format = format(args.lab.json);
    let formation = block_on(up(args))??;
    formation.show(format, out)?;
    if format == Format::Text {
        let dir = args.lab.dir.display();
        writeln!(out, "the lab runs in the background; `imex lab down --dir {dir}` ends it")?;
    }
    Ok(formation.exit_code)
}

async fn up(args: &UpArgs) -> Result<Formation, Failure> {
    let started = Stopwatch::start();
    start_owner(args).await?;
    let lab = LabClient::open(&args.lab.dir)?;
    Formation::await_up(&lab, args.rack.timeout, started).await
}

async fn start_owner(args: &UpArgs) -> Result<(), Failure> {
    let failed = |what: String| Failure::because(Exit::LabFailed, format!("the lab's owner {what}"));
    let mut owner = Command::new(this_program()?)
        .args(["lab", "own"])
        .args(words(&args.rack))
        .arg("--dir")
        .arg(&args.lab.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    let Some(pipe) = owner.stdout.take() else {
        return Err(failed("has no output".to_owned()));
    };
    let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(pipe));
    let pipe = pipe.map_err(|error| failed(format!("cannot be heard: {error}")))?;
    let mut line = String::new();
    let making =
        MAKING.saturating_add(MAKING_ONE.saturating_mul(u32::try_from(args.rack.nodes).unwrap_or(u32::MAX)));
    match timeout(making, BufReader::new(pipe).read_line(&mut line)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(failed(format!("cannot be heard: {error}"))),
        Err(_) => {
            drop(owner.kill());
            return Err(failed(format!("said nothing for {} s", making.as_secs())));
        }
    }
    match serde_json::from_str(&line) {
        Ok(Verdict::Made) => Ok(()),
        Ok(Verdict::Failed(failure)) => Err(failure),
        Err(_) => Err(failed("ended without a word".to_owned())),
    }
}

/// The options of a rack as they are written.
fn words(rack: &RackArgs) -> Vec<OsString> {
    let RackArgs { nodes, port, imexd, timeout: _, settings } = rack;
    let mut words: Vec<OsString> =
        vec!["--nodes".into(), nodes.to_string().into(), "--port".into(), port.to_string().into()];
    if let Some(imexd) = imexd {
        words.extend(["--imexd".into(), imexd.into()]);
    }
    for (key, value) in settings {
        words.extend(["--set".into(), format!("{key}={value}").into()]);
    }
    words
}
