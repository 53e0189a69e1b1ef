//! Skills of a small world, vectors that anybody can predict, and a store with a server in it.

use crate::taxonomy::Background;
use crate::{Classifier, PlainPassages, SkillDraft, Sorter, Vectors};
use async_trait::async_trait;
use portolan_llm::{ChatModel, Client, Dialect, Provider};
use portolan_model::{Classification, Moment, Origin, ServerId, ServerName, SkillId, ToolId, Workspace};
use portolan_outbound::{Options, Outbound};
use portolan_store::{
    AssignmentFinder, ClassificationRecord, Curation, Page, ServerRecord, SkillRecord, SqliteStore, Store,
    ToolDraft, ToolFinder, ToolRecord,
};
use portolan_testkit::DEADLINE;
use portolan_testkit::model_server::ModelServer;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Each word is a direction of its own; all other words are the fourth.
const WORDS: [&str; 3] = ["weather", "mail", "shop"];

/// A model that knows three words.
pub(super) struct ThreeWords {
    pub(super) is_away: AtomicBool,
    pub(super) asked: AtomicUsize,
    pub(super) name: Mutex<String>,
}

impl Default for ThreeWords {
    fn default() -> Self {
        let name = Mutex::new("three-words".to_owned());
        Self { is_away: AtomicBool::new(false), asked: AtomicUsize::new(0), name }
    }
}

fn vector(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let mut vector: Vec<f32> = WORDS.iter().map(|word| if text.contains(word) { 1.0 } else { 0.0 }).collect();
    vector.push(if vector.iter().all(|value| *value == 0.0) { 1.0 } else { 0.0 });
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

#[async_trait]
impl Vectors for ThreeWords {
    fn model(&self) -> String {
        self.name.lock().unwrap().clone()
    }

    async fn of(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        // Whoever asks at the same time gets that far, too.
        tokio::task::yield_now().await;
        let is_away = self.is_away.load(Ordering::Relaxed);
        (!is_away).then(|| texts.iter().map(|text| vector(text)).collect())
    }
}

pub(super) fn id(text: &str) -> SkillId {
    SkillId::parse(text).unwrap()
}

pub(super) fn skill(text: &str) -> SkillRecord {
    SkillRecord {
        workspace: Workspace::default(),
        id: id(text),
        name: text.to_owned(),
        description: format!("All about {text}."),
        keywords: vec![text.to_owned()],
        examples: vec![format!("Do {text}.")],
        domain: "Any".to_owned(),
        is_built_in: false,
        created_at: Moment::from_millis(1),
        updated_at: Moment::from_millis(1),
    }
}

/// The same skill as somebody would have it added.
pub(super) fn draft(text: &str) -> SkillDraft {
    let SkillRecord { id, name, description, keywords, examples, domain, .. } = skill(text);
    SkillDraft { id, name, description, keywords, examples, domain }
}

pub(super) fn skills() -> Vec<SkillRecord> {
    WORDS.iter().map(|word| skill(word)).collect()
}

pub(super) fn server(about: Option<&str>) -> ServerRecord {
    ServerRecord {
        id: ServerId::random(),
        workspace: Workspace::default(),
        name: ServerName::parse("garden-hub").unwrap(),
        origin: Origin::Registered,
        description: about.map(str::to_owned),
        sealed_spec: None,
        is_wanted: true,
        registered_at: Moment::from_millis(1),
        updated_at: Moment::from_millis(1),
    }
}

pub(super) fn tool(name: &str, description: &str) -> ToolRecord {
    ToolRecord {
        id: ToolId(1),
        server: ServerId::random(),
        server_name: ServerName::parse("garden-hub").unwrap(),
        name: name.to_owned(),
        description: Some(description.to_owned()),
        definition: "{}".to_owned(),
        fingerprint: "f".to_owned(),
        curation: Curation::default(),
        skills: Vec::new(),
        first_seen_at: Moment::from_millis(1),
        changed_at: None,
    }
}

pub(super) fn classifier(vectors: &Arc<ThreeWords>, model: Option<Arc<dyn ChatModel>>) -> Classifier {
    let background = Background { tools: vec!["Get.".to_owned()], servers: vec!["A server.".to_owned()] };
    Classifier::new(Arc::<ThreeWords>::clone(vectors), Arc::new(PlainPassages), background, model)
}

/// A model at the scripted provider.
pub(super) fn client(base_url: String) -> Arc<dyn ChatModel> {
    let provider = Provider {
        kind: Dialect::OpenAi,
        base_url,
        model: "scripted".to_owned(),
        api_key: None,
        timeout: Duration::from_secs(30),
        max_tokens: 1000,
    };
    let outbound = Outbound::new(Options::default()).unwrap();
    Arc::new(Client::new(outbound, portolan_outbound::Origin::File, provider).unwrap())
}

pub(super) fn client_of(server: &ModelServer) -> Arc<dyn ChatModel> {
    client(server.openai_url())
}

/// A sorter at work over a store with the three skills and one server.
pub(super) struct World {
    pub(super) store: Arc<SqliteStore>,
    pub(super) sorter: Arc<Sorter>,
    pub(super) vectors: Arc<ThreeWords>,
    pub(super) server: ServerId,
    ended: CancellationToken,
    _folder: TempDir,
}

impl World {
    pub(super) async fn new(model: Option<Arc<dyn ChatModel>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
        let server = server(None);
        store.add_server(&server).await.unwrap();
        store.add_missing_skills(&skills()).await.unwrap();
        let vectors = Arc::<ThreeWords>::default();
        let sorter = Self::sorter(&store, &vectors, model);
        let world = Self {
            store,
            sorter,
            vectors,
            server: server.id,
            ended: CancellationToken::new(),
            _folder: folder,
        };
        world.begin();
        world
    }

    fn sorter(
        store: &Arc<SqliteStore>,
        vectors: &Arc<ThreeWords>,
        model: Option<Arc<dyn ChatModel>>,
    ) -> Arc<Sorter> {
        let store: Arc<dyn Store> = Arc::<SqliteStore>::clone(store);
        Arc::new(Sorter::new(store, classifier(vectors, model), Workspace::default()))
    }

    #[expect(clippy::disallowed_methods, reason = "the task of a test ends with its runtime")]
    fn begin(&self) {
        let (sorter, ended) = (Arc::clone(&self.sorter), self.ended.clone());
        tokio::spawn(async move { sorter.run(ended).await });
    }

    /// The process ends, and another begins with the same store.
    pub(super) fn restart(&mut self, model: Option<Arc<dyn ChatModel>>) {
        self.ended.cancel();
        self.ended = CancellationToken::new();
        self.sorter = Self::sorter(&self.store, &self.vectors, model);
        self.begin();
        self.sorter.resume();
    }

    /// The server lists these tools, by name and description.
    pub(super) async fn list(&self, tools: &[(&str, &str)]) {
        let drafts: Vec<ToolDraft> = tools
            .iter()
            .map(|(name, description)| ToolDraft {
                name: (*name).to_owned(),
                description: Some((*description).to_owned()),
                definition: "{}".to_owned(),
                fingerprint: format!("{name}: {description}"),
            })
            .collect();
        self.store.put_tools(self.server, &drafts).await.unwrap();
        self.sorter.discovered(self.server);
    }

    /// The id of a tool that is listed.
    pub(super) async fn tool(&self, name: &str) -> String {
        let finder = ToolFinder { name: Some(name.to_owned()), ..ToolFinder::default() };
        self.store.tools(&finder, Page::ALL).await.unwrap().items[0].id.to_string()
    }

    /// Waits until that many tools are in that state.
    pub(super) async fn until(&self, count: usize, state: Classification) {
        self.eventually(&format!("{count} tools {state}"), async || {
            let records = self.records().await;
            records.iter().filter(|record| record.state == state).count() == count
        })
        .await;
    }

    /// Waits for what some batch brings about.
    pub(super) async fn eventually(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let mut changes = self.sorter.changes();
        let wait = async {
            loop {
                changes.borrow_and_update();
                if is_so().await {
                    return;
                }
                changes.changed().await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(DEADLINE, wait).await;
        assert!(in_time.is_ok(), "waited for {what}: {:?}", self.records().await);
    }

    pub(super) async fn records(&self) -> Vec<ClassificationRecord> {
        self.store.classifications(self.server, None).await.unwrap()
    }

    /// Why nothing is classified at the moment.
    pub(super) fn away(&self) -> Option<String> {
        self.sorter.standing().borrow().away.clone()
    }

    /// The skills of each tool, the primary one first.
    pub(super) async fn assigned(&self) -> Vec<(String, String)> {
        let records = self.store.assignments(&AssignmentFinder::default()).await.unwrap();
        records.into_iter().map(|record| (record.tool, record.assignment.skill.to_string())).collect()
    }
}

pub(super) fn pair(tool: &str, skill: &str) -> (String, String) {
    (tool.to_owned(), skill.to_owned())
}
