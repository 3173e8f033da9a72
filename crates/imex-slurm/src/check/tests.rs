use std::time::Duration;

use super::scripts::{Bits, Elsewhere, Found, Kind, Purpose, Script};
use super::*;

/// A configuration without a finding.
const GOOD: &str = "\
Prolog=/s/prolog
Epilog=/s/epilog
TaskProlog=/s/task-prolog
PrologFlags=Alloc,DeferBatch
PrologTimeout=75
EpilogTimeout=45
BatchStartTimeout=85
SchedulerParameters=bf_interval=2,nohold_on_prolog_fail
HealthCheckProgram=/s/sweep
HealthCheckInterval=300
ReturnToService=1
PartitionName=p Nodes=ALL OverSubscribe=EXCLUSIVE
";

#[test]
fn a_good_configuration_has_no_finding() {
    assert_eq!(ids(GOOD), [""; 0]);
}

/// Each row: what is changed in [`GOOD`] (a line with this key is replaced or, if it is new, added), and what is found.
#[test]
fn each_breach_has_its_rule() {
    for (line, expected) in [
        ("Prolog=", "S010"),
        ("PrologFlags=", "S011 S053"),
        ("PrologFlags=DeferBatch", "S012"),
        ("PrologFlags=Contain,DeferBatch", "S012 S018"),
        ("PrologFlags=alloc", "S013"),
        ("PrologFlags=Alloc,NoHold", "S013 S014"),
        ("PrologFlags=Alloc,DeferBatch,NoHold,X11", "S014 S015 S018"),
        ("PrologFlags=Alloc,DeferBatch,RunInJob", "S016"),
        ("PrologFlags=Alloc,DeferBatch,Serial", "S017"),
        ("PrologFlags=Alloc,DeferBatch,Deferbatch2", "S019"),
        ("Epilog=", "S040"),
        ("TaskProlog=", "S041"),
        ("HealthCheckProgram=", "S042"),
        ("HealthCheckInterval=0", "S043"),
        ("PrologTimeout=60", "S050"),
        ("PrologTimeout=61", "S050"),
        ("PrologTimeout=62", "S056"),
        ("PrologTimeout=70", ""),
        ("PrologTimeout=65534", "S051"),
        ("PrologTimeout=1 min", "S002 S050"),
        ("EpilogTimeout=30", "S050"),
        ("BatchStartTimeout=60", "S052"),
        ("SlurmdTimeout=0", "S054"),
        ("ReturnToService=2", "S055"),
        ("SchedulerParameters=bf_interval=2", "S060"),
        ("JobRequeue=0", "S061"),
        ("SwitchType=switch/nvidia_imex", "S070"),
        ("PrEpPlugins=prep/other", "S076"),
        ("SlurmdUser=slurm", "S077"),
        ("PreemptMode=SUSPEND,GANG", "S078"),
        ("PartitionName=p OverSubscribe=NO", "S080"),
        ("PartitionName=p", "S080"),
        ("PartitionName=p ExclusiveTopo=YES", ""),
        ("PartitionName=p Exclusive=NODE OverSubscribe=NO", ""),
        ("PartitionName=p Exclusive=USER OverSubscribe=NO", "S080"),
        ("PartitionName=p OverSubscribe=FORCE:4", "S081"),
        ("Prolog=s/prolog", "S036"),
    ] {
        assert_eq!(ids(&with(line)).join(" "), expected, "{line}");
    }
}

#[test]
fn the_seeds_flags_are_judged_as_they_work() {
    let found = ids("Prolog=/shared/scripts/prolog.d/91_nvidia_imex_prolog.sh\nPrologFlags=Alloc,NoHold\n");
    for rule in ["S013", "S014", "S040", "S051", "S060"] {
        assert!(found.contains(&rule), "{rule} is not in {found:?}");
    }
}

#[test]
fn before_26_05_defer_batch_alone_is_no_flag_at_all() {
    let conf = read(&with("PrologFlags=DeferBatch"));
    let found = |release| {
        let subject = Subject { release: Some(release), ..subject(&conf) };
        check(&subject).into_iter().map(|finding| finding.rule.id).collect::<Vec<_>>()
    };
    assert_eq!(found(Release::new(25, 11, 2)), ["S011"]);
    assert_eq!(found(Release::new(26, 5, 0)), ["S012"]);
}

#[test]
fn one_time_out_for_both_counts_where_a_script_has_none_of_its_own() {
    let both = GOOD.replace("PrologTimeout=75", "PrologEpilogTimeout=50").replace("EpilogTimeout=45\n", "");
    let conf = read(&both);
    let told: Vec<_> = check(&subject(&conf)).into_iter().map(|finding| finding.what).collect();
    assert_eq!(told, ["PrologEpilogTimeout=50, and the script may take 60 s"]);
}

#[test]
fn channels_have_one_maker() {
    for (switch, channels, expected) in [
        ("SwitchType=switch/nvidia_imex", ChannelMaker::Slurm, ""),
        ("SwitchType=switch/nvidia_imex", ChannelMaker::Imex, "S070"),
        ("SwitchType=switch/nvidia_imex", ChannelMaker::Others, ""),
        ("SwitchType=switch/none", ChannelMaker::Slurm, "S071"),
        ("SwitchType=switch/none", ChannelMaker::Imex, ""),
    ] {
        let conf = read(&with(switch));
        let subject = Subject { channels, ..subject(&conf) };
        let found: Vec<_> = check(&subject).into_iter().map(|finding| finding.rule.id).collect();
        assert_eq!(found.join(" "), expected, "{switch} {channels:?}");
    }
    let conf = read(&with("SwitchType=switch/nvidia_imex\nJobContainerType=job_container/tmpfs"));
    let subject =
        Subject { channels: ChannelMaker::Slurm, release: Some(Release::new(24, 5, 1)), ..subject(&conf) };
    let found: Vec<_> = check(&subject).into_iter().map(|finding| finding.rule.id).collect();
    assert_eq!(found, ["S072", "S073"]);
}

#[test]
fn slurm_has_blocks_by_the_file_that_counts() {
    for (plugin, files, expected) in [
        ("TopologyPlugin=topology/block", TopologyFiles::Conf, ""),
        ("TopologyPlugin=topology/tree", TopologyFiles::Conf, "S074"),
        ("TopologyPlugin=topology/block", TopologyFiles::Yaml, "S075"),
        ("TopologyPlugin=topology/block", TopologyFiles::Neither, "S074"),
        ("TopologyPlugin=topology/flat", TopologyFiles::Unknown, ""),
        ("ReturnToService=1", TopologyFiles::Yaml, ""),
    ] {
        let conf = read(&with(plugin));
        let subject = Subject { topology: files, ..subject(&conf) };
        let found: Vec<_> = check(&subject).into_iter().map(|finding| finding.rule.id).collect();
        assert_eq!(found.join(" "), expected, "{plugin} {files:?}");
    }
}

#[test]
fn each_fault_of_a_script_has_its_rule() {
    let foreign = Script { purpose: Purpose::Foreign, ..other() };
    for (found, expected) in [
        (Found::Scripts(vec![good()]), ""),
        (Found::Scripts(vec![good(), other()]), "S030"),
        (Found::Scripts(vec![other()]), "S037"),
        (Found::Scripts(vec![Script { bits: Bits::NotExecutable, mode: 0o644, ..good() }]), "S031"),
        (Found::Scripts(vec![Script { bits: Bits::NoFile, ..good() }]), "S031"),
        (Found::Scripts(vec![Script { kind: Kind::NoInterpreter, ..good() }]), "S035"),
        (Found::Scripts(vec![Script { owner: 1000, ..good() }]), "S034"),
        (Found::Scripts(vec![Script { mode: 0o775, ..good() }]), "S034"),
        (Found::Scripts(vec![good(), foreign]), "S030 S038"),
        (Found::NoMatch, "S032 S037"),
        (Found::Missing, "S033"),
        (Found::Denied("no".to_owned()), ""),
    ] {
        let conf = read(GOOD);
        let look = Fixed { prolog: found.clone() };
        let subject = Subject { look: &look, ..subject(&conf) };
        let ids: Vec<_> = check(&subject).into_iter().map(|finding| finding.rule.id).collect();
        assert_eq!(ids.join(" "), expected, "{found:?}");
    }
}

#[test]
fn a_later_line_is_noted_with_the_one_that_counts() {
    let conf = read(&format!("ReturnToService=2\n{GOOD}"));
    let found = check(&subject(&conf));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].place.as_ref().unwrap().to_string(), "slurm.conf:1");
    assert_eq!(found[0].what, "ReturnToService=2 does not count; slurm.conf:12 says 1");
}

fn good() -> Script {
    Script {
        path: "/p/50-imex".into(),
        bits: Bits::Executable,
        owner: 0,
        mode: 0o755,
        kind: Kind::Runs,
        purpose: Purpose::Ours,
    }
}

fn other() -> Script {
    Script { path: "/p/10-x".into(), purpose: Purpose::Other, ..good() }
}

/// What the prolog leads to; everything else is not looked at.
struct Fixed {
    prolog: Found,
}

impl Look for Fixed {
    fn look(&self, pattern: &Path) -> Found {
        if pattern.ends_with("prolog") { self.prolog.clone() } else { Found::NotLooked }
    }
}

fn ids(text: &str) -> Vec<&'static str> {
    let conf = read(text);
    let mut ids: Vec<_> = check(&subject(&conf)).into_iter().map(|finding| finding.rule.id).collect();
    ids.sort_unstable();
    ids
}

/// [`GOOD`] with a line in the place of the one with the same key.
fn with(line: &str) -> String {
    let key = line.split('=').next().unwrap();
    let kept = GOOD.lines().filter(|kept| kept.split('=').next() != Some(key));
    kept.chain([line]).map(|line| format!("{line}\n")).collect()
}

fn read(text: &str) -> Conf {
    conf::parse(Path::new("slurm.conf"), text)
}

fn subject(conf: &Conf) -> Subject<'_> {
    Subject {
        conf,
        folder: Path::new("/etc/slurm"),
        look: &Elsewhere,
        topology: TopologyFiles::Unknown,
        release: None,
        budget: Budget { prolog: Duration::from_secs(60), epilog: Duration::from_secs(30) },
        channels: ChannelMaker::Imex,
    }
}
