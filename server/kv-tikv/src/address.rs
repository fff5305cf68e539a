//! The address of a cluster: `tikv://pd1:2379,pd2:2379?prefix=braid/&ca=ca.pem`.

use crate::{OpenError, TlsFiles};
use std::time::Duration;

/// Where a database is: the members of PD that were named, the prefix of its keys, and how to
/// get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TikvAddress {
    /// `host:port` of PD members; one that answers is enough.
    pub pd: Vec<String>,
    /// Every key of the database starts with it, so that several share a cluster.
    pub prefix: String,
    /// How long versions that are hidden live on. `None`: somebody else moves the cluster's safe
    /// point.
    pub gc_life_time: Option<Duration>,
    /// With these, connections to PD and the stores use TLS.
    pub tls: Option<TlsFiles>,
}

impl TikvAddress {
    /// The prefix if none is given.
    pub const PREFIX: &'static str = "braid/";
    const SCHEME: &'static str = "tikv://";
    const PREFIX_MAX: usize = 64;
    /// How long versions live on if nothing is said.
    pub const GC_LIFE_TIME: Duration = Duration::from_secs(600);
    const GC_LIFE_TIME_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

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
        let mut gc_life_time = Some(Self::GC_LIFE_TIME);
        let (mut ca, mut cert, mut key) = (None, None, None);
        for option in options.split('&').filter(|o| !o.is_empty()) {
            match option.split_once('=') {
                Some(("prefix", value)) => prefix = value.to_owned(),
                Some(("ca" | "cert" | "key", "")) => {
                    return Err(wrong("ca, cert and key are names of files"));
                }
                Some(("ca", file)) => ca = Some(file.into()),
                Some(("cert", file)) => cert = Some(file.into()),
                Some(("key", file)) => key = Some(file.into()),
                Some(("gc_life_time", "off")) => gc_life_time = None,
                Some(("gc_life_time", value)) => {
                    let why = "gc_life_time is off, or a time from 1s to 30d such as 10m";
                    gc_life_time = Some(life_time(value).ok_or_else(|| wrong(why))?);
                }
                _ => return Err(wrong(&format!("unknown option \"{option}\""))),
            }
        }
        if prefix.is_empty() || prefix.len() > Self::PREFIX_MAX {
            return Err(wrong("the prefix has 1 to 64 bytes"));
        }
        let tls = match (ca, cert, key) {
            (None, None, None) => None,
            (Some(ca), None, None) => Some(TlsFiles { ca, identity: None }),
            (Some(ca), Some(cert), Some(key)) => Some(TlsFiles { ca, identity: Some((cert, key)) }),
            (None, ..) => return Err(wrong("cert and key need ca")),
            (Some(_), ..) => return Err(wrong("cert and key need each other")),
        };
        Ok(TikvAddress { pd, prefix, gc_life_time, tls })
    }
}

/// `90s`, `10m`, `2h` or `1d`.
fn life_time(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    let time = Duration::from_secs(number.checked_mul(seconds)?);
    (!time.is_zero() && time <= TikvAddress::GC_LIFE_TIME_MAX).then_some(time)
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
    fn versions_live_for_a_time() {
        let parse = |text: &str| TikvAddress::parse(text).map(|address| address.gc_life_time);
        assert_eq!(parse("tikv://a:1").unwrap(), Some(Duration::from_secs(600)));
        assert_eq!(parse("tikv://a:1?gc_life_time=2h").unwrap(), Some(Duration::from_secs(7200)));
        assert_eq!(parse("tikv://a:1?gc_life_time=off").unwrap(), None);
        for wrong in ["", "0s", "10", "31d", "-1s", "\u{b5}", "99999999999999999d"] {
            assert!(parse(&format!("tikv://a:1?gc_life_time={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_for_tls_are_options() {
        let tls = |text: &str| TikvAddress::parse(text).unwrap().tls;
        assert_eq!(tls("tikv://a:1"), None);
        let ca = || "/etc/ca.pem".into();
        assert_eq!(tls("tikv://a:1?ca=/etc/ca.pem"), Some(TlsFiles { ca: ca(), identity: None }));
        let identity = Some(("c.pem".into(), "k.pem".into()));
        let all = "tikv://a:1?prefix=x/&ca=/etc/ca.pem&key=k.pem&cert=c.pem";
        assert_eq!(tls(all), Some(TlsFiles { ca: ca(), identity }));
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
            "tikv://a:1?ca=",
            "tikv://a:1?cert=c&key=k",
            "tikv://a:1?ca=a&cert=c",
            "tikv://a:1?ca=a&key=k",
        ] {
            assert!(TikvAddress::parse(text).is_err(), "{text}");
        }
    }
}
