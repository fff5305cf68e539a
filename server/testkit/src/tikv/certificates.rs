//! Certificates for stand-ins that speak TLS: an authority and what it signs, in PEM.

use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Signs certificates.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

/// How a stand-in speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate of PD and of all stores.
    pub identity: Identity,
    /// Clients have to show a certificate that this authority has signed.
    pub client_ca: Option<String>,
}

impl Authority {
    /// A new one, which nobody else trusts.
    ///
    /// # Panics
    /// If there are no random bytes.
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        // Two of one name would be taken for one that has signed wrongly.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Authority { pem, issuer: Issuer::new(params, key) }
    }

    /// Its own certificate, for those who are to trust it.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for this machine.
    ///
    /// # Panics
    /// As [`Authority::new`].
    pub fn issue(&self) -> Identity {
        self.issue_for(&["localhost", "127.0.0.1"])
    }

    /// A certificate for hosts of these names and addresses.
    ///
    /// # Panics
    /// As [`Authority::new`], or if a name is none.
    pub fn issue_for(&self, hosts: &[&str]) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let params = CertificateParams::new(hosts).expect("names of hosts");
        let cert = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Identity { cert, key: key.serialize_pem() }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Authority::new()
    }
}
