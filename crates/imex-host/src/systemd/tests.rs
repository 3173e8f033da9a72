//! What systemd says, read; and what is told where there is no systemd. A real one answers in the cluster of the lab.

use std::collections::HashMap;

use zbus::{OwnedVariant, Variant};

use super::*;

#[test]
fn the_properties_of_a_service_give_its_facts() {
    let facts = facts::read(&properties()).unwrap();
    assert_eq!((facts.id.as_str(), facts.names.as_slice()), ("imexd.service", &names()[..]));
    assert_eq!((facts.load.clone(), facts.load_error.clone()), (LoadState::Loaded, None));
    assert_eq!((facts.active.clone(), facts.sub.as_str()), (ActiveState::Failed, "failed"));
    assert_eq!((facts.result.clone(), facts.exec_main_status), (ServiceResult::Watchdog, 6));
    assert_eq!((facts.main_pid, facts.may_run()), (None, false));
    assert_eq!(facts.conditions, Conditions::Unmet);
    assert_eq!(facts.since.unwrap().to_string(), "1970-01-01T00:00:02Z");
}

#[test]
fn a_word_of_a_later_systemd_is_kept() {
    let mut properties = properties();
    properties.insert("ActiveState".to_owned(), text("maintenance"));
    properties.insert("MainPID".to_owned(), Variant::U32(12).try_into().unwrap());
    let facts = facts::read(&properties).unwrap();
    assert_eq!(facts.active, ActiveState::Other("maintenance".to_owned()));
    assert_eq!((facts.main_pid, facts.may_run()), (Some(12), true));
    assert_eq!(serde_json::to_value(&facts).unwrap()["active"], "maintenance");
}

#[test]
fn properties_that_lack_what_every_unit_has_are_refused() {
    for key in ["Id", "LoadState", "ActiveState", "SubState", "Result"] {
        let mut properties = properties();
        properties.remove(key);
        assert!(facts::read(&properties).unwrap_err().contains(key));
    }
}

#[test]
fn each_end_of_a_job_is_told_by_name() {
    let told = |word| match job::judge(word) {
        Ok(done) => format!("{done:?}"),
        Err(failure) => failure.to_string(),
    };
    let words = ["done", "skipped", "failed", "dependency", "timeout", "canceled", "frozen"];
    assert_eq!(
        words.map(told),
        [
            "Done",
            "Skipped",
            "failed",
            "failed with a unit that it depends on",
            "took longer than the unit's own time-out",
            "was canceled by another job",
            "ended with `frozen`",
        ]
    );
}

#[test]
fn who_may_not_is_told_so_whichever_way_the_bus_says_it() {
    let name = "imexd".parse().unwrap();
    let call = Call { operation: Operation::Stop, unit: Some(&name), within: Duration::ZERO };
    let said = || "Interactive authentication required.".to_owned();
    for error in [
        zbus::fdo::Error::AccessDenied(said()),
        zbus::fdo::Error::InteractiveAuthorizationRequired(said()),
        zbus::fdo::Error::AuthFailed(said()),
    ] {
        let error = judge(&call, zbus::Error::FDO(Box::new(error)));
        assert!(matches!(error, SystemdError::AccessDenied { .. }), "{error}");
        let told = "systemd does not let this user stop imexd.service: Interactive authentication required.";
        assert_eq!(error.to_string(), told);
    }
    let error = judge(&call, zbus::Error::FDO(Box::new(zbus::fdo::Error::NotSupported("no".to_owned()))));
    let told = "systemd refuses to stop imexd.service: no (org.freedesktop.DBus.Error.NotSupported)";
    assert_eq!(error.to_string(), told);
}

#[test]
fn without_a_bus_its_socket_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = block_on(Systemd::connect_to(&dir.path().join("bus"), Duration::from_secs(1))).unwrap_err();
    assert!(matches!(&error, SystemdError::NoBus { socket, .. } if socket.ends_with("bus")), "{error}");
}

#[test]
fn a_socket_behind_which_nobody_speaks_is_given_up_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("bus");
    let _silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = block_on(Systemd::connect_to(&socket, Duration::from_millis(50))).unwrap_err();
    assert_eq!(error.to_string(), "systemd did not answer within 50 ms");
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// What systemd 262 answers for a service whose watchdog ran out and whose condition did not hold the last time.
fn properties() -> HashMap<String, OwnedVariant> {
    let mut properties: HashMap<String, OwnedVariant> = [
        ("Id", "imexd.service"),
        ("LoadState", "loaded"),
        ("ActiveState", "failed"),
        ("SubState", "failed"),
        ("UnitFileState", "enabled"),
        ("FragmentPath", "/usr/lib/systemd/system/imexd.service"),
        ("Result", "watchdog"),
    ]
    .map(|(key, word)| (key.to_owned(), text(word)))
    .into();
    let mut more =
        |key: &str, value: Variant<'_>| properties.insert(key.to_owned(), value.try_into().unwrap());
    more("Names", Variant::from(vec!["nvidia-imex.service", "imexd.service"]));
    more("LoadError", Variant::from(("", "")));
    more("MainPID", Variant::U32(0));
    more("ExecMainStatus", Variant::I32(6));
    more("NRestarts", Variant::U32(3));
    more("ConditionResult", Variant::Bool(false));
    more("ConditionTimestamp", Variant::U64(1));
    more("StateChangeTimestamp", Variant::U64(2_000_000));
    properties
}

fn names() -> [String; 2] {
    ["imexd.service", "nvidia-imex.service"].map(str::to_owned)
}

fn text(word: &str) -> OwnedVariant {
    Variant::from(word).try_into().unwrap()
}
