//! Each rule by which a machine has no fabric, and the text form of identities.

use proptest::prelude::*;

use super::*;

const RACK: &str = "5b1e6f4e-8d3a-4c0b-9a52-0123456789ab";
const ZERO: &str = "00000000-0000-0000-0000-000000000000";

#[test]
fn gpus_that_agree_give_the_pair() {
    let fabric = identify(&[gpu("0"), gpu("1"), gpu("2"), gpu("3")]).unwrap();
    assert_eq!(fabric.to_string(), format!("{RACK}.32766"));
}

#[test]
fn each_way_to_have_no_fabric_says_which_gpu_and_why() {
    let cases = [
        (vec![], "it reports no GPU"),
        (vec![GpuFabric { state: FabricState::NotSupported, ..gpu("0") }], "GPU 0 does not support a fabric"),
        (
            vec![gpu("0"), GpuFabric { state: FabricState::InProgress, ..gpu("1") }],
            "GPU 1 has not completed its registration with the fabric (state in progress)",
        ),
        (
            vec![GpuFabric { state: FabricState::NotStarted, ..gpu("0") }],
            "GPU 0 has not completed its registration with the fabric (state not started)",
        ),
        (
            vec![GpuFabric { status: FabricStatus::Failed("Insufficient Resources".to_owned()), ..gpu("0") }],
            "GPU 0 has not registered with the fabric (status Insufficient Resources)",
        ),
        (vec![GpuFabric { status: FabricStatus::Unknown, ..gpu("0") }], "GPU 0 reports no status"),
        (
            vec![GpuFabric { cluster_uuid: Some(ZERO.to_owned()), ..gpu("0") }],
            "GPU 0 reports a cluster UUID of all zeros, which means no cluster",
        ),
        (vec![GpuFabric { cluster_uuid: None, ..gpu("0") }], "GPU 0 reports no cluster UUID"),
        (
            vec![GpuFabric { cluster_uuid: Some("N/A".to_owned()), ..gpu("0") }],
            "GPU 0 reports no valid cluster UUID",
        ),
        (vec![GpuFabric { clique_id: None, ..gpu("0") }], "GPU 0 reports no clique id"),
    ];
    for (gpus, why) in cases {
        assert_eq!(identify(&gpus).unwrap_err().to_string(), why);
    }
}

#[test]
fn the_same_clique_of_another_cluster_is_another_fabric() {
    let other = GpuFabric { cluster_uuid: Some(RACK.replace("5b", "5c")), ..gpu("1") };
    let error = identify(&[gpu("0"), other]).unwrap_err();
    assert!(matches!(error, NoFabric::Disagree { .. }), "{error:?}");
}

#[test]
fn texts_that_are_no_identity_are_refused() {
    for text in
        ["", ".", "1", RACK, &format!("{RACK}."), &format!("{RACK}.-1"), &format!("{RACK}.4294967296")]
    {
        assert!(text.parse::<FabricId>().is_err(), "{text}");
    }
    assert_eq!(format!("{ZERO}.1").parse::<FabricId>(), Err(FabricIdError::Zero));
    assert!("5b1e6f4e-8d3a-4c0b-9a52-0123456789aé".parse::<ClusterUuid>().is_err());
}

proptest! {
    #[test]
    fn an_identity_survives_its_text(bytes in any::<[u8; 16]>(), clique in any::<u32>()) {
        prop_assume!(bytes != [0; 16]);
        let id = FabricId { cluster: ClusterUuid(bytes), clique: CliqueId(clique) };
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
    }
}

fn gpu(name: &str) -> GpuFabric {
    GpuFabric {
        gpu: name.to_owned(),
        state: FabricState::Completed,
        status: FabricStatus::Success,
        cluster_uuid: Some(RACK.to_owned()),
        clique_id: Some(32_766),
    }
}
