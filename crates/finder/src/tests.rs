//! Search while what texts mean comes from one model, from another, from both in turn, and from none.

use crate::{EmbedError, Embedder, Finder, Found, Haste, Parts, Start, Strategy, Wish, known_by};
use async_trait::async_trait;
use portolan_catalog::{Catalog, Filing, View};
use portolan_model::{Kinds, Offer, ServerName, State, Tool};
use portolan_skills::Vectors as _;
use portolan_store::{SqliteStore, Store};
use serde_json::json;
use serde_json::value::to_raw_value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// Knows the letters of a text, in its own order; in the background only as often as it is let.
struct Letters {
    id: &'static str,
    turn: usize,
    let_in: Semaphore,
    queries: AtomicUsize,
    fails: bool,
}

impl Letters {
    fn new(id: &'static str, turn: usize) -> Self {
        let (let_in, queries) = (Semaphore::new(Semaphore::MAX_PERMITS), AtomicUsize::new(0));
        Self { id, turn, let_in, queries, fails: false }
    }

    fn queries(&self) -> usize {
        self.queries.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Embedder for Letters {
    fn id(&self) -> String {
        self.id.to_owned()
    }

    async fn embed(&self, texts: Vec<String>, haste: Haste) -> Result<Vec<Vec<f32>>, EmbedError> {
        if haste == Haste::Query {
            self.queries.fetch_add(1, Ordering::SeqCst);
        } else {
            self.let_in.acquire().await.unwrap().forget();
        }
        if self.fails {
            return Err(EmbedError::GivenUp);
        }
        let vector = |text: &String| {
            let mut vector = vec![0.01; 26];
            for letter in text.to_lowercase().bytes().filter(u8::is_ascii_lowercase) {
                vector[(usize::from(letter - b'a') + self.turn) % 26] += 1.0;
            }
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}

struct Desk {
    finder: Arc<Finder>,
    following: JoinHandle<()>,
    store: Arc<SqliteStore>,
}

impl Desk {
    async fn new(folder: &tempfile::TempDir, new: &Arc<Letters>, before: Option<&Arc<Letters>>) -> Self {
        Self::over(Arc::new(catalog()), folder, new, before).await
    }

    async fn over(
        catalog: Arc<Catalog>,
        folder: &tempfile::TempDir,
        new: &Arc<Letters>,
        before: Option<&Arc<Letters>>,
    ) -> Self {
        let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
        let as_embedder = |letters: &Arc<Letters>| letters.clone() as Arc<dyn Embedder>;
        let finder = Finder::new(Parts {
            catalog,
            about: Box::new(|_| None),
            embedder: Some(as_embedder(new)),
            before: before.map(as_embedder),
            store: Some(store.clone()),
        });
        let following = TaskTracker::new().spawn(finder.clone().follow(Start::AtOnce));
        Self { finder, following, store }
    }

    async fn find(&self) -> Found {
        let (view, query) = (View::All, "read a file");
        let strategy = Strategy::Hybrid;
        let wish = Wish { query, limit: 2, view: &view, servers: &[], skills: &[], strategy };
        self.finder.find(&wish).await
    }

    /// Searches until it has come to this; the runner's own limit ends a search that never does.
    async fn until(&self, is_so: impl Fn(&Found) -> bool) -> Found {
        loop {
            let found = self.find().await;
            if is_so(&found) {
                return found;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until this model is noted to know every tool.
    async fn known_by(&self, id: &str) {
        while known_by(&*self.store).await.unwrap().as_deref() != Some(id) {
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.following.abort();
        self.store.close().await;
    }
}

fn catalog() -> Catalog {
    let catalog = Catalog::default();
    fill(&catalog);
    catalog
}

fn fill(catalog: &Catalog) {
    let server = ServerName::parse("files").unwrap();
    let tool = |name: &str, description: &str| {
        let definition = to_raw_value(&json!({"name": name, "description": description})).unwrap();
        Arc::new(Tool { name: name.into(), definition })
    };
    let tools = vec![tool("read_file", "Reads a file"), tool("wipe", "Zaps vinyl")];
    let offer = Offer { tools, ..Offer::default() };
    catalog.file(Filing::Offered { server: server.clone(), offer, announced: Kinds::NONE });
    catalog.file(Filing::Turned { server, state: State::Connected, error: None });
}

/// A folder in whose store the old model knows every tool.
async fn known_to(old: &Arc<Letters>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::new(&folder, old, None).await;
    desk.known_by(old.id).await;
    desk.end().await;
    folder
}

#[tokio::test]
async fn the_old_model_serves_until_the_new_one_knows_every_tool() {
    let old = Arc::new(Letters::new("old", 0));
    let folder = known_to(&old).await;
    let new = Arc::new(Letters { let_in: Semaphore::new(0), ..Letters::new("new", 5) });
    let desk = Desk::new(&folder, &new, Some(&old)).await;
    let found = desk.until(|found| found.words_only.is_none()).await;
    assert_eq!(found.tools[0].name.tool, "read_file");
    assert!(old.queries() > 0 && new.queries() == 0);
    new.let_in.add_permits(10);
    desk.until(|_| new.queries() > 0).await;
    let (by_old, found) = (old.queries(), desk.find().await);
    assert_eq!((found.words_only, old.queries()), (None, by_old));
    desk.known_by("new").await;
    desk.end().await;
}

#[tokio::test]
async fn the_old_model_serves_servers_too_that_come_after_the_start() {
    let old = Arc::new(Letters::new("old", 0));
    let folder = known_to(&old).await;
    let new = Arc::new(Letters { let_in: Semaphore::new(0), ..Letters::new("new", 5) });
    let catalog = Arc::new(Catalog::default());
    let desk = Desk::over(catalog.clone(), &folder, &new, Some(&old)).await;
    // With nothing to know yet nobody knows everything.
    for _ in 0..100 {
        desk.find().await;
        tokio::task::yield_now().await;
    }
    assert_eq!(known_by(&*desk.store).await.unwrap().as_deref(), Some("old"));
    fill(&catalog);
    desk.until(|found| found.words_only.is_none()).await;
    assert!(old.queries() > 0 && new.queries() == 0);
    new.let_in.add_permits(10);
    desk.until(|_| new.queries() > 0).await;
    desk.end().await;
}

#[tokio::test]
async fn f61_a_new_model_that_does_not_answer_leaves_the_old_one_in_place() {
    let old = Arc::new(Letters::new("old", 0));
    let folder = known_to(&old).await;
    let new = Arc::new(Letters { fails: true, ..Letters::new("new", 5) });
    let desk = Desk::new(&folder, &new, Some(&old)).await;
    desk.until(|found| found.words_only.is_none()).await;
    while desk.finder.progress().trouble.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(desk.find().await.words_only, None);
    assert_eq!(known_by(&*desk.store).await.unwrap().as_deref(), Some("old"));
    desk.end().await;
}

#[tokio::test]
async fn a_text_that_the_index_is_about_to_embed_is_embedded_once() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Letters { let_in: Semaphore::new(0), ..Letters::new("old", 0) });
    let desk = Desk::new(&folder, &model, None).await;
    // The index need not have heard of it yet.
    let text = || vec!["read file: Reads a file".to_owned()];
    let asking = {
        let finder = desk.finder.clone();
        TaskTracker::new().spawn(async move { finder.of(text()).await })
    };
    // One batch is all that is let in: whoever asked for the same text has it from there.
    model.let_in.add_permits(1);
    assert_eq!(asking.await.unwrap().unwrap().len(), 1);
    desk.known_by("old").await;
    let hash = portolan_model::fingerprint([text()[0].as_bytes()]);
    assert_eq!(desk.store.vectors("old", &[hash]).await.unwrap().len(), 1);
    desk.end().await;
}
