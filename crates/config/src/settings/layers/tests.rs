//! What each layer may say, and which one wins.

use super::*;
use crate::environment::of;
use crate::system::System;
use std::time::Duration;

fn flags(settings: Option<&std::path::Path>) -> Flags {
    Flags { settings: settings.map(ToOwned::to_owned), ..Flags::default() }
}

/// A folder with a `portolan.toml` of this text; it lasts as long as the folder.
fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portolan.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn load_toml(text: &str) -> Result<Loaded, SettingsErrors> {
    let (_folder, path) = written(text);
    load_settings(&flags(Some(&path)), &of(&[]))
}

#[track_caller]
fn check_toml(text: &str, expected: &str) {
    let errors = load_toml(text).unwrap_err().to_string();
    assert!(errors.contains("portolan.toml: ") && errors.contains(expected), "{errors}");
}

#[track_caller]
fn check_variable(name: &str, value: &str, expected: &str) {
    let errors = load_settings(&Flags::default(), &of(&[(name, value)])).unwrap_err();
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn the_later_layer_wins_and_each_value_knows_where_it_is_from() {
    let (_folder, path) =
        written("name = \"file\"\nversion = \"file\"\nlog = \"warn\"\n[limits]\ndrain = 5\n");
    let env = of(&[("PORTOLAN_NAME", "env"), ("PORTOLAN_VERSION", "env"), ("PORTOLAN_LISTEN", "")]);
    let flags = Flags { version: Some("flag".to_owned()), debug: true, ..flags(Some(&path)) };
    let Loaded { settings, origins } = load_settings(&flags, &env).unwrap();
    assert_eq!(
        (settings.name.as_str(), settings.version.as_str(), settings.log.as_str()),
        ("env", "flag", "debug")
    );
    assert_eq!(settings.limits.drain, Duration::from_secs(5));
    assert_eq!(origins["limits.drain"], Origin::File(path));
    assert_eq!(origins["name"], Origin::Environment("PORTOLAN_NAME".to_owned()));
    assert_eq!(origins["version"], Origin::Flag("--version"));
    assert_eq!(origins["log"], Origin::Flag("--debug"));
    assert_eq!(origins["listen"], Origin::Default);
}

#[test]
fn every_kind_of_value_may_be_written_in_toml() {
    let settings = load_toml(
        "listen = \"[::1]:80\"\nnames = \"safe\"\nlist_wait = 0\nallowed_hosts = [\"a.org\", \"b.org\"]\n\
         limits.request_body_bytes = \"1MiB\"\nlimits.tools = 7\nlimits.call_timeout = \"500ms\"\n",
    )
    .unwrap()
    .settings;
    assert_eq!((settings.listen.port(), settings.names), (80, crate::NamesSetting::Safe));
    assert_eq!(
        (settings.list_wait, settings.limits.call_timeout),
        (Duration::ZERO, Duration::from_millis(500))
    );
    assert_eq!((settings.limits.request_body_bytes, settings.limits.tools), (1 << 20, 7));
    assert_eq!(settings.allowed_hosts, ["a.org", "b.org"]);
}

#[test]
fn a_path_in_the_file_starts_at_its_folder_and_one_in_the_environment_where_we_are() {
    let (folder, path) = written("config = \"mcp.json\"");
    let config =
        |env: &[(&str, &str)]| load_settings(&flags(Some(&path)), &of(env)).unwrap().settings.config.unwrap();
    assert_eq!(config(&[]), folder.path().join("mcp.json"));
    assert_eq!(config(&[("PORTOLAN_CONFIG", "mcp.json")]), PathBuf::from("mcp.json"));
    assert_eq!(config(&[("PORTOLAN_CONFIG", "~/mcp.json"), ("HOME", "/h")]), PathBuf::from("/h/mcp.json"));
}

#[test]
fn the_data_folder_is_a_setting_like_the_others() {
    let (folder, path) = written("data = \"state\"\nsecrets.key_file = \"~/key\"");
    let load = |env: &[(&str, &str)], data: Option<&str>| {
        let flags = Flags { data: data.map(PathBuf::from), ..flags(Some(&path)) };
        let Loaded { settings, origins } = load_settings(&flags, &of(env)).unwrap();
        (settings.data.unwrap(), origins["data"].clone())
    };
    let variable = [("PORTOLAN_DATA", "/env"), ("HOME", "/h")];
    assert_eq!(load(&[("HOME", "/h")], None), (folder.path().join("state"), Origin::File(path.clone())));
    assert_eq!(load(&variable, None), ("/env".into(), Origin::Environment("PORTOLAN_DATA".to_owned())));
    assert_eq!(load(&variable, Some("flag")), ("flag".into(), Origin::Flag("--data")));
    let loaded = load_settings(&flags(Some(&path)), &of(&variable)).unwrap();
    assert_eq!(loaded.settings.secrets.key_file, Some(PathBuf::from("/h/key")));
}

#[test]
fn every_section_may_be_written_in_toml_and_in_the_environment() {
    let settings =
        load_toml("[secrets]\nallow_env = [\"A\", \"B\"]\n[stdio]\nregister = \"off\"\n").unwrap().settings;
    assert_eq!(settings.secrets.allow_env, ["A", "B"]);
    assert_eq!(settings.stdio.register, crate::StdioRegister::Off);
    let env = of(&[("PORTOLAN_SECRETS_ALLOW_ENV", "A, B"), ("PORTOLAN_STDIO_REGISTER", "on")]);
    let settings = load_settings(&Flags::default(), &env).unwrap().settings;
    assert_eq!(settings.secrets.allow_env, ["A", "B"]);
    assert_eq!(settings.stdio.register, crate::StdioRegister::On);
    check_toml("[stdio]\nregister = true", "stdio.register must be auto, on or off; \"true\" is not");
    check_toml("[stdio]\nregistr = \"on\"", "did you mean `stdio.register`?");
    check_toml("data = \"\"", "data must be the path of a folder; \"\" is not");
}

#[test]
fn the_file_is_found_in_its_usual_place_and_need_not_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = System::here().settings_file(&home(folder.path())).unwrap();
    assert_eq!(load_settings(&Flags::default(), &home(folder.path())).unwrap().settings, Settings::default());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "name = \"x\"").unwrap();
    assert_eq!(
        load_settings(&Flags::default(), &home(folder.path())).unwrap().origins["name"],
        Origin::File(path)
    );
}

fn home(folder: &std::path::Path) -> Environment {
    let folder = folder.to_str().unwrap();
    of(&[("HOME", folder), ("APPDATA", folder)])
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let errors = load_settings(&flags(Some("none.toml".as_ref())), &of(&[])).unwrap_err().to_string();
    assert!(errors.starts_with("--settings: the settings file none.toml cannot be read: "), "{errors}");
    let errors = load_settings(&Flags::default(), &of(&[("PORTOLAN_SETTINGS", "none.toml")])).unwrap_err();
    assert!(errors.to_string().starts_with("PORTOLAN_SETTINGS: the settings file none.toml"), "{errors}");
}

#[test]
fn unknown_settings_are_errors_with_the_nearest_right_name() {
    check_toml("lisen = \"x\"", "unknown setting `lisen`; did you mean `listen`?");
    check_toml(
        "[limits]\ncalltimeout = 1",
        "unknown setting `limits.calltimeout`; did you mean `limits.call_timeout`?",
    );
    check_toml("[limitz]", "unknown setting `limitz`");
    check_toml(
        "[colour]\nscheme = 1",
        "unknown setting `colour`; `portolan config` lists those that there are",
    );
    check_variable(
        "PORTOLAN_LISEN",
        "x",
        "PORTOLAN_LISEN: unknown variable `PORTOLAN_LISEN`; did you mean `PORTOLAN_LISTEN`?",
    );
}

#[test]
fn values_that_are_out_of_range_say_what_is_allowed() {
    check_toml("[limits]\ntools = 0", "limits.tools must be a whole number of at least 1; \"0\" is not");
    check_toml(
        "limits.call_timeout = \"soon\"",
        "limits.call_timeout must be more than zero: seconds, or a text such",
    );
    check_toml("limits.call_timeout = 0", "limits.call_timeout must be more than zero");
    check_toml("limits.request_body_bytes = -1", "must be more than zero: bytes");
    check_toml("limits.tools = 1.5", "\"1.5\" is not");
    check_toml("listen = {a = 1}", "listen must be an IP address and a port");
    check_toml("allowed_hosts = [1]", "allowed_hosts must be an array of texts");
    check_variable(
        "PORTOLAN_NAMES",
        "camel",
        "PORTOLAN_NAMES: names must be auto, dot, colon or safe; \"camel\" is not",
    );
}

#[test]
fn a_language_model_may_be_written_in_toml() {
    let llm = load_toml(
        "[llm]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:11434/v1\"\nmodel = \"m\"\ntimeout = \"2m\"\n\
         max_tokens = 100\nprice_in = 0.4\nprice_out = 2\nbudget = 1.50\ntokens_per_day = 0\n\
         requests_per_minute = 30\n",
    )
    .unwrap()
    .settings
    .llm;
    assert_eq!((llm.provider, llm.model.as_str()), (ProviderSetting::OpenAi, "m"));
    assert_eq!(llm.url.unwrap().reveal(), "http://127.0.0.1:11434/v1");
    assert_eq!((llm.timeout, llm.max_tokens), (Duration::from_mins(2), 100));
    let nanos = [llm.price_in, llm.price_out, llm.budget].map(|amount| amount.unwrap().as_nanos());
    assert_eq!(nanos, [400_000_000, 2_000_000_000, 1_500_000_000]);
    assert_eq!((llm.tokens_per_day, llm.requests_per_minute), (None, Some(30)));
}

#[test]
fn a_language_model_that_cannot_work_says_what_is_missing() {
    check_variable(
        "PORTOLAN_LLM_PROVIDER",
        "openai",
        "PORTOLAN_LLM_PROVIDER: llm.model: say which model is asked, as in gpt-4.1-mini",
    );
    let on = "[llm]\nprovider = \"anthropic\"\nmodel = \"m\"\n";
    check_toml(
        &format!("{on}budget = 5"),
        "llm.budget: say what the model costs with llm.price_in and llm.price_out",
    );
    load_toml(&format!("{on}budget = 5\nprice_out = 1")).unwrap();
    load_toml("[llm]\nbudget = 5").unwrap();
    check_toml(
        "[llm]\nprovider = \"ollama\"",
        "llm.provider must be off, openai or anthropic; \"ollama\" is not",
    );
    check_toml("[llm]\nbudget = -1", "llm.budget must be US dollars such as 0.15");
    check_toml("[llm]\nmax_tokens = 0", "llm.max_tokens must be a whole number of at least 1");
    check_toml("[llm]\ntokens_per_day = 1.5", "llm.tokens_per_day must be a whole number, or 0 for no limit");
}

#[test]
fn the_rules_of_queries_may_be_written_in_toml() {
    let query = load_toml(
        "[query]\nserver_timeout = \"500ms\"\ntimeout = 2\n[query.weights]\ngit = 2\n\"web*\" = 0.5\n\
         [[query.routes]]\npattern = \"*commit*\"\nservers = [\"git\"]\n",
    )
    .unwrap()
    .settings
    .query;
    assert_eq!((query.server_timeout, query.timeout), (Duration::from_millis(500), Duration::from_secs(2)));
    assert_eq!(query.weights.to_map().into_keys().collect::<Vec<_>>(), ["git", "web*"]);
    assert_eq!((query.routes.len(), query.routes[0].pattern.as_str()), (1, "*commit*"));
    let env = of(&[("PORTOLAN_QUERY_SERVER_TIMEOUT", "1s")]);
    let settings = load_settings(&Flags::default(), &env).unwrap().settings;
    assert_eq!(settings.query.server_timeout, Duration::from_secs(1));
}

#[test]
fn rules_of_queries_that_cannot_be_are_told_with_the_nearest_right_name() {
    check_toml("[query]\nservertimeout = 1", "did you mean `query.server_timeout`?");
    check_toml("[query.weight]\ngit = 1", "unknown setting `query.weight`; did you mean `query.weights`?");
    check_toml("[[query.route]]\npattern = \"x\"", "did you mean `query.routes`?");
    check_toml("[query]\ntimeout = 0", "query.timeout must be more than zero");
    check_toml("[query.weights]\ngit = 11", "query.weights.git must be a number from 0 to 10");
    check_toml(
        "[[query.routes]]\npattern = \"x\"\nserver = [\"a\"]",
        "query.routes[0].server is not known; did you mean `servers`?",
    );
}

#[test]
fn what_agents_may_use_may_be_written_in_toml() {
    let agents = load_toml(
        "[agents]\nqueries_per_minute = 6\ntokens_per_day = 1000\nbudget = 0.5\nmax_tools = 100\ntimeout = 30\n\
         at_once = 4\n",
    )
    .unwrap()
    .settings
    .agents;
    assert_eq!((agents.queries_per_minute, agents.tokens_per_day), (Some(6), Some(1000)));
    assert_eq!(agents.budget.unwrap().to_string(), "0.5");
    assert_eq!((agents.max_tools, agents.timeout, agents.at_once), (100, Duration::from_secs(30), 4));
    let none = load_toml("[agents]\nqueries_per_minute = 0\ntokens_per_day = 0\nbudget = 0").unwrap();
    assert_eq!(none.settings, Settings::default());
    for (wrong, expected) in [
        ("max_tools = 0", "agents.max_tools must be a whole number from 1 to 100; \"0\" is not"),
        ("max_tools = 101", "agents.max_tools must be a whole number from 1 to 100"),
        ("at_once = 0", "agents.at_once must be a whole number of at least 1"),
        ("timeout = 0", "agents.timeout must be more than zero"),
        ("maxtools = 1", "did you mean `agents.max_tools`?"),
    ] {
        check_toml(&format!("[agents]\n{wrong}"), expected);
    }
}

#[test]
fn the_budget_of_agents_needs_prices_as_that_of_the_model_does() {
    let on = "[llm]\nprovider = \"anthropic\"\nmodel = \"m\"\n";
    check_toml(
        &format!("{on}[agents]\nbudget = 1"),
        "agents.budget: say what the model costs with llm.price_in and llm.price_out, or limit agents.tokens_per_day",
    );
    load_toml(&format!("{on}price_in = 1\n[agents]\nbudget = 1")).unwrap();
    load_toml("[agents]\nbudget = 1").unwrap();
}

#[test]
fn an_address_that_is_none_is_told_without_what_may_open_doors() {
    check_toml(
        "[search]\nurl = \"ftp://ann:hunter2@host/v1\"",
        "search.url must be an address that starts with http:// or https:// and names a host; \"ftp://***@host/v1\" is not",
    );
    check_variable(
        "PORTOLAN_LLM_URL",
        "ann:hunter2@host",
        "PORTOLAN_LLM_URL: llm.url must be an address that starts with http:// or https:// and names a host; \"***\" is not",
    );
}

#[test]
fn a_key_does_not_go_into_the_file_and_its_variable_is_told() {
    for (section, name, variable) in [
        ("llm", "key", "PORTOLAN_LLM_KEY"),
        ("llm", "api_key", "PORTOLAN_LLM_KEY"),
        ("search", "key", "PORTOLAN_SEARCH_KEY"),
    ] {
        let errors = load_toml(&format!("[{section}]\n{name} = \"hunter2\"")).unwrap_err().to_string();
        let expected =
            format!("{section}.{name}: a key does not go into the file; set the variable {variable}");
        assert!(errors.ends_with(&expected) && !errors.contains("hunter2"), "{errors}");
    }
    check_variable(
        "PORTOLAN_LLM_API_KEY",
        "hunter2",
        "PORTOLAN_LLM_API_KEY: unknown variable `PORTOLAN_LLM_API_KEY`; did you mean `PORTOLAN_LLM_KEY`?",
    );
}

#[test]
fn broken_toml_is_told_with_its_line_and_column() {
    check_toml("name = \"x\"\nlog = \n", "line 2, column 7: ");
    check_toml("name = 1\nname = 2\n", "line 2, column 1: duplicate key");
}

#[test]
fn all_layers_are_checked_at_once() {
    let (_folder, path) = written("lisen = 1\nlimits.tools = 0\n");
    let flags = Flags { listen: Some("here".to_owned()), ..flags(Some(&path)) };
    let errors = load_settings(&flags, &of(&[("PORTOLAN_NOISE", "1")])).unwrap_err();
    assert_eq!(errors.problems.len(), 4);
    assert_eq!(errors.problems[3].origin, Origin::Flag("--listen"));
}

#[test]
fn variables_that_others_set_are_left_alone() {
    let env = of(&[
        ("PORTOLAN_URL", "http://x"),
        ("PORTOLAN_CHAIN", "1"),
        ("PORTOLAN_SECRET_KEY", "not even looked at here"),
        ("PORTOLAN_SEARCH_KEY", "nor this one"),
        ("PORTOLAN_LLM_KEY", "nor this one"),
        ("PORTOLAN_SERVICE_HOST", "10.0.0.1"),
        ("PORTOLAN_SERVICE_PORT_HTTP", "80"),
        ("PORTOLAN_PORT", "tcp://10.0.0.1:80"),
        ("PORTOLAN_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("PORTOLAN_PORT_80_TCP_PORT", "80"),
        ("PORTOLAN_DB_PORT_5432_TCP", "tcp://10.0.0.1:5432"),
        ("PORTOLANISH", "x"),
    ]);
    assert_eq!(load_settings(&Flags::default(), &env).unwrap().settings, Settings::default());
    assert!(load_settings(&Flags::default(), &of(&[("PORTOLAN_PORT", "8080")])).is_err());
}

/// The documentation shows what people will see, so it is held to what the program prints.
#[test]
fn the_examples_in_the_documentation_are_real() {
    let docs = include_str!("../../../../../docs/configuration.md");
    let (_folder, path) = written("lisen = \"127.0.0.1:80\"\n[limits]\ncall_timeout = 0\n");
    let env = of(&[("PORTOLAN_NAMES", "camel")]);
    let printed = load_settings(&flags(Some(&path)), &env).unwrap_err().to_string();
    let printed = printed.replace(path.to_str().unwrap(), "portolan.toml");
    assert!(docs.contains(&printed), "docs/configuration.md does not show:\n{printed}");
}

/// What stands in TOML under a heading of the documentation.
fn examples(heading: &str) -> Vec<&'static str> {
    let docs = include_str!("../../../../../docs/configuration.md");
    let (_, section) = docs.split_once(&format!("### {heading}\n")).unwrap();
    let section = section.split_once("\n### ").map_or(section, |(section, _)| section);
    section.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

#[test]
fn the_rules_of_the_documentation_can_be_used_as_they_stand() {
    let [example] = examples("One question to many servers")[..] else { panic!("one example is meant") };
    let query = load_toml(example).unwrap().settings.query;
    assert_ne!(query.weights, crate::Weights::default());
    assert_eq!(query.routes[0].servers.len(), 2);
    let [example] = examples("Agents")[..] else { panic!("one example is meant") };
    assert_eq!(load_toml(example).unwrap().settings.agents.queries_per_minute, Some(20));
    let [example] = examples("Profiles")[..] else { panic!("one example is meant") };
    assert_eq!(load_toml(example).unwrap().settings.profiles.iter().count(), 1);
}

#[test]
fn the_language_models_of_the_documentation_can_be_used_as_they_stand() {
    let examples = examples("A language model");
    assert_eq!(examples.len(), 3);
    for example in examples {
        let llm = load_toml(example).unwrap().settings.llm;
        assert_ne!(llm.provider, ProviderSetting::Off, "{example}");
    }
}
