//! What a GPU machine has and this one has not, as fakes that can be told from the real thing.
//!
//! | fake | how it says so |
//! |---|---|
//! | `/proc/devices` with both `nvidia-caps` lines | the line of a driver `openimex-lab-fake` before them |
//! | `/proc/driver/nvidia` with a version and the number of channels in `/etc/openimex-lab/channels`, else 2048 | the version says `a fake` |
//! | `/dev/nvidia0` to `3`, really `/dev/null` | their major number is not 195 |
//! | `/proc/sys/kernel/random/boot_id`, new at each power-on | it is a mount |
//! | an instance-metadata server | the header `Server: openimex-lab (a fake)` |

use std::fs;
use std::io::Write;
use std::path::Path;

use super::layer::File;
use super::{LAB, filesystem};
use crate::error::TaskError;
use crate::tree;

pub(super) mod metadata;

/// Where an instance asks for its metadata.
pub(super) const METADATA_ADDRESS: &str = "169.254.169.254";

/// The kernel's driver of `cpuid`: its devices can be opened by whoever may read them, as those of channels. Where it is
/// not there, opening a channel fails as without a driver (ENXIO), and everything else is as it should be.
pub(crate) const CHANNEL_MAJOR: u64 = 203;

/// A number that no driver has.
const CAPS_MAJOR: u64 = 239;

/// The same, for the line that says what this is.
const FAKE_MAJOR: u64 = 238;

/// The driver's version, which is also what the fake of NVML says.
pub(crate) const DRIVER: &str = "595.45.04";

/// How many channels the driver has where a machine's disk does not say.
const CHANNELS: &str = "2048";

/// Where it says.
pub(crate) const CHANNELS_FILE: &str = "/etc/openimex-lab/channels";

/// How many GPUs a node pretends to have.
const GPUS: u64 = 4;

const METADATA_UNIT: &str = "\
[Unit]
Description=Instance metadata service of the lab (a fake)
Before=slurmd.service

[Service]
ExecStart=LAB slurm-lab metadata
";

/// Whether channel 1 can be opened: this machine has the driver whose devices are the channels, and a CPU of that number.
pub(crate) fn channels_open() -> Result<bool, TaskError> {
    let has_cpu = Path::new("/sys/devices/system/cpu/cpu1").exists();
    Ok(has_cpu && is_driver(&tree::read(Path::new("/proc/devices"))?))
}

fn is_driver(devices: &str) -> bool {
    let number = CHANNEL_MAJOR.to_string();
    devices.lines().any(|line| line.split_whitespace().eq([number.as_str(), "cpu/cpuid"]))
}

/// What they need on every machine's disk.
pub(super) fn files() -> Vec<File> {
    let unit = "/etc/systemd/system/lab-metadata.service";
    vec![
        File::text(unit, METADATA_UNIT.replace("LAB", LAB)),
        File::link("/etc/systemd/system/multi-user.target.wants/lab-metadata.service", unit),
    ]
}

/// What they need at each boot, below a machine's root.
pub(super) fn install(root: &Path) -> nix::Result<()> {
    let errno = |error: std::io::Error| nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or_default());
    for gpu in 0..GPUS {
        filesystem::device(&root.join(format!("dev/nvidia{gpu}")), 1, 3)?;
    }
    let place = root.join("run/openimex-lab");
    filesystem::folder(&place)?;
    let real = fs::read_to_string("/proc/devices").map_err(errno)?;
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(errno)?;
    driver(root, &place).map_err(errno)?;
    filesystem::bind(&place.join("driver"), &root.join("proc/driver"))?;
    let fakes =
        [("devices", "proc/devices", devices(&real)), ("boot_id", "proc/sys/kernel/random/boot_id", boot_id)];
    for (name, over, text) in fakes {
        let path = place.join(name);
        fs::File::create(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(errno)?;
        filesystem::bind(&path, &root.join(over))?;
    }
    Ok(())
}

/// What the driver shows of itself.
fn driver(root: &Path, place: &Path) -> std::io::Result<()> {
    let channels = fs::read_to_string(root.join(&CHANNELS_FILE[1..])).unwrap_or_else(|_| CHANNELS.to_owned());
    let folder = place.join("driver/nvidia");
    fs::create_dir_all(&folder)?;
    let version = format!("NVRM version: NVIDIA UNIX Open Kernel Module (a fake)  {DRIVER}  Release Build\n");
    fs::write(folder.join("version"), version)?;
    fs::write(
        folder.join("params"),
        format!("CreateImexChannel0: 0\nImexChannelCount: {}\n", channels.trim()),
    )
}

/// The real text of `/proc/devices` with the driver's lines at the end of the character devices.
fn devices(real: &str) -> String {
    let (characters, blocks) = real.split_once("\n\n").unwrap_or((real, ""));
    let characters =
        characters.lines().filter(|line| !line.trim_start().starts_with(&CHANNEL_MAJOR.to_string()));
    let mut text: String = characters.map(|line| format!("{line}\n")).collect();
    for (major, name) in [
        (FAKE_MAJOR, "openimex-lab-fake"),
        (CAPS_MAJOR, "nvidia-caps"),
        (CHANNEL_MAJOR, "nvidia-caps-imex-channels"),
    ] {
        text += &format!("{major:>3} {name}\n");
    }
    format!("{text}\n{blocks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_known_by_number_and_name() {
        assert!(is_driver("Character devices:\n  1 mem\n203 cpu/cpuid\n"));
        assert!(!is_driver("Character devices:\n203 other\n202 cpu/cpuid\n"));
    }

    #[test]
    fn the_drivers_lines_are_among_the_character_devices() {
        let real = "Character devices:\n  1 mem\n203 cpu/cpuid\n\nBlock devices:\n254 virtblk\n";
        assert_eq!(
            devices(real),
            "Character devices:\n  1 mem\n238 openimex-lab-fake\n239 nvidia-caps\n203 nvidia-caps-imex-channels\n\n\
             Block devices:\n254 virtblk\n"
        );
    }
}
