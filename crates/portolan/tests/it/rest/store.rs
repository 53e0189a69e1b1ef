//! F56, F57 and the key: a start that cannot be sure of its data is refused, and nothing is changed by it.

use super::{connected, one, server, stdio};
use portolan_testkit::{Gateway, GatewayBuilder};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// A gateway that is expected to end with this code; everything that it said.
async fn refused(mut gateway: Gateway, code: i32) -> String {
    let status = gateway.wait_exit().await;
    gateway.stderr().wait_closed("its stderr").await;
    let said = gateway.stderr().all().join("\n");
    assert_eq!(status.code(), Some(code), "{said}");
    assert!(!said.contains("listening on"), "{said}");
    said
}

#[tokio::test]
async fn f56_a_database_that_is_none_is_refused_with_its_path_and_a_remedy_and_not_touched() {
    for garbage in
        [b"this is no database at all, and it is longer than a header of one is".repeat(40), vec![0; 4096]]
    {
        let builder = Gateway::builder();
        let folder = builder.directory().join("data");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("portolan.db");
        std::fs::write(&file, &garbage).unwrap();
        let gateway = builder.fixture("one", &[]).start_serve();
        let journal = gateway.journal("one");
        let said = refused(gateway, 1).await;
        assert!(said.contains(file.to_str().unwrap()), "{said}");
        assert!(said.contains("backup") && said.contains("move it away"), "{said}");
        assert_eq!(journal.starts(), 0, "nothing was started");
    }
}

#[tokio::test]
async fn f56_the_damaged_file_is_byte_for_byte_what_it_was() {
    let builder = Gateway::builder();
    let folder = builder.directory().join("data");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("portolan.db");
    let garbage = b"garbage ".repeat(1000);
    std::fs::write(&file, &garbage).unwrap();
    // Held, so that the folder outlives the gateway that is refused.
    let next = builder.clone();
    refused(builder.start_serve(), 1).await;
    assert_eq!(std::fs::read(&file).unwrap(), garbage);
    // As the remedy says.
    std::fs::rename(&file, folder.join("aside.db")).unwrap();
    let gateway = next.serve().await;
    assert_eq!(gateway.rest().get("/aggregator/servers").await.json(200), json!([]));
}

#[tokio::test]
async fn f56_a_database_that_was_damaged_between_two_lives_is_refused_too() {
    let (gateway, _rest) = one(&[]).await;
    let next = gateway.stop().await;
    let file = next.directory().join("data/portolan.db");
    let mut bytes = std::fs::read(&file).unwrap();
    for byte in &mut bytes[200..] {
        *byte ^= 0x5a;
    }
    std::fs::write(&file, &bytes).unwrap();
    let said = refused(next.clone().start_serve(), 1).await;
    assert!(said.contains(file.to_str().unwrap()), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[tokio::test]
async fn f57_a_second_process_on_the_same_folder_is_refused_and_names_the_first() {
    let (gateway, rest) = one(&[]).await;
    let before = server(&rest, "one").await;
    let mut second = gateway.another().start_serve();
    let status = second.wait_exit().await;
    second.stderr().wait_closed("its stderr").await;
    let said = second.stderr().all().join("\n");
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains(gateway.data().to_str().unwrap()) && said.contains("--data"), "{said}");
    assert!(said.contains(&gateway.pid().to_string()), "it names the first: {said}");
    assert_eq!(server(&rest, "one").await, before, "the first goes on");
    connected(&rest, stdio(&gateway, "two", &[])).await;
    assert_eq!(gateway.journal("one").starts(), 1);
}

/// A data folder with a server and a secret in it, whose gateway has ended, and its key.
async fn ended() -> (GatewayBuilder, String) {
    let (gateway, rest) = one(&[]).await;
    rest.put("/secrets/TOKEN", json!({ "value": "x" })).await.empty(204);
    let next = gateway.stop().await;
    let key = std::fs::read_to_string(key_file(&next)).unwrap();
    (next, key)
}

fn key_file(gateway: &GatewayBuilder) -> PathBuf {
    gateway.directory().join("data/secret.key")
}

fn put_key(gateway: &GatewayBuilder, key: &str) {
    std::fs::write(key_file(gateway), key).unwrap();
    std::fs::set_permissions(key_file(gateway), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Starts it, sees that everything is there again, and ends it.
async fn opens(gateway: GatewayBuilder) -> GatewayBuilder {
    let gateway = gateway.serve().await;
    super::in_state(&gateway.rest(), "one", "CONNECTED").await;
    gateway.stop().await
}

#[tokio::test]
async fn a_key_that_is_not_the_one_is_refused_at_the_start_and_the_right_one_opens_all_again() {
    let (gateway, right) = ended().await;
    let wrong = "00".repeat(32);
    put_key(&gateway, &wrong);
    let said = refused(gateway.clone().start_serve(), 1).await;
    assert!(said.contains("secret.key") && said.contains("PORTOLAN_SECRET_KEY"), "{said}");
    assert!(!said.contains(&wrong) && !said.contains(right.trim()), "{said}");
    put_key(&gateway, &right);
    let gateway = opens(gateway).await;
    // The variable goes before the file, for better or worse.
    let said = refused(gateway.clone().env("PORTOLAN_SECRET_KEY", &wrong).start_serve(), 1).await;
    assert!(said.contains("PORTOLAN_SECRET_KEY"), "{said}");
    let said = refused(gateway.clone().env("PORTOLAN_SECRET_KEY", "too short").start_serve(), 1).await;
    assert!(said.contains("PORTOLAN_SECRET_KEY") && !said.contains("too short"), "{said}");
    put_key(&gateway, &wrong);
    opens(gateway.env("PORTOLAN_SECRET_KEY", right.trim())).await;
}

#[tokio::test]
async fn a_key_that_is_gone_is_refused_and_none_is_made_in_its_place() {
    let (gateway, right) = ended().await;
    std::fs::remove_file(key_file(&gateway)).unwrap();
    let said = refused(gateway.clone().start_serve(), 1).await;
    assert!(said.contains("secret.key"), "{said}");
    assert!(!key_file(&gateway).exists(), "a new key would open nothing and hide what is wrong");
    put_key(&gateway, &right);
    opens(gateway).await;
}

#[tokio::test]
async fn t22_the_folder_and_what_is_in_it_are_nobody_elses_to_read() {
    let (gateway, rest) = one(&[]).await;
    rest.put("/secrets/TOKEN", json!({ "value": "x" })).await.empty(204);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&gateway.data()), 0o700);
    for entry in std::fs::read_dir(gateway.data()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("portolan.db") || name == "secret.key" {
            assert_eq!(mode(&path), 0o600, "{name}");
        }
    }
}
