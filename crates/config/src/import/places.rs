//! Where each program keeps its servers on each system.

use super::Program;
use crate::environment::Environment;
use crate::system::System;
use std::path::PathBuf;

/// The folders of VS Code and of the builds that share its files.
const CODES: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];

/// Every file that a program on this system may keep servers in, whether it is there or not. Those of the project in
/// the working directory come as relative paths.
pub fn places(env: &Environment) -> Vec<(Program, PathBuf)> {
    places_on(System::here(), env)
}

fn places_on(system: System, env: &Environment) -> Vec<(Program, PathBuf)> {
    let at_home = |path: &str| system.home(env).map(|home| home.join(path));
    let in_config = |path: &str| system.config_folder(env).map(|folder| folder.join(path));
    let here = |path: &str| Some(PathBuf::from(path));
    let zed = match system {
        System::Mac => at_home(".config/zed/settings.json"),
        System::Unix => in_config("zed/settings.json"),
        System::Windows => in_config("Zed/settings.json"),
    };
    let codex_home = env.get_filled("CODEX_HOME").map(PathBuf::from).or_else(|| at_home(".codex"));
    let codes = CODES.into_iter().flat_map(|code| {
        let file = |name: &str| (Program::VsCode, in_config(&format!("{code}/User/{name}")));
        [file("mcp.json"), file("settings.json")]
    });
    let mut places = vec![
        (Program::ClaudeDesktop, in_config("Claude/claude_desktop_config.json")),
        (Program::ClaudeCode, at_home(".claude.json")),
        (Program::ClaudeCode, here(".mcp.json")),
        (Program::Cursor, at_home(".cursor/mcp.json")),
        (Program::Cursor, here(".cursor/mcp.json")),
    ];
    places.extend(codes);
    places.extend([
        (Program::VsCode, here(".vscode/mcp.json")),
        (Program::Windsurf, at_home(".codeium/windsurf/mcp_config.json")),
        (Program::Zed, zed),
        (Program::Codex, codex_home.map(|folder| folder.join("config.toml"))),
        (Program::Codex, here(".codex/config.toml")),
    ]);
    places.into_iter().filter_map(|(program, path)| Some((program, path?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::of;

    #[track_caller]
    fn check(system: System, env: &[(&str, &str)], program: Program, expected: &[&str]) {
        let places = places_on(system, &of(env));
        let paths: Vec<PathBuf> =
            places.into_iter().filter(|(owner, _)| *owner == program).map(|(_, path)| path).collect();
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(paths, expected, "{program} on {system:?}");
    }

    const UNIX: &[(&str, &str)] = &[("HOME", "/h")];
    const WINDOWS: &[(&str, &str)] = &[("USERPROFILE", "/u"), ("APPDATA", "/a")];

    #[test]
    fn claude_keeps_its_servers_in_one_file_of_the_desktop_and_two_of_the_terminal() {
        let file = "Claude/claude_desktop_config.json";
        check(System::Unix, UNIX, Program::ClaudeDesktop, &[&format!("/h/.config/{file}")]);
        let support = format!("/h/Library/Application Support/{file}");
        check(System::Mac, UNIX, Program::ClaudeDesktop, &[&support]);
        check(System::Windows, WINDOWS, Program::ClaudeDesktop, &[&format!("/a/{file}")]);
        check(System::Unix, UNIX, Program::ClaudeCode, &["/h/.claude.json", ".mcp.json"]);
        check(System::Mac, UNIX, Program::ClaudeCode, &["/h/.claude.json", ".mcp.json"]);
        check(System::Windows, WINDOWS, Program::ClaudeCode, &["/u/.claude.json", ".mcp.json"]);
    }

    #[test]
    fn editors_keep_them_with_the_person_and_with_the_project() {
        for (system, env, home) in
            [(System::Unix, UNIX, "/h"), (System::Mac, UNIX, "/h"), (System::Windows, WINDOWS, "/u")]
        {
            check(system, env, Program::Cursor, &[&format!("{home}/.cursor/mcp.json"), ".cursor/mcp.json"]);
            check(system, env, Program::Windsurf, &[&format!("{home}/.codeium/windsurf/mcp_config.json")]);
        }
        let config = |folder: &str| {
            let mut paths: Vec<String> = CODES
                .iter()
                .flat_map(|code| {
                    ["mcp.json", "settings.json"].map(|name| format!("{folder}/{code}/User/{name}"))
                })
                .collect();
            paths.push(".vscode/mcp.json".to_owned());
            paths
        };
        let check_code = |system, env, folder| {
            let paths = config(folder);
            check(system, env, Program::VsCode, &paths.iter().map(String::as_str).collect::<Vec<_>>());
        };
        check_code(System::Unix, UNIX, "/h/.config");
        check_code(System::Mac, UNIX, "/h/Library/Application Support");
        check_code(System::Windows, WINDOWS, "/a");
        check(System::Unix, UNIX, Program::Zed, &["/h/.config/zed/settings.json"]);
        check(System::Mac, UNIX, Program::Zed, &["/h/.config/zed/settings.json"]);
        check(System::Windows, WINDOWS, Program::Zed, &["/a/Zed/settings.json"]);
        let moved = &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
        check(System::Unix, moved, Program::Zed, &["/x/zed/settings.json"]);
        check(System::Mac, moved, Program::Zed, &["/h/.config/zed/settings.json"]);
    }

    #[test]
    fn codex_has_a_home_that_can_be_moved() {
        check(System::Unix, UNIX, Program::Codex, &["/h/.codex/config.toml", ".codex/config.toml"]);
        let moved = &[("HOME", "/h"), ("CODEX_HOME", "/c")];
        check(System::Mac, moved, Program::Codex, &["/c/config.toml", ".codex/config.toml"]);
        check(System::Windows, WINDOWS, Program::Codex, &["/u/.codex/config.toml", ".codex/config.toml"]);
    }

    #[test]
    fn without_a_home_only_the_project_is_left() {
        let places = places_on(System::Unix, &of(&[]));
        assert_eq!(places.len(), 4);
        assert!(places.iter().all(|(_, path)| path.is_relative()));
    }

    #[test]
    fn every_program_has_a_place() {
        let places = places(&of(&[("HOME", "/h"), ("USERPROFILE", "/u"), ("APPDATA", "/a")]));
        for program in Program::ALL {
            assert!(places.iter().any(|(owner, _)| *owner == program), "{program}");
        }
    }
}
