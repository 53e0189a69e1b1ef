//! Proxies: forwarding, tunnels, who goes around them, and what the guard does with them.

use super::kit::{OK, Server, closed_port, post, tunnel_to};
use super::tls::{named, tls_server};
use crate::proxy::ProxyTable;
use crate::{Options, Origin, Outbound, OutboundError, Proxies, read_body};

/// "user:p@ss" in Basic.
const AUTHORIZATION: &str = "Basic dXNlcjpwQHNz";

fn through(proxy: &Server) -> Proxies {
    let address = format!("http://user:p%40ss@{}", proxy.address);
    Proxies { http: Some(address.clone()), https: Some(address), no_proxy: None }
}

fn client(proxies: Proxies) -> Outbound {
    Outbound::new(Options { proxies, ..Options::default() }).unwrap()
}

#[track_caller]
fn has_header(head: &str, name: &str, value: &str) -> bool {
    head.lines().any(|line| {
        line.split_once(": ").is_some_and(|(key, it)| key.eq_ignore_ascii_case(name) && it == value)
    })
}

#[tokio::test]
async fn f38_plain_http_is_forwarded_in_absolute_form_with_the_proxy_s_password() {
    let proxy = Server::answering(OK).await;
    let answer = client(through(&proxy)).send(post("http://target.invalid/mcp"), Origin::File).await.unwrap();
    assert_eq!(read_body(answer.into_body(), 5).await.unwrap(), "hello");
    let heads = proxy.heads();
    assert!(heads[0].starts_with("POST http://target.invalid/mcp HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(has_header(&heads[0], "proxy-authorization", AUTHORIZATION), "{}", heads[0]);
}

#[tokio::test]
async fn f38_https_goes_through_a_tunnel_and_the_server_never_sees_the_proxy_s_password() {
    let tls = tls_server(named("target.invalid")).await;
    let proxy = tunnel_to(tls.server.address).await;
    let extra_ca = Some(tls.authority.path().to_owned());
    let options = Options { proxies: through(&proxy), extra_ca, ..Options::default() };
    let client = Outbound::new(options).unwrap();
    let answer = client.send(post("https://target.invalid/mcp"), Origin::File).await.unwrap();
    assert_eq!(read_body(answer.into_body(), 5).await.unwrap(), "hello");
    let asked = &proxy.heads()[0];
    assert!(asked.starts_with("CONNECT target.invalid:443 HTTP/1.1\r\n"), "{asked}");
    assert!(has_header(asked, "proxy-authorization", AUTHORIZATION), "{asked}");
    let seen = &tls.server.heads()[0];
    assert!(seen.starts_with("POST /mcp HTTP/1.1\r\n"), "{seen}");
    assert!(!seen.to_lowercase().contains("proxy-authorization"), "{seen}");
}

#[tokio::test]
async fn loopback_targets_go_around_the_proxy() {
    let proxy = Server::answering(OK).await;
    let server = Server::answering(OK).await;
    let client = client(through(&proxy));
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", server.address.port());
        client.send(post(&url), Origin::File).await.unwrap();
    }
    assert_eq!((proxy.connections(), server.heads().len()), (0, 2));
    assert!(!server.heads().concat().to_lowercase().contains("proxy-authorization"));
}

#[test]
fn no_proxy_and_loopback_decide_who_goes_direct() {
    let table = ProxyTable::new(&Proxies {
        http: Some("http://proxy.invalid:3128".to_owned()),
        https: Some("proxy.invalid".to_owned()),
        no_proxy: Some("corp.example, 10.0.0.0/8".to_owned()),
    })
    .unwrap();
    let check = |url: &str, expected: Option<u16>| {
        let found = table.find(&url.parse().unwrap()).unwrap();
        assert_eq!(found.map(|proxy| proxy.port()), expected, "{url}");
    };
    check("http://api.example/", Some(3128));
    check("https://api.example/", Some(80));
    check("http://corp.example/", None);
    check("https://deep.corp.example/", None);
    check("http://10.1.2.3/", None);
    check("http://[::1]:8080/", None);
    check("http://[::ffff:127.0.0.1]/", None);
    check("http://app.localhost./", None);
    check("http://notlocalhost/", Some(3128));
}

#[tokio::test]
async fn t15_guarded_plain_http_is_tunnelled_to_the_very_address_that_was_checked() {
    let server = Server::answering(OK).await;
    let proxy = tunnel_to(server.address).await;
    let client = client(through(&proxy));
    client.send(post("http://192.0.2.7/mcp"), Origin::Registered).await.unwrap();
    assert!(proxy.heads()[0].starts_with("CONNECT 192.0.2.7:80 HTTP/1.1\r\n"), "{:?}", proxy.heads());
    assert!(server.heads()[0].starts_with("POST /mcp HTTP/1.1\r\n"), "{:?}", server.heads());
    assert!(!server.heads()[0].to_lowercase().contains("proxy-authorization"));
}

#[tokio::test]
async fn t15_a_proxy_is_no_way_around_the_guard() {
    let proxy = Server::answering(OK).await;
    let client = client(through(&proxy));
    for url in
        ["http://169.254.169.254/", "https://169.254.169.254/", "http://0xa9fea9fe/", "https://10.0.0.1/"]
    {
        let failure = client.send(post(url), Origin::Registered).await.unwrap_err();
        assert!(matches!(failure, OutboundError::Refused { .. }), "{url}: {failure}");
    }
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn a_proxy_that_refuses_or_babbles_is_named_and_nothing_was_sent() {
    let answers = [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "not sent: proxy: refused the tunnel (403)"),
        ("HTTP/1.0 407 Who\r\n\r\n", "not sent: proxy: wants other credentials (407)"),
        ("SSH-2.0-x\r\n\r\n", "not sent: proxy: its answer to CONNECT is not HTTP"),
    ];
    for (answer, expected) in answers {
        let proxy = Server::answering(answer).await;
        let sent = client(through(&proxy)).send(post("https://target.invalid/"), Origin::File).await;
        assert_eq!(sent.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn a_proxy_that_is_away_or_of_another_kind_fails_the_call_instead_of_going_direct() {
    let away = format!("http://{}", closed_port().await);
    for (proxy, cause) in [(away.as_str(), "connection refused"), ("socks5://127.0.0.1:1", "socks5 proxies")]
    {
        let proxies = Proxies { http: Some(proxy.to_owned()), ..Proxies::default() };
        let failure = client(proxies).send(post("http://target.invalid/"), Origin::File).await.unwrap_err();
        assert!(!failure.was_sent() && failure.to_string().contains(cause), "{failure}");
    }
}
