//! From judged files to a running node, and to its end.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use imex_config::security::Gss;
use imex_config::settings::Process;
use imex_config::{Loaded, Problems, Security, Settings, chain};
use imex_core::{Hello, Machine, NodeId, machine};
use imex_wire::LinkLimits;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use crate::args::Args;
use crate::clock::Clock;
use crate::command::{Desk, Listeners};
use crate::daemonize::{self, StandardError};
use crate::driver::{Driver, Parts, unstarted};
use crate::echo;
use crate::failure::{StartError, system};
use crate::fence::{self, Fence, MungeFence, TlsFence};
use crate::gpu::GpuMode;
use crate::identity;
use crate::limits;
use crate::logging::{self, Logging};
use crate::notify::Notifier;
use crate::peer::Outlet;
use crate::peer::accept::{Door, Reception};
use crate::peer::addresses::AddressBook;
use crate::peer::dial::{Dialler, LOOK_UPS};
use crate::persist::{PersistFile, Recalled};
use crate::ports;
use crate::signals;
use crate::stats::StatsFile;

/// How many threads may block at once: one per look-up in the system's resolver, one that reads credentials, and those
/// that wait for the KDC or for munged.
const BLOCKING_THREADS: usize = LOOK_UPS + 1 + KERBEROS_CALLS + imex_munge::BLOCKING_CALLS;

#[cfg(feature = "gssapi")]
const KERBEROS_CALLS: usize = imex_gss::BLOCKING_CALLS;
#[cfg(not(feature = "gssapi"))]
const KERBEROS_CALLS: usize = 0;

/// Serves until it is told to stop. With `DAEMONIZE=1` it ends as soon as a process in the background serves.
pub(crate) fn serve(args: &Args, line: &[OsString]) -> Result<(), StartError> {
    if let Some(parent) = args.die_with_parent {
        die_with_parent(Pid::from_raw(parent))?;
    }
    let Loaded { settings, problems } = crate::load(args);
    let Some(settings) = settings else { return Err(StartError::Configuration { problems }) };
    let driver = GpuMode::from_nogpu(args.nogpu).driver_version()?;
    let hello = Arc::new(introduction(&settings, driver)?);
    let fence = fence(&settings, &hello)?;
    limits::admit(settings.map.len())?;
    let notifier =
        Notifier::from_environment().map_err(system("reach the service manager at NOTIFY_SOCKET"))?;
    match Place::choose(args, &settings, &notifier) {
        Place::ParentOfDaemon => return daemonize::start_in_background(line),
        Place::Daemon => daemonize::leave_session()?,
        Place::Foreground => {}
    }
    let clock = Clock::start();
    let logging = Logging::start(&settings.log, clock).map_err(system("start the log's thread"))?;
    let start = Start {
        args,
        settings: &settings,
        problems: &problems,
        clock,
        driver,
        hello,
        fence,
        logging: logging.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
        .map_err(system("start the runtime"))?;
    let served = runtime.block_on(start.serve(notifier));
    match &served {
        // The loop has said why, when it began to leave.
        Ok(()) | Err(StartError::Authentication(_)) => {}
        Err(error) => {
            tracing::error!(target: logging::CRITICAL, error = %chain(error), "The daemon does not start");
        }
    }
    logging.finish();
    // A resolver that hangs does not keep the process.
    runtime.shutdown_background();
    served
}

/// Which process this is.
enum Place {
    Foreground,
    ParentOfDaemon,
    Daemon,
}

impl Place {
    fn choose(args: &Args, settings: &Settings, notifier: &Notifier) -> Self {
        match settings.process {
            _ if args.daemon_child => Place::Daemon,
            Process::Daemon if !notifier.listens() && args.die_with_parent.is_none() => Place::ParentOfDaemon,
            Process::Daemon | Process::Foreground => Place::Foreground,
        }
    }
}

/// The kernel ends this process with the thread that started it (prctl(2), `PR_SET_PDEATHSIG`). KILL, because a process
/// that is stopped would not act on any other signal.
///
/// The parent tells its number, for it may have ended before this process looked: then it is somebody else's child, and
/// would never be ended.
fn die_with_parent(parent: Pid) -> Result<(), StartError> {
    let ended = |errno: nix::errno::Errno| system("bind this process's life to its parent's")(errno.into());
    set_pdeathsig(Signal::SIGKILL).map_err(ended)?;
    if getppid() == parent { Ok(()) } else { Err(ended(nix::errno::Errno::ESRCH)) }
}

/// What stands between TCP and HTTP/2. Its credentials have been judged with the files.
fn fence(settings: &Settings, hello: &Arc<Hello>) -> Result<Fence, StartError> {
    match &settings.security {
        Security::Off => Ok(Fence::Open),
        Security::Tls(tls) => match TlsFence::new(settings, tls) {
            Ok(fence) => Ok(Fence::Tls(Arc::new(fence))),
            Err(found) => {
                let mut problems = Problems::default();
                found.into_iter().for_each(|problem| problems.push(problem));
                Err(StartError::Configuration { problems })
            }
        },
        Security::Gss(gss) => kerberos(settings, gss),
        Security::Munge(munge) => {
            let fence =
                fence::load_munge(munge).and_then(|loaded| MungeFence::new(loaded, munge, Arc::clone(hello)));
            Ok(Fence::Munge(Arc::new(fence?)))
        }
    }
}

#[cfg(feature = "gssapi")]
fn kerberos(settings: &Settings, gss: &Gss) -> Result<Fence, StartError> {
    let fence = fence::GssFence::new(settings, gss);
    Ok(Fence::Gss(Arc::new(fence.map_err(StartError::Kerberos)?)))
}

#[cfg(not(feature = "gssapi"))]
fn kerberos(_: &Settings, _: &Gss) -> Result<Fence, StartError> {
    Err(StartError::Security { asked: "Kerberos (cargo feature gssapi)" })
}

fn introduction(settings: &Settings, driver: &'static str) -> Result<Hello, StartError> {
    let instance = identity::random_instance().map_err(system("draw a random number"))?;
    identity::introduce(settings, driver, instance)
        .map_err(|error| system("introduce this daemon")(std::io::Error::other(error)))
}

/// What a start goes by.
struct Start<'a> {
    args: &'a Args,
    settings: &'a Settings,
    problems: &'a Problems,
    clock: Clock,
    driver: &'static str,
    hello: Arc<Hello>,
    fence: Fence,
    logging: Logging,
}

impl Start<'_> {
    async fn serve(self, notifier: Notifier) -> Result<(), StartError> {
        let settings = self.settings;
        let wishes = signals::listen().map_err(system("listen to signals"))?;
        echo::options(settings, self.driver);
        echo::problems(self.problems);
        echo::nodes(settings);
        let listener = ports::listen(settings.bind.socket_addr(settings.port))?;
        let listeners = Listeners::take(&settings.command, &self.fence).await?;
        let clock = self.clock;
        let (outlet, events) = Outlet::queue(clock);
        let hello = Arc::clone(&self.hello);
        let port = listener.local_addr().map_err(system("name the port for peers"))?.port();
        let mut persist = PersistFile::new(settings.persist.clone(), settings.map.clone());
        let importers = recall(&mut persist);
        let machine = self.machine(&hello, importers);
        let stats_file = StatsFile::open(&settings.stats, &settings.log, &self.logging);
        self.report_running(&stats_file)?;
        let book = AddressBook::new(settings, port);
        let introduced = (Arc::clone(&hello), self.fence.clone());
        let dialler = Dialler::new(settings, book.shape(), introduced, outlet.clone());
        let (desk, publication) = Desk::open(unstarted(&hello, &settings.map), machine.domain());
        let command_service =
            tokio::spawn(listeners.serve(Arc::new(desk), self.fence.clone(), outlet.clone()));
        let reception = Reception {
            fence: self.fence.clone(),
            neighbours: book.neighbours(),
            hello: Arc::clone(&hello),
            limits: LinkLimits::for_nodes(settings.map.len()),
            outlet: outlet.clone(),
        };
        tokio::spawn(Door::new(listener, settings.map.len(), reception).keep());
        echo::links(settings);
        let parts = Parts {
            machine,
            clock,
            fence: self.fence,
            book,
            dialler,
            events,
            outlet,
            publication,
            persist,
            stats_file,
            notifier,
            wishes,
            logging: self.logging,
        };
        let given_up = Driver::new(parts).run().await;
        // This removes the socket's file.
        command_service.abort();
        let _ = command_service.await;
        given_up.map_or(Ok(()), |given_up| Err(StartError::Authentication(given_up)))
    }

    fn machine(&self, hello: &Arc<Hello>, importers: BTreeSet<NodeId>) -> Machine {
        let setup = machine::Setup {
            map: self.settings.map.clone(),
            hello: Arc::clone(hello),
            quorum: self.settings.quorum,
            importers,
            timing: self.settings.timing,
            security: self.settings.security != Security::Off,
            // Any part of a random number is a random number.
            seed: u64::try_from(hello.instance().number() >> 64).unwrap_or_default(),
        };
        Machine::new(setup).expect("the introduction was made from the same map")
    }

    fn report_running(&self, stats: &StatsFile) -> Result<(), StartError> {
        if !self.args.daemon_child {
            return Ok(());
        }
        let used = self.logging.uses_stderr() || stats.uses_stderr();
        let stderr = if used { StandardError::HoldsTheLog } else { StandardError::Unused };
        daemonize::report_running(stderr).map_err(system("report to the process that started this one"))
    }
}

/// Whom a recovery has to wait for. From then on there is a file that says so, though it be of the key alone.
fn recall(persist: &mut PersistFile) -> BTreeSet<NodeId> {
    let importers = read_importers(persist);
    if let Err(error) = persist.record(&importers) {
        tracing::warn!(
            error = %chain(&error),
            "The persist file cannot be written; after an unclean end this node will wait for nobody"
        );
    }
    importers
}

fn read_importers(persist: &mut PersistFile) -> BTreeSet<NodeId> {
    let recalled = persist.recall();
    let file = persist.path().display();
    match recalled {
        Ok(Recalled::Importers(importers)) if importers.is_empty() => {
            tracing::info!("Nobody imports from this node according to {file}");
        }
        Ok(Recalled::Importers(importers)) => {
            tracing::info!(
                "{} nodes had imported from this one when it ended uncleanly ({file})",
                importers.len()
            );
            return importers;
        }
        Ok(Recalled::Nothing) => {
            tracing::info!(
                "IMEX persistence file {file} does not exist, so there are no importers to wait for."
            );
        }
        Ok(Recalled::OtherMap) => {
            tracing::info!("IMEX persistence file {file} belongs to another node map; nobody is waited for.");
        }
        Err(error) => {
            tracing::warn!(error = %chain(&error), "The persistence file cannot be used; nobody is waited for");
        }
    }
    BTreeSet::new()
}
