//! Who this daemon is: its introduction to peers, and chance.

use std::fs;
use std::io;

use imex_config::Settings;
use imex_core::hello::{HelloError, Introduction, PROTOCOL_VERSION};
use imex_core::{BootId, Hello, InstanceId};

/// Where the kernel shows the boot's id: random(4).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// This run's introduction. `driver` is the driver version or `NO_GPU`.
pub(crate) fn introduce(
    settings: &Settings,
    driver: &str,
    instance: InstanceId,
) -> Result<Hello, HelloError> {
    Hello::check(Introduction {
        protocol: PROTOCOL_VERSION,
        software: env!("CARGO_PKG_VERSION").into(),
        driver: driver.into(),
        node: settings.node,
        instance,
        boot: boot_id(),
        digest: settings.map.digest(),
        token: settings.token.clone(),
        host: host_name().into(),
    })
}

/// A number that no other run of any daemon has.
pub(crate) fn random_instance() -> io::Result<InstanceId> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(InstanceId::new(u128::from_le_bytes(bytes)))
}

fn boot_id() -> BootId {
    let text = fs::read_to_string(BOOT_ID).unwrap_or_default().replace('-', "");
    BootId::new(u128::from_str_radix(text.trim(), 16).unwrap_or_default())
}

/// The machine's name as far as an introduction can carry it.
fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().chars().filter(char::is_ascii_graphic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_differ_and_the_boot_is_known_on_linux() {
        assert_ne!(random_instance().unwrap(), random_instance().unwrap());
        assert_ne!(boot_id(), BootId::default());
    }
}
