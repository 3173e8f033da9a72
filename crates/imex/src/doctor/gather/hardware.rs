//! The driver, the GPUs, the channels.

use std::fs;
use std::path::Path;
use std::time::Duration;

use imex_config::operator::{ChannelOwner, Operator};
use imex_host::channel::limit;
use imex_host::channel::{self, ChannelLimit, Channels, Fault, Mode, Owner, Spec, access};
use imex_host::devices::{self, CharDevices, Major, NoMajor};
use imex_host::person::Person;
use nix::unistd::geteuid;

use super::{text, under, within};
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Channel, Driver, Gpu, JobDomain, Told};

/// Where the driver shows its version.
const VERSION: &str = "/proc/driver/nvidia/version";

/// Where the kernel shows PCI functions.
const BUS: &str = "/sys/bus/pci/devices";

/// NVIDIA's number as a vendor.
const NVIDIA: &str = "0x10de";

/// The classes of a GPU: a VGA controller, and a 3D controller, as those of servers are.
const DISPLAYS: [&str; 2] = ["0x0300", "0x0302"];

/// What is known of the driver.
pub(crate) fn driver(root: &Path, ask: Duration) -> Driver {
    let devices = CharDevices::read(&under(root, devices::DEFAULT_PATH));
    let caps = devices.as_ref().ok().and_then(|devices| devices.major(devices::CAPABILITIES).ok());
    let count = ChannelLimit::read(&under(root, limit::DEFAULT_PATH)).map(|limit| match limit {
        ChannelLimit::Count(count) => Some(count),
        ChannelLimit::Unknown => None,
    });
    Driver {
        version: text(&under(root, VERSION)).ok().and_then(|text| version(&text)),
        channels_major: match devices.map(|devices| devices.imex_channels()) {
            Ok(Ok(major)) => Told::Known(Some(major.number())),
            Ok(Err(NoMajor::Absent { .. })) => Told::Known(None),
            Ok(Err(error @ NoMajor::Ambiguous { .. })) => Told::Unknown(imex_config::chain(&error)),
            Err(error) => Told::Unknown(imex_config::chain(&error)),
        },
        idle: idle(root),
        caps_major: caps.map(Major::number),
        channel_count: Told::from(count),
        gpus: gpus(root, ask),
    }
}

/// GPUs of NVIDIA's on the bus that no driver has, neither NVIDIA's nor one that gives them to a guest.
fn idle(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(under(root, BUS)).into_iter().flatten().flatten();
    let mut idle: Vec<String> = entries
        .filter(|entry| {
            let is = |file: &str, starts: &[&str]| {
                let read = text(&entry.path().join(file)).unwrap_or_default();
                starts.iter().any(|start| read.starts_with(start))
            };
            is("vendor", &[NVIDIA])
                && is("class", &DISPLAYS)
                && fs::symlink_metadata(entry.path().join("driver")).is_err()
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    idle.sort();
    idle
}

/// The version in a line such as `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build`: the
/// first word that is numbers with dots between.
fn version(text: &str) -> Option<String> {
    let numbers = |word: &&str| {
        word.contains('.')
            && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    text.lines().next()?.split_whitespace().find(numbers).map(str::to_owned)
}

fn gpus(root: &Path, ask: Duration) -> Told<Option<Vec<Gpu>>> {
    let library = if root == Path::new("/") {
        imex_nvml::DEFAULT_LIBRARY.into()
    } else {
        under(root, "/usr/lib").join(imex_nvml::DEFAULT_LIBRARY)
    };
    match imex_nvml::ask(&library, ask) {
        Ok(answer) => Told::Known(Some(answer.gpus.into_iter().map(gpu).collect())),
        Err(error) if error.is_missing() => Told::Known(None),
        Err(error) => Told::Unknown(imex_config::chain(&error)),
    }
}

fn gpu(gpu: imex_nvml::Gpu) -> Gpu {
    let complaints = gpu.health.map(|health| health.complaints()).unwrap_or_default();
    Gpu { fabric: gpu.fabric, complaints: complaints.iter().map(ToString::to_string).collect() }
}

/// The channel that counts, and if the user can open it.
pub(super) fn channel(
    look: &LookArgs,
    operator: &Operator,
    driver: &Driver,
    job: Option<&JobDomain>,
) -> Channel {
    let policy = &operator.channels;
    let channels = Channels::at(if look.root == Path::new("/") {
        policy.directory.clone()
    } else {
        under(&look.root, &policy.directory.to_string_lossy())
    });
    let path = job.and_then(|job| job.channel.clone());
    let number = path
        .as_deref()
        .and_then(Path::file_name)
        .and_then(|name| channel::Channel::from_file_name(name.to_str()?));
    let number = number.map_or_else(|| channel::Channel::new(0), Ok);
    let path = path.unwrap_or_else(|| channels.dir().join("channel0"));
    let faults = match (&driver.channels_major, number) {
        (Told::Known(Some(major)), Ok(number)) => {
            faults(&channels, number, *major, policy.mode, policy.owner)
        }
        (Told::Known(None), _) => Told::Unknown("the driver has no IMEX channels".to_owned()),
        (Told::Unknown(why), _) => Told::Unknown(why.clone()),
        (_, Err(error)) => Told::Unknown(error.to_string()),
    };
    let own = geteuid();
    // Root may open everything: who counts is the job's user.
    let job_s = job.filter(|_| own.is_root()).and_then(|job| job.uid).map(|uid| uid.to_string());
    let user = look.user.clone().or(job_s).unwrap_or_else(|| own.to_string());
    let access = opens(&path, &user, look.ask);
    Channel { path, faults, user, access }
}

fn faults(
    channels: &Channels,
    number: channel::Channel,
    major: u32,
    mode: u32,
    owner: ChannelOwner,
) -> Told<Vec<String>> {
    let Some((major, mode)) = Major::new(major).zip(Mode::new(mode).ok()) else {
        return Told::Unknown(format!("there is no major {major} or mode {mode:o}"));
    };
    let spec = Spec { major, mode, owner: Owner::ROOT };
    // Whose a job's channel is only its prolog knows.
    let counts = |fault: &Fault| owner == ChannelOwner::Root || !matches!(fault, Fault::Owner { .. });
    let faults = channels.check(number, &spec);
    Told::from(
        faults.map(|faults| faults.iter().filter(|fault| counts(fault)).map(ToString::to_string).collect()),
    )
}

/// If a user can open a channel.
pub(crate) fn opens(path: &Path, user: &str, ask: Duration) -> Told<channel::AccessReport> {
    let (path, user) = (path.to_owned(), user.to_owned());
    let tried = within(ask, "opening the channel", move || {
        // Who runs this needs no entry in the user database, which may be away.
        let person = if user == geteuid().to_string() { Ok(Person::own()) } else { Person::find(&user) };
        person.map(|person| access::access(&path, &person))
    });
    match tried {
        Told::Known(found) => Told::from(found),
        Told::Unknown(why) => Told::Unknown(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_counts_as_idle_only_if_it_is_nvidia_s_and_no_driver_has_it() {
        let dir = tempfile::tempdir().unwrap();
        for (address, vendor, class, driver) in [
            ("0008:01:00.0", "0x10de\n", "0x030200\n", None),
            ("0009:01:00.0", "0x10de\n", "0x030200\n", Some("vfio-pci")),
            ("0009:01:00.1", "0x10de\n", "0x040300\n", None),
            ("0000:00:02.0", "0x1af4\n", "0x030000\n", None),
        ] {
            let function = under(dir.path(), BUS).join(address);
            fs::create_dir_all(&function).unwrap();
            fs::write(function.join("vendor"), vendor).unwrap();
            fs::write(function.join("class"), class).unwrap();
            if let Some(driver) = driver {
                std::os::unix::fs::symlink(driver, function.join("driver")).unwrap();
            }
        }
        assert_eq!(idle(dir.path()), ["0008:01:00.0"]);
    }

    #[test]
    fn the_driver_s_version_is_the_first_word_of_numbers() {
        for (line, found) in [
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  (x) ",
                Some("580.95.05"),
            ),
            ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6", Some("535.54.03")),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(version(line).as_deref(), found);
        }
    }
}
