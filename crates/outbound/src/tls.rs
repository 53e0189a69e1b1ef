//! TLS towards servers: the roots of the machine, read when the first https connection is made.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::OutboundError;
use crate::error::io_cause;

pub(crate) struct Tls {
    extra: Vec<CertificateDer<'static>>,
    /// Reading the store of the machine takes milliseconds; a run with stdio servers alone never pays them.
    connector: OnceCell<TlsConnector>,
}

impl Tls {
    /// The extra file is read at once: a wrong path is an error of the settings, not of the first server.
    pub(crate) fn new(extra_ca: Option<&Path>) -> Result<Self, OutboundError> {
        let extra = extra_ca.map_or_else(|| Ok(Vec::new()), read_authorities)?;
        Ok(Self { extra, connector: OnceCell::new() })
    }

    pub(crate) async fn handshake(
        &self,
        host: &str,
        tcp: TcpStream,
    ) -> Result<TlsStream<TcpStream>, OutboundError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| OutboundError::not_sent("tls: the host is not a valid name"))?;
        let connector = self.connector.get_or_try_init(|| connector(self.extra.clone())).await?;
        connector.connect(name, tcp).await.map_err(|failure| OutboundError::not_sent(tls_cause(&failure)))
    }
}

fn read_authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, OutboundError> {
    let unusable = |cause: String| OutboundError::Misconfigured {
        reason: format!("certificate authorities in {}: {cause}", path.display()),
    };
    let authorities: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|failure| unusable(failure.to_string()))?;
    if authorities.is_empty() {
        return Err(unusable("no certificate in the file".to_owned()));
    }
    Ok(authorities)
}

async fn connector(extra: Vec<CertificateDer<'static>>) -> Result<TlsConnector, OutboundError> {
    let config = tokio::task::spawn_blocking(move || client_config(extra))
        .await
        .map_err(|_| OutboundError::not_sent("tls: the certificate store could not be read"))?;
    config
        .map(|config| TlsConnector::from(Arc::new(config)))
        .map_err(|failure| OutboundError::not_sent(format!("tls: {failure}")))
}

fn client_config(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let native = rustls_native_certs::load_native_certs();
    for failure in &native.errors {
        tracing::warn!(%failure, "a part of the machine's certificate store could not be read");
    }
    let mut roots = RootCertStore::empty();
    // Stores of real machines hold ancient entries that do not parse; the good ones must still count.
    let (added, _ignored) = roots.add_parsable_certificates(native.certs);
    if added == 0 && extra.is_empty() {
        tracing::warn!("this machine has no certificate authorities: every https server will be refused");
    }
    for authority in extra {
        roots.add(authority)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// rustls names its variants; people want to know what to do about the certificate.
fn tls_cause(failure: &std::io::Error) -> String {
    let inner = failure.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(inner) = inner else { return format!("tls: {}", io_cause(failure)) };
    let rustls::Error::InvalidCertificate(certificate) = inner else { return format!("tls: {inner}") };
    if matches!(certificate, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        return "tls: certificate expired".to_owned();
    }
    if matches!(certificate, CertificateError::UnknownIssuer) {
        return "tls: certificate of an unknown issuer (self-signed, or its authority is not installed here)"
            .to_owned();
    }
    if matches!(
        certificate,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    ) {
        return "tls: certificate is for another host".to_owned();
    }
    format!("tls: {inner}")
}
