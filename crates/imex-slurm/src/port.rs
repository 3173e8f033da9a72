//! The port between the nodes of a domain, where it is to differ from job to job.
//!
//! NVIDIA's sample prolog gives each job one of 16,384 ports. Two dangers come with it, and are why the fixed port is the
//! default here: the ports lie in the range from which Linux takes the ports of outgoing connections (32768 to 60999
//! unless a site changed `net.ipv4.ip_local_port_range`), so that any program may hold one when the service wants it; and
//! jobs whose numbers differ by a multiple of 16,384 have the same one.

/// How many ports there are in NVIDIA's sample.
const PORTS: u32 = 16_384;

/// The first of them.
const FIRST: u16 = 33_792;

/// The port of a job, as NVIDIA's sample computes it: 33,792 to 50,175.
pub fn rotated(job: u32) -> u16 {
    let offset = u16::try_from(job % PORTS).expect("a remainder below 16,384");
    FIRST + offset
}

/// Whether Linux may give `port` to an outgoing connection, by the text of
/// `/proc/sys/net/ipv4/ip_local_port_range` and `…/ip_local_reserved_ports`.
pub fn is_ephemeral(port: u16, range: &str, reserved: &str) -> bool {
    let mut ends = range.split_whitespace().filter_map(|end| end.parse::<u16>().ok());
    let (Some(low), Some(high)) = (ends.next(), ends.next()) else { return false };
    let is_reserved = reserved.trim().split(',').any(|part| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        match (low.parse::<u16>(), high.parse::<u16>()) {
            (Ok(low), Ok(high)) => (low..=high).contains(&port),
            (Ok(_) | Err(_), _) => false,
        }
    });
    (low..=high).contains(&port) && !is_reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_a_multiple_of_16384_apart_have_the_same_port() {
        assert_eq!((rotated(0), rotated(16_383)), (33_792, 50_175));
        assert_eq!(rotated(7), rotated(7 + 16_384));
        assert_eq!(rotated(u32::MAX), 50_175);
    }

    #[test]
    fn a_port_of_outgoing_connections_is_known_unless_it_is_reserved() {
        assert!(is_ephemeral(33_799, "32768\t60999\n", "\n"));
        assert!(!is_ephemeral(33_799, "32768\t60999\n", "22,33792-50175\n"));
        assert!(!is_ephemeral(5_000, "32768\t60999\n", ""));
        assert!(!is_ephemeral(33_799, "", ""));
    }
}
