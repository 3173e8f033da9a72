//! From the command line to the exit code.

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use imex_config::{DEFAULT_CONFIG, ThisMachine, load_client, load_client_security};
use imex_core::{DomainTable, NodeState};
use imex_wire::{ClientError, Endpoint};
use tokio::time::{Instant, timeout_at};

use crate::args::{self, Format, Layout, NoRequest, Request, Verb, Whom};
use crate::commands::DEADLINE;
use crate::commands::domain::domain;
use crate::commands::monitor::Monitor;
use crate::commands::state::state;
use crate::commands::subscribe::StateChanges;
use crate::console::{self, Page};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::{json, text};
use crate::report::Since;
use crate::{DomainReport, Sources, View};

/// Runs `imexctl` with this command line, whose first word is the program's name.
pub fn run(line: impl IntoIterator<Item = OsString>) -> Exit {
    let outcome = match args::parse(line) {
        Ok(request) => answer(&request),
        Err(no_request) => instead(&no_request).map(|()| no_request.exit()),
    };
    outcome.unwrap_or_else(|failure| {
        console::complain(&failure.text());
        failure.exit()
    })
}

fn instead(no_request: &NoRequest) -> Result<(), Failure> {
    match no_request {
        NoRequest::Information(text) | NoRequest::Usage(text) => print(Page::Below, text.as_bytes()),
        NoRequest::Misuse(text) => {
            console::complain(text);
            Ok(())
        }
    }
}

fn answer(request: &Request) -> Result<Exit, Failure> {
    let sources = sources(&request.whom)?;
    fits(&sources, request.verb)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::System)?;
    let outcome = runtime.block_on(perform(request.verb, sources));
    // Neither a resolver that is still looking for a name nor a reader that does not read holds the end up.
    runtime.shutdown_background();
    outcome.map(|()| Exit::Success)
}

fn sources(whom: &Whom) -> Result<Sources, Failure> {
    Ok(match whom {
        Whom::Config(path) => Sources::from(&load_client(path, &ThisMachine)?.settings),
        Whom::Tcp(address) => {
            // Without this machine's file there are no credentials; then the daemon says whether it wants any.
            let security = load_client_security(Path::new(DEFAULT_CONFIG), &ThisMachine);
            Sources::endpoint(Endpoint::Tcp(*address)).secured(&security)
        }
        Whom::Socket(path) => Sources::endpoint(Endpoint::Unix(path.clone())),
    })
}

/// Whether what is asked for can be shown.
fn fits(sources: &Sources, verb: Verb) -> Result<(), Failure> {
    let nodes = sources.nodes.as_ref().map_or(0, |nodes| nodes.map.len());
    match verb {
        Verb::Domain(_) | Verb::Monitor(_) if nodes > DomainTable::MOST_NODES => {
            Err(Failure::TooLarge { nodes })
        }
        Verb::Domain(_) | Verb::Monitor(_) | Verb::State | Verb::Subscribe { .. } => Ok(()),
    }
}

async fn perform(verb: Verb, sources: Sources) -> Result<(), Failure> {
    match verb {
        Verb::State => {
            let state = state(&sources).await.map_err(unavailable)?;
            print_state(state)
        }
        Verb::Subscribe { limit } => until_ended(subscribe(&sources, limit)).await,
        Verb::Domain(layout) => {
            let report = domain(&sources).await?;
            say_whose_view(&report.view);
            print(Page::Below, &rendered(&report, Since::FIRST, layout)?)
        }
        Verb::Monitor(layout) => until_ended(monitor(sources, layout)).await,
    }
}

async fn subscribe(sources: &Sources, limit: Option<Duration>) -> Result<(), Failure> {
    let end = limit.map(|limit| Instant::now() + limit);
    let patience = limit.map_or(DEADLINE, |limit| limit.min(DEADLINE));
    let (first, mut changes) = StateChanges::subscribe(sources, patience).await.map_err(unavailable)?;
    let mut now = Some(first);
    while let Some(state) = now {
        print_watched(Page::Below, format!("{state}\n").into()).await?;
        now = match end {
            None => changes.next().await?,
            Some(end) => timeout_at(end, changes.next()).await.unwrap_or(Ok(None))?,
        };
    }
    Ok(())
}

async fn monitor(sources: Sources, layout: Layout) -> Result<(), Failure> {
    let mut monitor = Monitor::new(sources);
    let mut view = View::Daemon;
    loop {
        let report = monitor.next().await?;
        let page = match layout.format {
            Format::Text => Page::Fresh,
            Format::Json => Page::Below,
        };
        print_watched(page, rendered(&report, monitor.since(), layout)?).await?;
        if report.view != view {
            say_whose_view(&report.view);
            view = report.view;
        }
    }
}

/// Runs a command that may never end by itself until it does, the user has had enough or nobody reads it any more.
async fn until_ended(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::select! {
        outcome = command => outcome,
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(Failure::System),
        () = console::reader_gone() => Ok(()),
    }
}

/// The word for a daemon that does not answer is printed in its place.
fn unavailable(error: ClientError) -> Failure {
    match print_state(NodeState::Unavailable) {
        Ok(()) => Failure::Unreachable(error),
        Err(failure) => failure,
    }
}

fn print_state(state: NodeState) -> Result<(), Failure> {
    print(Page::Below, format!("{state}\n").as_bytes())
}

fn say_whose_view(view: &View) {
    let mut line = Vec::new();
    text::whose_view(view, &mut line).expect("a vector takes anything");
    console::complain(&String::from_utf8_lossy(&line));
}

fn rendered(report: &DomainReport, since: Since<'_>, layout: Layout) -> Result<Vec<u8>, Failure> {
    let Layout { format, names } = layout;
    let mut whole = Vec::new();
    let done = match format {
        Format::Text => text::domain(report, names, &mut whole),
        Format::Json => json::domain(report, since, names, &mut whole),
    };
    done.map(|()| whole).map_err(Failure::Output)
}

fn print(page: Page, text: &[u8]) -> Result<(), Failure> {
    console::print(page, text).map_err(Failure::Output)
}

/// Prints on a thread of its own: a reader that does not read must not keep an interrupt from ending the program.
async fn print_watched(page: Page, text: Vec<u8>) -> Result<(), Failure> {
    let printed = tokio::task::spawn_blocking(move || console::print(page, &text)).await;
    printed.expect("printing does not panic, and nobody aborts it").map_err(Failure::Output)
}
