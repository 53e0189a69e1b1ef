//! Addresses that came over REST: judged by what they resolve to, before anything is dialled.

use super::kit::{OK, Server, post};
use crate::{AddressPolicy, Options, Origin, Outbound, OutboundError, PrivateAddresses};

#[tokio::test]
async fn t15_no_spelling_of_a_forbidden_address_reaches_the_canary() {
    let canary = Server::answering(OK).await;
    let client = Outbound::new(Options::default()).unwrap();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "169.254.169.254",
        "[64:ff9b::a9fe:a9fe]",
        "[fd00:ec2::254]",
        "localhost",
    ];
    for host in hosts {
        let url = format!("http://{host}:{}/", canary.address.port());
        let failure = client.send(post(&url), Origin::Registered).await.unwrap_err();
        assert!(matches!(failure, OutboundError::Refused { .. }), "{host}: {failure}");
        assert!(!failure.was_sent());
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn t15_a_trailing_dot_hides_nothing() {
    let canary = Server::answering(OK).await;
    let client = Outbound::new(Options::default()).unwrap();
    for host in ["localhost.", "127.0.0.1."] {
        let url = format!("http://{host}:{}/", canary.address.port());
        // Systems differ in whether such a name resolves at all.
        assert!(!client.send(post(&url), Origin::Registered).await.unwrap_err().was_sent(), "{host}");
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn t15_private_addresses_open_by_policy_and_metadata_does_not() {
    let server = Server::answering(OK).await;
    let policy = AddressPolicy::Guarded { private: PrivateAddresses::Allowed };
    let client = Outbound::new(Options { policy, ..Options::default() }).unwrap();
    assert!(client.send(post(&server.url("/")), Origin::Registered).await.is_ok());
    let failure = client.send(post("http://169.254.169.254/latest"), Origin::Registered).await.unwrap_err();
    assert_eq!(failure.to_string(), "address 169.254.169.254 is refused: link-local address");
}

#[tokio::test]
async fn t15_a_connection_dialled_for_the_local_file_is_not_lent_to_rest() {
    let server = Server::answering(OK).await;
    let client = Outbound::new(Options::default()).unwrap();
    let answer = client.send(post(&server.url("/")), Origin::File).await.unwrap();
    crate::read_body(answer.into_body(), 100).await.unwrap();
    let failure = client.send(post(&server.url("/")), Origin::Registered).await.unwrap_err();
    assert!(matches!(failure, OutboundError::Refused { .. }), "{failure}");
    assert_eq!(server.heads().len(), 1);
}
