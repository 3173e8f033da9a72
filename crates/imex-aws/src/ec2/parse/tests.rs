use super::*;

const TOPOLOGY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstanceTopologyResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <requestId>r-1</requestId>
    <instanceSet>
        <item>
            <instanceId>i-1</instanceId>
            <instanceType>p6e-gb200.36xlarge</instanceType>
            <networkNodeSet><item>nn-1</item><item>nn-2</item></networkNodeSet>
            <availabilityZone>us-east-1a</availabilityZone>
            <capacityBlockId>cb-a</capacityBlockId>
        </item>
        <item><instanceId>i-2</instanceId><capacityBlockId/></item>
    </instanceSet>
    <nextToken>more</nextToken>
</DescribeInstanceTopologyResponse>"#;

const INSTANCES: &str = r#"<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <reservationSet><item><reservationId>r</reservationId><instancesSet>
        <item>
            <instanceId>i-1</instanceId><instanceType>p6e-gb200.36xlarge</instanceType>
            <instanceState><code>16</code><name>running</name></instanceState>
            <privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName><privateIpAddress>10.0.0.1</privateIpAddress>
            <tagSet><item><key>Name</key><value>n1 &amp; co</value></item><item><key>empty</key><value/></item></tagSet>
        </item>
        <item>
            <instanceId>i-2</instanceId><instanceType>c7i.large</instanceType>
            <instanceState><code>48</code><name>terminated</name></instanceState><privateDnsName/>
        </item>
    </instancesSet></item></reservationSet>
</DescribeInstancesResponse>"#;

#[test]
fn the_capacity_block_of_each_instance_is_read_and_none_where_there_is_none() {
    let page = instance_topology(TOPOLOGY.as_bytes()).unwrap();
    let told: Vec<_> =
        page.items.iter().map(|one| (one.instance_id.as_str(), one.capacity_block_id.as_deref())).collect();
    assert_eq!(told, [("i-1", Some("cb-a")), ("i-2", None)]);
    assert_eq!(page.next.as_deref(), Some("more"));
}

#[test]
fn instances_have_their_names_states_and_tags() {
    let page = instances(INSTANCES.as_bytes()).unwrap();
    assert_eq!(page.next, None);
    let [one, gone] = page.items.as_slice() else { panic!("two instances") };
    assert_eq!(
        (one.state.as_str(), one.tags["Name"].as_str(), one.tags["empty"].as_str()),
        ("running", "n1 & co", "")
    );
    assert_eq!(one.private_ip.as_deref(), Some("10.0.0.1"));
    assert_eq!((gone.state.as_str(), &gone.private_dns), ("terminated", &None));
}

#[test]
fn capacity_blocks_have_their_end_and_reservations() {
    let text = "<DescribeCapacityBlocksResponse><capacityBlockSet><item><capacityBlockId>cb-a</capacityBlockId>\
                <ultraserverType>u-p6e-gb200x72</ultraserverType><state>active</state>\
                <endDate>2026-12-31T11:30:00.000Z</endDate>\
                <capacityReservationIdSet><item>cr-1</item></capacityReservationIdSet>\
                </item></capacityBlockSet></DescribeCapacityBlocksResponse>";
    let page = capacity_blocks(text.as_bytes()).unwrap();
    assert_eq!(page.items[0].end.unwrap().to_string(), "2026-12-31T11:30:00Z");
    assert_eq!(page.items[0].reservations, ["cr-1"]);
}

#[test]
fn a_launch_template_is_one_version() {
    let version = |data: &str| format!("<item><versionNumber>1</versionNumber>{data}</item>");
    let answer = |versions: &str| {
        launch_template(
            format!(
                "<DescribeLaunchTemplateVersionsResponse><launchTemplateVersionSet>{versions}\
                 </launchTemplateVersionSet></DescribeLaunchTemplateVersionsResponse>"
            )
            .as_bytes(),
        )
    };
    let data = "<launchTemplateData><capacityReservationSpecification><capacityReservationTarget>\
                <capacityReservationId>cr-1</capacityReservationId></capacityReservationTarget>\
                </capacityReservationSpecification></launchTemplateData>";
    assert_eq!(answer(&version(data)).unwrap().reservation.as_deref(), Some("cr-1"));
    assert_eq!(answer(&version("")).unwrap(), LaunchTemplate::default());
    assert!(answer("").is_err());
    assert!(answer(&version("").repeat(2)).is_err());
}

#[test]
fn errors_are_read_and_nothing_else_is_one() {
    let text = b"<?xml version=\"1.0\"?><Response><Errors><Error><Code>RequestLimitExceeded</Code>\
                 <Message>Request limit exceeded.</Message></Error></Errors><RequestID>r-9</RequestID></Response>";
    let refusal = error(text).unwrap();
    assert_eq!((refusal.code.as_str(), refusal.request_id.as_deref()), ("RequestLimitExceeded", Some("r-9")));
    for other in ["", "<html/>", "<Response/>", TOPOLOGY] {
        assert_eq!(error(other.as_bytes()), None);
    }
}

#[test]
fn half_an_answer_is_none() {
    for text in [TOPOLOGY, INSTANCES] {
        for end in (0..text.len()).step_by(7) {
            assert!(instance_topology(&text.as_bytes()[..end]).is_err());
            assert!(instances(&text.as_bytes()[..end]).is_err());
        }
    }
    let cases = [
        ("<DescribeInstanceTopologyResponse/>", "`DescribeInstanceTopologyResponse` has no `instanceSet`"),
        (
            "<html><body>proxy</body></html>",
            "it is `html` where `DescribeInstanceTopologyResponse` was expected",
        ),
        (
            "<DescribeInstanceTopologyResponse><instanceSet><item/></instanceSet></DescribeInstanceTopologyResponse>",
            "`item` has no `instanceId`",
        ),
    ];
    for (text, why) in cases {
        assert_eq!(instance_topology(text.as_bytes()).unwrap_err().to_string(), why);
    }
}

#[test]
fn entities_that_grow_and_nesting_without_end_are_refused() {
    let bomb = "<!DOCTYPE a [<!ENTITY b \"xxxxxxxxxx\"><!ENTITY c \"&b;&b;&b;&b;\">]><a>&c;</a>";
    assert!(instances(bomb.as_bytes()).unwrap_err().to_string().starts_with("it is no XML"));
    let deep = "<a>".repeat(1_000_000);
    assert!(instances(deep.as_bytes()).is_err());
    let deep = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
    assert!(instances(deep.as_bytes()).is_err());
}
