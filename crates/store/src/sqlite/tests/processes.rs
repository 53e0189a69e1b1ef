//! Two processes and one folder: the second one is this test program again, which runs the same test in its other role.

use super::{names, opened, server};
use crate::sqlite::SqliteStore;
use crate::{Page, Store, StoreError, ToolDraft, ToolFinder};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Where the other process finds the folder; without it a test is the first process.
const FOLDER: &str = "PORTOLAN_TEST_FOLDER";
/// What the other process has to tell stands behind this, among what the test runner prints.
const TELLS: &str = "told: ";

#[expect(clippy::disallowed_methods, reason = "a test program has no other way to hear what it is to be")]
fn role() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Ends with the test that started it, whatever the outcome.
struct Other {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Other {
    #[expect(clippy::disallowed_methods, reason = "what two processes do to each other needs a second one")]
    fn start(test: &str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("sqlite::tests::processes::{test}"), "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// The next thing that it tells; `None` when it has ended.
    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, told)) = line.trim_end().split_once(TELLS) {
                return Some(told.to_owned());
            }
            line.clear();
        }
        None
    }

    /// With no time to tidy up.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test]
async fn f57_a_second_process_is_told_who_has_the_folder() {
    if let Some(folder) = role() {
        let _store = opened(&folder).await;
        println!("{TELLS}open");
        std::future::pending::<()>().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut other = Other::start("f57_a_second_process_is_told_who_has_the_folder", folder.path());
    assert_eq!(other.next().as_deref(), Some("open"));
    let refusal = SqliteStore::open(folder.path()).await.err().unwrap();
    let expected = format!("pid {}", other.child.id());
    assert!(
        matches!(&refusal, StoreError::InUse { holder: Some(holder), .. } if *holder == expected),
        "{refusal}"
    );
    assert!(refusal.to_string().contains("--data"), "{refusal}");
    // Its lock ends with it, however it ends.
    other.kill();
    opened(folder.path()).await.add_server(&server("github")).await.unwrap();
}

const TOOLS: u64 = 20;

/// Registers servers with tools without end, and tells the name of each one that is safe.
async fn register_for_ever(folder: &Path) {
    let store = opened(folder).await;
    let draft = |number| ToolDraft {
        name: format!("tool_{number}"),
        description: None,
        definition: "x".repeat(500),
        fingerprint: "x".to_owned(),
    };
    let drafts: Vec<ToolDraft> = (0..TOOLS).map(draft).collect();
    for number in 0.. {
        let server = server(&format!("server-{number:06}"));
        store.add_server(&server).await.unwrap();
        store.put_tools(server.id, &drafts).await.unwrap();
        println!("{TELLS}{}", server.name);
    }
}

#[tokio::test]
async fn f54_what_was_acknowledged_survives_a_kill_in_the_middle_of_a_write() {
    if let Some(folder) = role() {
        register_for_ever(&folder).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "f54_what_was_acknowledged_survives_a_kill_in_the_middle_of_a_write";
    let mut other = Other::start(test, folder.path());
    let mut safe: Vec<String> = (0..25).map_while(|_| other.next()).collect();
    assert_eq!(safe.len(), 25);
    other.kill();
    safe.extend(std::iter::from_fn(|| other.next()));

    let store = opened(folder.path()).await;
    store.integrity().await.unwrap();
    let kept = names(&store).await;
    // The one that was under way may be there as well, and then it is whole, with all of its tools or with none.
    assert!(kept.starts_with(&safe) && kept.len() <= safe.len() + 1, "{kept:?} after {safe:?}");
    let tools = store.tools(&ToolFinder::default(), Page::ALL).await.unwrap().total;
    let whole = safe.len() as u64 * TOOLS;
    assert!([whole, whole + TOOLS].contains(&tools), "{tools} tools after {safe:?}");
}
