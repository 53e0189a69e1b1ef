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

/// Clients that reject or mangle a dot or a colon in a tool's name, by the start of the name in their handshake.
const NEEDS_SAFE: &[&str] = &[
    // Claude Desktop and claude.ai: names go to the Messages API, which takes ^[a-zA-Z0-9_-]{1,64}$.
    "claude-ai",
    // Claude Code: the same API; it also puts `mcp__server__` before the name.
    "claude-code",
    // Cursor warns of and drops tools whose names have other characters.
    "cursor",
    // VS Code: names are validated against [a-z0-9_-] before they reach the model.
    "visual studio code",
    "vscode",
    // Codex CLI: names go to the Responses API, which takes ^[a-zA-Z0-9_-]+$.
    "codex",
    // Windsurf passes names to the same model APIs.
    "windsurf",
    // OpenAI's own clients: the function-calling API takes ^[a-zA-Z0-9_-]{1,64}$.
    "openai",
    // Gemini CLI allows dots but not colons, and cuts names at 63 characters.
    "gemini-cli",
    // Zed passes names to the providers' APIs as they are.
    "zed",
];

impl Names {
    pub(crate) fn choose(self, transport: Transport, client_name: &str) -> NameStyle {
        let name = client_name.to_ascii_lowercase();
        match (self, transport) {
            (Self::Always(style), _) => style,
            (Self::Auto, _) if NEEDS_SAFE.iter().any(|start| name.starts_with(start)) => NameStyle::Safe,
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
