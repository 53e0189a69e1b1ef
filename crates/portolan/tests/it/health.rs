//! A server that is alive but does not answer is noticed without anybody calling it.

use crate::kit::{echoes, pid_of, ready};
use portolan_testkit::{Gateway, Signal, processes};

#[tokio::test]
async fn br_006_a_server_that_stops_answering_is_noticed_replaced_and_served_again() {
    let builder = Gateway::builder()
        .fixture("one", &["--faults"])
        .fixture("two", &["--faults"])
        .env("PORTOLAN_HEALTH_INTERVAL", "1s");
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let (frozen, other) = (pid_of(&client, "one").await, pid_of(&client, "two").await);
    processes::signal(frozen, Signal::STOP);
    gateway.stderr_contains("it has not answered two health checks").await;
    gateway.stderr_contains("it has not answered three health checks").await;
    echoes(&client, "one.echo").await;
    assert_ne!(pid_of(&client, "one").await, frozen);
    processes::wait_gone(&[frozen]).await;
    assert_eq!(pid_of(&client, "two").await, other, "the other server is well and has been left alone");
}
