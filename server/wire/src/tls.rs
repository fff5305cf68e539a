//! TLS: certificate and key from PEM files, with the ring provider.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

/// Why TLS cannot be offered, as a sentence for the operator.
#[derive(Debug)]
pub struct TlsError(String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// Reads a certificate chain and its private key; an error names the file that is at fault.
pub fn load_tls(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let at = |path: &Path, error: &dyn std::fmt::Display| {
        TlsError(format!("could not load \"{}\": {error}", path.display()))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .map_err(|error| at(cert, &error))?;
    if chain.is_empty() {
        return Err(at(cert, &"there is no certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| at(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| TlsError(format!("the TLS certificate cannot be used: {error}")))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
