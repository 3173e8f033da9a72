//! Credentials between users of real munged's, each with its own key and socket.
//!
//! The runtime's clock stands still while a call is under way: no deadline passes because the machine is slow.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use imex_core::{DomainToken, InstanceId, NodeId};
use imex_lab::{Munged, MungedError};
use imex_munge::{BINDING, CALL_DEADLINE, Claim, ClaimError, Fault, Munge, Role};
use tempfile::TempDir;
use tokio::task::yield_now;
use tokio::time::advance;

/// What the munged's call their address.
const ORIGIN: Ipv4Addr = Ipv4Addr::new(127, 7, 8, 9);

/// Who runs the tests of this file; some need root and say so.
const ROOT: u32 = 0;

/// Set by `cargo xtask verify` where nothing that authentication is tested with is missing.
const NOT_SKIPPED: &str = "OPENIMEX_TEST_AUTHENTICATION";

#[tokio::test(start_paused = true)]
async fn a_credential_tells_what_it_carries_and_who_made_it() {
    let Some(cell) = Cell::start("one") else { return };
    let credential = cell.munge.encode(claim().bytes(), own_uid()).await.unwrap();
    let opened = cell.munge.decode(credential).await.unwrap();
    claim().check(&opened.payload).unwrap();
    assert_eq!(opened.uid, own_uid());
    assert_eq!(opened.origin, ORIGIN);
}

#[tokio::test(start_paused = true)]
async fn a_credential_is_opened_once() {
    let Some(cell) = Cell::start("one") else { return };
    let credential = cell.munge.encode(claim().bytes(), own_uid()).await.unwrap();
    cell.munge.decode(credential.clone()).await.unwrap();
    let error = cell.munge.decode(credential).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Replayed, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_credential_made_with_another_key_is_invalid() {
    let (Some(one), Some(other)) = (Cell::start("one"), Cell::start("other")) else { return };
    let credential = other.munge.encode(claim().bytes(), own_uid()).await.unwrap();
    let error = one.munge.decode(credential).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Invalid, "{error}");
    assert!(error.hint().unwrap().contains("munge.key"));
}

#[tokio::test(start_paused = true)]
async fn a_credential_for_another_user_cannot_be_opened() {
    let Some(cell) = Cell::start("one") else { return };
    let credential = cell.munge.encode(claim().bytes(), own_uid() + 1).await.unwrap();
    let error = cell.munge.decode(credential).await.unwrap_err();
    assert_eq!(error.fault(), Fault::NotForUs, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_credential_of_another_user_says_whose_it_is() {
    let Some(cell) = Cell::start("one") else { return };
    if own_uid() != ROOT {
        return skip("root, to be another user");
    }
    let made = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", "munge", "-n", "--restrict-uid=0", "-S"])
        .arg(cell.munged.socket())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let opened = cell.munge.decode(made.stdout.trim_ascii_end().to_owned()).await.unwrap();
    assert_eq!(opened.uid, 65534);
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_has_expired_is_told_by_name() {
    let Some(cell) = Cell::start("one") else { return };
    let made =
        Command::new("munge").args(["-n", "-t", "1", "-S"]).arg(cell.munged.socket()).output().unwrap();
    // munged goes by the clock of the machine, and counts whole seconds.
    std::thread::sleep(Duration::from_millis(2100));
    let error = cell.munge.decode(made.stdout.trim_ascii_end().to_owned()).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Expired, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_one_connection_proves_nothing_on_another() {
    let Some(cell) = Cell::start("one") else { return };
    let credential = cell.munge.encode(claim().bytes(), own_uid()).await.unwrap();
    let opened = cell.munge.decode(credential).await.unwrap();
    let here = Claim { binding: [8; BINDING], ..claim() };
    assert_eq!(here.check(&opened.payload), Err(ClaimError::OtherConnection));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_credential_is_malformed() {
    let Some(cell) = Cell::start("one") else { return };
    let good = cell.munge.encode(claim().bytes(), own_uid()).await.unwrap();
    for bytes in [b"".to_vec(), b"MUNGE:".to_vec(), b"nonsense".to_vec(), b"a\0b".to_vec(), vec![b'A'; 2048]]
    {
        let error = cell.munge.decode(bytes).await.unwrap_err();
        assert!(matches!(error.fault(), Fault::Malformed | Fault::Other), "{error} {:?}", error.fault());
    }
    for change in [9, good.len() / 2, good.len() - 6] {
        let mut changed = good.clone();
        changed[change] = if changed[change] == b'A' { b'B' } else { b'A' };
        let error = cell.munge.decode(changed).await.unwrap_err();
        assert!(matches!(error.fault(), Fault::Malformed | Fault::Invalid), "{change}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_munged_that_is_down_is_told_by_name_and_all_heals_when_it_is_back() {
    let Some(mut cell) = Cell::start("one") else { return };
    cell.munged.stop();
    let error = cell.munge.encode(claim().bytes(), own_uid()).await.unwrap_err();
    assert_eq!(error.fault(), Fault::NotRunning, "{error}");
    assert!(error.hint().unwrap().contains("munged"));
    cell.munged.start().unwrap();
    let credential = cell.munge.encode(claim().bytes(), own_uid()).await.unwrap();
    cell.munge.decode(credential).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_munged_that_hangs_holds_nobody_up() {
    let Some(cell) = Cell::start("one") else { return };
    let pid = cell.munged.pid().unwrap().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    signal("-STOP");
    let munge = cell.munge.clone();
    let waiting = tokio::spawn(async move { munge.encode(claim().bytes(), own_uid()).await });
    yield_now().await;
    advance(CALL_DEADLINE - Duration::from_millis(1)).await;
    yield_now().await;
    assert!(!waiting.is_finished());
    advance(Duration::from_millis(2)).await;
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.fault(), Fault::NotRunning, "{error}");
    assert!(error.to_string().contains("munged does not answer"), "{error}");
    signal("-CONT");
    cell.munge.encode(claim().bytes(), own_uid()).await.unwrap();
}

/// A machine with a munged.
struct Cell {
    munge: Munge,
    munged: Munged,
    _folder: TempDir,
}

impl Cell {
    /// `None`, and a loud word, where there is no munged to be had.
    fn start(key: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut munged = match Munged::create(folder.path(), key) {
            Err(MungedError::Missing) => {
                skip_munged();
                return None;
            }
            created => created.unwrap(),
        };
        munged.set_origin(ORIGIN);
        munged.start().unwrap();
        let munge = Munge::load(Some(&munged.socket())).unwrap();
        Some(Cell { munge, munged, _folder: folder })
    }
}

/// Fails where `cargo xtask verify` has found or installed a munged.
#[expect(clippy::disallowed_methods, reason = "the only place in which this program reads its environment")]
fn skip_munged() {
    assert!(
        std::env::var_os(NOT_SKIPPED).is_none(),
        "munged is needed, and `cargo xtask verify` has found it"
    );
    skip("munged; `cargo xtask verify` installs it");
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(needed: &str) {
    eprintln!("SKIPPED: this test needs {needed}");
}

fn own_uid() -> u32 {
    let id = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8(id.stdout).unwrap().trim().parse().unwrap()
}

fn claim() -> Claim {
    Claim {
        role: Role::Dialler,
        from: NodeId::new(1),
        to: NodeId::new(2),
        instance: InstanceId::new(5),
        token: DomainToken::new("job-7").unwrap(),
        binding: [7; BINDING],
    }
}
