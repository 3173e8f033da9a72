//! What Slurm, `nvidia-smi`, the kernel and the reports of other nodes say of hosts, their devices and their fabric.

use std::collections::BTreeSet;

use imex_host::channel::{Channel, ChannelLimit};
use imex_host::devices::{CAPABILITIES, CharDevices, IMEX_CHANNELS, Major, NoMajor};
use imex_host::{FabricId, HostList, NodeReport, compress, hostlist, identify, nvidia_smi};

/// So many names are expanded and compressed again; more would only make each input slow.
const ENOUGH: usize = 1 << 12;

/// A text is refused, or what is read of it can be written and read again.
pub fn host_text(bytes: &[u8]) {
    if let Some((read, text)) =
        crate::by_first_byte(bytes, &[host_list, smi, node_report, fabric_id, devices, limit])
    {
        read(text);
    }
}

fn host_list(text: &str) {
    let list = match HostList::parse(text) {
        Ok(list) => list,
        Err(error) => return assert!(error.position <= text.len(), "a fault lies in the text"),
    };
    if list.len() > ENOUGH {
        return;
    }
    let names: Vec<String> = list.iter().collect();
    assert_eq!(names.len(), list.len(), "a list stands for as many names as it says");
    // Other names are kept as Slurm keeps them, but no list can be written that stands for them.
    if !names.iter().all(|name| hostlist::is_name(name)) {
        return;
    }
    let written = compress(&names);
    let again = HostList::parse(&written).expect("a written list is a list");
    let (read_again, names): (BTreeSet<String>, BTreeSet<String>) =
        (again.iter().collect(), names.into_iter().collect());
    assert_eq!(read_again, names, "`{written}` stands for the same names");
    assert_eq!(again.len(), names.len(), "`{written}` has each name once");
    assert_eq!(compress(again.iter()), written, "the same names give the same text");
}

fn smi(text: &str) {
    let Ok(gpus) = nvidia_smi::parse(text) else { return };
    if let Ok(fabric) = identify(&gpus) {
        assert!(!gpus.is_empty(), "a fabric is that of a GPU");
        fabric_id(&fabric.to_string());
    }
}

fn node_report(text: &str) {
    let Ok(report) = NodeReport::parse(text) else { return };
    assert_ne!(report.fabric.is_some(), report.no_fabric.is_some(), "there is a fabric or a reason");
    assert_eq!(report.identity().ok(), report.fabric, "the identity is what the GPUs say");
    let written = serde_json::to_string(&report).expect("a report can be written");
    assert!(!written.contains('\n'), "a report is one line");
    assert_eq!(NodeReport::parse(&written).expect("a written report is a report"), report);
}

fn fabric_id(text: &str) {
    let Ok(id) = text.parse::<FabricId>() else { return };
    assert_eq!(id.to_string().parse(), Ok(id), "an id is read as it is written");
}

fn devices(text: &str) {
    let Ok(devices) = CharDevices::parse(text) else { return };
    for (major, name) in devices.iter() {
        assert!(major <= Major::MAX, "a major has 12 bits");
        // Several majors may have the name, but it is registered.
        assert!(!matches!(devices.major(name), Err(NoMajor::Absent { .. })), "`{name}` is listed");
    }
    for name in [IMEX_CHANNELS, CAPABILITIES] {
        let listed = devices.iter().any(|(_, listed)| listed == name);
        assert!(listed || devices.major(name).is_err(), "`{name}` is found as a whole or not at all");
    }
}

fn limit(text: &str) {
    let Ok(ChannelLimit::Count(count)) = ChannelLimit::parse(text) else { return };
    let limit = ChannelLimit::Count(count);
    assert_eq!(limit.admits(Channel::ZERO).is_ok(), count > 0, "no channels means not even the first");
    if let Ok(beyond) = Channel::new(count) {
        assert!(limit.admits(beyond).is_err(), "channels are counted from 0");
    }
}
