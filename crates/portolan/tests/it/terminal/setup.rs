//! Where the running Portolan is found, what `doctor` says of the set-up, and what describes the command line itself.

use super::{Person, fixture, text};
use portolan_testkit::{Gateway, Signal};
use serde_json::json;

#[tokio::test]
async fn a_running_portolan_is_found_by_its_data_folder_and_a_dead_one_is_plainly_said() {
    let not_running = "no Portolan is running here: start one with `portolan serve`, or give --url";
    let person = Person::new();
    person.fails(&["list"], 1, not_running).await;
    let mut gateway = Gateway::builder().serve().await;
    let data = gateway.data();
    let list = ["list", "--data", text(&data)];
    assert!(person.does(&list).await.starts_with("no servers yet"));
    let settings = person.write("portolan.toml", &format!("data = {:?}\n", text(&data)));
    assert!(person.does(&["list", "--settings", text(&settings)]).await.starts_with("no servers yet"));
    let left = std::fs::read(data.join("serve.json")).unwrap();
    gateway.signal(Signal::TERM);
    gateway.wait_exit().await;
    person.fails(&list, 1, not_running).await;
    std::fs::write(data.join("serve.json"), left).unwrap();
    person.fails(&list, 1, not_running).await;
    std::fs::write(data.join("serve.json"), "half a no").unwrap();
    person.fails(&list, 1, not_running).await;
}

#[tokio::test]
async fn an_address_that_is_given_goes_before_all_others() {
    let gateway = Gateway::builder().serve().await;
    let closed = "http://127.0.0.1:9";
    let person = Person::new().with("PORTOLAN_URL", closed);
    let data = gateway.data();
    person.fails(&["list", "--data", text(&data)], 1, "nothing answers at http://127.0.0.1:9/: ").await;
    person.does(&["list", "--url", &gateway.url_of("")]).await;
    Person::at(&gateway).fails(&["list", "--url", closed], 1, "nothing answers").await;
    for wrong in ["localhost:7777", "ftp://h", ""] {
        person.fails(&["list", "--url", wrong], 2, "--url").await;
    }
    Person::new().with("PORTOLAN_URL", "nowhere").fails(&["list"], 2, "PORTOLAN_URL").await;
}

#[tokio::test]
async fn doctor_without_a_file_looks_at_the_set_up_and_at_the_servers_that_run() {
    let person = Person::new();
    let alone = person.run(&["doctor"]).await;
    assert_eq!(alone.code, Some(0), "nothing is wrong where nothing is: {alone:?}");
    assert!(alone.out.contains("off     serve: no Portolan is running here"), "{}", alone.out);
    let gateway = Gateway::builder().serve().await;
    let data = gateway.data();
    let doctor = ["doctor", "--data", text(&data)];
    let well = person.run(&doctor).await;
    assert_eq!(well.code, Some(0), "{well:?}");
    assert!(well.out.contains(&format!("ok      data: {}", data.display())), "{}", well.out);
    assert!(well.out.contains(&format!("as process {}", gateway.pid())), "{}", well.out);
    let at = Person::at(&gateway);
    at.does(&["add", "good", "--", &fixture()]).await;
    at.does(&["add", "gone", "--no-connect", "--", "portolan-no-such-program"]).await;
    at.fails(&["connect", "gone", "--wait"], 1, "ERROR").await;
    let ill = person.run(&doctor).await;
    assert_eq!(ill.code, Some(1), "{ill:?}");
    let wrong: Vec<&str> = ill.out.lines().filter(|line| line.starts_with("WRONG")).collect();
    assert!(wrong.len() == 1 && wrong[0].contains("gone: ") && wrong[0].contains("not found"), "{wrong:?}");
    let ran = person.run(&[&doctor[..], &["--json"]].concat()).await;
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let looks = report["setup"].as_array().unwrap();
    assert!(looks.iter().any(|look| look["what"] == "serve" && look["verdict"] == "ok"), "{report}");
    assert_eq!(report["servers"], json!([]));
}

#[tokio::test]
async fn every_verb_has_help_with_an_example_and_a_slip_is_told_the_right_one() {
    let person = Person::new();
    for verb in [
        "serve",
        "import",
        "add",
        "list",
        "show",
        "connect",
        "disconnect",
        "reconnect",
        "refresh",
        "remove",
        "tools",
        "call",
        "history",
        "events",
        "secret",
        "config",
        "doctor",
        "completions",
        "man",
    ] {
        let help = person.does(&[verb, "--help"]).await;
        let examples =
            help.split_once("Example").unwrap_or_else(|| panic!("{verb} has no example: {help}")).1;
        assert!(examples.contains(&format!("portolan {verb}")), "{help}");
    }
    person.fails(&["lst"], 2, "a similar subcommand exists: 'list'").await;
    person.fails(&["list", "--wacht"], 2, "--watch").await;
}

#[tokio::test]
async fn completions_and_pages_come_from_the_command_line_itself() {
    let person = Person::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = person.does(&["completions", shell]).await;
        assert!(script.contains("disconnect") && script.contains("no-connect"), "{shell}");
    }
    person.fails(&["completions", "cmd"], 2, "bash").await;
    assert!(person.does(&["man"]).await.contains(".TH portolan 1"));
    assert!(person.does(&["man", "secret", "set"]).await.contains("portolan secret set GITHUB_TOKEN"));
    person.fails(&["man", "no-such-verb"], 2, "there is no verb").await;
}
