//! The index of one moment, and what stands behind its numbers.

use crate::describe::doc;
use crate::embedder::Embedder;
use crate::packed::Packed;
use portolan_model::{ServerName, Tool, ToolName, fingerprint};
use portolan_search::{DocKey, Index, Shard, Vectors, passage, server_passage};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

#[derive(Clone, Default)]
pub(crate) struct Board {
    pub(crate) index: Index,
    pub(crate) servers: BTreeMap<ServerName, Arc<Filed>>,
    by_number: BTreeMap<u32, ServerName>,
    next: u32,
    /// The model whose vectors these are, while they are not the present one's.
    pub(crate) before: Option<Arc<dyn Embedder>>,
}

/// One server as it is in the index.
#[derive(Debug, Clone)]
pub(crate) struct Filed {
    number: u32,
    /// Which of the server's lists this is.
    pub(crate) stamp: u64,
    about: Arc<str>,
    tools: Vec<Box<str>>,
    /// What is to be embedded: the tools in their order, then the server itself.
    texts: Vec<Text>,
    vectors: Vec<Option<Packed>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) hash: String,
    pub(crate) passage: String,
}

/// A server as the catalog has it.
pub(crate) struct Listed<'l> {
    pub(crate) server: &'l ServerName,
    pub(crate) stamp: u64,
    pub(crate) about: &'l str,
    pub(crate) tools: &'l [Arc<Tool>],
}

impl Filed {
    pub(crate) fn is(&self, listed: &Listed<'_>) -> bool {
        self.stamp == listed.stamp && *self.about == *listed.about
    }

    /// What of it has no vector yet.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().zip(&self.vectors).filter(|(_, vector)| vector.is_none()).map(|(text, _)| text)
    }

    pub(crate) fn about(&self) -> &str {
        &self.about
    }

    pub(crate) fn tool_count(&self) -> usize {
        self.tools.len()
    }

    fn with(&self, found: &BTreeMap<String, Packed>) -> Self {
        let fresh = self.texts.iter().map(|text| found.get(&text.hash).cloned());
        let vectors = self.vectors.iter().cloned().zip(fresh).map(|(old, new)| new.or(old)).collect();
        Self { vectors, ..self.clone() }
    }
}

impl Board {
    /// An empty one, whose vectors are to be those of another model than the present one, if there was one.
    pub(crate) fn of(before: Option<Arc<dyn Embedder>>) -> Self {
        Self { before, ..Self::default() }
    }

    /// Files a server as it is listed now. Vectors of texts that it had before stay.
    pub(crate) fn file(&mut self, listed: &Listed<'_>) {
        let before = self.servers.get(listed.server);
        let number = before.map_or(self.next, |filed| filed.number);
        let docs: Vec<_> =
            (0..).zip(listed.tools).map(|(at, tool)| doc(DocKey(key(number, at)), tool)).collect();
        let own = server_passage(listed.server.as_str(), listed.about);
        let texts: Vec<Text> = docs
            .iter()
            .map(passage)
            .chain([own])
            .map(|passage| Text { hash: fingerprint([passage.as_bytes()]), passage })
            .collect();
        let known: BTreeMap<&str, &Packed> = before
            .iter()
            .flat_map(|filed| filed.texts.iter().zip(&filed.vectors))
            .filter_map(|(text, vector)| Some((text.hash.as_str(), vector.as_ref()?)))
            .collect();
        let vectors = texts.iter().map(|text| known.get(text.hash.as_str()).map(|v| (*v).clone())).collect();
        let filed = Filed {
            number,
            stamp: listed.stamp,
            about: listed.about.into(),
            tools: listed.tools.iter().map(|tool| tool.name.clone()).collect(),
            texts,
            vectors,
        };
        let shard = Shard::new(listed.server.as_str().into(), listed.about, &docs);
        self.index = std::mem::take(&mut self.index).with_server(shard);
        self.next = self.next.max(number + 1);
        self.by_number.insert(number, listed.server.clone());
        self.put(listed.server, filed);
    }

    pub(crate) fn remove(&mut self, server: &ServerName) {
        if let Some(filed) = self.servers.remove(server) {
            self.by_number.remove(&filed.number);
        }
        self.index = std::mem::take(&mut self.index).without_server(server.as_str());
    }

    /// Takes in vectors, by the hashes of their texts.
    pub(crate) fn learn(&mut self, found: &BTreeMap<String, Packed>) {
        let concerned = self
            .servers
            .iter()
            .filter(|(_, filed)| filed.missing().any(|text| found.contains_key(&text.hash)));
        let learned: Vec<_> = concerned.map(|(server, filed)| (server.clone(), filed.with(found))).collect();
        for (server, filed) in learned {
            self.put(&server, filed);
        }
    }

    /// All texts that are embedded, each once.
    pub(crate) fn texts(&self) -> Vec<Text> {
        let mut seen = BTreeSet::new();
        let all = self.servers.values().flat_map(|filed| &filed.texts);
        all.filter(|text| seen.insert(text.hash.as_str())).cloned().collect()
    }

    /// Takes these vectors, of another model, and no others.
    pub(crate) fn relearn(&mut self, found: &BTreeMap<String, Packed>) {
        for (server, filed) in self.servers.clone() {
            let vectors = filed.texts.iter().map(|text| found.get(&text.hash).cloned()).collect();
            self.put(&server, Filed { vectors, ..(*filed).clone() });
        }
        self.before = None;
    }

    fn put(&mut self, server: &ServerName, filed: Filed) {
        let unpacked: Vec<Option<Vec<f32>>> =
            filed.vectors.iter().map(|vector| vector.as_ref().map(Packed::unpack)).collect();
        if let Some((own, tools)) = unpacked.split_last() {
            let tools = tools.iter().map(Option::as_deref).collect();
            let vectors = Vectors { tools, server: own.as_deref() };
            self.index = std::mem::take(&mut self.index).with_vectors(server.as_str(), &vectors);
        }
        self.servers.insert(server.clone(), Arc::new(filed));
    }

    /// Which numbers of servers are those that are wanted: every tool is held against this in every query.
    pub(crate) fn numbers(&self, is_wanted: impl Fn(&ServerName) -> bool) -> BTreeSet<u64> {
        let wanted = self.by_number.iter().filter(|(_, server)| is_wanted(server));
        wanted.map(|(number, _)| u64::from(*number)).collect()
    }

    pub(crate) fn tool_of(&self, found: DocKey) -> Option<ToolName> {
        let server = self.by_number.get(&u32::try_from(number_of(found)).ok()?)?;
        let at = usize::try_from(found.0 & u64::from(u32::MAX)).ok()?;
        let tool = self.servers.get(server)?.tools.get(at)?;
        Some(ToolName { server: server.clone(), tool: tool.to_string() })
    }

    /// The tools of a server, by what the index calls them.
    pub(crate) fn tools_of(&self, server: &ServerName) -> impl Iterator<Item = (DocKey, &str)> {
        let filed = self.servers.get(server).into_iter();
        filed.flat_map(|filed| {
            (0..).zip(&filed.tools).map(|(at, tool)| (DocKey(key(filed.number, at)), &**tool))
        })
    }

    /// The tools of a server of which it is known what they mean.
    pub(crate) fn vectors_of(&self, server: &ServerName) -> impl Iterator<Item = (&str, &Packed)> {
        let filed = self.servers.get(server).into_iter();
        let each = filed.flat_map(|filed| filed.tools.iter().zip(&filed.vectors));
        each.filter_map(|(tool, vector)| Some((&**tool, vector.as_ref()?)))
    }

    /// How many tools there are, and of how many it is not known what they mean.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let tools = self.servers.values().map(|filed| filed.tool_count()).sum();
        let missing = |filed: &Arc<Filed>| {
            filed.vectors.iter().take(filed.tools.len()).filter(|vector| vector.is_none()).count()
        };
        (tools, self.servers.values().map(missing).sum())
    }

    /// How many texts have no vector yet, those of servers included.
    pub(crate) fn waiting(&self) -> usize {
        self.servers.values().map(|filed| filed.missing().count()).sum()
    }

    /// Whether one of these texts is among those.
    pub(crate) fn is_any_missing(&self, hashes: &HashSet<&str>) -> bool {
        self.servers.values().any(|filed| filed.missing().any(|text| hashes.contains(text.hash.as_str())))
    }

    pub(crate) fn has_vectors(&self) -> bool {
        self.servers.values().any(|filed| filed.vectors.iter().any(Option::is_some))
    }

    /// How many numbers the vectors have.
    pub(crate) fn dimension(&self) -> Option<usize> {
        let mut all = self.servers.values().flat_map(|filed| filed.vectors.iter().flatten());
        all.next().map(Packed::dimension)
    }
}

/// The number of a tool's server.
pub(crate) fn number_of(found: DocKey) -> u64 {
    found.0 >> 32
}

fn key(server: u32, tool: u32) -> u64 {
    u64::from(server) << 32 | u64::from(tool)
}
