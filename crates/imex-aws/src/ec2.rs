//! EC2: which instances there are and which of them share an UltraServer.
//!
//! EC2 speaks its own Query protocol: a form goes out, XML comes back. Written after the API reference's pages of these
//! actions and their types, version 2016-11-15: DescribeInstanceTopology (`capacityBlockId` "identifies instances within
//! the UltraServer domain"), DescribeInstances, DescribeCapacityBlocks, DescribeLaunchTemplateVersions, "Query requests
//! for Amazon EC2" and "Error codes for the Amazon EC2 API".

pub mod parse;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use jiff::Timestamp;

use crate::call::{Call, MAX_PAGES};
use crate::client::Client;
use crate::failure::{Error, Failure, Service};
use parse::Page;

/// The version of the API that the parsers are written for.
const VERSION: &str = "2016-11-15";
/// The most instances of a topology page, by the API reference.
const TOPOLOGY_PAGE: usize = 100;
/// Instances of a page, below the thousand that EC2 allows: it keeps an answer within its limit of bytes.
const INSTANCE_PAGE: usize = 200;
/// Capacity blocks of a page.
const BLOCK_PAGE: usize = 100;
/// The most values of one filter, by "List and filter" in EC2's user guide.
pub const FILTER_VALUES: usize = 200;

/// Where an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceTopology {
    /// Its id.
    pub instance_id: String,
    /// Its type (`p6e-gb200.36xlarge`).
    pub instance_type: Option<String>,
    /// The Capacity Block that is its UltraServer. None for other instances, and shortly after an instance was started.
    pub capacity_block_id: Option<String>,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its id.
    pub id: String,
    /// Its type.
    pub instance_type: String,
    /// Its state (`running`).
    pub state: String,
    /// Its private DNS name; instances that are gone have none.
    pub private_dns: Option<String>,
    /// Its private address.
    pub private_ip: Option<String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// A Capacity Block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityBlock {
    /// Its id.
    pub id: String,
    /// The UltraServer type (`u-p6e-gb200x72`), if it is one.
    pub ultraserver_type: Option<String>,
    /// Its state (`active`).
    pub state: String,
    /// When it ends and its instances with it.
    pub end: Option<Timestamp>,
    /// The Capacity Reservations that it consists of; instances are started into these.
    pub reservations: Vec<String>,
}

/// Into what a launch template starts instances.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LaunchTemplate {
    /// The Capacity Reservation.
    pub reservation: Option<String>,
    /// The group of Capacity Reservations, by its ARN.
    pub reservation_group: Option<String>,
}

/// Which instances to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagFilter {
    /// The tag's key.
    pub key: String,
    /// The values, any of which will do; at most [`FILTER_VALUES`].
    pub values: BTreeSet<String>,
}

impl Client {
    /// Where the instances of the region are: those of types that have a topology.
    ///
    /// # Errors
    ///
    /// If any page of the list cannot be had.
    pub async fn instance_topology(&mut self) -> Result<Vec<InstanceTopology>, Error> {
        let form = Form::new("DescribeInstanceTopology").number("MaxResults", TOPOLOGY_PAGE);
        self.pages(form, parse::instance_topology).await
    }

    /// The instances of the region, or those that have a tag.
    ///
    /// # Errors
    ///
    /// If any page of the list cannot be had.
    pub async fn instances(&mut self, with: Option<&TagFilter>) -> Result<Vec<Instance>, Error> {
        let mut form = Form::new("DescribeInstances").number("MaxResults", INSTANCE_PAGE);
        if let Some(TagFilter { key, values }) = with {
            form = form.text("Filter.1.Name", &format!("tag:{key}"));
            for (index, value) in values.iter().enumerate() {
                form = form.text(&format!("Filter.1.Value.{}", index + 1), value);
            }
        }
        self.pages(form, parse::instances).await
    }

    /// The Capacity Blocks of the region.
    ///
    /// # Errors
    ///
    /// If any page of the list cannot be had.
    pub async fn capacity_blocks(&mut self) -> Result<Vec<CapacityBlock>, Error> {
        let form = Form::new("DescribeCapacityBlocks").number("MaxResults", BLOCK_PAGE);
        self.pages(form, parse::capacity_blocks).await
    }

    /// A version of a launch template.
    ///
    /// # Errors
    ///
    /// If it cannot be had.
    pub async fn launch_template(&mut self, id: &str, version: &str) -> Result<LaunchTemplate, Error> {
        let form = Form::new("DescribeLaunchTemplateVersions")
            .text("LaunchTemplateId", id)
            .text("LaunchTemplateVersion.1", version);
        self.ask(&form.call(None), parse::launch_template).await
    }

    async fn pages<T>(
        &mut self,
        form: Form,
        read: fn(&[u8]) -> Result<Page<T>, crate::xml::XmlError>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        let mut token: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = self.ask(&form.call(token.as_deref()), read).await?;
            all.extend(page.items);
            let Some(next) = page.next else { return Ok(all) };
            if !seen.insert(next.clone()) {
                return Err(form.call(None).error(Failure::Circle).into());
            }
            token = Some(next);
        }
        Err(form.call(None).error(Failure::TooManyPages(MAX_PAGES)).into())
    }
}

/// The form of a request.
#[derive(Clone, Debug)]
struct Form {
    action: &'static str,
    text: String,
}

impl Form {
    fn new(action: &'static str) -> Self {
        Form { action, text: format!("Action={action}&Version={VERSION}") }
    }

    fn number(self, name: &str, value: usize) -> Self {
        self.text(name, &value.to_string())
    }

    fn text(mut self, name: &str, value: &str) -> Self {
        self.text.push('&');
        self.text.push_str(name);
        self.text.push('=');
        for byte in value.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    self.text.push(char::from(byte));
                }
                _ => self.text.push_str(&format!("%{byte:02X}")),
            }
        }
        self
    }

    fn call(&self, token: Option<&str>) -> Call {
        let form = self.clone();
        let form = match token {
            Some(token) => form.text("NextToken", token),
            None => form,
        };
        Call {
            service: Service::Ec2,
            action: self.action,
            headers: vec![("content-type", "application/x-www-form-urlencoded; charset=utf-8".to_owned())],
            body: Bytes::from(form.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_encodes_what_could_be_mistaken() {
        let call = Form::new("DescribeX").text("Filter.1.Name", "tag:a b&c=ü").call(Some("t+/="));
        assert_eq!(
            call.body,
            "Action=DescribeX&Version=2016-11-15&Filter.1.Name=tag%3Aa%20b%26c%3D%C3%BC&NextToken=t%2B%2F%3D"
        );
    }
}
