//! Which style of names a client is shown.

use portolan_model::NameStyle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// `--names`: a style for everybody, or the one that fits the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Auto,
    Always(NameStyle),
}

/// Clients that reject or mangle a dot or a colon in a tool's name: the start of the name in their handshake, and where
/// that was seen.
const NEEDS_SAFE: &[(&str, &str)] = &[
    (
        "claude-ai",
        "Claude Desktop and claude.ai withhold every tool for one name outside ^[a-zA-Z0-9_-]{1,64}$: evoila/meho#2745",
    ),
    ("claude-code", "Claude Code rewrites dots to underscores when it adds its prefix: barryw/ImmichMCP#8"),
    ("codex", "Codex sends names on to an API that takes ^[a-zA-Z0-9_-]+$: openai/codex#8174"),
    ("openai", "the same API behind other clients of its maker: openai/codex#8174"),
    (
        "cursor",
        "Cursor drops such tools, or calls them with underscores: webstudio-is/webstudio#5960, gemini-cli-extensions/workspace#168",
    ),
    ("visual studio code", "VS Code warns that names may only contain [a-z0-9_-]: microsoft/vscode#308463"),
    ("vscode", "the same under its shorter name: microsoft/vscode#308463"),
    (
        "github-copilot",
        "Copilot fails every prompt for one such name: github/copilot-cli#1879, github/copilot-sdk#743",
    ),
    ("copilot", "the same under its shorter name: github/copilot-cli#1879"),
];

impl Names {
    pub(crate) fn choose(self, transport: Transport, client_name: &str) -> NameStyle {
        let name = client_name.to_ascii_lowercase();
        match (self, transport) {
            (Self::Always(style), _) => style,
            (Self::Auto, _) if NEEDS_SAFE.iter().any(|(start, _)| name.starts_with(start)) => NameStyle::Safe,
            (Self::Auto, Transport::Http) => NameStyle::Dot,
            (Self::Auto, Transport::Stdio) => NameStyle::Colon,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_gives_safe_names_to_those_who_need_them_else_dots_over_http_and_colons_over_stdio() {
        let auto = |transport, name| Names::Auto.choose(transport, name);
        assert_eq!(auto(Transport::Http, "mcp-inspector"), NameStyle::Dot);
        assert_eq!(auto(Transport::Stdio, "mcp-inspector"), NameStyle::Colon);
        for name in ["claude-ai", "Cursor", "Visual Studio Code - Insiders", "codex-mcp-client"] {
            assert_eq!(auto(Transport::Stdio, name), NameStyle::Safe, "{name}");
        }
        assert_eq!(Names::Always(NameStyle::Dot).choose(Transport::Stdio, "cursor"), NameStyle::Dot);
    }
}
