//! The sources that ask AWS: `ec2` and `pcs:CLUSTER`, and the queues that lint judges.
//!
//! What [`imex_aws`] learns is said in the words that the saved output of the `aws` command has as well, so that both
//! ways place nodes by the same rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use clap::Args;
use imex_aws::ec2::{FILTER_VALUES, Instance, TagFilter};
use imex_aws::pcs::{GROUP_TAG, NodeGroup};
use imex_aws::{Client, Environment, Error, Overrides, Settings};
use imex_topology::lint::{Group, Queue};
use imex_topology::source::aws_json::{self, Ec2, is_ultraserver};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::block_on;

/// Whom to ask as whom.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AwsArgs {
    /// The region; if not given that of AWS_REGION, the profile or this instance
    #[arg(long, value_name = "REGION", help_heading = "AWS")]
    pub(crate) region: Option<String>,
    /// The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE
    #[arg(long, value_name = "PROFILE", help_heading = "AWS")]
    pub(crate) profile: Option<String>,
    /// Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile
    #[arg(long, value_name = "URL", help_heading = "AWS")]
    pub(crate) endpoint_url: Option<String>,
}

/// What AWS said, and whom it was asked about.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) ec2: Ec2,
    pub(crate) from: Arc<str>,
}

/// Everything that EC2 has in the region.
pub(crate) fn region(args: &AwsArgs) -> Result<Said, Failure> {
    ask(args, async |mut client| {
        let topology = client.instance_topology().await?;
        let instances = client.instances(None).await?;
        let mut ec2 = said(topology, instances);
        ec2.capacity_blocks = capacity_blocks(&mut client).await?.0;
        let from = client.region().await?.to_string().into();
        Ok(Said { ec2, from })
    })
}

/// What EC2 has of a PCS cluster.
pub(crate) fn cluster(args: &AwsArgs, cluster: &str) -> Result<Said, Failure> {
    ask(args, async |mut client| {
        let groups = client.node_groups(cluster).await?;
        let instances = instances_of(&mut client, &groups).await?;
        let ids: BTreeSet<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
        let mut topology = client.instance_topology().await?;
        topology.retain(|one| ids.contains(one.instance_id.as_str()));
        let mut ec2 = said(topology, instances);
        ec2.capacity_blocks = capacity_blocks(&mut client).await?.0;
        let from = format!("{}, PCS cluster {cluster}", client.region().await?).into();
        Ok(Said { ec2, from })
    })
}

/// The queues of a PCS cluster with their groups.
pub(crate) fn queues(args: &AwsArgs, cluster: &str) -> Result<Vec<Queue>, Failure> {
    ask(args, async |mut client| {
        let groups = client.node_groups(cluster).await?;
        let mut known = BTreeMap::new();
        let blocks = blocks_of(&mut client, &groups).await?;
        for group in groups.into_iter().filter(|group| !group.status.starts_with("DELET")) {
            let capacity_blocks = blocks.get(&group.id).into_iter().flatten().cloned().collect();
            let NodeGroup { id, name, instance_types, max_instances, .. } = group;
            known.insert(id, Group { name, instance_types, max_instances, capacity_blocks });
        }
        let queues = client.queues(cluster).await?.into_iter();
        let with_groups = |queue: imex_aws::pcs::Queue| Queue {
            groups: queue.groups.iter().filter_map(|id| known.get(id).cloned()).collect(),
            name: queue.name,
        };
        Ok(queues.map(with_groups).collect())
    })
}

/// The Capacity Blocks of UltraServer groups, by the group's id: those that their launch templates name, and those that
/// their instances run in. A group whose instances are all powered down has the first only.
async fn blocks_of(
    client: &mut Client,
    groups: &[NodeGroup],
) -> Result<BTreeMap<String, BTreeSet<String>>, Error> {
    let ultra: Vec<NodeGroup> = groups
        .iter()
        .filter(|group| group.instance_types.iter().any(|kind| is_ultraserver(kind)))
        .cloned()
        .collect();
    let mut blocks: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if ultra.is_empty() {
        return Ok(blocks);
    }
    let (_, block_of) = capacity_blocks(client).await?;
    for group in &ultra {
        let (template, version) = &group.launch_template;
        let template = client.launch_template(template, version).await?;
        let block = template.reservation.map(|id| block_of.get(&id).cloned().unwrap_or(id));
        blocks.entry(group.id.clone()).or_default().extend(block);
    }
    let instances = instances_of(client, &ultra).await?;
    let group_of: BTreeMap<&str, &String> = instances
        .iter()
        .filter_map(|instance| Some((instance.id.as_str(), instance.tags.get(GROUP_TAG)?)))
        .collect();
    for one in client.instance_topology().await? {
        if let (Some(group), Some(block)) = (group_of.get(one.instance_id.as_str()), one.capacity_block_id) {
            blocks.entry((*group).clone()).or_default().insert(block);
        }
    }
    Ok(blocks)
}

async fn instances_of(client: &mut Client, groups: &[NodeGroup]) -> Result<Vec<Instance>, Error> {
    let mut instances = Vec::new();
    for some in groups.chunks(FILTER_VALUES) {
        let values = some.iter().map(|group| group.id.clone()).collect();
        let filter = TagFilter { key: GROUP_TAG.to_owned(), values };
        instances.extend(client.instances(Some(&filter)).await?);
    }
    Ok(instances)
}

/// The region's Capacity Blocks, and in which of them each Capacity Reservation is.
async fn capacity_blocks(
    client: &mut Client,
) -> Result<(BTreeMap<String, aws_json::CapacityBlock>, BTreeMap<String, String>), Error> {
    let mut blocks = BTreeMap::new();
    let mut block_of = BTreeMap::new();
    for block in client.capacity_blocks().await? {
        block_of.extend(block.reservations.into_iter().map(|id| (id, block.id.clone())));
        let (ultraserver_type, state, end) = (block.ultraserver_type, Some(block.state), block.end);
        blocks.insert(block.id, aws_json::CapacityBlock { ultraserver_type, state, end });
    }
    Ok((blocks, block_of))
}

fn said(topology: Vec<imex_aws::ec2::InstanceTopology>, instances: Vec<Instance>) -> Ec2 {
    let mut ec2 = Ec2::default();
    ec2.topology.extend(topology.into_iter().map(|one| (one.instance_id, one.capacity_block_id)));
    for Instance { id, instance_type, state, private_dns, private_ip, tags } in instances {
        let private_dns = private_dns.unwrap_or_default();
        ec2.instances.insert(id, aws_json::Instance { private_dns, private_ip, instance_type, state, tags });
    }
    ec2
}

/// Asks on a thread of its own: who asks may be waiting inside a runtime already, and one cannot wait inside another.
fn ask<T: Send>(
    args: &AwsArgs,
    what: impl AsyncFnOnce(Client) -> Result<T, Error> + Send,
) -> Result<T, Failure> {
    let overrides = Overrides {
        region: args.region.clone(),
        profile: args.profile.clone(),
        endpoint: args.endpoint_url.clone(),
    };
    let environment = Environment::from_iter(
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    );
    let settings = Settings::read(&environment, &overrides)
        .map_err(|error| hinted(Failure::new(Exit::SourceUnreadable, &error), error.hint()))?;
    let asked = thread::scope(|scope| {
        let asking = scope.spawn(|| block_on(async { what(Client::new(settings)).await }));
        asking.join().map_err(|_| Failure::because(Exit::Failed, "the thread that asks AWS has ended"))
    });
    asked??.map_err(|error| hinted(Failure::new(Exit::SourceUnreadable, &error), error.hint()))
}

fn hinted(failure: Failure, hint: Option<String>) -> Failure {
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
