//! Addresses from the command line, and how they are shown.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The first address that `HOST:PORT` stands for.
pub(crate) async fn resolve(option: &str, text: &str) -> Result<SocketAddr, String> {
    let mut found = tokio::net::lookup_host(text)
        .await
        .map_err(|error| format!("{option} \"{text}\" is no address: {error}"))?;
    found.next().ok_or_else(|| format!("{option} \"{text}\" stands for no address"))
}

/// The address as a client on this machine would write it.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_shown_as_loopback() {
        let shown = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(shown("0.0.0.0:5"), "127.0.0.1:5");
        assert_eq!(shown("[::]:5"), "[::1]:5");
        assert_eq!(shown("10.1.2.3:5"), "10.1.2.3:5");
    }
}
