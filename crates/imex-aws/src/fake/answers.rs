//! What the fake answers when it behaves.

use serde_json::json;

use super::request::Request;
use super::{ACCESS_KEY_ID, CONTAINER_TOKEN, Cloud, REGION, SESSION_TOKEN};
use crate::pcs::GROUP_TAG;

const METADATA_TOKEN: &str = "fake-metadata-token";
const ROLE: &str = "fake-role";

type Answer = (u16, String);

/// The answer to a request; with `circle` its next page is always the same.
pub(super) fn answer(request: &Request, cloud: &Cloud, circle: bool) -> Answer {
    if request.method != "POST" {
        return credentials(request);
    }
    if let Some(why) = unsigned(request) {
        let code = if request.is_pcs() { "InvalidSignatureException" } else { "AuthFailure" };
        return (403, refusal(request, code, &why));
    }
    if request.is_pcs() { pcs(request, cloud) } else { ec2(request, cloud, circle) }
}

/// The error of a service, in its format.
pub(super) fn refusal(request: &Request, code: &str, message: &str) -> String {
    if request.is_pcs() {
        json!({ "__type": format!("com.amazonaws.pcs#{code}"), "message": message }).to_string()
    } else {
        format!(
            "<?xml version=\"1.0\"?><Response><Errors><Error><Code>{code}</Code><Message>{message}</Message>\
             </Error></Errors><RequestID>fake-ec2</RequestID></Response>"
        )
    }
}

/// How a service says that it is asked too often.
pub(super) fn throttled(request: &Request) -> Answer {
    if request.is_pcs() {
        (429, refusal(request, "ThrottlingException", "slower, says the fake"))
    } else {
        (503, refusal(request, "RequestLimitExceeded", "slower, says the fake"))
    }
}

/// What is wrong with a request's signature, as far as its form tells.
fn unsigned(request: &Request) -> Option<String> {
    let words: Vec<&str> =
        request.header("authorization").split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let ["AWS4-HMAC-SHA256", credential, signed, signature] = words.as_slice() else {
        return Some("no signature".to_owned());
    };
    let date = request.header("x-amz-date").get(..8).unwrap_or_default();
    let service = if request.is_pcs() { "pcs" } else { "ec2" };
    let scope = format!("Credential={ACCESS_KEY_ID}/{date}/{REGION}/{service}/aws4_request");
    if *credential != scope || date.is_empty() {
        return Some(format!("`{credential}` where `{scope}` was expected"));
    }
    let signed: Vec<&str> = signed.trim_start_matches("SignedHeaders=").split(';').collect();
    let optional = ["x-amz-security-token", "x-amz-target"];
    let needed = optional.into_iter().filter(|name| request.headers.contains_key(*name));
    if let Some(name) =
        ["content-type", "host", "x-amz-date"].into_iter().chain(needed).find(|name| !signed.contains(name))
    {
        return Some(format!("`{name}` is not signed"));
    }
    let signature = signature.trim_start_matches("Signature=");
    let good = signature.len() == 64 && signature.bytes().all(|byte| byte.is_ascii_hexdigit());
    (!good).then(|| "the signature is none".to_owned())
}

/// The metadata service and a container's.
fn credentials(request: &Request) -> Answer {
    let document = json!({
        "Code": "Success", "AccessKeyId": ACCESS_KEY_ID, "SecretAccessKey": "fake", "Token": SESSION_TOKEN,
        "Expiration": "2999-01-01T00:00:00Z",
    });
    let path = request.path.as_str();
    if request.method == "PUT" && path == "/latest/api/token" {
        let seconds: Option<u32> = request.header("x-aws-ec2-metadata-token-ttl-seconds").parse().ok();
        return seconds.map_or((400, String::new()), |_| (200, METADATA_TOKEN.to_owned()));
    }
    if path == "/container" {
        let good = request.header("authorization") == CONTAINER_TOKEN;
        return if good { (200, document.to_string()) } else { (401, String::new()) };
    }
    if request.header("x-aws-ec2-metadata-token") != METADATA_TOKEN {
        return (401, String::new());
    }
    match path.strip_prefix("/latest/meta-data/") {
        Some("placement/region") => (200, REGION.to_owned()),
        Some("iam/security-credentials/") => (200, ROLE.to_owned()),
        Some(rest) if rest == format!("iam/security-credentials/{ROLE}") => (200, document.to_string()),
        Some(_) | None => (404, String::new()),
    }
}

fn ec2(request: &Request, cloud: &Cloud, circle: bool) -> Answer {
    let action = request.action();
    let (set, items): (&str, Vec<String>) = match action.as_str() {
        "DescribeInstanceTopology" => ("instanceSet", topology(cloud)),
        "DescribeInstances" => ("reservationSet", instances(request, cloud)),
        "DescribeCapacityBlocks" => ("capacityBlockSet", blocks(cloud)),
        "DescribeLaunchTemplateVersions" => ("launchTemplateVersionSet", templates(request, cloud)),
        _ => return (400, refusal(request, "InvalidAction", "unknown to the fake")),
    };
    let (page, next) = paged(&items, request, cloud);
    let next = if circle { Some("0".to_owned()) } else { next };
    let next = next.map(|token| format!("<nextToken>{token}</nextToken>")).unwrap_or_default();
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- a fake -->\
         <{action}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
         <requestId>fake</requestId><{set}>{}</{set}>{next}</{action}Response>",
        page.concat()
    );
    (200, body)
}

fn topology(cloud: &Cloud) -> Vec<String> {
    let running = cloud.instances.iter().filter(|[_, _, state, ..]| state == "running");
    running
        .map(|[id, kind, _, _, _, block]| {
            let block = element("capacityBlockId", block);
            format!("<item><instanceId>{id}</instanceId><instanceType>{kind}</instanceType>{block}</item>")
        })
        .collect()
}

fn instances(request: &Request, cloud: &Cloud) -> Vec<String> {
    let values: Vec<String> =
        (1..).map_while(|index| request.field(&format!("Filter.1.Value.{index}"))).collect();
    let filtered = request.field("Filter.1.Name").is_some_and(|name| name == format!("tag:{GROUP_TAG}"));
    let chosen = cloud.instances.iter().filter(|[_, _, _, _, group, _]| !filtered || values.contains(group));
    chosen
        .map(|[id, kind, state, dns, group, _]| {
            let tag = format!("<tagSet><item><key>{GROUP_TAG}</key><value>{group}</value></item></tagSet>");
            format!(
                "<item><instancesSet><item><instanceId>{id}</instanceId><instanceType>{kind}</instanceType>\
                 <instanceState><code>0</code><name>{state}</name></instanceState>{}{tag}</item></instancesSet></item>",
                element("privateDnsName", dns)
            )
        })
        .collect()
}

fn blocks(cloud: &Cloud) -> Vec<String> {
    let blocks = cloud.blocks.iter();
    blocks
        .map(|[id, kind, state, end, reservation]| {
            format!(
                "<item><capacityBlockId>{id}</capacityBlockId>{}<state>{state}</state>{}\
                 <capacityReservationIdSet><item>{reservation}</item></capacityReservationIdSet></item>",
                element("ultraserverType", kind),
                element("endDate", end)
            )
        })
        .collect()
}

fn templates(request: &Request, cloud: &Cloud) -> Vec<String> {
    let id = request.field("LaunchTemplateId").unwrap_or_default();
    let found = cloud.templates.iter().filter(|[template, _]| *template == id);
    found
        .map(|[_, reservation]| {
            let target = element("capacityReservationId", reservation);
            format!(
                "<item><launchTemplateData><capacityReservationSpecification><capacityReservationTarget>{target}\
                 </capacityReservationTarget></capacityReservationSpecification></launchTemplateData></item>"
            )
        })
        .collect()
}

fn element(name: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<{name}>{text}</{name}>") }
}

fn pcs(request: &Request, cloud: &Cloud) -> Answer {
    let missing = || (400, refusal(request, "ResourceNotFoundException", "no such thing in the fake"));
    if request.field("clusterIdentifier").as_deref() != Some("rack") {
        return missing();
    }
    let queue = |(id, name, groups): &(String, String, Vec<String>)| {
        let groups: Vec<_> = groups.iter().map(|id| json!({ "computeNodeGroupId": id })).collect();
        json!({ "queue": { "id": id, "name": name, "computeNodeGroupConfigurations": groups } })
    };
    let group = |([id, name, kind, template], most): &([String; 4], usize)| {
        json!({ "computeNodeGroup": {
            "id": id, "name": name, "status": "ACTIVE", "instanceConfigs": [{ "instanceType": kind }],
            "scalingConfiguration": { "minInstanceCount": 0, "maxInstanceCount": most },
            "customLaunchTemplate": { "id": template, "version": "1" },
        } })
    };
    let list = |name: &str, ids: Vec<String>| {
        let (page, next) = paged(&ids, request, cloud);
        let entries: Vec<_> = page.iter().map(|id| json!({ "id": id, "name": "" })).collect();
        json!({ name: entries, "nextToken": next })
    };
    let named = |field| request.field(field).unwrap_or_default();
    let found = match request.action().as_str() {
        "ListQueues" => Some(list("queues", cloud.queues.iter().map(|one| one.0.clone()).collect())),
        "ListComputeNodeGroups" => {
            Some(list("computeNodeGroups", cloud.groups.iter().map(|one| one.0[0].clone()).collect()))
        }
        "GetQueue" => cloud.queues.iter().find(|one| one.0 == named("queueIdentifier")).map(queue),
        "GetComputeNodeGroup" => {
            cloud.groups.iter().find(|one| one.0[0] == named("computeNodeGroupIdentifier")).map(group)
        }
        _ => None,
    };
    found.map_or_else(missing, |answer| (200, answer.to_string()))
}

/// A page of a list and the token of the next one: where it begins.
fn paged<'a>(all: &'a [String], request: &Request, cloud: &Cloud) -> (&'a [String], Option<String>) {
    let begin = request.token().and_then(|token| token.parse().ok()).unwrap_or(0).min(all.len());
    let end = (begin + cloud.page.max(1)).min(all.len());
    (&all[begin..end], (end < all.len()).then(|| end.to_string()))
}
