//! AWS Parallel Computing Service: the queues and node groups of a cluster.
//!
//! PCS speaks JSON: the action is in a header, the rest in the body. Written after the API reference's pages of these
//! actions and their types, version 2023-02-10: ListQueues, GetQueue, ListComputeNodeGroups, GetComputeNodeGroup. The
//! lists have names only; which groups a queue has is in GetQueue, what a group starts in GetComputeNodeGroup.

pub mod parse;

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::call::{Call, MAX_PAGES};
use crate::client::Client;
use crate::failure::{Error, Failure, Service};
use parse::Listed;

/// The most entries of a page, by the API reference.
const PAGE: usize = 100;

/// The tag that instances of a node group have, with the group's id.
pub const GROUP_TAG: &str = "aws:pcs:compute-node-group-id";

/// A queue: what Slurm calls a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// The ids of its node groups.
    pub groups: Vec<String>,
}

/// A compute node group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its state (`ACTIVE`).
    pub status: String,
    /// The types of its instances.
    pub instance_types: Vec<String>,
    /// The most instances that it can have.
    pub max_instances: usize,
    /// The id and version of the launch template that its instances are started with.
    pub launch_template: (String, String),
}

impl Client {
    /// The queues of a cluster, by its name or id.
    ///
    /// # Errors
    ///
    /// If the list or any queue of it cannot be had.
    pub async fn queues(&mut self, cluster: &str) -> Result<Vec<Queue>, Error> {
        let list = self.list("ListQueues", cluster, parse::queue_list).await?;
        let mut queues = Vec::with_capacity(list.len());
        for id in list {
            let body = json!({ "clusterIdentifier": cluster, "queueIdentifier": id });
            queues.push(self.ask(&call("GetQueue", &body), parse::queue).await?);
        }
        Ok(queues)
    }

    /// The node groups of a cluster, by its name or id.
    ///
    /// # Errors
    ///
    /// If the list or any group of it cannot be had.
    pub async fn node_groups(&mut self, cluster: &str) -> Result<Vec<NodeGroup>, Error> {
        let list = self.list("ListComputeNodeGroups", cluster, parse::node_group_list).await?;
        let mut groups = Vec::with_capacity(list.len());
        for id in list {
            let body = json!({ "clusterIdentifier": cluster, "computeNodeGroupIdentifier": id });
            groups.push(self.ask(&call("GetComputeNodeGroup", &body), parse::node_group).await?);
        }
        Ok(groups)
    }

    async fn list(
        &mut self,
        action: &'static str,
        cluster: &str,
        read: fn(&[u8]) -> Result<Listed, serde_json::Error>,
    ) -> Result<Vec<String>, Error> {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        let mut body = json!({ "clusterIdentifier": cluster, "maxResults": PAGE });
        for _ in 0..MAX_PAGES {
            let page = self.ask(&call(action, &body), read).await?;
            all.extend(page.ids);
            let Some(next) = page.next else { return Ok(all) };
            if !seen.insert(next.clone()) {
                return Err(call(action, &body).error(Failure::Circle).into());
            }
            body["nextToken"] = Value::String(next);
        }
        Err(call(action, &body).error(Failure::TooManyPages(MAX_PAGES)).into())
    }
}

fn call(action: &'static str, body: &Value) -> Call {
    Call {
        service: Service::Pcs,
        action,
        headers: vec![
            ("content-type", "application/x-amz-json-1.0".to_owned()),
            ("x-amz-target", format!("AWSParallelComputingService.{action}")),
        ],
        body: Bytes::from(body.to_string()),
    }
}
