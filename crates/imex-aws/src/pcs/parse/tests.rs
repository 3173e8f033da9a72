use super::*;

const GROUP: &str = r#"{"computeNodeGroup": {"name": "ultra", "id": "pcs_g1", "arn": "arn:x", "clusterId": "pcs_c",
    "status": "ACTIVE", "subnetIds": ["subnet-1"], "purchaseOption": "CAPACITY_BLOCK",
    "customLaunchTemplate": {"id": "lt-1", "version": "3"}, "iamInstanceProfileArn": "arn:y",
    "scalingConfiguration": {"minInstanceCount": 18, "maxInstanceCount": 18},
    "instanceConfigs": [{"instanceType": "p6e-gb200.36xlarge"}]}}"#;

#[test]
fn a_group_has_its_types_its_most_and_its_template() {
    let group = node_group(GROUP.as_bytes()).unwrap();
    assert_eq!(
        (group.name.as_str(), group.instance_types, group.max_instances),
        ("ultra", vec!["p6e-gb200.36xlarge".to_owned()], 18)
    );
    assert_eq!(group.launch_template, ("lt-1".to_owned(), "3".to_owned()));
}

#[test]
fn lists_have_ids_and_the_next_page() {
    let list =
        queue_list(br#"{"queues": [{"id": "q1", "name": "a"}, {"id": "q2"}], "nextToken": "t"}"#).unwrap();
    assert_eq!((list.ids, list.next.as_deref()), (vec!["q1".to_owned(), "q2".to_owned()], Some("t")));
    let list = node_group_list(br#"{"computeNodeGroups": [], "nextToken": null}"#).unwrap();
    assert_eq!(list, Listed { ids: Vec::new(), next: None });
}

#[test]
fn a_queue_has_the_ids_of_its_groups() {
    let text = br#"{"queue": {"name": "ultra", "id": "q1", "computeNodeGroupConfigurations":
        [{"computeNodeGroupId": "pcs_g1"}, {}]}}"#;
    assert_eq!(queue(text).unwrap(), Queue { name: "ultra".to_owned(), groups: vec!["pcs_g1".to_owned()] });
}

#[test]
fn errors_are_known_by_the_last_part_of_their_type() {
    for kind in
        ["com.amazonaws.pcs#ThrottlingException", "ThrottlingException", "ThrottlingException:http://x/"]
    {
        let text = format!(r#"{{"__type": "{kind}", "message": "slower", "retryAfterSeconds": 1}}"#);
        let refusal = error(text.as_bytes()).unwrap();
        assert_eq!((refusal.code.as_str(), refusal.message.as_str()), ("ThrottlingException", "slower"));
    }
    for other in ["", "{}", r#"{"__type": ""}"#, "<html>"] {
        assert_eq!(error(other.as_bytes()), None);
    }
}

#[test]
fn half_an_answer_is_none() {
    for end in 0..GROUP.len() {
        assert!(node_group(&GROUP.as_bytes()[..end]).is_err());
    }
    assert!(queue_list(b"{}").is_err());
    assert!(queue(br#"{"queue": {"name": "a"}}"#).is_err());
}
