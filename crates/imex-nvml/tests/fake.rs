//! Against the fake library, each time in a process of its own: a library is told what to pretend by the environment.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, wherever that shows")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use imex_nvml::NvmlError;
use serde_json::Value;

/// So that the fake is built with these tests.
use imex_fake_nvml as _;

const RACK: &str = "5b1e6f4e-8d3a-4c0b-9a52-0123456789ab";

#[test]
fn each_version_of_the_struct_gives_the_same_identity() {
    for api in [1, 2, 3] {
        let answer = answer(&format!("driver 595.45.04\napi {api}\ngpu {RACK} 7 completed\ngpu none\n"));
        assert_eq!(answer["driver"], "595.45.04");
        let (attached, none) = (&answer["gpus"][0], &answer["gpus"][1]);
        assert_eq!(attached["fabric"]["cluster_uuid"], RACK, "version {api}");
        assert_eq!(
            (&attached["fabric"]["clique_id"], &attached["fabric"]["state"]),
            (&7.into(), &"completed".into())
        );
        assert_eq!(none["fabric"]["state"], "not_supported", "version {api}");
        assert!(attached["uuid"].as_str().unwrap().starts_with("GPU-fake"));
        let told = attached["health"]["summary"].as_str();
        assert_eq!(told, [None, Some("unreported"), Some("healthy")][api - 1], "version {api}");
    }
}

#[test]
fn a_registration_that_failed_is_told_in_the_librarys_words() {
    let answer = answer(&format!("gpu {RACK} 7 completed 23 0x1a9 unhealthy\n"));
    let gpu = &answer["gpus"][0];
    assert_eq!(gpu["fabric"]["status"]["failed"], "fake: Insufficient resources");
    assert_eq!((&gpu["health"]["mask"], &gpu["health"]["summary"]), (&0x1a9.into(), &"unhealthy".into()));
}

#[test]
fn each_call_that_fails_is_named_with_its_result() {
    for (line, told) in [
        ("error 9", "nvmlInit_v2 failed with 9 (fake: Driver not loaded)"),
        ("error nvmlDeviceGetCount_v2 15", "nvmlDeviceGetCount_v2 failed with 15 (fake: GPU is lost)"),
        ("error nvmlDeviceGetUUID 999", "nvmlDeviceGetUUID failed with 999 (fake: Some other error)"),
        (
            "error nvmlDeviceGetGpuFabricInfoV 15",
            "nvmlDeviceGetGpuFabricInfoV failed with 15 (fake: GPU is lost)",
        ),
        (
            "error nvmlDeviceGetHandleByIndex_v2 15",
            "nvmlDeviceGetHandleByIndex_v2 failed with 15 (fake: GPU is lost)",
        ),
    ] {
        assert_eq!(refusal(&format!("gpu none\n{line}\n")), told);
    }
}

#[test]
fn a_library_that_hangs_is_given_up_in_time() {
    let told = refusal("slow 60000\n");
    assert_eq!(told, format!("{} did not answer within 1000 ms", fake().display()));
}

#[test]
fn missing_and_too_old_are_told_apart() {
    let within = Duration::from_secs(10);
    let missing = imex_nvml::ask(Path::new("/nowhere/libnvidia-ml.so.1"), within).unwrap_err();
    assert!(missing.is_missing(), "{missing}");
    let other = imex_nvml::ask(Path::new("libc.so.6"), within).unwrap_err();
    assert!(matches!(other, NvmlError::TooOld { symbol: "nvmlInit_v2", .. }), "{other}");
}

/// What the fake library with this file says.
fn answer(config: &str) -> Value {
    let output = ask(config);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Why the fake library with this file says nothing.
fn refusal(config: &str) -> String {
    let output = ask(config);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap().trim_end().to_owned()
}

fn ask(config: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fake.conf");
    fs::write(&file, config).unwrap();
    let within = if config.contains("slow") { "1000" } else { "60000" };
    let mut command = Command::new(folder().parent().unwrap().join("examples/ask"));
    command.arg(fake()).arg(within).env("IMEX_FAKE_NVML", file).output().unwrap()
}

fn fake() -> PathBuf {
    folder().join("libimex_fake_nvml.so")
}

/// Where this test and what it depends on are built.
fn folder() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}
