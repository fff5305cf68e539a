//! The address of a cluster: `tikv://pd1:2379,pd2:2379?prefix=braid/`.

use crate::OpenError;

/// Where a database lies: the members of PD that were named, and the prefix of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TikvAddress {
    /// `host:port` of PD members; one that answers is enough.
    pub pd: Vec<String>,
    /// Every key of the database starts with it, so that several share a cluster.
    pub prefix: String,
}

impl TikvAddress {
    /// The prefix if none is given.
    pub const PREFIX: &'static str = "braid/";
    const SCHEME: &'static str = "tikv://";
    const PREFIX_MAX: usize = 64;

    /// Reads an address. Unknown options are refused.
    pub fn parse(text: &str) -> Result<TikvAddress, OpenError> {
        let wrong =
            |why: &str| OpenError::Address { address: text.to_owned(), why: why.to_owned() };
        let rest = text.strip_prefix(Self::SCHEME).ok_or_else(|| wrong("expected tikv://"))?;
        let (members, options) = rest.split_once('?').unwrap_or((rest, ""));
        let members = members.strip_suffix('/').unwrap_or(members);
        let pd: Vec<String> = members.split(',').map(|m| m.trim().to_owned()).collect();
        for member in &pd {
            let port = member.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
                return Err(wrong("expected host:port of PD members, separated by commas"));
            }
        }
        let mut prefix = Self::PREFIX.to_owned();
        for option in options.split('&').filter(|o| !o.is_empty()) {
            match option.split_once('=') {
                Some(("prefix", value)) => prefix = value.to_owned(),
                _ => return Err(wrong(&format!("unknown option \"{option}\""))),
            }
        }
        if prefix.is_empty() || prefix.len() > Self::PREFIX_MAX {
            return Err(wrong("the prefix has 1 to 64 bytes"));
        }
        Ok(TikvAddress { pd, prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_members_and_a_prefix() {
        let address = TikvAddress::parse("tikv://a:1,b:2?prefix=x/").unwrap();
        assert_eq!((address.pd.len(), address.prefix.as_str()), (2, "x/"));
        assert_eq!(TikvAddress::parse("tikv://[::1]:2379").unwrap().prefix, "braid/");
    }

    #[test]
    fn wrong_addresses_are_refused() {
        for text in [
            "a:1",
            "tikv://",
            "tikv://a",
            "tikv://a:b",
            "tikv://a:1?x=1",
            "tikv://:1",
            "tikv://a:1,",
            "tikv://a:1?prefix=",
        ] {
            assert!(TikvAddress::parse(text).is_err(), "{text}");
        }
    }
}
