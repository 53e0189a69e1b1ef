//! `portolan events` and `portolan list --watch`: what happens, for as long as somebody looks.

use super::scripted::{Scripted, event_stream};
use super::{Person, fixture};
use portolan_testkit::{DEADLINE, Gateway, Signal, processes};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

/// A verb that goes on until it is told to end.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn start(person: &Person, arguments: &[&str]) -> Self {
        let mut child = person.command(arguments).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await;
        line.expect("a line in time").unwrap().expect("another line")
    }

    async fn event(&mut self) -> Value {
        let line = self.line().await;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Ctrl-C; the code that it ends with.
    async fn interrupt(mut self) -> Option<i32> {
        processes::signal(self.child.id().unwrap(), Signal::INT);
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        ended.expect("it ends").unwrap().code()
    }
}

#[tokio::test]
async fn a_stream_that_breaks_goes_on_behind_the_last_event() {
    let event =
        |id: u64| json!({ "id": id, "type": "server.status", "server_name": "one", "status": "ERROR" });
    let scripted = Scripted::start(move |request| {
        let after = request.header("last-event-id").map(str::to_owned);
        match after.as_deref() {
            None => event_stream(&[(7, event(7))]),
            Some("7") => event_stream(&[(8, event(8)), (9, event(9))]),
            Some(other) => panic!("after {other}?"),
        }
    });
    let scripted = scripted.await;
    for verb in [&["events", "--json"][..], &["list", "--watch"]] {
        let mut watching = Watching::start(&scripted.person(), verb);
        for id in [7, 8, 9] {
            assert_eq!(watching.event().await, event(id), "{verb:?}");
        }
        assert_eq!(watching.interrupt().await, Some(0), "{verb:?}");
    }
}

#[tokio::test]
async fn events_are_told_in_words_as_they_happen() {
    let gateway = Gateway::builder().serve().await;
    let person = Person::at(&gateway);
    let mut watching = Watching::start(&person, &["events"]);
    // Nobody tells when it follows, so something happens until it does.
    let first = {
        let busy = async {
            for n in 0.. {
                person.does(&["add", &format!("s{n}"), "--no-connect", "http://127.0.0.1:9/"]).await;
            }
        };
        tokio::select! {
            () = busy => unreachable!("it goes on for ever"),
            line = watching.line() => line,
        }
    };
    assert!(first.contains("  server.registered  s"), "{first}");
    person.does(&["add", "last", "--", &fixture()]).await;
    let mut line = first;
    while !line.ends_with("  server.status  last  CONNECTED") {
        line = watching.line().await;
    }
    assert_eq!(watching.interrupt().await, Some(0));
}

#[tokio::test]
async fn there_must_be_something_to_follow() {
    Person::new().fails(&["events"], 1, "no Portolan is running here").await;
    Person::new().fails(&["list", "--watch", "--url", "http://127.0.0.1:9"], 1, "nothing answers").await;
}
