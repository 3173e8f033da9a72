//! Against a real systemd: units of our own in `/run/systemd/system`, started, stopped, killed and refused.
//!
//! They take root and systemd as this name space's pid 1, and are run on a node of the Slurm lab:
//! `systemd-… --ignored`. Elsewhere they are ignored, not passed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, wherever that shows")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use imex_host::systemd::{
    ActiveState, Conditions, Enablement, JobDone, JobFailure, LoadState, Patience, ServiceFacts, ServiceName,
    ServiceResult, Stopped, Systemd, SystemdError,
};
use nix::sys::signal::Signal;

#[test]
#[ignore = "takes a real systemd"]
fn a_service_is_started_told_of_by_its_alias_and_stopped() {
    let units = Units::new("life", &[("", "[Service]\nExecStart=/bin/sleep 600\n")]);
    let alias = units.alias("-other");
    let (name, real) = (units.name("-other"), units.name(""));
    run(async {
        let systemd = Systemd::connect(SOON).await.unwrap();
        // Not loaded yet: stopping what has not run is no failure of whoever wants it stopped.
        assert_eq!(systemd.stop_gracefully(&name, PATIENCE).await.unwrap(), Stopped::Before);
        assert_eq!(systemd.start(&name, SOON).await.unwrap(), JobDone::Done);
        let facts = systemd.service(&name, SOON).await.unwrap();
        assert_eq!((facts.id.as_str(), facts.load.clone()), (real.as_str(), LoadState::Loaded));
        assert!(facts.names.contains(&name.to_string()), "{facts:?}");
        assert_eq!((facts.active.clone(), facts.sub.as_str()), (ActiveState::Active, "running"));
        assert_eq!(facts.enablement, Enablement::Indirect);
        let first = facts.main_pid.unwrap();
        assert_eq!(systemd.restart(&name, SOON).await.unwrap(), JobDone::Done);
        let second = systemd.service(&name, SOON).await.unwrap().main_pid.unwrap();
        assert_ne!(first, second);
        assert_eq!(systemd.stop_gracefully(&name, PATIENCE).await.unwrap(), Stopped::Gracefully);
        let facts = systemd.service(&name, SOON).await.unwrap();
        assert_eq!((facts.active.clone(), facts.may_run()), (ActiveState::Inactive, false));
        assert_eq!(systemd.stop(&name, SOON).await.unwrap(), JobDone::Done, "to stop twice is no error");
    });
    drop(alias);
}

#[test]
#[ignore = "takes a real systemd"]
fn each_way_not_to_start_has_its_name() {
    let units = Units::new(
        "ways",
        &[
            ("-fails", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'exit 3'\n"),
            (
                "-needs",
                "[Unit]\nRequires=UNIT-fails.service\nAfter=UNIT-fails.service\n[Service]\nExecStart=/bin/true\n",
            ),
            ("-missing", "[Service]\nType=exec\nExecStart=/nowhere/imexd\n"),
            ("-slow", "[Service]\nType=notify\nTimeoutStartSec=300ms\nExecStart=/bin/sleep 600\n"),
            ("-bad", "[Service]\nType=oneshot\n"),
            ("-unmet", "[Unit]\nConditionPathExists=/nowhere\n[Service]\nExecStart=/bin/sleep 600\n"),
        ],
    );
    let masked = units.mask("-masked");
    run(async {
        let systemd = Systemd::connect(SOON).await.unwrap();
        let start = async |suffix| systemd.start(&units.name(suffix), SOON).await;
        let facts = async |suffix| systemd.service(&units.name(suffix), SOON).await.unwrap();
        for suffix in ["-fails", "-missing", "-slow"] {
            let error = start(suffix).await.unwrap_err();
            assert!(matches!(&error, SystemdError::Job { end: JobFailure::Failed, .. }), "{suffix}: {error}");
        }
        let result = |facts: ServiceFacts| (facts.active, facts.result, facts.exec_main_status);
        assert_eq!(result(facts("-fails").await), (ActiveState::Failed, ServiceResult::ExitCode, 3));
        assert_eq!(result(facts("-missing").await), (ActiveState::Failed, ServiceResult::ExitCode, 203));
        assert_eq!(result(facts("-slow").await).1, ServiceResult::Timeout);

        let error = start("-needs").await.unwrap_err();
        assert!(matches!(&error, SystemdError::Job { end: JobFailure::Dependency, .. }), "{error}");
        let error = start("-absent").await.unwrap_err();
        assert!(matches!(&error, SystemdError::NotFound { .. }), "{error}");
        assert_eq!(facts("-absent").await.load, LoadState::NotFound);
        let error = start("-masked").await.unwrap_err();
        assert!(matches!(&error, SystemdError::Masked { .. }), "{error}");
        let masked = facts("-masked").await;
        assert_eq!((masked.load, masked.enablement), (LoadState::Masked, Enablement::MaskedRuntime));
        let error = start("-bad").await.unwrap_err();
        assert!(matches!(&error, SystemdError::BadUnit { .. }), "{error}");
        assert_eq!(facts("-bad").await.load, LoadState::BadSetting);

        assert_eq!(start("-unmet").await.unwrap(), JobDone::Done);
        let unmet = facts("-unmet").await;
        assert_eq!((unmet.active, unmet.conditions), (ActiveState::Inactive, Conditions::Unmet));

        systemd.reset_failed(&units.name("-fails"), SOON).await.unwrap();
        assert_eq!(facts("-fails").await.active, ActiveState::Inactive);
    });
    drop(masked);
}

#[test]
#[ignore = "takes a real systemd"]
fn a_deadline_gives_up_the_waiting_and_another_job_cancels_the_first() {
    const NEVER_READY: &str = "[Service]\nType=notify\nExecStart=/bin/sleep 600\n";
    let units = Units::new("late", &[("-given-up", NEVER_READY), ("-canceled", NEVER_READY)]);
    run(async {
        let systemd = Systemd::connect(SOON).await.unwrap();
        let name = units.name("-given-up");
        let error = systemd.start(&name, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("systemd did not start {name} within 1000 ms"));
        until(&systemd, &name, |facts| facts.active == ActiveState::Activating).await;

        let name = units.name("-canceled");
        let (started, stopped) = tokio::join!(systemd.start(&name, SOON), async {
            until(&systemd, &name, |facts| facts.active == ActiveState::Activating).await;
            systemd.stop(&name, SOON).await
        });
        let error = started.unwrap_err();
        assert!(matches!(&error, SystemdError::Job { end: JobFailure::Canceled, .. }), "{error}");
        assert_eq!(stopped.unwrap(), JobDone::Done);
    });
}

#[test]
#[ignore = "takes a real systemd"]
fn who_does_not_go_is_killed_and_the_answer_says_by_whom() {
    // The signal that asks it to go is one that it does not feel.
    const DEAF: &str = "[Service]\nExecStart=/bin/sleep 600\nKillSignal=SIGCONT\n";
    let short = format!("{DEAF}TimeoutStopSec=200ms\n");
    let units = Units::new("deaf", &[("", DEAF), ("-short", &short)]);
    run(async {
        let systemd = Systemd::connect(SOON).await.unwrap();
        for (suffix, asked, expected) in [
            ("", Duration::from_millis(500), Stopped::Killed { after_ms: 500 }),
            ("-short", SOON, Stopped::KilledBySystemd),
        ] {
            let name = units.name(suffix);
            systemd.start(&name, SOON).await.unwrap();
            let patience = Patience { asked, killed: SOON };
            assert_eq!(systemd.stop_gracefully(&name, patience).await.unwrap(), expected, "{name}");
            assert!(!systemd.service(&name, SOON).await.unwrap().may_run());
        }
    });
}

#[test]
#[ignore = "takes a real systemd"]
fn a_signal_reaches_the_service() {
    let units = Units::new("signal", &[("", "[Service]\nExecStart=/bin/sleep 600\n")]);
    let name = units.name("");
    run(async {
        let systemd = Systemd::connect(SOON).await.unwrap();
        systemd.start(&name, SOON).await.unwrap();
        systemd.kill(&name, Signal::SIGUSR1, SOON).await.unwrap();
        let facts = until(&systemd, &name, |facts| facts.active == ActiveState::Failed).await;
        assert_eq!((facts.result, facts.exec_main_status), (ServiceResult::Signal, Signal::SIGUSR1 as i32));
    });
}

#[test]
#[ignore = "takes a real systemd"]
fn who_is_not_root_may_look_but_not_act() {
    let units = Units::new("alien", &[("", "[Service]\nExecStart=/bin/sleep 600\n")]);
    let name = units.name("");
    let resting = name.clone();
    run(async {
        let systemd = Systemd::connect(SOON).await.unwrap();
        // It is not loaded yet: nothing to forget, and nobody to signal.
        systemd.reset_failed(&resting, SOON).await.unwrap();
        systemd.kill(&resting, Signal::SIGTERM, SOON).await.unwrap();
        systemd.start(&resting, SOON).await.unwrap();
    });
    // The bus asks the kernel who connects: this thread, which is somebody else from here on.
    let alien = thread::spawn(move || {
        let (uid, gid) = (rustix::thread::Uid::from_raw(65534), rustix::thread::Gid::from_raw(65534));
        rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        run(async {
            let systemd = Systemd::connect(SOON).await.unwrap();
            assert_eq!(systemd.service(&name, SOON).await.unwrap().load, LoadState::Loaded);
            let refused = [
                systemd.start(&name, SOON).await.map(drop),
                systemd.stop(&name, SOON).await.map(drop),
                systemd.kill(&name, Signal::SIGKILL, SOON).await,
                systemd.reset_failed(&name, SOON).await,
            ];
            for refusal in refused {
                let error = refusal.unwrap_err();
                assert!(matches!(error, SystemdError::AccessDenied { .. }), "{error}");
            }
        });
    });
    alien.join().unwrap();
}

const SOON: Duration = Duration::from_secs(5);

const PATIENCE: Patience = Patience { asked: SOON, killed: SOON };

/// Waits until the service is as it should become.
async fn until(systemd: &Systemd, name: &ServiceName, so: impl Fn(&ServiceFacts) -> bool) -> ServiceFacts {
    for _ in 0..SOON.as_millis() / 10 {
        let facts = systemd.service(name, SOON).await.unwrap();
        if so(&facts) {
            return facts;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{name} does not become what it should");
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// While one test has units, no other makes systemd read its units anew: nothing else is answered meanwhile.
static TURN: Mutex<()> = Mutex::new(());

/// Units of a test, stopped and removed when dropped.
struct Units {
    stem: String,
    files: Vec<PathBuf>,
    _turn: MutexGuard<'static, ()>,
}

/// A link among the units, removed when dropped.
struct Link(PathBuf);

impl Units {
    /// Units named by the stem and a suffix each; `UNIT` in their text is the stem.
    fn new(stem: &str, texts: &[(&str, &str)]) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let stem = format!("imex-host-{stem}");
        let files = texts
            .iter()
            .map(|(suffix, text)| {
                let path = folder().join(format!("{stem}{suffix}.service"));
                fs::write(&path, text.replace("UNIT", &stem)).unwrap();
                path
            })
            .collect();
        reload();
        Units { stem, files, _turn: turn }
    }

    fn name(&self, suffix: &str) -> ServiceName {
        format!("{}{suffix}", self.stem).parse().unwrap()
    }

    fn alias(&self, suffix: &str) -> Link {
        self.link(suffix, Path::new(&format!("{}.service", self.stem)))
    }

    fn mask(&self, suffix: &str) -> Link {
        self.link(suffix, Path::new("/dev/null"))
    }

    fn link(&self, suffix: &str, target: &Path) -> Link {
        let path = folder().join(self.name(suffix).as_str());
        symlink(target, &path).unwrap();
        reload();
        Link(path)
    }
}

impl Drop for Units {
    fn drop(&mut self) {
        for file in &self.files {
            let name = file.file_name().unwrap();
            Command::new("systemctl").arg("kill").arg("--signal=KILL").arg(name).output().unwrap();
            Command::new("systemctl").arg("stop").arg(name).output().unwrap();
            Command::new("systemctl").arg("reset-failed").arg(name).output().unwrap();
            fs::remove_file(file).unwrap();
        }
        reload();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

fn folder() -> &'static Path {
    let folder = Path::new("/run/systemd/system");
    assert!(folder.is_dir(), "systemd does not run here");
    folder
}

fn reload() {
    assert!(Command::new("systemctl").arg("daemon-reload").status().unwrap().success());
}
