//! What the values mean.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use imex_config::credential::Place;
use imex_config::security::{GssFailure, GssProtection, Munge, MungeOrigin};
use imex_config::settings::{CommandTcp, LogDestination, LogLevel, LogStart, Process, StatsDestination};
use imex_config::{DEFAULT_SOCKET, Overrides, Security, Severity, resolve};
use imex_core::{Grace, QuorumMode, Timing};

use crate::fake::{FakeMachine, resolved, settings, written};

const ALONE: &str = "10.0.0.1\n";

#[test]
fn an_empty_file_means_the_defaults() {
    let settings = settings("", ALONE);
    assert_eq!(settings.port, 50000);
    assert_eq!(settings.quorum, QuorumMode::Recovery);
    assert_eq!(settings.timing, Timing::default());
    assert_eq!(settings.security, Security::Off);
    assert_eq!(settings.command.socket, Path::new(DEFAULT_SOCKET));
    assert_eq!(settings.command.socket_mode, 0o660);
    assert_eq!(settings.command.tcp, None);
    assert_eq!(settings.log.level, LogLevel::Info);
    assert_eq!(settings.log.destination, LogDestination::File("/var/log/nvidia-imex.log".into()));
    assert_eq!(settings.log.start, LogStart::Append);
    assert_eq!(settings.log.max_size, 1 << 30);
    assert_eq!(settings.log.rotate_count, 3);
    assert_eq!(settings.stats.interval, Duration::from_secs(30));
    assert_eq!(settings.process, Process::Daemon);
    assert_eq!(settings.token.as_str(), "");
}

#[test]
fn the_command_line_overrules_the_port() {
    let written = written(b"SERVER_PORT=34567\n", ALONE.as_bytes());
    let overrides = Overrides { port: Some(40000) };
    let (settings, _) = resolve(&written, &overrides, &FakeMachine::default());
    assert_eq!(settings.unwrap().port, 40000);
}

#[test]
fn grace_time_minus_one_is_for_ever_and_zero_is_at_once() {
    let grace = |value: &str| {
        let line = format!("IMEX_NODE_DISCONNECTED_GRACE_TIME={value}\n");
        settings(&line, ALONE).timing.grace
    };
    assert_eq!(grace("-1"), Grace::Forever);
    assert_eq!(grace("0"), Grace::For(Duration::ZERO));
    assert_eq!(grace("-0"), Grace::For(Duration::ZERO));
    assert_eq!(grace("30"), Grace::For(Duration::from_secs(30)));
}

#[test]
fn our_intervals_reach_the_core() {
    let config = "OPENIMEX_PING_INTERVAL_MS=200\nOPENIMEX_PING_MISSES=5\nOPENIMEX_RECONNECT_MAX_MS=1000\n\
                  OPENIMEX_DIAL_TIMEOUT_MS=500\n";
    let timing = settings(config, ALONE).timing;
    assert_eq!(timing.ping_interval, Duration::from_millis(200));
    assert_eq!(timing.ping_misses, 5);
    assert_eq!(timing.retry_max, Duration::from_secs(1));
    assert_eq!(timing.dial_deadline, Duration::from_millis(500));
    assert_eq!(timing.retry_first, Timing::default().retry_first);
}

#[test]
fn pings_of_a_large_map_are_paced_unless_the_file_sets_their_interval() {
    let map: String = (1..=144).map(|n| format!("10.0.0.{n}\n")).collect();
    let interval = |config: &str, map: &str| settings(config, map).timing.ping_interval;
    assert_eq!(interval("", ALONE), Duration::from_secs(1));
    assert_eq!(interval("", &map), Duration::from_millis(2880));
    assert_eq!(interval("OPENIMEX_PING_INTERVAL_MS=\n", &map), Duration::from_millis(2880));
    assert_eq!(interval("OPENIMEX_PING_INTERVAL_MS=1000\n", &map), Duration::from_secs(1));
    assert_eq!(interval("OPENIMEX_PING_INTERVAL_MS=60000\n", ALONE), Duration::from_secs(60));
}

#[test]
fn statistics_share_the_log_file_when_both_name_it() {
    let stats = |config: &str| settings(config, ALONE).stats.destination;
    let same = "LOG_FILE_NAME=/a\nSTATS_FILE_NAME=/a\n";
    assert_eq!(stats(same), StatsDestination::Log);
    assert_eq!(stats("LOG_FILE_NAME=/a\nSTATS_FILE_NAME=/b\n"), StatsDestination::File("/b".into()));
    assert_eq!(stats("LOG_FILE_NAME=\nSTATS_FILE_NAME=\n"), StatsDestination::Stderr);
}

#[test]
fn a_file_with_a_purpose_of_its_own_is_not_used_for_another() {
    let told = |config: &str| {
        let mut written = written(config.as_bytes(), ALONE.as_bytes());
        written.nodes_path = "/nodes".into();
        let (_, problems) = resolve(&written, &Overrides::default(), &FakeMachine::default());
        problems.to_string()
    };
    for (key, file, purpose) in [
        ("OPENIMEX_PERSIST_FILE", "/nodes", "IMEX_NODE_CONFIG_FILE"),
        ("LOG_FILE_NAME", "/var/run/nvidia-imex/persist.dat", "OPENIMEX_PERSIST_FILE"),
        ("STATS_FILE_NAME", DEFAULT_SOCKET, "IMEX_CMD_UNIX_DOMAIN_PATH"),
    ] {
        let told = told(&format!("{key}={file}\n"));
        assert!(told.contains(&format!("error: {key}: {file} is {purpose} already")), "{told}");
        assert_eq!(told.matches("error: ").count(), 1, "{told}");
    }
    for (key, file, purpose) in [
        ("LOG_FILE_NAME", "/etc/imex/../imex/config.cfg", "the configuration file (config.cfg)"),
        ("LOG_FILE_NAME", "/dev/fd/9", "the configuration file (config.cfg)"),
        ("STATS_FILE_NAME", "/dev/../nodes", "IMEX_NODE_CONFIG_FILE (/nodes)"),
    ] {
        let told = told(&format!("{key}={file}\n"));
        assert!(told.contains(&format!("error: {key}: {file} is {purpose} already")), "{told}");
    }
    assert_eq!(
        told("LOG_FILE_NAME=/dev/null\nSTATS_FILE_NAME=/dev/null\nOPENIMEX_PERSIST_FILE=/dev/shm/persist\n"),
        ""
    );
    let device = told("OPENIMEX_PERSIST_FILE=/dev/null\n");
    assert!(device.contains("error: OPENIMEX_PERSIST_FILE: /dev/null is among the devices"), "{device}");
    assert_eq!(told("LOG_FILE_NAME=/a\nSTATS_FILE_NAME=/a\nOPENIMEX_VERBOSE_LOG_FILE_NAME=/a\n"), "");
}

#[test]
fn an_empty_log_file_is_standard_error_and_the_systems_log_comes_first() {
    let log = |config: &str| settings(config, ALONE).log.destination;
    assert_eq!(log("LOG_FILE_NAME=\n"), LogDestination::Stderr);
    assert_eq!(log("LOG_FILE_NAME=/a\nLOG_USE_SYSLOG=1\n"), LogDestination::Syslog);
}

#[test]
fn tcp_needs_the_switch_and_a_port() {
    let tcp = |config: &str| settings(config, ALONE).command.tcp;
    assert_eq!(tcp("IMEX_CMD_PORT=50005\n"), None);
    assert_eq!(tcp("IMEX_CMD_ENABLED=1\nIMEX_CMD_PORT=\n"), None);
    let everywhere = CommandTcp { bind: None, scope_id: 0, port: 50005 };
    assert_eq!(tcp("IMEX_CMD_ENABLED=1\n"), Some(everywhere));
    let here = CommandTcp { bind: Some("10.0.0.1".parse::<IpAddr>().unwrap()), scope_id: 0, port: 6000 };
    let config = "IMEX_CMD_ENABLED=1\nIMEX_CMD_PORT=6000\nIMEX_CMD_BIND_INTERFACE_IP=10.0.0.1\n";
    assert_eq!(tcp(config), Some(here));
    let link_local = "IMEX_CMD_ENABLED=1\nIMEX_CMD_BIND_INTERFACE_IP=fe80::1%eth1\n";
    let address = tcp(link_local).unwrap().socket_addr().unwrap();
    assert_eq!(address.to_string(), "[fe80::1%3]:50005");
}

#[test]
fn kerberos_is_read_with_its_times() {
    let config = "IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=GSS_AUTH_ONLY\n\
                  IMEX_GSS_TIMEOUT_SEC=30\nIMEX_GSS_SHUTDOWN_ON_FAILURE=0\n";
    let Security::Gss(gss) = settings(config, ALONE).security else {
        panic!("security is Kerberos");
    };
    assert_eq!(gss.protection, GssProtection::AuthenticateOnly);
    assert_eq!(gss.service, "host");
    assert_eq!(gss.timeout, Some(Duration::from_secs(30)));
    assert_eq!(gss.retry_interval, Duration::from_secs(5));
    assert_eq!(gss.context_lifetime, None);
    assert_eq!(gss.on_failure, GssFailure::DropPeer);
}

#[test]
fn kerberos_sets_the_pace_of_its_own_retries_unless_it_is_nothing() {
    let retry = |seconds: u32| {
        let config = format!(
            "IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=GSS_AUTH_ENCRYPT\n\
             IMEX_GSS_RETRY_INTERVAL_SEC={seconds}\n"
        );
        settings(&config, ALONE).timing.auth_retry
    };
    assert_eq!(retry(7), Some(Duration::from_secs(7)));
    assert_eq!(retry(0), None);
}

#[test]
fn munge_is_a_security_of_its_own_with_usual_places() {
    let of = |config: &str| settings(config, ALONE).security;
    assert_eq!(
        of("OPENIMEX_AUTH=munge\n"),
        Security::Munge(Munge { socket: None, uid: 0, origin: MungeOrigin::Any })
    );
    let config = "OPENIMEX_AUTH=munge\nOPENIMEX_MUNGE_SOCKET=/run/m.sock\nOPENIMEX_MUNGE_UID=4711\n\
                  OPENIMEX_MUNGE_ORIGIN=peer\n";
    let munge = Munge { socket: Some("/run/m.sock".into()), uid: 4711, origin: MungeOrigin::Peer };
    assert_eq!(of(config), Security::Munge(munge));
    assert_eq!(of("OPENIMEX_AUTH=none\n"), Security::Off);
}

#[test]
fn two_kinds_of_security_exclude_each_other() {
    let config =
        "OPENIMEX_AUTH=munge\nIMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=GSS_AUTH_ONLY\n";
    let (_, problems) = resolved(config, ALONE);
    let told = problems.to_string();
    assert!(told.contains("error: OPENIMEX_AUTH=munge and IMEX_ENABLE_AUTH_ENCRYPTION=1 exclude"), "{told}");
    assert_eq!(told.matches("error: ").count(), 1, "{told}");
}

#[test]
fn certificates_beside_munge_are_said_to_be_of_no_use_to_it() {
    let (_, problems) = resolved("OPENIMEX_AUTH=munge\nIMEX_SERVER_KEY=/etc/key\n", ALONE);
    let told = problems.to_string();
    assert!(told.contains("warning: IMEX_SERVER_KEY is set, but OPENIMEX_AUTH=munge needs none"), "{told}");
}

#[test]
fn tls_from_the_environment_keeps_the_names_of_variables() {
    let mut config = "IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_SOURCE=ENV_VAL\n".to_owned();
    for side in ["SERVER", "CLIENT"] {
        for part in ["KEY", "CERT", "CERT_AUTH"] {
            config.push_str(&format!("IMEX_{side}_{part}=SERVER_KEY\n"));
        }
    }
    let Security::Tls(tls) = settings(&config, ALONE).security else {
        panic!("security is TLS");
    };
    assert_eq!(tls.client.authority.place, Place::Variable("SERVER_KEY".to_owned()));
    assert_eq!(tls.client.authority.line, Some(8));
}

#[test]
fn windows_line_ends_are_a_note_for_each_file_and_change_nothing() {
    let (settings, problems) = resolved("SERVER_PORT=34567\r\n", "10.0.0.1\r\n10.0.0.2\r\n");
    let notes: Vec<_> =
        problems.iter().map(|problem| (problem.severity, problem.file.to_str().unwrap())).collect();
    assert_eq!(notes, [(Severity::Note, "config.cfg"), (Severity::Note, "nodes_config.cfg")]);
    let settings = settings.unwrap();
    assert_eq!(settings.port, 34567);
    assert_eq!(settings.map, crate::fake::settings("", "10.0.0.1\n10.0.0.2\n").map);
}

#[test]
fn thousands_of_problems_are_reported_by_the_first_and_a_count() {
    let config: String = (0..20_000).map(|n| format!("SERVER_PROT_{n}=1\n")).collect();
    let (settings, problems) = resolved(&config, ALONE);
    assert!(settings.is_some(), "unknown keys keep no daemon from starting");
    assert_eq!(problems.iter().count(), 50);
    assert_eq!(problems.left_out(), 19_950);
    let text = problems.to_string();
    assert!(text.ends_with("config.cfg: note: 19950 more problems not shown"), "{text}");
}
