use std::error::Error as _;
use std::time::Duration;

use crate::fake::{self, Cloud, Fake, Fault};
use crate::{CallError, Client, Environment, Error, Failure, Overrides, Patience, Settings};

const HASTE: Patience = Patience {
    total: Duration::from_secs(5),
    attempt: Duration::from_millis(200),
    pause: Duration::from_millis(2),
    longest_pause: Duration::from_millis(4),
};

#[tokio::test]
async fn all_pages_come_over_one_connection() {
    let fake = Fake::start(rack(5), &[]).unwrap();
    let topology = client(&fake).instance_topology().await.unwrap();
    let told: Vec<_> =
        topology.iter().map(|one| (one.instance_id.as_str(), one.capacity_block_id.as_deref())).collect();
    assert_eq!(told, ["i-0", "i-1", "i-2", "i-3", "i-4"].map(|id| (id, Some("cb-a"))));
    let pages = ["DescribeInstanceTopology", "DescribeInstanceTopology 2", "DescribeInstanceTopology 4"];
    assert_eq!((fake.asked().as_slice(), fake.connections()), (pages.map(str::to_owned).as_slice(), 1));
}

#[tokio::test]
async fn each_action_of_pcs_is_signed_paged_and_read() {
    let mut cloud = rack(1);
    cloud.groups =
        ["g1", "g2", "g3"].map(|id| ([id, id, "p6e-gb200.36xlarge", "lt-1"].map(str::to_owned), 18)).to_vec();
    cloud.queues = vec![("q1".to_owned(), "ultra".to_owned(), vec!["g1".to_owned(), "g2".to_owned()])];
    let fake = Fake::start(cloud, &[]).unwrap();
    let mut client = client(&fake);
    let groups = client.node_groups("rack").await.unwrap();
    assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["g1", "g2", "g3"]);
    let queues = client.queues("rack").await.unwrap();
    assert_eq!(
        (queues[0].name.as_str(), queues[0].groups.as_slice()),
        ("ultra", ["g1", "g2"].map(str::to_owned).as_slice())
    );
    assert_eq!(client.launch_template("lt-1", "1").await.unwrap().reservation.as_deref(), Some("cr-1"));
    let error = call_error(client.queues("other").await.unwrap_err());
    assert_eq!(error.to_string(), "pcs ListQueues, request fake-9");
    assert_eq!(error.hint().unwrap(), "is it the right region, and the name or id of a cluster there?");
}

#[tokio::test]
async fn what_passes_is_tried_again_and_loses_nothing() {
    for fault in [
        Fault::Throttle,
        Fault::Refuse(500, "InternalError"),
        Fault::Proxy(502),
        Fault::HalfBytes,
        Fault::Close,
        Fault::Hang,
    ] {
        let second_page = [("DescribeInstances", fault.clone()), ("DescribeInstances", fault.clone())];
        let fake = Fake::start(rack(5), &second_page).unwrap();
        let instances = client(&fake).instances(None).await.unwrap();
        assert_eq!((instances.len(), fake.asked().len()), (5, 5), "{fault:?}");
    }
    let fake = Fake::start(rack(0), &[("ListQueues", Fault::Throttle)]).unwrap();
    assert_eq!(client(&fake).queues("rack").await.unwrap(), []);
}

#[tokio::test]
async fn half_a_list_is_never_a_list() {
    let cases = [
        (Fault::Rubbish, "the answer makes no sense: it is no text"),
        (Fault::HalfText, "the answer makes no sense: it is no XML"),
        (Fault::Proxy(200), "the answer makes no sense: it is `html` where `DescribeInstancesResponse` was"),
        (Fault::Proxy(407), "HTTP status 407 without an error of the service"),
        (
            Fault::Refuse(403, "UnauthorizedOperation"),
            "UnauthorizedOperation (403): the fake was told to refuse",
        ),
        (Fault::Endless, "the answer is longer than 33554432 bytes"),
        (Fault::Circle, "the pages go round in a circle"),
    ];
    for (fault, why) in cases {
        let fake = Fake::start(rack(5), &[("DescribeInstances", fault.clone())]).unwrap();
        let mut client = client_with(&fake, Patience { attempt: Duration::from_secs(5), ..HASTE });
        let error = call_error(client.instances(None).await.unwrap_err());
        assert!(error.failure.to_string().starts_with(why), "{fault:?}: {}", error.failure);
        assert_eq!(error.attempts, 1);
    }
}

#[tokio::test]
async fn patience_ends_with_what_was_last() {
    let faults = vec![("DescribeInstances", Fault::Throttle); 10_000];
    let fake = Fake::start(rack(1), &faults).unwrap();
    let patience = Patience { total: Duration::from_millis(100), ..HASTE };
    let error = call_error(client_with(&fake, patience).instances(None).await.unwrap_err());
    assert!(error.attempts > 2);
    assert_eq!(error.failure.to_string(), "gave up after 100ms");
    assert_eq!(error.failure.root().to_string(), "RequestLimitExceeded (503): slower, says the fake");
    assert_eq!(error.request_id.as_deref(), Some("fake-ec2"));
    assert!(error.hint().unwrap().starts_with("something else in this account"));

    let fake = Fake::start(rack(1), &vec![("DescribeInstances", Fault::Hang); 100]).unwrap();
    let patience =
        Patience { total: Duration::from_millis(300), attempt: Duration::from_millis(100), ..HASTE };
    let error = call_error(client_with(&fake, patience).instances(None).await.unwrap_err());
    assert!(matches!(error.failure.root(), Failure::Late(_)), "{error:?}");
}

#[tokio::test]
async fn the_metadata_service_is_asked_with_a_token_for_region_and_credentials() {
    let fake = Fake::start(rack(1), &[("/latest/meta-data/placement/region", Fault::Throttle)]).unwrap();
    let mut environment = fake.environment();
    environment.retain(|(name, _)| {
        !["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].contains(&name.as_str())
    });
    let mut client = client_of(environment, HASTE);
    assert_eq!(client.instances(None).await.unwrap().len(), 1);
    assert_eq!(
        fake.asked(),
        [
            "/latest/api/token",
            "/latest/meta-data/iam/security-credentials/",
            "/latest/meta-data/iam/security-credentials/fake-role",
            "/latest/meta-data/placement/region",
            "/latest/meta-data/placement/region",
            "DescribeInstances",
        ]
    );
}

#[tokio::test]
async fn expired_credentials_are_renewed_once_where_they_can_be() {
    let expired = ("DescribeInstances", Fault::Refuse(400, "RequestExpired"));
    let container = |fake: &Fake| {
        let mut environment = fake.environment();
        environment.retain(|(name, _)| !name.contains("ACCESS_KEY"));
        let variables = [
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{}/container", fake.url())),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", fake::CONTAINER_TOKEN.to_owned()),
        ];
        environment.extend(variables.map(|(name, value)| (name.to_owned(), value)));
        client_of(environment, HASTE)
    };
    let fake = Fake::start(rack(1), std::slice::from_ref(&expired)).unwrap();
    assert_eq!(container(&fake).instances(None).await.unwrap().len(), 1);
    assert_eq!(fake.asked(), ["/container", "DescribeInstances", "/container", "DescribeInstances"]);

    let fake = Fake::start(rack(1), &[expired.clone(), expired.clone()]).unwrap();
    assert_eq!(call_error(container(&fake).instances(None).await.unwrap_err()).attempts, 2);

    let fake = Fake::start(rack(1), &[("DescribeInstances", Fault::Refuse(400, "ExpiredToken"))]).unwrap();
    let error = call_error(client(&fake).instances(None).await.unwrap_err());
    assert_eq!(
        (error.attempts, error.hint().as_deref()),
        (1, Some("the credentials have expired: renew them"))
    );
}

#[tokio::test]
async fn a_command_of_the_profile_gives_credentials_or_says_why_not() {
    let fake = Fake::start(rack(1), &[]).unwrap();
    let run = |command: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, format!("[default]\ncredential_process = {command}\n")).unwrap();
        let mut environment = fake.environment();
        environment.retain(|(name, _)| !name.contains("ACCESS_KEY"));
        environment.push(("AWS_CONFIG_FILE".to_owned(), file.path().display().to_string()));
        client_of(environment, HASTE)
    };
    let document =
        format!(r#"{{"Version": 1, "AccessKeyId": "{}", "SecretAccessKey": "s"}}"#, fake::ACCESS_KEY_ID);
    assert_eq!(run(&format!("echo '{document}'")).instances(None).await.unwrap().len(), 1);
    let error = run("echo sso is over >&2; exit 3").instances(None).await.unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "credential_process failed: exit status: 3: sso is over");
}

#[tokio::test]
async fn nothing_to_sign_with_and_nowhere_to_go_are_told_apart() {
    let fake = Fake::start(rack(1), &[]).unwrap();
    let without = |names: &[&str]| {
        let mut environment = fake.environment();
        environment.retain(|(name, _)| !names.iter().any(|part| name.contains(part)));
        environment.push(("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned()));
        client_of(environment, HASTE)
    };
    let error = without(&["REGION"]).instances(None).await.unwrap_err();
    assert_eq!(error.to_string(), "no region is known");
    let error = without(&["ACCESS_KEY"]).instances(None).await.unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "looked in the environment, the profile `default`");

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut environment = fake.environment();
    environment.push(("AWS_ENDPOINT_URL".to_owned(), format!("http://{closed}")));
    let patience = Patience { total: Duration::from_millis(50), ..HASTE };
    let error = call_error(client_of(environment, patience).instances(None).await.unwrap_err());
    assert_eq!(error.failure.root().to_string(), format!("http://{closed} cannot be reached"));
}

/// A cloud of one UltraServer with this many instances, two to a page.
fn rack(size: usize) -> Cloud {
    let instance = |index| {
        [
            &format!("i-{index}"),
            "p6e-gb200.36xlarge",
            "running",
            &format!("ip-10-0-0-{index}.ec2.internal"),
            "g1",
            "cb-a",
        ]
        .map(str::to_owned)
    };
    Cloud {
        instances: (0..size).map(instance).collect(),
        templates: vec![["lt-1", "cr-1"].map(str::to_owned)],
        page: 2,
        ..Cloud::default()
    }
}

fn client(fake: &Fake) -> Client {
    client_with(fake, HASTE)
}

fn client_with(fake: &Fake, patience: Patience) -> Client {
    client_of(fake.environment(), patience)
}

fn client_of(environment: Vec<(String, String)>, patience: Patience) -> Client {
    let environment = Environment::from_iter(environment);
    Client::new(Settings::read(&environment, &Overrides::default()).unwrap().with_patience(patience))
}

fn call_error(error: Error) -> CallError {
    match error {
        Error::Call(error) => error,
        Error::NoRegion | Error::Credentials(_) => panic!("{error:?}"),
    }
}
