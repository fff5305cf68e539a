//! How connections to the cluster are made: plain, or with TLS by files in PEM.
//!
//! The files are read once, when the database is opened. The certificates of PD and of the stores
//! are checked against the authority and against the host of the address that was dialled.

use crate::OpenError;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The files of a connection with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the authority that has signed those of PD and the stores.
    pub ca: PathBuf,
    /// Our own certificate and its key, for a cluster that asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Makes connections.
#[derive(Clone, Default)]
pub(crate) struct Dialer {
    tls: Option<ClientTlsConfig>,
}

impl Dialer {
    /// Reads the files; an error names the one that is at fault.
    pub(crate) fn new(files: Option<&TlsFiles>) -> Result<Dialer, OpenError> {
        let Some(files) = files else { return Ok(Dialer::default()) };
        let mut tls = ClientTlsConfig::new();
        tls = tls.ca_certificate(Certificate::from_pem(certificates(&files.ca)?));
        if let Some((cert, key)) = &files.identity {
            let chain = certificates(cert)?;
            let private = read(key)?;
            PrivateKeyDer::from_pem_slice(&private).map_err(|error| wrong(key, &error))?;
            tls = tls.identity(Identity::from_pem(chain, private));
            // Only together they can be wrong now: the key is not the certificate's.
            let fits = Endpoint::from_static("https://localhost:1").tls_config(tls.clone());
            fits.map_err(|error| wrong(key, &innermost(&error).unwrap_or_default()))?;
        }
        Ok(Dialer { tls: Some(tls) })
    }

    /// A channel that connects when it is first used.
    pub(crate) fn channel(&self, address: &str) -> Result<Channel, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("address \"{address}\": {error}");
        let (scheme, place) = address.split_once("://").unwrap_or(("", address));
        let endpoint = match &self.tls {
            None if scheme == "https" => return Err(wrong(&"it wants TLS: give ca=FILE")),
            None => Endpoint::from_shared(format!("http://{place}")),
            Some(tls) => Endpoint::from_shared(format!("https://{place}"))
                .and_then(|endpoint| endpoint.tls_config(tls.clone())),
        };
        let endpoint = endpoint.map_err(|error| wrong(&error))?;
        Ok(endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true).connect_lazy())
    }

    /// What is wrong, with a guess if one side speaks TLS and the other does not.
    pub(crate) fn explain(&self, status: &tonic::Status) -> String {
        let text = describe(status);
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let hung_up = says(&["connection closed", "roken pipe", "onnection reset"]);
        let guess = match &self.tls {
            Some(_) if hung_up || says(&["InvalidContentType", "handshake eof", "alert"]) => {
                "does the cluster speak TLS, and does it take our certificate?"
            }
            None if hung_up || says(&["h2 protocol error", "http2 error"]) => {
                "does the cluster want TLS (ca=FILE)?"
            }
            _ => return text,
        };
        format!("{text}; {guess}")
    }
}

/// A gRPC status in a few words, with the innermost cause.
pub(crate) fn describe(status: &tonic::Status) -> String {
    let text = format!("{:?}: {}", status.code(), status.message());
    match innermost(status) {
        Some(cause) if !text.contains(&cause) => format!("{text}: {cause}"),
        _ => text,
    }
}

fn innermost(error: &dyn std::error::Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}

fn wrong(file: &Path, why: &dyn std::fmt::Display) -> OpenError {
    OpenError::TlsFile { file: file.to_owned(), why: why.to_string() }
}

fn read(file: &Path) -> Result<Vec<u8>, OpenError> {
    std::fs::read(file).map_err(|error| wrong(file, &error))
}

/// A file of certificates, as it is; at least one, all of them readable.
fn certificates(file: &Path) -> Result<Vec<u8>, OpenError> {
    let bytes = read(file)?;
    let all: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&bytes).collect();
    match all {
        Ok(all) if all.is_empty() => Err(wrong(file, &"there is no certificate in it")),
        Ok(_) => Ok(bytes),
        Err(error) => Err(wrong(file, &error)),
    }
}
