//! `inet` and `cidr`: addresses of IPv4 and IPv6 with the length of their network's mask.
//!
//! A datum holds them as bytes that sort as PostgreSQL sorts them: by family, by network, by the
//! length of the mask, by address.
//!
//! ```text
//!   192.168.1.5/24     4 | 192 168 1 0 | 24 | 192 168 1 5
//! ```
//!
//! Rule: the address of a `cidr` has no bits beyond its mask.

use std::net::Ipv6Addr;

use crate::text::invalid_syntax;
use crate::{Datum, Error, Result, SqlState, SqlType};

const IPV4: u8 = 4;
const IPV6: u8 = 6;
/// The families as the binary format has them.
const WIRE_IPV4: u8 = 2;
const WIRE_IPV6: u8 = 3;

/// An address with the length of its mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inet {
    /// Whether it is of IPv6.
    pub is_v6: bool,
    /// The length of the mask.
    pub bits: u8,
    /// The address as a number; one of IPv4 in the low 32 bits.
    pub address: u128,
}

impl Inet {
    /// The length of an address in bits.
    pub fn width(&self) -> u8 {
        if self.is_v6 { 128 } else { 32 }
    }

    /// The bits of the network.
    pub fn netmask(&self) -> u128 {
        self.all() & !self.hostmask()
    }

    /// The bits of the host.
    pub fn hostmask(&self) -> u128 {
        let host = u32::from(self.width() - self.bits.min(self.width()));
        if host == 128 { u128::MAX } else { (1 << host) - 1 }
    }

    /// Every bit of an address.
    pub fn all(&self) -> u128 {
        if self.is_v6 { u128::MAX } else { u128::from(u32::MAX) }
    }

    /// The address without the bits of the host.
    pub fn network(&self) -> u128 {
        self.address & self.netmask()
    }

    fn octets(&self, number: u128) -> Vec<u8> {
        let bytes = number.to_be_bytes();
        if self.is_v6 { bytes.to_vec() } else { bytes[12..].to_vec() }
    }

    /// The datum that holds it.
    pub fn to_datum(&self) -> Datum {
        let mut bytes = vec![if self.is_v6 { IPV6 } else { IPV4 }];
        bytes.extend(self.octets(self.network()));
        bytes.push(self.bits);
        bytes.extend(self.octets(self.address));
        Datum::bytes(bytes)
    }

    /// The value of a datum; `None` if it holds none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Inet> {
        let (is_v6, size) = match *bytes.first()? {
            IPV4 => (false, 4),
            IPV6 => (true, 16),
            _ => return None,
        };
        let bits = *bytes.get(1 + size)?;
        let address = number(bytes.get(2 + size..)?);
        (bytes.len() == 2 + 2 * size).then_some(Inet { is_v6, bits, address })
    }

    /// The address without its mask.
    pub fn host(&self) -> String {
        if self.is_v6 { format_v6(self.address) } else { format_v4(self.address) }
    }

    /// The address with its mask.
    pub fn with_mask(&self) -> String {
        format!("{}/{}", self.host(), self.bits)
    }

    /// As the type prints it: `inet` leaves out the mask of a single host.
    pub fn show(&self, ty: &SqlType) -> String {
        if *ty == SqlType::Inet && self.bits == self.width() {
            self.host()
        } else {
            self.with_mask()
        }
    }

    /// A cidr without its zero octets.
    pub fn abbreviated(&self) -> String {
        if self.is_v6 {
            return self.with_mask();
        }
        let octets = usize::from(self.bits.div_ceil(8)).max(1);
        let address = format_v4(self.address);
        let kept: Vec<&str> = address.split('.').take(octets).collect();
        format!("{}/{}", kept.join("."), self.bits)
    }

    /// Parses a literal of `inet` or `cidr`; 22P02 if it is not one.
    pub fn parse(ty: &SqlType, text: &str) -> Result<Inet> {
        let is_cidr = *ty == SqlType::Cidr;
        let invalid = || invalid_syntax(ty.plain_name(), text);
        let parsed = if text.contains(':') { parse_v6(text) } else { parse_v4(text, is_cidr) };
        let inet = parsed.ok_or_else(invalid)?;
        if is_cidr && inet.address & inet.hostmask() != 0 {
            return Err(Error::new(
                SqlState::InvalidTextRepresentation,
                format!("invalid cidr value: \"{text}\""),
            )
            .detail("Value has bits set to right of mask."));
        }
        Ok(inet)
    }

    /// Appends the binary form.
    pub fn encode(&self, ty: &SqlType, out: &mut Vec<u8>) {
        let octets = self.octets(self.address);
        let family = if self.is_v6 { WIRE_IPV6 } else { WIRE_IPV4 };
        let is_cidr = u8::from(*ty == SqlType::Cidr);
        out.extend_from_slice(&[family, self.bits, is_cidr, octets.len() as u8]);
        out.extend_from_slice(&octets);
    }

    /// Reads the binary form; 22P03 if it is none.
    pub fn decode(ty: &SqlType, bytes: &[u8]) -> Result<Inet> {
        let name = ty.plain_name();
        let invalid = |what: &str| {
            let message = format!("invalid {what} in external \"{name}\" value");
            Error::new(SqlState::InvalidBinaryRepresentation, message)
        };
        let [family, bits, _, length, octets @ ..] = bytes else {
            return Err(Error::new(
                SqlState::ProtocolViolation,
                "insufficient data left in message",
            ));
        };
        let is_v6 = match *family {
            WIRE_IPV4 => false,
            WIRE_IPV6 => true,
            _ => return Err(invalid("address family")),
        };
        let inet = Inet { is_v6, bits: *bits, address: number(octets) };
        if *bits > inet.width() {
            return Err(invalid("bits"));
        }
        if *length != inet.width() / 8 || octets.len() != usize::from(*length) {
            return Err(invalid("length"));
        }
        if *ty == SqlType::Cidr && inet.address & inet.hostmask() != 0 {
            let message = "invalid external \"cidr\" value";
            return Err(Error::new(SqlState::InvalidBinaryRepresentation, message)
                .detail("Value has bits set to right of mask."));
        }
        Ok(inet)
    }
}

fn number(octets: &[u8]) -> u128 {
    octets.iter().fold(0, |number, octet| number << 8 | u128::from(*octet))
}

fn format_v4(address: u128) -> String {
    std::net::Ipv4Addr::from(address as u32).to_string()
}

/// The longest run of zero words is left out; an address that embeds one of IPv4 shows it.
fn format_v6(address: u128) -> String {
    let words = Ipv6Addr::from(address).segments();
    let mut best = (0, 0);
    let mut start = 0;
    while start < 8 {
        let length = words[start..].iter().take_while(|word| **word == 0).count();
        if length > best.1 && length > 1 {
            best = (start, length);
        }
        start += length.max(1);
    }
    let hex =
        |words: &[u16]| words.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(":");
    let (start, length) = best;
    if length == 0 {
        return hex(&words);
    }
    let tail = match (start, length) {
        (0, 6) => format_v4(address),
        (0, 5) if words[5] == 0xffff => format!("{}:{}", hex(&words[5..6]), format_v4(address)),
        _ => hex(&words[start + length..]),
    };
    format!("{}::{tail}", hex(&words[..start]))
}

/// The digits of a mask.
fn mask(text: &str, most: u8) -> Option<u8> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bits = if is_number { text.parse().ok()? } else { return None };
    (bits <= most).then_some(bits)
}

fn parse_v4(text: &str, is_cidr: bool) -> Option<Inet> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(mask(bits, 32)?)),
        None => (text, None),
    };
    // An inet may end in a dot.
    let address = if is_cidr { address } else { address.strip_suffix('.').unwrap_or(address) };
    let mut octets = Vec::new();
    for part in address.split('.') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let octet =
            if is_number { part.parse::<u32>().ok().filter(|n| *n <= 255)? } else { return None };
        octets.push(octet as u8);
    }
    if octets.len() > 4 {
        return None;
    }
    let given = octets.len() as u8;
    let bits = match bits {
        Some(bits) if is_cidr || bits / 8 <= given => bits,
        Some(_) => return None,
        None if is_cidr => {
            let class = match octets[0] {
                240.. => 32,
                224.. => 8,
                192.. => 24,
                128.. => 16,
                _ => 8,
            };
            let bits = class.max(given * 8);
            if bits == 8 && octets[0] == 224 { 4 } else { bits }
        }
        None if given == 4 => 32,
        None => return None,
    };
    octets.resize(4, 0);
    Some(Inet { is_v6: false, bits, address: number(&octets) })
}

fn parse_v6(text: &str) -> Option<Inet> {
    let (address, bits) = match text.split_once('/') {
        Some((_, bits)) if bits.len() > 1 && bits.starts_with('0') => return None,
        Some((address, bits)) => (address, mask(bits, 128)?),
        None => (text, 128),
    };
    let address: Ipv6Addr = address.parse().ok()?;
    Some(Inet { is_v6: true, bits, address: u128::from(address) })
}
