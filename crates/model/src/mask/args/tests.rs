//! Which arguments are shown, and which are not.

use super::*;
use proptest::prelude::*;

#[track_caller]
fn check(args: &[&str], expected: &[&str]) {
    assert_eq!(mask_args(args.iter().copied()), expected);
}

#[track_caller]
fn check_shown(args: &[&str]) {
    check(args, args);
}

#[test]
fn paths_names_of_packages_and_plain_flags_are_shown() {
    check_shown(&[
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "${HOME}/notes",
        "/srv/data/2024/reports",
    ]);
    check_shown(&[
        "mcp-server-fetch@2025.1.1",
        "--from",
        "git+https://github.com/acme/mcp2.git@v1.2.3",
        "mcp",
    ]);
    check_shown(&[
        "run",
        "-i",
        "--rm",
        "ghcr.io/github/github-mcp-server:v0.13.0",
        "-e",
        "NODE_ENV=production",
    ]);
    check_shown(&[
        "/usr/lib/python3/dist-packages/mcp/server",
        "./build/index.js",
        "C:\\tools\\mcp2\\server.exe",
    ]);
    check_shown(&[
        "--directory",
        "/nix/store/0c8zzkd7p1n2d4h5b6j7k8l9m0q1r2s3-nodejs-18/bin",
        "--port",
        "8080",
    ]);
    check_shown(&[
        "--model",
        "claude-3-5-sonnet-20241022",
        "--max-tokens",
        "4096",
        "--author",
        "Ann Example",
    ]);
    check_shown(&["postgresql://localhost/app", "x86_64-unknown-linux-gnu", "my-k8s-i18n-e2e-server-2024"]);
    check_shown(&[
        "assets/index-4f3a9b2c/main5",
        "--mount",
        "type=bind,src=/srv/data,dst=/data",
        "--verbose=true",
    ]);
    check_shown(&["ghcr.io/x/y@sha256:4f3a9b2c8d1e7f6a5b4c3d2e4f3a9b2c8d1e7f6a5b4c3d2e4f3a9b2c8d1e7f6a"]);
    check_shown(&["mcp-remote@latest", "https://mcp.example.com/sse", "--transport", "sse-only", ""]);
    check_shown(&["@acme/mcp-server-postgresql-16@0.6.2-beta.14", "@scope2/pkg3-with-4-numbers5@6.7.8"]);
}

#[test]
fn what_follows_a_flag_for_a_credential_is_hidden() {
    check(&["--token", "abc", "--port", "1"], &["--token", "***", "--port", "1"]);
    check(&["--api-key", "abc", "--password", "b c"], &["--api-key", "***", "--password", "***"]);
    check(&["--token=abc", "--client-secret=x=y"], &["--token=***", "--client-secret=***"]);
    check(&["-token", "abc", "-password=abc"], &["-token", "***", "-password=***"]);
    check_shown(&["--auth", "--verbose", "x"]);
    check_shown(&["--token", "-v", "-p", "80"]);
    check_shown(&["--token-file", "/run/token", "--no-auth", "x"]);
}

#[test]
fn references_stay_visible() {
    check_shown(&["--token", "${TOKEN}", "--api-key=$API_KEY", "-e", "GITHUB_TOKEN=${GITHUB_TOKEN}"]);
    check_shown(&["--header", "Authorization: Bearer ${TOKEN}", "--dir=${HOME}/x", "${A:-b}"]);
    check(&["${TOKEN:-hunter2}", "--token=${T:-hunter2}"], &["${TOKEN:-***}", "--token=${T:-***}"]);
    check(&["--token", "x${TOKEN}"], &["--token", "***"]);
}

#[test]
fn variables_and_headers_are_hidden_by_their_names() {
    check(&["-e", "GITHUB_TOKEN=abc", "A=b"], &["-e", "GITHUB_TOKEN=***", "A=b"]);
    check(&["--env=API_KEY=abc", "--set=a=b=c"], &["--env=API_KEY=***", "--set=a=b=c"]);
    check(&["OPENAI_KEY=abc", "DB_PASS=abc"], &["OPENAI_KEY=***", "DB_PASS=***"]);
    check(&["--header", "X-Tenant: acme"], &["--header", "X-Tenant: ***"]);
    check(&["-H", "X-Any=acme", "-H", "acme"], &["-H", "X-Any=***", "-H", "***"]);
    check(&["Authorization: Bearer abc", "X-API-Key:abc"], &["Authorization: ***", "X-API-Key:***"]);
    check(&["Bearer abc", "basic YWJj"], &["***", "***"]);
}

#[test]
fn credentials_are_hidden_by_their_looks() {
    check(&["sk-abc123", "ghp_1234567890abcdef", "AKIAIOSFODNN7EXAMPLE"], &["***", "***", "***"]);
    check(&["4f3a9b2c8d1e7f6a5b4c3d2e", "--key=4f3a9b2c8d1e7f6a5b4c3d2e"], &["***", "--key=***"]);
    check(&["run", "--key", "550e8400-e29b-41d4-a716-446655440000"], &["run", "--key", "***"]);
    check(&["dGhpcyBpcyBhIHZlcnkgc2VjcmV0IGtleQ9=="], &["***"]);
    check(
        &["postgres://ann:hunter2@db/app", "--url=https://x.org/?k=v"],
        &["postgres://***@db/app", "--url=https://x.org/?k=***"],
    );
    check(&[r#"{"exaApiKey":"hunter2"}"#, r#"{"level":"info"}"#], &["***", r#"{"level":"info"}"#]);
}

#[test]
fn a_line_for_a_shell_is_read_word_by_word() {
    check(
        &["-c", "cd x && API_KEY=abc npx -y some-server --token 'x' && echo 'done'"],
        &["-c", "cd x && API_KEY=*** npx -y some-server --token '***' && echo 'done'"],
    );
    check(
        &["curl -H 'Authorization: Bearer abc' https://a:b@x.org/"],
        &["curl -H 'Authorization: Bearer ***' https://***@x.org/"],
    );
    check_shown(&["npx -y @scope/server ${HOME}/notes  # two  spaces "]);
}

#[test]
fn arguments_that_are_sent_back_keep_their_secrets() {
    let old = ["-y", "server", "--token", "hunter2", "--api-key=abc"];
    let keep = |new: &[&str]| {
        let new: Vec<String> = new.iter().map(ToString::to_string).collect();
        keep_masked_args(&new, old)
    };
    assert_eq!(keep(&["-y", "server", "--token", "***", "--api-key=***"]), old);
    assert_eq!(keep(&["server", "--token", "***"]), ["server", "--token", "hunter2"]);
    assert_eq!(keep(&["-v", "-y", "server", "--api-key=***"]), ["-v", "-y", "server", "--api-key=abc"]);
    assert_eq!(keep(&["--token", "new"]), ["--token", "new"]);
    assert_eq!(keep(&["--secret=***", "***", "***"]), ["--secret=***", "hunter2", "***"]);
}

/// Arguments with a secret in the place of `%`.
const PLACES: &[&[&str]] = &[
    &["--token", "%"],
    &["--token", "x %"],
    &["--token=%"],
    &["--token=${X}%"],
    &["--password=x %"],
    &["--env=A=b=PASSWORD=x %"],
    &["-e", "API_KEY=%"],
    &["https://u:%@h/"],
    &["-H", "A: %"],
    &["--header=Authorization: %"],
    &["Bearer %"],
    &["sh", "-c", "TOKEN=% x"],
    &["sh", "-c", "x --token %"],
    &["sh", "-c", "\"TOKEN=%\" x"],
    &["'TOKEN=%'"],
    &["a=https://h/?k=%"],
    &["{\"apiKey\": \"%\"}"],
];

proptest! {
    #[test]
    fn all_arguments_survive_being_shown_and_sent_back(
        old in prop::collection::vec("--token|--token=[a-z]{0,3}|[a-z]{0,3}|\\$\\{[A-Z]:-[a-z]{0,2}\\}|[*]{3}", 0..6),
    ) {
        let shown = mask_args(old.iter().map(String::as_str));
        prop_assert_eq!(keep_masked_args(&shown, old.iter().map(String::as_str)), old);
    }

    #[test]
    fn no_secret_is_shown_wherever_it_stands(secret in "[a-z]{6}[0-9]{2}", place in prop::sample::select(PLACES)) {
        let args: Vec<String> = place.iter().map(|arg| arg.replace('%', &secret)).collect();
        let shown = mask_args(args.iter().map(String::as_str)).join(" ");
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }

    #[test]
    fn nothing_makes_it_panic(args in prop::collection::vec("[-=:${}'\" \t/A-Za-z\u{e9}.@]{0,20}", 0..4)) {
        let _ = mask_args(args.iter().map(String::as_str));
    }
}

#[test]
fn a_long_chain_of_assignments_is_no_deep_recursion() {
    let text = "a=".repeat(100_000) + "b";
    check_shown(&[&text]);
}
