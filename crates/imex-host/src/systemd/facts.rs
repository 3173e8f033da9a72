//! What a service is, from the properties that systemd tells.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;
use zbus::{OwnedVariant, Variant};

/// A word of systemd's, as an enumeration that keeps words of later versions.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(into = "String")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A word that is not in this list.
            Other(String),
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => $name::$variant,)+
                    other => $name::Other(other.to_owned()),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.to_string()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                })
            }
        }
    };
}

words! {
    /// If the unit's file could be read (`LoadState`).
    LoadState {
        /// It is.
        Loaded = "loaded",
        /// There is no such file.
        NotFound = "not-found",
        /// Its administrator forbids that it runs.
        Masked = "masked",
        /// A line of it cannot be used.
        BadSetting = "bad-setting",
        /// It cannot be read.
        Error = "error",
    }
}

words! {
    /// How the unit fares (`ActiveState`).
    ActiveState {
        /// It runs.
        Active = "active",
        /// It runs and reads its configuration again.
        Reloading = "reloading",
        /// It does not run.
        Inactive = "inactive",
        /// It does not run, and ended badly.
        Failed = "failed",
        /// It is being started.
        Activating = "activating",
        /// It is being stopped.
        Deactivating = "deactivating",
    }
}

words! {
    /// If the unit is started at boot (`UnitFileState`).
    Enablement {
        /// It is.
        Enabled = "enabled",
        /// It is until the next boot.
        EnabledRuntime = "enabled-runtime",
        /// It is not.
        Disabled = "disabled",
        /// It is forbidden.
        Masked = "masked",
        /// It is forbidden until the next boot.
        MaskedRuntime = "masked-runtime",
        /// It cannot be enabled: others start it.
        Static = "static",
        /// It is another name of a unit.
        Alias = "alias",
        /// It cannot be enabled, but others of its kind can.
        Indirect = "indirect",
        /// A program wrote it.
        Generated = "generated",
        /// It was made without a file.
        Transient = "transient",
        /// There is no file.
        None = "",
    }
}

words! {
    /// How the service's last run ended (`Result`).
    ServiceResult {
        /// Well, or it runs.
        Success = "success",
        /// It took longer to start or to stop than its file allows.
        Timeout = "timeout",
        /// Its process ended with another code than 0.
        ExitCode = "exit-code",
        /// Its process was ended by a signal.
        Signal = "signal",
        /// Its process was ended by a signal and left a core dump.
        CoreDump = "core-dump",
        /// It fell silent longer than its watchdog allows.
        Watchdog = "watchdog",
        /// It was started too often in too short a time.
        StartLimit = "start-limit-hit",
        /// It could not be run: memory, descriptors, control group.
        Resources = "resources",
        /// It did not say that it is ready, or said it wrongly.
        Protocol = "protocol",
        /// The kernel ended it for lack of memory.
        OomKill = "oom-kill",
        /// A condition of its own (`ExecCondition=`) did not hold.
        ExecCondition = "exec-condition",
    }
}

/// If the unit's conditions held when it was last to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conditions {
    /// They did.
    Met,
    /// One did not: the start did nothing.
    Unmet,
    /// It was not to be started yet.
    Untried,
}

/// A service, as systemd knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceFacts {
    /// Its own name, where it was asked for by another.
    pub id: String,
    /// All its names, sorted.
    pub names: Vec<String>,
    /// If its file could be read.
    pub load: LoadState,
    /// Why not.
    pub load_error: Option<String>,
    /// How it fares.
    pub active: ActiveState,
    /// How it fares in detail: `running`, `start`, `stop-sigterm`, `auto-restart`, `dead` and others.
    pub sub: String,
    /// If it is started at boot.
    pub enablement: Enablement,
    /// Where its file is.
    pub file: Option<String>,
    /// What it says of itself (`STATUS=` of sd_notify(3)); nothing once it has ended.
    pub status: Option<String>,
    /// Its main process.
    pub main_pid: Option<u32>,
    /// How its last run ended.
    pub result: ServiceResult,
    /// The exit code, or the number of the signal, with which its last process ended; 0 if none has.
    pub exec_main_status: i32,
    /// How often systemd has restarted it by itself.
    pub restarts: u32,
    /// If its conditions held.
    pub conditions: Conditions,
    /// Since when it fares as it does.
    pub since: Option<Timestamp>,
}

impl ServiceFacts {
    /// If it has a process, or may have one any moment.
    pub fn may_run(&self) -> bool {
        may_run(&self.active, self.main_pid.unwrap_or(0))
    }
}

/// The same, of these two alone; process 0 is none.
pub(super) fn may_run(active: &ActiveState, main_pid: u32) -> bool {
    main_pid != 0 || !matches!(active, ActiveState::Inactive | ActiveState::Failed)
}

/// Reads the properties of the interfaces `Unit` and `Service`.
pub(super) fn read(properties: &HashMap<String, OwnedVariant>) -> Result<ServiceFacts, String> {
    let text = |key: &str| match properties.get(key).map(|value| &**value) {
        Some(Variant::Str(text)) => Ok(text.as_str()),
        Some(_) | None => Err(format!("there is no text {key} among the properties")),
    };
    let number = |key: &str| match properties.get(key).map(|value| &**value) {
        Some(Variant::U32(number)) => u64::from(*number),
        Some(Variant::U64(number)) => *number,
        Some(_) | None => 0,
    };
    let optional = |key: &str| text(key).ok().filter(|text| !text.is_empty()).map(str::to_owned);
    let small = |key: &str| u32::try_from(number(key)).unwrap_or(u32::MAX);
    Ok(ServiceFacts {
        id: text("Id")?.to_owned(),
        names: names(properties.get("Names")),
        load: text("LoadState")?.into(),
        load_error: load_error(properties.get("LoadError")),
        active: text("ActiveState")?.into(),
        sub: text("SubState")?.to_owned(),
        enablement: text("UnitFileState").unwrap_or_default().into(),
        file: optional("FragmentPath"),
        status: optional("StatusText"),
        main_pid: Some(small("MainPID")).filter(|pid| *pid != 0),
        result: text("Result")?.into(),
        exec_main_status: match properties.get("ExecMainStatus").map(|value| &**value) {
            Some(Variant::I32(status)) => *status,
            Some(_) | None => 0,
        },
        restarts: small("NRestarts"),
        conditions: conditions(properties, number("ConditionTimestamp")),
        since: microseconds(number("StateChangeTimestamp")),
    })
}

fn conditions(properties: &HashMap<String, OwnedVariant>, tried: u64) -> Conditions {
    match properties.get("ConditionResult").map(|value| &**value) {
        _ if tried == 0 => Conditions::Untried,
        Some(Variant::Bool(false)) => Conditions::Unmet,
        Some(_) | None => Conditions::Met,
    }
}

fn names(value: Option<&OwnedVariant>) -> Vec<String> {
    let Some(Variant::Array(array)) = value.map(|value| &**value) else { return Vec::new() };
    let mut names: Vec<String> = array
        .iter()
        .filter_map(|name| if let Variant::Str(name) = name { Some(name.as_str().to_owned()) } else { None })
        .collect();
    names.sort();
    names
}

/// A pair of an error's name and its text, both empty where there is none.
fn load_error(value: Option<&OwnedVariant>) -> Option<String> {
    let Some(Variant::Structure(pair)) = value.map(|value| &**value) else { return None };
    match pair.fields() {
        [_, Variant::Str(said)] if !said.is_empty() => Some(said.as_str().to_owned()),
        _ => None,
    }
}

/// A time in microseconds since the epoch, where 0 means never.
fn microseconds(time: u64) -> Option<Timestamp> {
    let time = i64::try_from(time).ok().filter(|time| *time != 0)?;
    Timestamp::from_microsecond(time).ok()
}
