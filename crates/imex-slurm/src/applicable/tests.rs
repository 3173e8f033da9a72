//! The table: what is known, by which policy, comes to what.

use std::path::Path;

use super::*;
use crate::exclusivity::Because;

const WHOLE: Exclusivity = Exclusivity::Whole(Because::Node);
const SHARED: Exclusivity = Exclusivity::Shared(Because::NotNode);

/// What a machine would answer.
#[derive(Clone)]
struct Machine {
    capability: Capability,
    gpu: Gpu,
    instance_type: InstanceType,
    fabric: FabricFact,
    unit: UnitFile,
}

#[test]
fn a_rack_with_all_it_needs_forms_domains_of_exclusive_jobs() {
    assert_eq!(
        comes_to("", &rack(), WHOLE, 4),
        ("domain", vec![Question::Capability, Question::Fabric, Question::Unit])
    );
    assert_eq!(comes_to("", &rack(), WHOLE, 1).0, "domain");
    assert_eq!(comes_to("", &rack(), SHARED, 4), ("skip", vec![Question::Capability]));
    assert_eq!(comes_to("jobs.shared = \"fail\"", &rack(), SHARED, 4).0, "refuse");
}

#[test]
fn a_machine_without_channels_is_skipped_unless_it_should_have_them() {
    let capability = Capability::None { why: "no driver".to_owned() };
    let bare = Machine { capability, gpu: Gpu::None, ..rack() };
    let other = Machine { instance_type: named("c7i.large"), ..bare.clone() };
    let mute =
        Machine { instance_type: InstanceType::Unknown { why: "no answer".to_owned() }, ..bare.clone() };
    let ask = "hardware.ask_instance_type = true";
    assert_eq!(comes_to("", &bare, WHOLE, 4), ("skip", vec![Question::Capability, Question::Gpu]));
    // One whose driver failed to load must not be skipped while the others wait for it.
    let failed = Machine { gpu: Gpu::Nvidia, ..bare.clone() };
    assert_eq!(comes_to("", &failed, WHOLE, 4).0, "refuse");
    assert_eq!(comes_to("", &Machine { unit: UnitFile::Disabled, ..failed }, WHOLE, 4).0, "skip");
    assert_eq!(comes_to("hardware.expect = \"always\"", &bare, WHOLE, 4).0, "refuse");
    assert_eq!(
        comes_to(ask, &bare, WHOLE, 4),
        ("refuse", vec![Question::Capability, Question::InstanceType])
    );
    assert_eq!(comes_to(ask, &other, WHOLE, 4).0, "skip");
    assert_eq!(comes_to(ask, &mute, WHOLE, 4).0, "skip");
    let unknown = Machine { capability: Capability::Unknown { why: "denied".to_owned() }, ..rack() };
    assert_eq!(comes_to("", &unknown, WHOLE, 4).0, "refuse");
}

#[test]
fn a_fabric_that_is_not_well_is_told_and_refused_only_by_policy() {
    let FabricFact::Attached { id, .. } = rack().fabric else { panic!("the rack is attached") };
    let ailing = vec!["GPU 0: a route is unhealthy".to_owned()];
    let ill = Machine { fabric: FabricFact::Attached { id, ailing }, ..rack() };
    assert_eq!(comes_to("", &ill, WHOLE, 4).0, "domain");
    assert_eq!(comes_to("hardware.health = \"refuse\"", &ill, WHOLE, 4).0, "refuse");
    assert_eq!(comes_to("hardware.health = \"refuse\"", &rack(), WHOLE, 4).0, "domain");
}

#[test]
fn an_instance_type_is_asked_only_when_wanted_and_skips_others() {
    let other = Machine { instance_type: named("p5.48xlarge"), ..rack() };
    let ask = "hardware.ask_instance_type = true";
    assert_eq!(comes_to("", &other, WHOLE, 4).0, "domain");
    assert_eq!(comes_to(ask, &other, WHOLE, 4).0, "skip");
    assert_eq!(comes_to(ask, &rack(), WHOLE, 4).0, "domain");
    let mute = Machine { instance_type: InstanceType::Unknown { why: "no answer".to_owned() }, ..rack() };
    assert_eq!(comes_to(ask, &mute, WHOLE, 4).0, "domain");
}

#[test]
fn a_fabric_that_is_broken_refuses_and_one_that_cannot_be_skips() {
    let gpu = || "0".to_owned();
    let broken = NoFabric::NotSuccessful { gpu: gpu(), status: "failed".to_owned() };
    let broken = Machine { fabric: FabricFact::NotAttached { why: broken }, ..rack() };
    let never =
        Machine { fabric: FabricFact::NotAttached { why: NoFabric::NotSupported { gpu: gpu() } }, ..rack() };
    let mute = Machine { fabric: FabricFact::Unknown { why: "no NVML".to_owned() }, ..rack() };
    let (required, ignored) = ("hardware.fabric = \"required\"", "hardware.fabric = \"ignored\"");
    assert_eq!(comes_to("", &broken, WHOLE, 4).0, "refuse");
    assert_eq!(comes_to("", &never, WHOLE, 4).0, "skip");
    assert_eq!(comes_to("", &mute, WHOLE, 4).0, "domain");
    assert_eq!(comes_to(required, &never, WHOLE, 4).0, "refuse");
    assert_eq!(comes_to(required, &mute, WHOLE, 4).0, "refuse");
    assert_eq!(comes_to(ignored, &broken, WHOLE, 4), ("domain", vec![Question::Capability, Question::Unit]));
}

#[test]
fn a_service_that_cannot_be_used_is_an_error_where_it_is_needed() {
    for unit in [UnitFile::Missing, UnitFile::Masked, UnitFile::Disabled] {
        let broken = Machine { unit, ..rack() };
        assert_eq!(comes_to("", &broken, WHOLE, 4).0, "refuse");
        assert_eq!(comes_to("service.unit_unusable = \"skip\"", &broken, WHOLE, 4).0, "skip");
        assert_eq!(comes_to("jobs.one_node = \"channel\"", &broken, WHOLE, 1).0, "channel");
        assert_eq!(comes_to("", &broken, SHARED, 4).0, "skip");
    }
}

#[test]
fn a_job_on_one_node_gets_what_policy_says() {
    assert_eq!(comes_to("jobs.one_node = \"channel\"", &rack(), WHOLE, 1).0, "channel");
    assert_eq!(comes_to("jobs.one_node = \"skip\"", &rack(), WHOLE, 1).0, "skip");
    assert_eq!(comes_to("jobs.one_node = \"skip\"", &rack(), WHOLE, 2).0, "domain");
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, name, expected) in [
        ("p6e-gb200*", "p6e-gb200.36xlarge", true),
        ("p6e-gb200*", "p6e-gb300.36xlarge", false),
        ("p6e-gb200*", "xp6e-gb200.36xlarge", false),
        ("*.36xlarge", "p6e-gb200.36xlarge", true),
        ("p6e*36*", "p6e-gb200.36xlarge", true),
        ("p6e-gb200", "p6e-gb200.36xlarge", false),
        ("*", "", true),
        ("a*a", "a", false),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

fn rack() -> Machine {
    let id = "00000000-0000-0000-0000-000000000001.7".parse().unwrap();
    Machine {
        capability: Capability::Channels { major: "234".to_owned() },
        gpu: Gpu::Nvidia,
        instance_type: named("p6e-gb200.36xlarge"),
        fabric: FabricFact::Attached { id, ailing: Vec::new() },
        unit: UnitFile::Usable,
    }
}

fn named(name: &str) -> InstanceType {
    InstanceType::Known { name: name.to_owned() }
}

/// What it comes to, and what was asked for it.
fn comes_to(
    policy: &str,
    machine: &Machine,
    exclusivity: Exclusivity,
    nodes: usize,
) -> (&'static str, Vec<Question>) {
    let policy = Operator::parse(policy, Path::new("openimex.toml")).unwrap();
    let mut facts = Facts::of_job(exclusivity, nodes);
    let mut asked = Vec::new();
    loop {
        let question = match next(&facts, &policy) {
            Next::Ask(question) => question,
            Next::Is(Applicability::Domain) => return ("domain", asked),
            Next::Is(Applicability::Channel) => return ("channel", asked),
            Next::Is(Applicability::Skip { .. }) => return ("skip", asked),
            Next::Is(Applicability::Refuse { .. }) => return ("refuse", asked),
        };
        assert!(!asked.contains(&question), "{question:?} is asked twice");
        asked.push(question);
        match question {
            Question::Capability => facts.capability = Some(machine.capability.clone()),
            Question::Gpu => facts.gpu = Some(machine.gpu),
            Question::InstanceType => facts.instance_type = Some(machine.instance_type.clone()),
            Question::Fabric => facts.fabric = Some(machine.fabric.clone()),
            Question::Unit => facts.unit = Some(machine.unit.clone()),
        }
    }
}
