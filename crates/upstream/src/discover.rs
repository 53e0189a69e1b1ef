//! Discovery: all pages of what a server offers, within bounds.

use crate::error::{CallError, ConnectError};
use crate::handshake;
use crate::pending::Reply;
use crate::session::{Ask, Session};
use portolan_model::{LeftOut, Offer, Tool, ToolFilter};
use portolan_wire::meta::INSTANCES;
use portolan_wire::{discovery, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// A listing of more pages than this has no end.
const MOST_PAGES: usize = 1000;

pub(crate) struct Bounds {
    pub(crate) tools: usize,
    pub(crate) timeout: Duration,
}

/// Lists a server's tools: every page, the last of two tools with one name, what the filter admits.
pub(crate) async fn tools(
    session: &Session,
    filter: &ToolFilter,
    bounds: &Bounds,
) -> Result<Offer, ConnectError> {
    let mut offer = Offer { instances: session.welcome().instances.clone(), ..Offer::default() };
    if !session.welcome().has_tools {
        return Ok(offer);
    }
    let mut found = Found::default();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let raw = one_page(session, cursor.as_deref(), bounds.timeout).await?;
        let page = discovery::page(&raw)
            .map_err(|e| ConnectError::Failed(format!("its answer to tools/list cannot be read: {e}")))?;
        merge_instances(&raw, &mut offer.instances);
        offer.left_out.extend(page.left_out);
        for tool in page.tools {
            found.add(tool, filter, bounds.tools, &mut offer);
        }
        cursor = page.next_cursor.filter(|c| !c.is_empty());
        match &cursor {
            None => break,
            // A cursor that comes again would go round for ever.
            Some(c) if !seen.insert(c.clone()) || offer.is_partial => {
                offer.is_partial = true;
                break;
            }
            Some(_) => {}
        }
    }
    offer.is_partial |= cursor.is_some();
    offer.tools = found.tools;
    Ok(offer)
}

#[derive(Default)]
struct Found {
    tools: Vec<Arc<Tool>>,
    places: HashMap<Box<str>, usize>,
}

impl Found {
    fn add(&mut self, tool: Tool, filter: &ToolFilter, most: usize, offer: &mut Offer) {
        if !filter.admits(&tool.name) {
            return;
        }
        if let Some(&place) = self.places.get(&tool.name) {
            let reason = "the server lists this name twice; the last one is used".to_owned();
            offer.left_out.push(LeftOut { tool: tool.name.to_string(), reason });
            self.tools[place] = Arc::new(tool);
        } else if self.tools.len() >= most {
            offer.is_partial = true;
        } else {
            self.places.insert(tool.name.clone(), self.tools.len());
            self.tools.push(Arc::new(tool));
        }
    }
}

async fn one_page(
    session: &Session,
    cursor: Option<&str>,
    timeout: Duration,
) -> Result<String, ConnectError> {
    let write = |_: u64, out: &mut Vec<u8>| {
        out.push(b'{');
        if let Some(cursor) = cursor {
            out.extend_from_slice(br#""cursor":"#);
            json::write_text(cursor, out);
        }
        out.push(b'}');
    };
    let ask = Ask { method: "tools/list", params: &write, params_len: 64, timeout, aside: None };
    match session.request(ask).await.map_err(|e: CallError| ConnectError::from(e))? {
        Reply::Result(raw) => Ok(String::from_utf8_lossy(&raw).into_owned()),
        Reply::Error(error) => {
            Err(ConnectError::Failed(format!("it refused tools/list: {}", String::from_utf8_lossy(&error))))
        }
    }
}

/// Another Portolan says with each list whom it can reach by now.
fn merge_instances(raw: &str, instances: &mut Vec<String>) {
    if !raw.contains(INSTANCES) {
        return;
    }
    let meta: Option<serde_json::Value> =
        serde_json::from_str::<serde_json::Value>(raw).ok().map(|v| v["_meta"].clone());
    for instance in handshake::instances(meta.as_ref().and_then(|m| m.get(INSTANCES))) {
        if !instances.contains(&instance) {
            instances.push(instance);
        }
    }
}
