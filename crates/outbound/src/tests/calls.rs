//! Calls over plain HTTP: what is reused, what counts as sent, what is cut.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;

use super::kit::{OK, Server, answer_all, closed_port, post, read_request};
use crate::{Options, Origin, Outbound, OutboundError, read_body};

fn client() -> Outbound {
    Outbound::new(Options::default()).unwrap()
}

async fn failure(url: &str) -> OutboundError {
    client().send(post(url), Origin::File).await.unwrap_err()
}

#[tokio::test]
async fn calls_in_turn_share_one_connection() {
    let server = Server::answering(OK).await;
    let client = client();
    for _ in 0..20 {
        let answer = client.send(post(&server.url("/mcp")), Origin::File).await.unwrap();
        assert_eq!(read_body(answer.into_body(), 100).await.unwrap(), "hello");
    }
    assert_eq!((server.heads().len(), server.connections()), (20, 1));
    assert!(server.heads()[0].starts_with("POST /mcp HTTP/1.1"));
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_idle_is_not_called_on() {
    let server = Server::start(|mut stream, log| async move {
        if read_request(&mut stream, &log).await.is_some() {
            stream.write_all(OK.as_bytes()).await.unwrap();
        }
    })
    .await;
    let other = Server::answering(OK).await;
    let client = client();
    for _ in 0..3 {
        // The call to the other server is a round trip through the poller, by which the end has been seen.
        for url in [server.url("/"), other.url("/")] {
            let answer = client.send(post(&url), Origin::File).await.unwrap();
            read_body(answer.into_body(), 100).await.unwrap();
        }
    }
    assert_eq!((server.heads().len(), server.connections()), (3, 3));
}

#[tokio::test]
async fn f33_a_refused_connection_counts_as_not_sent_and_says_so() {
    let failure = failure(&format!("http://{}/", closed_port().await)).await;
    assert!(!failure.was_sent());
    assert!(failure.to_string().starts_with("not sent: connection refused (127.0.0.1:"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn f33_a_server_that_never_greets_ends_at_the_connect_timeout() {
    let silent = Server::start(|stream, _| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let options = Options { connect_timeout: Duration::from_secs(3), ..Options::default() };
    let client = Outbound::new(options).unwrap();
    let url = format!("https://{}/", silent.address);
    let failure = client.send(post(&url), Origin::File).await.unwrap_err();
    assert_eq!(failure, OutboundError::NotSent { reason: "no connection within 3s".to_owned() });
}

#[tokio::test]
async fn a_name_that_cannot_exist_counts_as_not_sent() {
    let failure = failure("http://a..b/").await;
    assert_eq!(failure, OutboundError::NotSent { reason: "dns: no such host (a..b)".to_owned() });
}

#[tokio::test]
async fn what_is_not_an_http_address_counts_as_not_sent() {
    for url in ["ftp://127.0.0.1/", "/mcp"] {
        let failure = failure(url).await;
        assert!(matches!(failure, OutboundError::NotSent { .. }), "{url}: {failure}");
    }
}

#[tokio::test]
async fn f05_a_server_that_closes_after_reading_may_have_acted() {
    let server = Server::start(|mut stream, log| async move {
        read_request(&mut stream, &log).await;
    })
    .await;
    let failure = failure(&server.url("/")).await;
    assert!(matches!(failure, OutboundError::Lost { .. }) && failure.was_sent(), "{failure}");
    assert_eq!(server.heads().len(), 1, "a request that was written is never written again");
}

#[tokio::test]
async fn an_answer_that_is_not_http_counts_as_lost() {
    let server = Server::answering("220 smtp.example ready\r\n").await;
    let failure = failure(&server.url("/")).await;
    assert!(matches!(failure, OutboundError::Lost { .. }), "{failure}");
}

#[tokio::test]
async fn a_body_that_breaks_off_counts_as_lost() {
    let server = Server::start(|mut stream, log| async move {
        read_request(&mut stream, &log).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhell").await.unwrap();
    })
    .await;
    let answer = client().send(post(&server.url("/")), Origin::File).await.unwrap();
    let failure = read_body(answer.into_body(), 100).await.unwrap_err();
    assert!(matches!(failure, OutboundError::Lost { .. }), "{failure}");
}

#[tokio::test]
async fn f37_an_announced_length_over_the_limit_is_refused_before_it_comes() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n").await;
    let answer = client().send(post(&server.url("/")), Origin::File).await.unwrap();
    let failure = read_body(answer.into_body(), 16).await.unwrap_err();
    assert_eq!(failure, OutboundError::TooLarge { limit: 16 });
}

#[tokio::test]
async fn f37_an_endless_answer_is_cut_and_its_connection_closed() {
    let cut = Arc::new(Notify::new());
    let notify = Arc::clone(&cut);
    let server = Server::start(move |mut stream, log| {
        let notify = Arc::clone(&notify);
        async move {
            read_request(&mut stream, &log).await;
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head).await.unwrap();
            while stream.write_all(b"5\r\nhello\r\n").await.is_ok() {}
            notify.notify_one();
        }
    })
    .await;
    let answer = client().send(post(&server.url("/")), Origin::File).await.unwrap();
    let failure = read_body(answer.into_body(), 1000).await.unwrap_err();
    assert_eq!(failure, OutboundError::TooLarge { limit: 1000 });
    cut.notified().await;
}

#[tokio::test]
async fn a_body_in_pieces_is_put_together_up_to_the_very_limit() {
    let pieces =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n4\r\nfghi\r\n0\r\n\r\n";
    let server = Server::answering(pieces).await;
    let client = client();
    for (limit, expected) in [(9, Ok("abcdefghi".into())), (8, Err(OutboundError::TooLarge { limit: 8 }))] {
        let answer = client.send(post(&server.url("/")), Origin::File).await.unwrap();
        assert_eq!(read_body(answer.into_body(), limit).await, expected);
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_empty_body() {
    let server = Server::answering("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").await;
    let answer = client().send(post(&server.url("/")), Origin::File).await.unwrap();
    assert_eq!(read_body(answer.into_body(), 0).await.unwrap(), "");
}

#[tokio::test]
async fn t14_a_redirect_comes_back_and_its_target_sees_nothing() {
    let canary = Server::answering(OK).await;
    for status in [301, 302, 307, 308] {
        let location = canary.url("/stolen");
        let redirect =
            format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        let server = Server::answering(redirect).await;
        let answer = client().send(post(&server.url("/")), Origin::File).await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn t22_no_credential_of_the_request_gets_into_an_error() {
    let breaking = Server::start(|mut stream, log| async move {
        read_request(&mut stream, &log).await;
    })
    .await;
    for address in [closed_port().await, breaking.address] {
        let mut request = post(&format!("http://user:hunter2@{address}/path?token=hunter2"));
        request.headers_mut().insert("authorization", "Bearer hunter2".parse().unwrap());
        let failure = client().send(request, Origin::File).await.unwrap_err();
        assert!(!format!("{failure} {failure:?}").contains("hunter2"), "{failure:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_each_get_their_own_answer() {
    let server = Server::start(|stream, log| answer_all(stream, log, OK.into())).await;
    let client = client();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (client, url) = (client.clone(), server.url("/"));
        callers.spawn(async move {
            for _ in 0..5 {
                let answer = client.send(post(&url), Origin::File).await.unwrap();
                assert_eq!(read_body(answer.into_body(), 5).await.unwrap(), "hello");
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
    assert_eq!(server.heads().len(), 320);
}
