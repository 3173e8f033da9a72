//! EC2, from the saved output of the AWS command line.
//!
//! `aws ec2 describe-instance-topology` names the capacity block of an instance in `CapacityBlockId`: one UltraServer.
//! `aws ec2 describe-instances` has the names by which Slurm may know an instance. `aws ec2 describe-capacity-blocks`
//! has the blocks' state and end. The three may be concatenated in one file, in any order and several pages of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;

use crate::inventory::{BlockKey, Evidence, NoBlock, Placement, SourceKind, SourceReport};

use super::SourceError;

/// By which of its names Slurm knows an instance.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum NameBy {
    /// The first label of the private DNS name (`ip-10-0-1-5`).
    #[default]
    PrivateDns,
    /// The instance id.
    InstanceId,
    /// The value of this tag.
    Tag(String),
}

/// What EC2 said.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ec2 {
    /// Instances by id.
    pub instances: BTreeMap<String, Instance>,
    /// Capacity blocks by id.
    pub capacity_blocks: BTreeMap<String, CapacityBlock>,
    /// The capacity block of each instance that has a topology, by instance id.
    pub topology: BTreeMap<String, Option<String>>,
}

/// One instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its private DNS name.
    pub private_dns: String,
    /// Its private address.
    pub private_ip: Option<String>,
    /// Its type (`p6e-gb200.36xlarge`).
    pub instance_type: String,
    /// Its state (`running`).
    pub state: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// The state of a capacity block whose machines are there to be used. EC2's others are before it (`scheduled`,
/// `payment-pending`), beside it (`unavailable`) or after it (`expired`, `cancelled`, `failed`, `payment-failed`).
const ACTIVE: &str = "active";

/// One capacity block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityBlock {
    /// The UltraServer type (`u-p6e-gb200x72`), if it is one.
    pub ultraserver_type: Option<String>,
    /// Its state (`active`), if that is known.
    pub state: Option<String>,
    /// When it ends.
    pub end: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    instances: Vec<TopologyJson>,
    #[serde(default)]
    reservations: Vec<ReservationJson>,
    #[serde(default)]
    capacity_blocks: Vec<CapacityBlockJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TopologyJson {
    instance_id: String,
    capacity_block_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReservationJson {
    #[serde(default)]
    instances: Vec<InstanceJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InstanceJson {
    instance_id: String,
    #[serde(default)]
    private_dns_name: String,
    private_ip_address: Option<String>,
    #[serde(default)]
    instance_type: String,
    state: StateJson,
    #[serde(default)]
    tags: Vec<TagJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StateJson {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TagJson {
    key: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CapacityBlockJson {
    capacity_block_id: String,
    ultraserver_type: Option<String>,
    state: Option<String>,
    end_date: Option<String>,
}

/// If instances of this type are parts of UltraServers with NVLink.
pub fn is_ultraserver(instance_type: &str) -> bool {
    instance_type.starts_with("p6e-gb200") || instance_type.starts_with("p6e-gb300")
}

/// Reads any number of saved outputs.
///
/// # Errors
///
/// If one is not JSON of these commands.
pub fn parse(text: &str) -> Result<Ec2, SourceError> {
    let mut ec2 = Ec2::default();
    for page in serde_json::Deserializer::from_str(text).into_iter::<Page>() {
        let what = "the output of `aws ec2 describe-…`";
        ec2.add(page.map_err(|source| SourceError::Json { what, source })?);
    }
    Ok(ec2)
}

impl Ec2 {
    fn add(&mut self, page: Page) {
        let topology = page.instances.into_iter().map(|one| (one.instance_id, one.capacity_block_id));
        self.topology.extend(topology);
        let instances = page.reservations.into_iter().flat_map(|reservation| reservation.instances);
        self.instances.extend(instances.map(|json| (json.instance_id.clone(), json.into())));
        let blocks = page.capacity_blocks.into_iter();
        self.capacity_blocks.extend(blocks.map(|json| (json.capacity_block_id.clone(), json.into())));
    }

    /// Where the instances are, by the names that Slurm knows them by. Instances that are terminated or have no such
    /// name are left out.
    ///
    /// # Errors
    ///
    /// If two instances have the same name, or nothing is left.
    pub fn report(&self, names: &NameBy, from: &Arc<str>) -> Result<SourceReport, SourceError> {
        let mut report = SourceReport::default();
        let mut seen = BTreeSet::new();
        let mut origins = BTreeMap::new();
        for (id, block) in &self.topology {
            let Some(name) = self.name(id, names) else { continue };
            if !seen.insert(name.clone()) {
                return Err(SourceError::Line { line: 1, what: format!("two instances are named `{name}`") });
            }
            let placement = match block {
                Some(block) => Placement::Block(BlockKey::CapacityBlock(block.clone())),
                None => Placement::NoBlock(self.reason(id)),
            };
            let from = match block {
                Some(block) => origins.entry(block).or_insert_with(|| self.origin(block, from)),
                None => from,
            };
            let evidence = Evidence { source: SourceKind::Ec2, from: Arc::clone(from), line: None };
            report.place(name, placement, evidence);
        }
        report.warnings.extend(origins.into_keys().filter_map(|block| self.warning(block)));
        if report.nodes.is_empty() { Err(SourceError::Nothing) } else { Ok(report) }
    }

    /// What is wrong with a capacity block that has instances, which end with it.
    fn warning(&self, block: &str) -> Option<String> {
        let CapacityBlock { state, end, .. } = self.capacity_blocks.get(block)?;
        let state = state.as_deref().filter(|state| *state != ACTIVE)?;
        let end = end.map(|end| format!(", and its end is {end}")).unwrap_or_default();
        Some(format!(
            "capacity block {block} is {state}, not {ACTIVE}{end}: its nodes are there no longer, or not yet"
        ))
    }

    /// How a capacity block is known: from where, and what it is and until when, if that was asked for.
    fn origin(&self, block: &str, from: &Arc<str>) -> Arc<str> {
        let Some(CapacityBlock { ultraserver_type, state, end }) = self.capacity_blocks.get(block) else {
            return Arc::clone(from);
        };
        let kind = ultraserver_type.as_deref().unwrap_or("capacity block");
        let end = end.map(|end| format!(" until {end}")).unwrap_or_default();
        let state = state.as_ref().map(|state| format!(", {state}")).unwrap_or_default();
        format!("{from} ({kind}{state}{end})").into()
    }

    /// Why an instance is in no capacity block. The API says so of parts of UltraServers for a while after they started.
    fn reason(&self, id: &str) -> NoBlock {
        match self.instances.get(id) {
            Some(instance) if is_ultraserver(&instance.instance_type) => NoBlock::Pending,
            Some(_) | None => NoBlock::NotMember,
        }
    }

    fn name(&self, id: &str, names: &NameBy) -> Option<String> {
        let instance = self.instances.get(id);
        if instance.is_some_and(|instance| matches!(instance.state.as_str(), "terminated" | "shutting-down"))
        {
            return None;
        }
        let name = match names {
            NameBy::InstanceId => Some(id),
            NameBy::PrivateDns => instance.and_then(|instance| instance.private_dns.split('.').next()),
            NameBy::Tag(key) => instance.and_then(|instance| instance.tags.get(key)).map(String::as_str),
        };
        name.filter(|name| imex_host::hostlist::is_name(name)).map(str::to_owned)
    }
}

impl From<InstanceJson> for Instance {
    fn from(json: InstanceJson) -> Self {
        Instance {
            private_dns: json.private_dns_name,
            private_ip: json.private_ip_address,
            instance_type: json.instance_type,
            state: json.state.name,
            tags: json.tags.into_iter().map(|tag| (tag.key, tag.value)).collect(),
        }
    }
}

impl From<CapacityBlockJson> for CapacityBlock {
    fn from(json: CapacityBlockJson) -> Self {
        CapacityBlock {
            ultraserver_type: json.ultraserver_type,
            state: json.state,
            end: json.end_date.and_then(|date| date.parse().ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: &str = r#"
        {"Instances": [
            {"InstanceId": "i-1", "InstanceType": "p6e-gb200.36xlarge", "CapacityBlockId": "cb-a"},
            {"InstanceId": "i-2", "InstanceType": "p6e-gb200.36xlarge", "CapacityBlockId": "cb-b"},
            {"InstanceId": "i-3", "InstanceType": "c7i.large"},
            {"InstanceId": "i-4", "CapacityBlockId": "cb-a"}]}
        {"Reservations": [{"Instances": [
            {"InstanceId": "i-1", "PrivateDnsName": "ip-10-0-0-1.ec2.internal", "State": {"Name": "running"},
             "Tags": [{"Key": "Name", "Value": "n1"}]},
            {"InstanceId": "i-2", "PrivateDnsName": "ip-10-0-0-2.ec2.internal", "State": {"Name": "stopped"}},
            {"InstanceId": "i-3", "PrivateDnsName": "ip-10-0-0-3.ec2.internal", "State": {"Name": "running"}},
            {"InstanceId": "i-4", "PrivateDnsName": "", "State": {"Name": "terminated"}}]}]}
        {"CapacityBlocks": [{"CapacityBlockId": "cb-a", "UltraserverType": "u-p6e-gb200x72", "State": "active",
            "EndDate": "2026-12-31T11:30:00+00:00"}]}"#;

    #[test]
    fn the_capacity_block_is_the_block_of_each_instance_that_lives() {
        let ec2 = parse(PAGES).unwrap();
        let report = ec2.report(&NameBy::PrivateDns, &"aws".into()).unwrap();
        let told: Vec<String> =
            report.nodes.iter().map(|(name, entry)| format!("{name} {:?}", entry.placement)).collect();
        assert_eq!(
            told,
            [
                r#"ip-10-0-0-1 Block(CapacityBlock("cb-a"))"#,
                r#"ip-10-0-0-2 Block(CapacityBlock("cb-b"))"#,
                "ip-10-0-0-3 NoBlock(NotMember)",
            ]
        );
        let from = |node: &str| report.nodes[node].evidence[0].to_string();
        assert_eq!(from("ip-10-0-0-1"), "ec2 aws (u-p6e-gb200x72, active until 2026-12-31T11:30:00Z)");
        assert_eq!(from("ip-10-0-0-2"), "ec2 aws");
    }

    #[test]
    fn a_part_of_an_ultraserver_without_a_block_is_waited_for() {
        let pages = PAGES.replace(
            "\"InstanceId\": \"i-3\", \"Private",
            "\"InstanceType\": \"p6e-gb300.36xlarge\", \"InstanceId\": \"i-3\", \"Private",
        );
        let report = parse(&pages).unwrap().report(&NameBy::PrivateDns, &"aws".into()).unwrap();
        assert_eq!(report.nodes["ip-10-0-0-3"].placement, Placement::NoBlock(NoBlock::Pending));
    }

    #[test]
    fn names_come_from_where_the_site_takes_them() {
        let ec2 = parse(PAGES).unwrap();
        let names =
            |by: NameBy| ec2.report(&by, &"aws".into()).unwrap().nodes.into_keys().collect::<Vec<_>>();
        assert_eq!(names(NameBy::InstanceId), ["i-1", "i-2", "i-3"]);
        assert_eq!(names(NameBy::Tag("Name".to_owned())), ["n1"]);
    }

    #[test]
    fn a_block_that_has_ended_is_warned_of_with_its_end_and_one_that_serves_is_not() {
        let warnings =
            |pages: &str| parse(pages).unwrap().report(&NameBy::PrivateDns, &"aws".into()).unwrap().warnings;
        assert_eq!(warnings(PAGES), [""; 0]);
        let told = "capacity block cb-a is expired, not active, and its end is 2026-12-31T11:30:00Z: its nodes are \
                    there no longer, or not yet";
        assert_eq!(warnings(&PAGES.replace("\"active\"", "\"expired\"")), [told]);
        let untold = PAGES.replace("\"State\": \"active\"", "\"Later\": \"key\"");
        assert_eq!(warnings(&untold), [""; 0], "nothing is known of it");
        // One that no instance is in is nobody's business here.
        let other =
            PAGES.replace("\"cb-a\", \"Ultra", "\"cb-z\", \"Ultra").replace("\"active\"", "\"expired\"");
        assert_eq!(warnings(&other), [""; 0]);
    }

    #[test]
    fn half_a_page_is_refused() {
        assert!(matches!(parse(&PAGES[..200]), Err(SourceError::Json { .. })));
    }
}
