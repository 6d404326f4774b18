//! Which addresses may be dialled: only those of the public internet.
//!
//! The prefixes are our own list, from the IANA special-purpose address registries (RFC 6890) and the address
//! plans below, because the ready-made `is_global` of crates calls several ways back into the host global:
//! addresses that carry an IPv4 address inside (mapped, compatible, NAT64, 6to4, Teredo) and multicast.
//!
//! An address that carries another is refused whatever it carries; a network that reaches the public IPv4
//! internet only through NAT64 is therefore not served. Deliberately absent: ISATAP and NAT64 prefixes of a
//! network's own, which look like any other address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for. Only [`AddressClass::Global`] may be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// An address of the public internet.
    Global,
    /// `0.0.0.0/8`, `::`: this host, on many systems.
    Unspecified,
    /// This host.
    Loopback,
    /// A private network (RFC 1918), unique local (RFC 4193) and site-local addresses.
    Private,
    /// One link, and the metadata services of most clouds (RFC 3927, RFC 4291).
    LinkLocal,
    /// A provider's network behind its own translation (RFC 6598).
    Shared,
    /// A cloud's service for its own machines, at an address that looks public.
    Metadata,
    /// Addresses of protocols (RFC 6890).
    Protocol,
    /// Measurements of networks (RFC 2544).
    Benchmarking,
    /// Examples in documents (RFC 5737, RFC 3849, RFC 9637).
    Documentation,
    /// Many hosts at once.
    Multicast,
    /// All hosts of a link.
    Broadcast,
    /// An IPv6 address with an IPv4 address inside, or a gateway to such.
    Embedded,
    /// Not allocated to anyone, or to be discarded.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "public",
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Shared => "carrier-shared",
            Self::Metadata => "cloud metadata",
            Self::Protocol => "protocol",
            Self::Benchmarking => "benchmarking",
            Self::Documentation => "documentation",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Embedded => "embedded",
            Self::Reserved => "reserved",
        })
    }
}

/// The class of an address. The longest prefix that holds it decides.
#[must_use]
pub fn class_of(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(v4) => class_of_v4(v4),
        IpAddr::V6(v6) => class_of_v6(v6),
    }
}

use AddressClass::{
    Benchmarking, Broadcast, Documentation, Embedded, Global, LinkLocal, Loopback, Metadata, Multicast,
    Private, Protocol, Reserved, Shared, Unspecified,
};

/// Longer prefixes first where they overlap.
const V4: &[([u8; 4], u32, AddressClass)] = &[
    ([255, 255, 255, 255], 32, Broadcast),
    ([168, 63, 129, 16], 32, Metadata), // Azure's WireServer
    ([192, 0, 0, 0], 24, Protocol),     // Oracle Cloud's metadata service lies in it
    ([192, 0, 2, 0], 24, Documentation),
    ([192, 88, 99, 0], 24, Embedded), // the 6to4 relay
    ([198, 51, 100, 0], 24, Documentation),
    ([203, 0, 113, 0], 24, Documentation),
    ([169, 254, 0, 0], 16, LinkLocal),
    ([192, 168, 0, 0], 16, Private),
    ([198, 18, 0, 0], 15, Benchmarking),
    ([172, 16, 0, 0], 12, Private),
    ([100, 64, 0, 0], 10, Shared),
    ([0, 0, 0, 0], 8, Unspecified),
    ([10, 0, 0, 0], 8, Private),
    ([127, 0, 0, 0], 8, Loopback),
    ([224, 0, 0, 0], 4, Multicast),
    ([240, 0, 0, 0], 4, Reserved),
];

fn class_of_v4(address: Ipv4Addr) -> AddressClass {
    let within = |net: [u8; 4], length: u32| {
        let differs = u32::from_be_bytes(net) ^ u32::from(address);
        differs.leading_zeros() >= length
    };
    V4.iter().find(|(net, length, _)| within(*net, *length)).map_or(Global, |(_, _, class)| *class)
}

/// Longer prefixes first where they overlap. The last line leaves `2000::/3`, all that is allocated.
const V6: &[([u16; 8], u32, AddressClass)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, Unspecified),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, Loopback),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, Embedded),      // IPv4-compatible
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, Embedded), // IPv4-mapped
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, Embedded), // IPv4-translated
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, Embedded), // NAT64
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Embedded), // NAT64 of local use
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Embedded), // Teredo
    ([0x2001, 0x0002, 0, 0, 0, 0, 0, 0], 48, Benchmarking),
    ([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32, Documentation),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Protocol),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Embedded), // 6to4
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Documentation),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Multicast),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LinkLocal),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Private), // site-local
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Private), // unique local, with the metadata services of AWS and Google
    ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, Global),
    ([0, 0, 0, 0, 0, 0, 0, 0], 0, Reserved),
];

fn class_of_v6(address: Ipv6Addr) -> AddressClass {
    let within = |net: [u16; 8], length: u32| {
        let differs = u128::from(Ipv6Addr::from(net)) ^ u128::from(address);
        differs.leading_zeros() >= length
    };
    V6.iter().find(|(net, length, _)| within(*net, *length)).map_or(Reserved, |(_, _, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::{AddressClass, class_of};
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    fn class(text: &str) -> AddressClass {
        class_of(text.parse().unwrap())
    }

    #[test]
    fn each_prefix_has_its_class_to_its_first_and_last_address() {
        use AddressClass::*;
        for (class_is, addresses) in [
            (Unspecified, "0.0.0.0 0.255.255.255 ::"),
            (Loopback, "127.0.0.1 127.255.255.255 ::1"),
            (Private, "10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.0 192.168.255.255"),
            (Private, "fc00::1 fd00:ec2::254 fd20:ce::254 fdff::1 fec0::1 feff::1"),
            (LinkLocal, "169.254.169.254 169.254.0.0 169.254.255.255 fe80::1 febf::1"),
            (Shared, "100.64.0.1 100.100.100.200 100.127.255.255"),
            (Metadata, "168.63.129.16"),
            (Protocol, "192.0.0.0 192.0.0.192 192.0.0.255 2001:1::1 2001:20::1 2001:1ff::1"),
            (Benchmarking, "198.18.0.0 198.19.255.255 2001:2::1"),
            (Documentation, "192.0.2.1 198.51.100.1 203.0.113.255 2001:db8::1 3fff::1 3fff:fff::1"),
            (Multicast, "224.0.0.1 239.255.255.255 ff02::1 ffff::1"),
            (Broadcast, "255.255.255.255"),
            (Embedded, "::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:8.8.8.8 ::127.0.0.1 ::ffff:0:7f00:1"),
            (Embedded, "64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 64:ff9b:1:ffff::1 2002:7f00:1::"),
            (Embedded, "2001::1 2001:0:ffff::1 192.88.99.1"),
            (Reserved, "240.0.0.1 255.255.255.254 100::1 5f00::1 4000::1 1::1 64:ff9b:2::1 fe00::1"),
            (Global, "93.184.215.14 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0"),
            (
                Global,
                "172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 198.17.255.255 198.20.0.0 223.255.255.255",
            ),
            (
                Global,
                "168.63.129.15 168.63.129.17 2606:2800:21f:cb07:6820:80da:af6b:8b2c 2001:4860:4860::8888",
            ),
            (Global, "2001:200::1 2003::1 2000::1 3ffe::1"),
        ] {
            for address in addresses.split(' ') {
                assert_eq!(class(address), class_is, "{address}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_address_that_carries_another_is_never_global(v4: [u8; 4], tail: [u16; 5]) {
            let [a, b] = [u16::from_be_bytes([v4[0], v4[1]]), u16::from_be_bytes([v4[2], v4[3]])];
            let [t1, t2, t3, t4, t5] = tail;
            for carrier in [
                [0, 0, 0, 0, 0, 0, a, b],
                [0, 0, 0, 0, 0, 0xffff, a, b],
                [0x64, 0xff9b, 0, 0, 0, 0, a, b],
                [0x64, 0xff9b, 1, t1, t2, t3, a, b],
                [0x2002, a, b, t1, t2, t3, t4, t5],
                [0x2001, 0, t1, t2, t3, t4, a, b],
            ] {
                prop_assert_ne!(class_of(IpAddr::V6(Ipv6Addr::from(carrier))), AddressClass::Global);
            }
        }

        #[test]
        fn what_the_standard_library_calls_special_is_never_global(v4: [u8; 4], v6: [u16; 8]) {
            let (v4, v6) = (Ipv4Addr::from(v4), Ipv6Addr::from(v6));
            let special_v4 = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
                || v4.is_broadcast() || v4.is_documentation() || v4.is_unspecified();
            let special_v6 = v6.is_loopback() || v6.is_multicast() || v6.is_unspecified() || v6.is_unique_local()
                || v6.is_unicast_link_local() || v6.to_ipv4().is_some();
            prop_assert!(!special_v4 || class_of(v4.into()) != AddressClass::Global);
            prop_assert!(!special_v6 || class_of(v6.into()) != AddressClass::Global);
        }
    }
}
