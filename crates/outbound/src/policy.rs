//! Which addresses may be dialled for whom.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::OutboundError;

/// What an address must be to get dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Anything goes: the operator wrote the address.
    Trusted,
    /// Link-local, metadata and senseless addresses never; the machine itself and its network by choice.
    Guarded { private: PrivateAddresses },
}

/// Loopback, RFC 1918, unique-local and carrier-grade NAT addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateAddresses {
    Allowed,
    Refused,
}

/// The strict one: whoever forgets to choose opens nothing.
impl Default for AddressPolicy {
    fn default() -> Self {
        Self::Guarded { private: PrivateAddresses::Refused }
    }
}

impl AddressPolicy {
    pub(crate) fn check(self, address: IpAddr) -> Result<(), OutboundError> {
        let private = match self {
            Self::Trusted => return Ok(()),
            Self::Guarded { private } => private,
        };
        let reason = match (Reach::of(address), private) {
            (Reach::Public, _) | (Reach::Private(_), PrivateAddresses::Allowed) => return Ok(()),
            (Reach::Private(reason), PrivateAddresses::Refused) | (Reach::Never(reason), _) => reason,
        };
        Err(OutboundError::Refused { address, reason })
    }
}

/// How far an address reaches, ordered from harmless to harmful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Public,
    Private(&'static str),
    Never(&'static str),
}

const LOOPBACK: Reach = Reach::Private("loopback address");
const PRIVATE: Reach = Reach::Private("address of a private network");
const LINK_LOCAL: Reach = Reach::Never("link-local address");
const METADATA: Reach = Reach::Never("address of a cloud's metadata service");
const UNSPECIFIED: Reach = Reach::Never("unspecified address");
const MULTICAST: Reach = Reach::Never("multicast address");
const RESERVED: Reach = Reach::Never("broadcast or reserved address");
const TRANSLATED: Reach = Reach::Never("address of a local translation to IPv4");

/// Metadata services outside 169.254.0.0/16: Alibaba, Oracle, and the host agent of Azure.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];

/// Amazon, Google and Scaleway.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

impl Reach {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        if METADATA_V4.contains(&address) {
            return METADATA;
        }
        match address.octets() {
            [0, ..] => UNSPECIFIED,
            [127, ..] => LOOPBACK,
            [169, 254, ..] => LINK_LOCAL,
            // 192.0.0.0/24 is for protocols, 198.18.0.0/15 for benchmarks; both are only used inside.
            [10, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [100, 64..=127, ..]
            | [192, 0, 0, _]
            | [198, 18..=19, ..] => PRIVATE,
            [224..=239, ..] => MULTICAST,
            [240..=255, ..] => RESERVED,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if METADATA_V6.contains(&address) {
            return METADATA;
        }
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => UNSPECIFIED,
            [0, 0, 0, 0, 0, 0, 0, 1] => LOOPBACK,
            // An IPv4 address in other clothes: compatible or translated, mapped, NAT64, and the router of 6to4.
            [0, 0, 0, 0, 0 | 0xffff, 0, high, low]
            | [0, 0, 0, 0, 0, 0xffff, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => Self::of_v4(v4(high, low)),
            // Here the network chooses where the IPv4 address sits, so it cannot be read out.
            [0x64, 0xff9b, 1, ..] => TRANSLATED,
            // Teredo holds its server, and the client's own address with every bit flipped.
            [0x2001, 0, server_high, server_low, _, _, high, low] => {
                Self::of_v4(v4(server_high, server_low)).max(Self::of_v4(v4(!high, !low)))
            }
            [0xfe80..=0xfebf, ..] => LINK_LOCAL,
            // Site-local addresses are given up, yet old networks still route them.
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => PRIVATE,
            [0xff00..=0xffff, ..] => MULTICAST,
            _ => Self::Public,
        }
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Reach) {
        assert_eq!(Reach::of(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn t15_link_local_and_metadata_are_known_in_every_spelling() {
        check("169.254.169.254", LINK_LOCAL);
        check("169.254.0.1", LINK_LOCAL);
        check("fe80::1", LINK_LOCAL);
        check("febf:ffff::1", LINK_LOCAL);
        check("fd00:ec2::254", METADATA);
        check("fd20:ce::254", METADATA);
        check("100.100.100.200", METADATA);
        check("192.0.0.192", METADATA);
        check("168.63.129.16", METADATA);
        check("::ffff:169.254.169.254", LINK_LOCAL);
        check("::169.254.169.254", LINK_LOCAL);
        check("::ffff:0:169.254.169.254", LINK_LOCAL);
        check("64:ff9b::a9fe:a9fe", LINK_LOCAL);
        check("64:ff9b:1::a9fe:a9fe", TRANSLATED);
        check("2002:a9fe:a9fe::1", LINK_LOCAL);
        check("2001:0:808:808:0:0:5601:5601", LINK_LOCAL);
        check("2001:0:a9fe:a9fe:0:0:f7f7:f7f7", LINK_LOCAL);
    }

    #[test]
    fn t15_addresses_that_name_no_single_host_are_never_dialled() {
        check("0.0.0.0", UNSPECIFIED);
        check("0.1.2.3", UNSPECIFIED);
        check("::", UNSPECIFIED);
        check("::ffff:0.0.0.0", UNSPECIFIED);
        check("224.0.0.251", MULTICAST);
        check("ff02::1", MULTICAST);
        check("255.255.255.255", RESERVED);
        check("240.0.0.1", RESERVED);
    }

    #[test]
    fn t15_the_machine_and_its_network_are_a_matter_of_policy() {
        check("127.0.0.1", LOOPBACK);
        check("127.255.0.9", LOOPBACK);
        check("::1", LOOPBACK);
        check("::ffff:127.0.0.1", LOOPBACK);
        check("64:ff9b::7f00:1", LOOPBACK);
        check("2002:7f00:1::", LOOPBACK);
        check("10.1.2.3", PRIVATE);
        check("172.16.0.1", PRIVATE);
        check("172.31.255.255", PRIVATE);
        check("192.168.0.1", PRIVATE);
        check("100.64.0.1", PRIVATE);
        check("100.127.255.255", PRIVATE);
        check("fd12:3456::1", PRIVATE);
        check("fec0::1", PRIVATE);
        check("2002:c0a8:1::1", PRIVATE);
    }

    #[test]
    fn t15_neighbours_of_the_forbidden_ranges_stay_reachable() {
        for address in ["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "169.253.0.1"] {
            check(address, Reach::Public);
        }
        for address in ["2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "2001:1::1"] {
            check(address, Reach::Public);
        }
    }

    #[test]
    fn t15_each_policy_draws_its_own_line() {
        let refused = AddressPolicy::default();
        let allowed = AddressPolicy::Guarded { private: PrivateAddresses::Allowed };
        let verdicts = |address: &str| {
            let address = address.parse().unwrap();
            [AddressPolicy::Trusted, allowed, refused].map(|policy| policy.check(address).is_ok())
        };
        assert_eq!(verdicts("8.8.8.8"), [true, true, true]);
        assert_eq!(verdicts("127.0.0.1"), [true, true, false]);
        assert_eq!(verdicts("10.0.0.1"), [true, true, false]);
        assert_eq!(verdicts("169.254.169.254"), [true, false, false]);
        assert_eq!(verdicts("fd00:ec2::254"), [true, false, false]);
    }
}
