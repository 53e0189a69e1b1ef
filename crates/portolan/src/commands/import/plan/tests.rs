//! Plans for files with every kind of server in them.

use super::*;
use portolan_config::{Program, read_program};

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn source(&self, name: &str, servers: &str) -> Source {
        let path = self.0.path().join(name);
        std::fs::write(&path, format!(r#"{{"mcpServers": {{{servers}}}}}"#)).unwrap();
        Source { found: read_program(Program::Cursor, &path), path }
    }

    fn env(&self, variables: &[(&str, &str)]) -> Environment {
        let home = ("HOME".to_owned(), self.0.path().to_str().unwrap().to_owned());
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::from(variables.chain([home]).collect::<BTreeMap<_, _>>())
    }
}

fn there(servers: &[&str], secrets: &[&str]) -> There {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    There { servers: set(servers), secrets: set(secrets) }
}

#[track_caller]
fn check(plan: &Plan, expected: &str) {
    let shown = anstream::adapter::strip_str(&plan.table().render(None)).to_string();
    assert_eq!(shown, expected, "\n{shown}");
}

#[test]
fn each_server_is_added_or_skipped_with_a_reason() {
    let files = Files::new();
    let sources = vec![files.source(
        "a.json",
        r#""run": {"command": "npx", "args": ["-y", "hunter2"]},
           "web": {"url": "https://u:hunter2@h.example/hunter2?k=hunter2"},
           "old": {"type": "sse", "url": "https://${HOST}/sse", "headers": {"A": "${HOST:-x}"}},
           "there": {"command": "x"},
           "off": {"command": "x", "disabled": true}"#,
    )];
    let env = files.env(&[("HOST", "h")]);
    let plan = Plan::new(sources, Some(&there(&["there"], &[])), &env);
    check(
        &plan,
        "FILE      SERVER  REACHED         PLAN\n\
         ~/a.json  run     runs npx        add\n\
         ~/a.json  web     HTTP h.example  add\n\
         ~/a.json  old     SSE             add, with HOST from your environment\n\
         ~/a.json  there   runs x          skip: already there\n\
         ~/a.json  off                     skip: it is switched off in Cursor\n",
    );
    assert_eq!(plan.additions(), 3);
    assert!(!plan.json().to_string().contains("hunter2"));
}

#[test]
fn a_secret_comes_from_the_environment_unless_it_is_kept_already() {
    let files = Files::new();
    let sources = vec![files.source(
        "a.json",
        r#""a": {"command": "x", "env": {"T": "${TOKEN}", "K": "${KEPT}"}},
           "b": {"command": "x", "args": ["${TOKEN}", "${UNSET:-d}", "${SET:-d}"]},
           "c": {"command": "x", "args": ["${UNSET}", "${EMPTY}", "${TOKEN}"]},
           "d": {"command": "x", "args": ["${EMPTY}"]}"#,
    )];
    let env = files.env(&[("TOKEN", "hunter2"), ("KEPT", "mine"), ("SET", "s"), ("EMPTY", "")]);
    let plan = Plan::new(sources, Some(&there(&[], &["KEPT"])), &env);
    check(
        &plan,
        "FILE      SERVER  REACHED  PLAN\n\
         ~/a.json  a       runs x   add, with TOKEN from your environment\n\
         ~/a.json  b       runs x   add, with TOKEN, SET from your environment\n\
         ~/a.json  c       runs x   skip: ${UNSET}, ${EMPTY} are not set: export them, or use `portolan secret set`\n\
         ~/a.json  d       runs x   skip: ${EMPTY} is not set: export it, or `portolan secret set EMPTY`\n",
    );
    let set: Vec<(&str, &str)> =
        plan.secrets.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(set, [("SET", "s"), ("TOKEN", "hunter2")]);
    assert!(!plan.json().to_string().contains("hunter2"));
}

#[test]
fn of_two_servers_with_one_name_the_first_wins_and_the_same_one_is_said_once() {
    let files = Files::new();
    let sources = vec![
        files.source(
            "a.json",
            r#""same": {"command": "x"}, "other": {"command": "x"}, "late": {"command": "${UNSET}"}"#,
        ),
        files.source(
            "b.json",
            r#""same": {"command": "x"}, "other": {"command": "y"}, "late": {"command": "x"}"#,
        ),
    ];
    check(
        &Plan::new(sources, None, &files.env(&[])),
        "FILE      SERVER  REACHED        PLAN\n\
         ~/a.json  same    runs x         add\n\
         ~/a.json  other   runs x         add\n\
         ~/a.json  late    runs ${UNSET}  skip: ${UNSET} is not set: export it, or `portolan secret set UNSET`\n\
         ~/b.json  other   runs y         skip: another server of this name comes from ~/a.json\n\
         ~/b.json  late    runs x         add\n",
    );
}

#[test]
fn a_file_that_cannot_be_read_is_a_row_and_does_not_keep_the_others_out() {
    let files = Files::new();
    let good = files.source("b.json", r#""a": {"command": "x"}"#);
    let broken = files.source("a.json", "}");
    let plan = Plan::new(vec![broken, good], None, &files.env(&[]));
    assert_eq!(plan.rows.len(), 2);
    assert!(matches!(&plan.rows[0], Row { step: Step::Skip(_), server, .. } if server == "-"));
    assert_eq!(plan.additions(), 1);
}
