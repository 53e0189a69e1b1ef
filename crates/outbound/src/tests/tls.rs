//! https: whose certificate is taken, and what is said of one that is not.

use std::io::Write as _;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;

use super::kit::{OK, Server, answer_all, post, read_request};
use crate::{Options, Origin, Outbound, OutboundError, Proxies, read_body};

/// A TLS server, and the file that would make its certificate trusted.
pub(super) struct TlsServer {
    pub(super) server: Server,
    pub(super) authority: tempfile::NamedTempFile,
}

pub(super) async fn tls_server(params: CertificateParams) -> TlsServer {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let mut authority = tempfile::NamedTempFile::new().unwrap();
    authority.write_all(certificate.pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::start(move |tcp, log| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(tcp).await {
                answer_all(stream, log, OK.into()).await;
            }
        }
    })
    .await;
    TlsServer { server, authority }
}

pub(super) fn named(host: &str) -> CertificateParams {
    CertificateParams::new(vec![host.to_owned()]).unwrap()
}

fn trusting(tls: &TlsServer) -> Outbound {
    let extra_ca = Some(tls.authority.path().to_owned());
    Outbound::new(Options { extra_ca, ..Options::default() }).unwrap()
}

async fn refusal(client: &Outbound, tls: &TlsServer) -> String {
    let url = format!("https://{}/", tls.server.address);
    let failure = client.send(post(&url), Origin::File).await.unwrap_err();
    assert!(matches!(failure, OutboundError::NotSent { .. }), "{failure}");
    assert_eq!(tls.server.heads().len(), 0);
    failure.to_string()
}

#[tokio::test]
async fn f32_a_self_signed_certificate_is_refused_by_name() {
    let tls = tls_server(named("127.0.0.1")).await;
    let client = Outbound::new(Options::default()).unwrap();
    let refusal = refusal(&client, &tls).await;
    assert!(refusal.contains("certificate of an unknown issuer (self-signed"), "{refusal}");
}

#[tokio::test]
async fn f32_an_expired_certificate_is_refused_by_name() {
    let mut params = named("127.0.0.1");
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
    let tls = tls_server(params).await;
    let refusal = refusal(&trusting(&tls), &tls).await;
    assert_eq!(refusal, "not sent: tls: certificate expired");
}

#[tokio::test]
async fn f32_a_certificate_for_another_host_is_refused_by_name() {
    let tls = tls_server(named("other.example")).await;
    let refusal = refusal(&trusting(&tls), &tls).await;
    assert_eq!(refusal, "not sent: tls: certificate is for another host");
}

#[tokio::test]
async fn an_extra_authority_makes_its_servers_trusted_and_the_connection_is_reused() {
    let tls = tls_server(named("127.0.0.1")).await;
    let client = trusting(&tls);
    for _ in 0..3 {
        let url = format!("https://{}/mcp", tls.server.address);
        let answer = client.send(post(&url), Origin::File).await.unwrap();
        assert_eq!(read_body(answer.into_body(), 5).await.unwrap(), "hello");
    }
    assert_eq!((tls.server.heads().len(), tls.server.connections()), (3, 1));
}

#[tokio::test]
async fn https_to_a_server_without_tls_is_never_downgraded() {
    let plain = Server::start(|mut stream, log| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        read_request(&mut stream, &log).await;
    })
    .await;
    let client = Outbound::new(Options::default()).unwrap();
    let url = format!("https://{}/", plain.address);
    let failure = client.send(post(&url), Origin::File).await.unwrap_err();
    assert!(matches!(failure, OutboundError::NotSent { .. }), "{failure}");
    assert_eq!(plain.heads().len(), 0);
}

#[test]
fn settings_that_cannot_work_are_refused_at_once_and_without_their_secrets() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let missing = empty.path().join("missing.pem");
    let proxies = Proxies { http: Some("foo://user:hunter2@proxy".to_owned()), ..Proxies::default() };
    let all = [
        Options { extra_ca: Some(empty.path().to_owned()), ..Options::default() },
        Options { extra_ca: Some(missing), ..Options::default() },
        Options { proxies, ..Options::default() },
    ];
    for options in all {
        assert!(!format!("{options:?}").contains("hunter2"));
        let failure = Outbound::new(options).err().unwrap();
        assert!(matches!(failure, OutboundError::Misconfigured { .. }), "{failure}");
        assert!(!failure.to_string().contains("hunter2"), "{failure}");
    }
}
