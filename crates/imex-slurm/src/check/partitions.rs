//! Rules about partitions: if jobs have their nodes for themselves.

use super::conf::{Conf, Partition};
use super::{Finding, rules};

pub(super) fn judge(conf: &Conf, findings: &mut Vec<Finding>) {
    for partition in &conf.partitions {
        let Partition { name, place, .. } = partition;
        let sharing = partition.option("OverSubscribe").unwrap_or("NO");
        // 26.05 has a key of its own for it, and a controller shows no other.
        let own = partition.option("Exclusive").unwrap_or_default();
        let whole = matches!(own.to_ascii_uppercase().as_str(), "NODE" | "TOPO")
            || partition.option("ExclusiveTopo").is_some_and(|value| value.eq_ignore_ascii_case("YES"));
        let word = sharing.split(':').next().unwrap_or_default().to_ascii_uppercase();
        let rule = match word.as_str() {
            "FORCE" => &rules::FORCED,
            "EXCLUSIVE" => continue,
            _ if whole => continue,
            _ => &rules::SHARED,
        };
        let what = format!("partition {name} has OverSubscribe={sharing}");
        findings.push(Finding::new(rule, Some(place.clone()), what));
    }
}
