//! What is asked, and what is found.

use crate::board::{Board, number_of};
use crate::embedder::{Embedder, Haste};
use crate::packed::Packed;
use arc_swap::ArcSwap;
use portolan_catalog::{Catalog, Snapshot, View};
use portolan_model::{Kind, ServerName, State, ToolName};
use portolan_search::{DocKey, Query, QueryVectors, clauses};
use portolan_store::Store;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// How long a query waits to be understood; then its words have to do.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is read of a query.
const LONGEST: usize = 4 * 1024;

/// What a server is about, in the words of whoever registered it.
pub type About = Box<dyn Fn(&ServerName) -> Option<String> + Send + Sync>;

/// What a finder stands on.
pub struct Parts {
    pub catalog: Arc<Catalog>,
    pub about: About,
    /// Without one, words alone decide.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Keeps what was found out about texts.
    pub store: Option<Arc<dyn Store>>,
}

pub struct Finder {
    pub(crate) parts: Parts,
    pub(crate) board: ArcSwap<Board>,
    /// Why it is not known what texts mean, while that is so.
    pub(crate) trouble: Mutex<Option<String>>,
    /// Somebody has asked for the first time.
    pub(crate) needed: Notify,
    /// One at a time makes the next board.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

/// What is looked for.
pub struct Wish<'w> {
    pub query: &'w str,
    pub limit: usize,
    pub view: &'w View,
    /// Only tools of these servers, where any are named.
    pub servers: &'w [ServerName],
}

#[derive(Debug, Clone)]
pub struct Found {
    pub tools: Vec<FoundTool>,
    /// Among how many.
    pub searched: usize,
    /// Why words alone have decided, where they have.
    pub words_only: Option<String>,
    pub embedding: Duration,
    pub searching: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FoundTool {
    pub name: ToolName,
    pub score: f32,
}

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub tools: usize,
    /// Tools of which it is not known yet what they mean.
    pub unembedded: usize,
    /// Texts that are yet to be embedded, those of servers included.
    pub waiting: usize,
    pub model: Option<String>,
    pub trouble: Option<String>,
}

impl Finder {
    pub fn new(parts: Parts) -> Arc<Self> {
        let (board, trouble) = (ArcSwap::default(), Mutex::new(None));
        let (needed, writing) = (Notify::new(), tokio::sync::Mutex::default());
        Arc::new(Self { parts, board, trouble, needed, writing })
    }

    pub fn progress(&self) -> Progress {
        let board = self.board.load();
        let ((tools, unembedded), waiting) = (board.counts(), board.waiting());
        let model = self.parts.embedder.as_ref().map(|embedder| embedder.id());
        Progress { tools, unembedded, waiting, model, trouble: self.trouble() }
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// The best tools for a query among those that can be called right now.
    pub async fn find(&self, wish: &Wish<'_>) -> Found {
        self.needed.notify_one();
        self.refresh().await;
        let board = self.board.load_full();
        let query = &wish.query[..wish.query.floor_char_boundary(LONGEST)];
        let parts = clauses(query);
        let begun = Instant::now();
        let understood = self.understand(&board, query, &parts).await;
        let embedding = begun.elapsed();
        let begun = Instant::now();
        let snapshot = self.parts.catalog.snapshot();
        let open = board.numbers(|server| is_open(&snapshot, server, wish));
        let counted = board.servers.iter().filter(|(server, _)| is_open(&snapshot, server, wish));
        let searched = counted.map(|(_, filed)| filed.tool_count()).sum();
        let hits = {
            let may_be = |key: DocKey| open.contains(&number_of(key)) && is_in_view(&board, key, wish.view);
            let vectors = understood.as_ref().ok();
            let vectors = vectors.map(|(whole, clauses)| QueryVectors { whole, clauses });
            let (text, clauses) = (query, parts.as_slice());
            board.index.search(&Query { text, clauses, vectors, limit: wish.limit, only: Some(&may_be) })
        };
        // What speaks against a tool more than for it was not found.
        let told = hits.into_iter().filter(|hit| hit.score > 0.0);
        let named =
            |hit: portolan_search::Hit| Some(FoundTool { name: board.tool_of(hit.key)?, score: hit.score });
        let tools = told.filter_map(named).collect();
        Found { tools, searched, words_only: understood.err(), embedding, searching: begun.elapsed() }
    }

    /// The vectors of a query and of its clauses, or why there are none.
    async fn understand(
        &self,
        board: &Board,
        query: &str,
        parts: &[String],
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), String> {
        let Some(embedder) = &self.parts.embedder else {
            return Err("no model for embeddings is configured".to_owned());
        };
        if !board.has_vectors() {
            return Err(self.trouble().unwrap_or_else(|| "the tools are still being embedded".to_owned()));
        }
        let texts: Vec<String> =
            std::iter::once(query).chain(parts.iter().map(String::as_str)).map(str::to_owned).collect();
        let embedded = timeout(PATIENCE, embedder.embed(texts, Haste::Query)).await;
        let vectors = embedded.map_err(|_| "embedding the query took too long".to_owned())?;
        let vectors = vectors.map_err(|error| error.to_string())?;
        let mut unpacked = vectors.iter().map(|vector| Packed::of(vector).map(|packed| packed.unpack()));
        let whole = unpacked.next().flatten().filter(|vector| Some(vector.len()) == board.dimension());
        let whole = whole.ok_or("the model gave no vector for the query that fits those of the tools")?;
        let clauses: Option<Vec<Vec<f32>>> = unpacked.collect();
        Ok((whole, clauses.unwrap_or_default()))
    }
}

/// Whether a tool is in the view; only a profile may leave out tools of a server that it has.
fn is_in_view(board: &Board, key: DocKey, view: &View) -> bool {
    match view {
        View::Profile(profile) if !profile.has_all_tools() => {
            board.tool_of(key).is_some_and(|tool| view.has(Kind::Tools, &tool.server, &tool.tool))
        }
        View::All | View::Profile(_) | View::Server(_) => true,
    }
}

/// Whether a server's tools can be called, and may be found.
fn is_open(snapshot: &Snapshot, server: &ServerName, wish: &Wish<'_>) -> bool {
    let state = snapshot.servers().get(server).map(|entry| entry.state);
    matches!(state, Some(State::Connected | State::Degraded))
        && wish.view.has_server(server)
        && (wish.servers.is_empty() || wish.servers.contains(server))
}
