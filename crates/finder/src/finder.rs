//! What is asked, and what is found.

use crate::board::{Board, number_of};
use crate::embedder::{Embedder, Haste};
use crate::packed::Packed;
use crate::shelf::{MatchedSkill, Shelf};
use arc_swap::ArcSwap;
use portolan_catalog::{Catalog, Snapshot, View};
use portolan_model::{Kind, ServerName, SkillId, State, ToolName};
use portolan_search::{DocKey, Query, QueryVectors, clauses};
use portolan_store::Store;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
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
    /// The model that knew every tool when Portolan last ran, where it is another one and can still be asked.
    pub before: Option<Arc<dyn Embedder>>,
    /// Keeps what was found out about texts.
    pub store: Option<Arc<dyn Store>>,
}

pub struct Finder {
    pub(crate) parts: Parts,
    pub(crate) board: ArcSwap<Board>,
    pub(crate) shelf: ArcSwap<Shelf>,
    /// Changes whenever the board does.
    pub(crate) learned: watch::Sender<u64>,
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
    /// Only tools that have one of these skills, where any are named.
    pub skills: &'w [SkillId],
    pub strategy: Strategy,
}

/// Which way leads to the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// All tools, by words and by meaning; the skills that fit are told beside them.
    #[default]
    Hybrid,
    /// The same tools, and no look at skills.
    Direct,
    /// The skills that fit first, then the tools within them; all tools where no skill fits, or none within has it.
    Hierarchical,
}

impl Strategy {
    pub const ALL: [Self; 3] = [Self::Hybrid, Self::Direct, Self::Hierarchical];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Direct => "direct",
            Self::Hierarchical => "hierarchical",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Found {
    pub tools: Vec<FoundTool>,
    /// The skills that the query is about, the best first.
    pub skills: Vec<MatchedSkill>,
    /// The way that was taken in the end.
    pub strategy: Strategy,
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
    /// The primary one first.
    pub skills: Vec<SkillId>,
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
    /// Whether there is somebody who understands queries: where the model is in trouble, the one before may be.
    pub is_understood: bool,
}

impl Finder {
    pub fn new(mut parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            board: ArcSwap::from_pointee(Board::of(parts.before.take())),
            parts,
            shelf: ArcSwap::default(),
            learned: watch::Sender::new(0),
            trouble: Mutex::new(None),
            needed: Notify::new(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    pub fn progress(&self) -> Progress {
        let board = self.board.load();
        let ((tools, unembedded), waiting) = (board.counts(), board.waiting());
        let model = self.parts.embedder.as_ref().map(|embedder| embedder.id());
        let trouble = self.trouble();
        let is_understood = board.before.is_some() || (model.is_some() && trouble.is_none());
        Progress { tools, unembedded, waiting, model, trouble, is_understood }
    }

    /// Whether there is a model at all that says what texts mean.
    pub fn has_model(&self) -> bool {
        self.parts.embedder.is_some()
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        // Whoever waits for what the index learns need not wait any longer.
        self.learned.send_modify(|count| *count += 1);
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
        let vectors = understood.as_ref().ok();
        let vectors = vectors.map(|(whole, clauses)| QueryVectors { whole, clauses });
        let shelf = self.shelf.load_full();
        let skills = match wish.strategy {
            Strategy::Direct => Vec::new(),
            Strategy::Hybrid | Strategy::Hierarchical => shelf.matched(query, vectors),
        };
        let asked = Query { text: query, clauses: &parts, vectors, limit: wish.limit, only: None };
        let scope = self.scope(&board, &shelf, wish);
        let mut strategy = wish.strategy;
        let mut tools = Vec::new();
        // Whoever has named skills has taken the first step already.
        if strategy == Strategy::Hierarchical && wish.skills.is_empty() {
            let matched: Vec<SkillId> = skills.iter().map(|skill| skill.id.clone()).collect();
            let within = Scope { having: Some(shelf.keys(&board, &matched)), ..scope.clone() };
            tools = look(&board, &within, asked);
            strategy = if tools.is_empty() { Strategy::Hybrid } else { strategy };
        }
        if tools.is_empty() {
            tools = look(&board, &scope, asked);
        }
        for tool in &mut tools {
            tool.skills = shelf.of(&tool.name);
        }
        let (searched, searching) = (scope.searched, begun.elapsed());
        Found { tools, skills, strategy, searched, words_only: understood.err(), embedding, searching }
    }

    /// What texts mean, by whoever understands queries right now; `None` where nobody does in time.
    pub async fn meanings(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let board = self.board.load_full();
        let embedder = board.before.as_ref().or(self.parts.embedder.as_ref())?;
        timeout(PATIENCE, embedder.embed(texts, Haste::Query)).await.ok()?.ok()
    }

    /// Whether there is such a skill, as far as search has heard.
    pub fn knows_skill(&self, skill: &SkillId) -> bool {
        self.shelf.load().has(skill)
    }

    /// Among which tools a wish looks.
    fn scope<'w>(&self, board: &Board, shelf: &Shelf, wish: &Wish<'w>) -> Scope<'w> {
        let snapshot = self.parts.catalog.snapshot();
        let open = board.numbers(|server| is_open(&snapshot, server, wish));
        let counted = board.servers.iter().filter(|(server, _)| is_open(&snapshot, server, wish));
        let searched = counted.map(|(_, filed)| filed.tool_count()).sum();
        let having = (!wish.skills.is_empty()).then(|| shelf.keys(board, wish.skills));
        Scope { open, having, view: wish.view, searched }
    }

    /// The vectors of a query and of its clauses, or why there are none.
    async fn understand(
        &self,
        board: &Board,
        query: &str,
        parts: &[String],
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), String> {
        let Some(embedder) = board.before.as_ref().or(self.parts.embedder.as_ref()) else {
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

/// Among which tools is looked.
#[derive(Clone)]
struct Scope<'w> {
    /// The servers by their numbers.
    open: BTreeSet<u64>,
    /// Only these.
    having: Option<BTreeSet<DocKey>>,
    view: &'w View,
    searched: usize,
}

fn look(board: &Board, scope: &Scope<'_>, asked: Query<'_>) -> Vec<FoundTool> {
    let may_be = |key: DocKey| {
        scope.open.contains(&number_of(key))
            && scope.having.as_ref().is_none_or(|having| having.contains(&key))
            && is_in_view(board, key, scope.view)
    };
    let hits = board.index.search(&Query { only: Some(&may_be), ..asked });
    // What speaks against a tool more than for it was not found.
    let told = hits.into_iter().filter(|hit| hit.score > 0.0);
    let named = |hit: portolan_search::Hit| {
        Some(FoundTool { name: board.tool_of(hit.key)?, score: hit.score, skills: Vec::new() })
    };
    told.filter_map(named).collect()
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
