//! A realm with a few nodes, in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use imex_gss::{AuthError, GssStream, Kerberos, Protection, Settings, Store};
use imex_lab::{Kdc, KdcError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::oneshot;

/// Names the folder of the realm to the process that tells the story.
const FOLDER: &str = "OPENIMEX_TEST_REALM_FOLDER";

/// Set by `cargo xtask verify` where nothing that authentication is tested with is missing.
const NOT_SKIPPED: &str = "OPENIMEX_TEST_AUTHENTICATION";

/// The realm's name.
pub(crate) const REALM: &str = "RACK.TEST";

/// How long a story may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A realm of nodes `host/127.0.0.N`, each with a key table.
pub(crate) struct Realm {
    pub(crate) kdc: Kdc,
    folder: PathBuf,
}

/// Tells a story in a realm whose tickets live for `lifetime`.
///
/// The runtime's clock stands still while anybody works, the Kerberos library included, and leaps ahead when all wait for
/// it: deadlines, intervals and the lifetimes of contexts come to pass in their order, however slow the machine is. What
/// is about the clocks of the library and the KDC, which go on, resumes it.
///
/// The Kerberos library finds the realm by an environment variable, so each story runs in a process of its own: the
/// test runs itself again.
#[expect(clippy::disallowed_methods, reason = "beside `skip` the only place that reads the environment")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn tell<F: Future<Output = ()>>(lifetime: Duration, story: impl FnOnce(Realm) -> F) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let Some(realm) = Realm::create(Path::new(&folder), lifetime) else { return };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let late = late();
        runtime.block_on(async {
            tokio::select! {
                () = story(realm) => {}
                _ = late => panic!("the story does not come to its end"),
            }
        });
        // The library does not bear a call of its own that is still under way when the process ends.
        runtime.shutdown_timeout(PATIENCE);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let thread = std::thread::current();
    let told = Command::new(std::env::current_exe().unwrap())
        .args([thread.name().unwrap(), "--exact", "--nocapture"])
        .env(FOLDER, folder.path())
        .env("KRB5_CONFIG", folder.path().join("krb5.conf"))
        .env("KRB5RCACHEDIR", folder.path())
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let said = [told.stdout, told.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(told.status.success(), "{said}");
    for line in said.lines().filter(|line| line.starts_with("SKIPPED")) {
        eprintln!("{line}");
    }
}

/// Becomes ready after [`PATIENCE`], whatever the runtime's clock says.
fn late() -> oneshot::Receiver<()> {
    let (tell, late) = oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        // Nobody listens any more where all went well.
        let _ = tell.send(());
    });
    late
}

/// Says so on standard error; fails where `cargo xtask verify` has found or installed what is needed.
#[expect(clippy::disallowed_methods, reason = "beside `tell` the only place that reads the environment")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(program: &str) {
    assert!(
        std::env::var_os(NOT_SKIPPED).is_none(),
        "{program} is needed, and `cargo xtask verify` has found it"
    );
    eprintln!("SKIPPED: {program} is not installed; `cargo xtask verify` installs it");
}

impl Realm {
    /// `None`, and a loud word, where there is no KDC to be had.
    fn create(folder: &Path, lifetime: Duration) -> Option<Self> {
        let mut kdc = match Kdc::create(folder, REALM, lifetime) {
            Err(KdcError::Missing { program }) => {
                skip(program);
                return None;
            }
            created => created.unwrap(),
        };
        for node in 2..=4 {
            kdc.add(&format!("host/127.0.0.{node}")).unwrap();
        }
        kdc.start().unwrap();
        Some(Realm { kdc, folder: folder.to_owned() })
    }

    /// A path in the realm's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A node with its own key table for everything.
    pub(crate) fn node(&self, node: u8) -> Settings {
        settings(&host(node), &self.path(&format!("host_127.0.0.{node}.keytab")))
    }
}

/// A node with a key table for everything.
pub(crate) fn settings(host: &str, table: &Path) -> Settings {
    let table = Some(table.display().to_string());
    Settings {
        protection: Protection::Privacy,
        service: "host".to_owned(),
        host: host.to_owned(),
        lifetime: None,
        retry_interval: Duration::from_millis(200),
        store: Store { client_key_table: table.clone(), key_table: table, ticket_cache: None },
    }
}

pub(crate) fn host(node: u8) -> String {
    format!("127.0.0.{node}")
}

pub(crate) fn load(settings: Settings) -> Kerberos {
    Kerberos::load(settings).unwrap()
}

/// Both ends of an authentication.
pub(crate) type Ends =
    (Result<GssStream<DuplexStream>, AuthError>, Result<GssStream<DuplexStream>, AuthError>);

/// One node dials another.
pub(crate) async fn meet(initiator: &Kerberos, acceptor: &Kerberos) -> Ends {
    let (near, far) = tokio::io::duplex(1 << 20);
    let host = &acceptor.settings().host;
    tokio::join!(initiator.initiate(near, host), acceptor.accept(far))
}

/// One node dials another, and all is well.
pub(crate) async fn link(
    initiator: &Kerberos,
    acceptor: &Kerberos,
) -> (GssStream<DuplexStream>, GssStream<DuplexStream>) {
    let (near, far) = meet(initiator, acceptor).await;
    (near.unwrap(), far.unwrap())
}

/// Sends a text one way and back.
pub(crate) async fn echo<A, B>(near: &mut GssStream<A>, far: &mut GssStream<B>, text: &str)
where
    GssStream<A>: AsyncReadExt + AsyncWriteExt + Unpin,
    GssStream<B>: AsyncReadExt + AsyncWriteExt + Unpin,
{
    let there = async {
        near.write_all(text.as_bytes()).await.unwrap();
        near.flush().await.unwrap();
        let mut back = vec![0; text.len()];
        near.read_exact(&mut back).await.unwrap();
        back
    };
    let here = async {
        let mut came = vec![0; text.len()];
        far.read_exact(&mut came).await.unwrap();
        far.write_all(&came).await.unwrap();
        far.flush().await.unwrap();
    };
    let (back, ()) = tokio::join!(there, here);
    assert_eq!(back, text.as_bytes());
}

/// An error with its causes, as people read it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// What went wrong on one end.
pub(crate) fn failure(end: Result<GssStream<DuplexStream>, AuthError>) -> AuthError {
    end.map(|stream| stream.peer().principal().to_owned()).expect_err("authentication fails")
}
