//! Servers as the REST surface shows them, and the table of them.

use super::ago::ago;
use super::table::{Cell, Table};
use anstyle::{AnsiColor, Style};
use serde::Deserialize;
use serde_json::Value;

/// What people read of a server. What an older or newer Portolan leaves out is simply not shown.
#[derive(Debug, Deserialize)]
pub(crate) struct Server {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) transport_type: String,
    #[serde(default)]
    pub(crate) connection_config: Value,
    pub(crate) description: Option<String>,
    pub(crate) health_check_url: Option<String>,
    pub(crate) error_message: Option<String>,
    #[serde(default)]
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) auto_connect: bool,
    pub(crate) timeout: Option<f64>,
    #[serde(default)]
    pub(crate) tool_count: u64,
    pub(crate) last_health_check: Option<String>,
    pub(crate) registered_at: Option<String>,
    pub(crate) connected_at: Option<String>,
}

impl Server {
    /// Where it is: its address, or the program and its arguments.
    pub(crate) fn target(&self) -> String {
        let text = |key: &str| self.connection_config.get(key).and_then(Value::as_str);
        if let Some(address) = text("url").or_else(|| text("base_url")) {
            return address.to_owned();
        }
        let args = self.connection_config.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten().filter_map(Value::as_str);
        text("command").into_iter().chain(args).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.status.as_str(), "CONNECTED" | "DEGRADED")
    }

    pub(crate) fn status(&self) -> Cell {
        Cell::styled(&self.status, style_of(&self.status))
    }
}

/// The colour of a state.
pub(crate) fn style_of(status: &str) -> Style {
    match status {
        "CONNECTED" => AnsiColor::Green.on_default(),
        "CONNECTING" | "DEGRADED" => AnsiColor::Yellow.on_default(),
        "ERROR" => AnsiColor::Red.on_default(),
        "DISCONNECTED" => Style::new().dimmed(),
        _ => Style::new(),
    }
}

/// One line a server. What is wrong goes before where it is.
pub(crate) fn table(servers: &[Server]) -> Table {
    let mut table = Table::new(&["NAME", "STATUS", "TRANSPORT", "TOOLS", "CONNECTED", "DETAIL"]);
    for server in servers {
        let since = server.connected_at.as_deref().filter(|_| server.is_connected());
        let detail = server.error_message.clone().unwrap_or_else(|| server.target());
        table.row([
            Cell::from(&server.name),
            server.status(),
            Cell::from(&server.transport_type),
            Cell::from(server.tool_count.to_string()),
            Cell::from(since.map_or_else(|| "-".to_owned(), ago)),
            Cell::from(detail),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server(more: &Value) -> Server {
        let mut view = json!({"id": "1", "name": "one", "status": "CONNECTED", "transport_type": "STDIO"});
        let (all, more) = (view.as_object_mut().unwrap(), more.as_object().unwrap());
        all.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        serde_json::from_value(view).unwrap()
    }

    #[test]
    fn a_server_is_where_its_address_or_its_program_is() {
        let child =
            server(&json!({"connection_config": {"command": "npx", "args": ["-y", "files"], "env": {}}}));
        assert_eq!(child.target(), "npx -y files");
        let web =
            server(&json!({"connection_config": {"base_url": "https://h/mcp", "headers": {"A": "***"}}}));
        assert_eq!(web.target(), "https://h/mcp");
        assert_eq!(server(&json!({})).target(), "");
    }

    #[test]
    fn the_table_says_what_is_wrong_instead_of_where_it_is() {
        let servers = [
            server(
                &json!({"connection_config": {"url": "http://h"}, "tool_count": 3, "connected_at": "odd"}),
            ),
            server(
                &json!({"name": "two", "status": "ERROR", "transport_type": "HTTP", "connected_at": "odd",
                "error_message": "connection refused", "connection_config": {"url": "http://h"}}),
            ),
        ];
        let shown = anstream::adapter::strip_str(&table(&servers).render(None)).to_string();
        assert_eq!(
            shown,
            "NAME  STATUS     TRANSPORT  TOOLS  CONNECTED  DETAIL\n\
             one   CONNECTED  STDIO      3      odd        http://h\n\
             two   ERROR      HTTP       0      -          connection refused\n"
        );
    }
}
