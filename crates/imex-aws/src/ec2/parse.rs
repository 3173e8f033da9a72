//! EC2's answers: pure functions from bytes, also for fuzzing.

pub use crate::xml::XmlError;

use super::{CapacityBlock, Instance, InstanceTopology, LaunchTemplate};
use crate::xml::{self, Element};

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// What names the next one, if there is one.
    pub next: Option<String>,
}

/// What an answer says that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The word for the reason.
    pub code: String,
    /// The sentence about it.
    pub message: String,
    /// The request's id.
    pub request_id: Option<String>,
}

/// Reads an answer to DescribeInstanceTopology.
///
/// # Errors
///
/// If it is none, or a part that must be there is not.
pub fn instance_topology(bytes: &[u8]) -> Result<Page<InstanceTopology>, XmlError> {
    page(bytes, "DescribeInstanceTopologyResponse", "instanceSet", |item| {
        Ok(vec![InstanceTopology {
            instance_id: item.needed("instanceId")?,
            instance_type: item.text(&["instanceType"]),
            capacity_block_id: item.text(&["capacityBlockId"]),
        }])
    })
}

/// Reads an answer to DescribeInstances.
///
/// # Errors
///
/// If it is none, or a part that must be there is not.
pub fn instances(bytes: &[u8]) -> Result<Page<Instance>, XmlError> {
    page(bytes, "DescribeInstancesResponse", "reservationSet", |reservation| {
        reservation.list("instancesSet")?.into_iter().map(instance).collect()
    })
}

/// Reads an answer to DescribeCapacityBlocks.
///
/// # Errors
///
/// If it is none, or a part that must be there is not.
pub fn capacity_blocks(bytes: &[u8]) -> Result<Page<CapacityBlock>, XmlError> {
    page(bytes, "DescribeCapacityBlocksResponse", "capacityBlockSet", |item| {
        let reservations = item.optional_list("capacityReservationIdSet");
        Ok(vec![CapacityBlock {
            id: item.needed("capacityBlockId")?,
            ultraserver_type: item.text(&["ultraserverType"]),
            state: item.needed("state")?,
            end: item.text(&["endDate"]).and_then(|date| date.parse().ok()),
            reservations: reservations.into_iter().map(Element::own_text).collect(),
        }])
    })
}

/// Reads an answer to DescribeLaunchTemplateVersions for one version.
///
/// # Errors
///
/// If it is none, or has not exactly one version.
pub fn launch_template(bytes: &[u8]) -> Result<LaunchTemplate, XmlError> {
    let target = ["launchTemplateData", "capacityReservationSpecification", "capacityReservationTarget"];
    let page = page(bytes, "DescribeLaunchTemplateVersionsResponse", "launchTemplateVersionSet", |item| {
        let target = item.at(&target);
        let text = |name| target.and_then(|target| target.text(&[name]));
        Ok(vec![LaunchTemplate {
            reservation: text("capacityReservationId"),
            reservation_group: text("capacityReservationResourceGroupArn"),
        }])
    })?;
    let count = page.items.len();
    let [template] = <[_; 1]>::try_from(page.items).map_err(|_| {
        XmlError::new(format!("it has {count} versions of the template where one was asked for"))
    })?;
    Ok(template)
}

/// Reads an answer that is an error, if it is one of EC2's.
pub fn error(bytes: &[u8]) -> Option<Refusal> {
    xml::read(bytes, "Response", |root| {
        let errors = root.child("Errors").and_then(|errors| errors.child("Error"));
        let error = errors.ok_or_else(|| XmlError::new("no error".to_owned()))?;
        Ok(Refusal {
            code: error.needed("Code")?,
            message: error.text(&["Message"]).unwrap_or_default(),
            request_id: root.text(&["RequestID"]),
        })
    })
    .ok()
}

fn page<T>(
    bytes: &[u8],
    root: &str,
    set: &str,
    item: impl Fn(Element<'_, '_>) -> Result<Vec<T>, XmlError>,
) -> Result<Page<T>, XmlError> {
    xml::read(bytes, root, |root| {
        let mut items = Vec::new();
        for element in root.list(set)? {
            items.extend(item(element)?);
        }
        Ok(Page { items, next: root.text(&["nextToken"]) })
    })
}

fn instance(item: Element<'_, '_>) -> Result<Instance, XmlError> {
    let state = item.text(&["instanceState", "name"]);
    let tags = item.optional_list("tagSet").into_iter();
    let tags = tags.map(|tag| Ok((tag.needed("key")?, tag.text(&["value"]).unwrap_or_default())));
    Ok(Instance {
        id: item.needed("instanceId")?,
        instance_type: item.needed("instanceType")?,
        state: state.ok_or_else(|| XmlError::new("an instance has no state".to_owned()))?,
        private_dns: item.text(&["privateDnsName"]),
        private_ip: item.text(&["privateIpAddress"]),
        tags: tags.collect::<Result<_, XmlError>>()?,
    })
}

#[cfg(test)]
mod tests;
