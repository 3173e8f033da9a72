//! What Slurm's files and its controller say of its settings.

use std::path::Path;

use imex_slurm::check::scripts::Elsewhere;
use imex_slurm::check::{Conf, Place, Subject, TopologyFiles, check, conf, live};
use imex_slurm::settings::{Budget, ChannelMaker};

/// A text is read and judged; what is found stands at a line that the text has.
pub fn slurm_text(bytes: &[u8]) {
    if let Some((read, text)) = crate::by_first_byte(bytes, &[file, controller]) {
        read(text);
    }
}

fn file(text: &str) {
    let conf = conf::parse(Path::new("slurm.conf"), text);
    let lines = text.lines().count();
    for place in judge(&conf) {
        if let Place::Line { line, .. } = place {
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
    }
}

fn controller(text: &str) {
    let (config, partitions) = text.split_once("\n\n").unwrap_or((text, ""));
    let conf = live::parse(config, partitions);
    assert!(judge(&conf).iter().all(|place| *place == Place::Controller {}));
}

fn judge(conf: &Conf) -> Vec<Place> {
    let subject = Subject {
        conf,
        folder: Path::new("/etc/slurm"),
        look: &Elsewhere,
        topology: TopologyFiles::Neither,
        release: None,
        budget: Budget {
            prolog: std::time::Duration::from_secs(60),
            epilog: std::time::Duration::from_secs(30),
        },
        channels: ChannelMaker::Imex,
    };
    let findings = check(&subject);
    assert!(findings.iter().all(|finding| !finding.what.is_empty()), "a finding says what it found");
    findings.into_iter().filter_map(|finding| finding.place).collect()
}
