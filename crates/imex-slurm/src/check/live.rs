//! What a running controller holds, from the words of `scontrol show config` and `scontrol --oneliner show partitions`.

use super::conf::{Conf, Partition, Place, Setting, pairs};

/// Reads both texts. Lines that are none of theirs are passed over; a value of `(null)` is no setting.
pub fn parse(config: &str, partitions: &str) -> Conf {
    let mut conf = Conf::default();
    // A blank line ends the controller's own part; sections about other files follow.
    let lines = config.lines().skip_while(|line| !line.contains(" = "));
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        // Lists are shown as `Prolog[0]`, `Prolog[1]`.
        let key = key.split_once('[').map_or(key, |(key, _)| key);
        if !key.is_empty() && value != "(null)" {
            let (key, value) = (key.to_owned(), value.to_owned());
            conf.put(Setting { key, value, place: Place::Controller {} });
        }
    }
    conf.partitions = partitions.lines().filter_map(|line| Partition::shown(pairs(line).0)).collect();
    conf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_nulls_and_sections_are_read_as_they_are_shown() {
        let conf = parse(
            "Configuration data as of 2026-11-30T13:33:31\n\
             Epilog[0]               = /b\nEpilog[1]               = /a\nTaskProlog              = (null)\n\
             PrologFlags             = Alloc,DeferBatch\nSchedulerParameters     = a=1,b\n\nCgroup Support:\n\
             PrologFlags             = no\n",
            "PartitionName=main AllowGroups=ALL Nodes=n[1-2] OverSubscribe=EXCLUSIVE State=UP\nnonsense\n",
        );
        assert_eq!(conf.all("Epilog").iter().map(|one| one.value.as_str()).collect::<Vec<_>>(), ["/b", "/a"]);
        assert_eq!(conf.get("TaskProlog"), None);
        assert_eq!(conf.words("PrologFlags"), ["Alloc", "DeferBatch"]);
        assert_eq!(conf.get("SchedulerParameters").unwrap().value, "a=1,b");
        assert_eq!(conf.partitions.len(), 1);
        assert_eq!(conf.partitions[0].option("oversubscribe"), Some("EXCLUSIVE"));
    }

    proptest::proptest! {
        #[test]
        fn any_texts_are_read(config in "(?s).{0,200}", partitions in "(?s).{0,200}") {
            parse(&config, &partitions);
        }
    }
}
