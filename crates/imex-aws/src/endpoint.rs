//! Where a service is: regions and endpoints, checked before they become part of a request.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;
use hyper::http::uri::{Authority, Scheme};

use crate::failure::Service;

/// A region's name, such as `us-east-1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region(String);

/// Why a text is not a region's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a region")]
pub struct RegionError(String);

/// Where requests go: scheme, host, port and a path that precedes every request's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    scheme: Scheme,
    authority: Authority,
    path: String,
}

/// Why a text is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an endpoint: {why}")]
pub struct EndpointError {
    /// The text.
    text: String,
    /// What is wrong with it.
    why: &'static str,
}

impl Region {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The domain in which the region's services have their names. Regions of other partitions have no NVLink racks.
    fn domain(&self) -> &'static str {
        if self.0.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
    }
}

impl FromStr for Region {
    type Err = RegionError;

    /// Letters, digits and hyphens: it becomes a label of a host name.
    fn from_str(text: &str) -> Result<Self, RegionError> {
        let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let good = (1..=63).contains(&text.len()) && text.bytes().all(label) && !text.starts_with('-');
        if good { Ok(Region(text.to_owned())) } else { Err(RegionError(text.to_owned())) }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Endpoint {
    /// Where AWS has a service in a region.
    pub(crate) fn of(service: Service, region: &Region) -> Endpoint {
        let host = format!("{}.{region}.{}", service.word(), region.domain());
        let authority = host.parse().expect("a checked region's name makes a host name");
        Endpoint { scheme: Scheme::HTTPS, authority, path: String::new() }
    }

    /// If the connection is encrypted.
    pub(crate) fn encrypted(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The host without brackets, and the port.
    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        (host, self.authority.port_u16().unwrap_or(if self.encrypted() { 443 } else { 80 }))
    }

    /// The value of the `host` header.
    pub(crate) fn host_header(&self) -> &str {
        self.authority.as_str()
    }

    /// A request's path below this endpoint; `below` begins with `/`.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("{}{below}", self.path)
    }

    /// If the host is this machine itself, by address or as `localhost`.
    pub(crate) fn is_loopback(&self) -> bool {
        let (host, _) = self.host_and_port();
        host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let wrong = |why| EndpointError { text: text.to_owned(), why };
        let uri: Uri = text.parse().map_err(|_| wrong("no URL"))?;
        let parts = uri.into_parts();
        let scheme = parts.scheme.ok_or_else(|| wrong("it needs http:// or https://"))?;
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(wrong("only http and https are spoken"));
        }
        let authority = parts.authority.ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(wrong("it must be a host, with a port if need be"));
        }
        let path = parts.path_and_query.map(|path| path.to_string()).unwrap_or_default();
        // The signature covers the path with every other character encoded: not needed, so not spoken.
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~');
        if !path.bytes().all(plain) {
            return Err(wrong("its path must be of letters, digits and -_.~/"));
        }
        Ok(Endpoint { scheme, authority, path: path.trim_end_matches('/').to_owned() })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_by_its_region() {
        let at = |service, region: &str| Endpoint::of(service, &region.parse().unwrap()).to_string();
        assert_eq!(at(Service::Ec2, "us-east-1"), "https://ec2.us-east-1.amazonaws.com");
        assert_eq!(at(Service::Pcs, "cn-north-1"), "https://pcs.cn-north-1.amazonaws.com.cn");
    }

    #[test]
    fn a_region_cannot_smuggle_a_host() {
        for text in ["", "-x", "us-east-1.evil.example", "us/east", "US-EAST-1", "a b"] {
            assert!(text.parse::<Region>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_endpoint_is_a_plain_address() {
        let endpoint: Endpoint = "http://127.0.0.1:4566/prefix/".parse().unwrap();
        assert_eq!(endpoint.to_string(), "http://127.0.0.1:4566/prefix");
        assert_eq!(endpoint.host_and_port(), ("127.0.0.1", 4566));
        assert_eq!(endpoint.path("/"), "/prefix/");
        let endpoint: Endpoint = "https://[::1]".parse().unwrap();
        assert_eq!(endpoint.host_and_port(), ("::1", 443));
        assert!(endpoint.is_loopback());
        for text in ["", "localhost:80", "ftp://x", "http://a@b", "http://x/?q", "http://x/a%20b"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
