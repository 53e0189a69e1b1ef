//! Classifies the labelled servers of a corpus by embedding, and says how often the skills agree with the labels.
//!
//! `cargo run --release -p portolan-skills --example agreement -- ../shared/data/toucan_mcp_corpus`
//!
//! A server's skill is the primary one of most of its tools. The corpus labels servers with 28 categories, of which one is
//! the first and others may follow; the labels were made by a language model from the same texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use portolan_embed::Model;
use portolan_model::{Moment, Origin, ServerId, ServerName, ToolId, Workspace};
use portolan_skills::{Classifier, Found, PlainPassages, Taxonomy, Vectors};
use portolan_store::{Curation, ServerRecord, SkillRecord, ToolRecord};
use serde::Deserialize;
use serde::de::DeserializeOwned;

type Failure = Box<dyn std::error::Error>;

/// skill → the category of the corpus that it is part of.
const CATEGORIES: &[(&str, &str)] = &[
    ("academic_research", "Web Search & Research"),
    ("ai_models", "AI/ML Tools"),
    ("api_integration", "API Integration"),
    ("audio_video", "Content Creation"),
    ("blockchain", "Cryptocurrency & Blockchain"),
    ("browser_automation", "Browser Automation"),
    ("cloud_services", "Cloud Services"),
    ("commerce_crm", "E-commerce"),
    ("data_analysis", "Data Analysis & Processing"),
    ("database", "Database Operations"),
    ("devices_home", "Others"),
    ("documents_writing", "Content Creation"),
    ("education", "Education"),
    ("email", "Communication Tools"),
    ("file_management", "File Management"),
    ("financial_markets", "Financial Services"),
    ("games", "Gaming"),
    ("health_fitness", "Health & Fitness"),
    ("image_design", "Content Creation"),
    ("knowledge_memory", "Memory Management"),
    ("messaging", "Communication Tools"),
    ("news_media", "News & Media"),
    ("project_management", "Project Management"),
    ("security", "Security & Authentication"),
    ("social_media", "Social Media"),
    ("software_development", "Development Tools"),
    ("source_control", "Development Tools"),
    ("structured_thinking", "AI/ML Tools"),
    ("system_operations", "Operating System"),
    ("tasks_notes", "Daily Productivity"),
    ("time_calendar", "Time & Calendar"),
    ("travel_maps", "Travel & Maps"),
    ("weather", "Weather"),
    ("web_extraction", "Web Search & Research"),
    ("web_search", "Web Search & Research"),
];

#[derive(Deserialize)]
struct Labelled {
    server: String,
    primary_label: String,
    secondary_labels: Vec<String>,
}

#[derive(Deserialize)]
struct Tool {
    server: String,
    server_description: Option<String>,
    name: String,
    description: Option<String>,
}

/// The model of the process, on the thread that asks.
struct BuiltIn(Model);

#[async_trait]
impl Vectors for BuiltIn {
    fn model(&self) -> String {
        portolan_embed::MODEL_ID.to_owned()
    }

    async fn of(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Some(self.0.embed(&texts))
    }
}

/// What was counted.
#[derive(Default)]
struct Tally {
    tools: usize,
    without: usize,
    servers: usize,
    agree: usize,
    /// With the first label or one that follows.
    agree_with_any: usize,
    /// category → servers, agreeing ones.
    categories: BTreeMap<String, (usize, usize)>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "../shared/data/toucan_mcp_corpus".to_owned());
    let folder = Path::new(&folder);
    let labels: Vec<Labelled> = lines(&folder.join("servers.jsonl"))?;
    let mut servers: BTreeMap<String, Vec<Tool>> = BTreeMap::new();
    for tool in lines::<Tool>(&folder.join("tools.jsonl"))? {
        servers.entry(tool.server.clone()).or_default().push(tool);
    }
    let taxonomy = Taxonomy::built_in()?;
    let skills = taxonomy.skills(&Workspace::default(), Moment::now());
    let vectors = Arc::new(BuiltIn(Model::built_in()?));
    let classifier = Classifier::new(vectors, Arc::new(PlainPassages), taxonomy.background, None);
    let mut tally = Tally::default();
    for label in &labels {
        if let Some(tools) = servers.get(&label.server) {
            count(&classifier, &skills, label, tools, &mut tally).await?;
        }
    }
    print(&tally);
    Ok(())
}

async fn count(
    classifier: &Classifier,
    skills: &[SkillRecord],
    label: &Labelled,
    tools: &[Tool],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let (server, tools) = records(tools)?;
    let tools: Vec<&ToolRecord> = tools.iter().collect();
    let found = classifier.classify(skills, &server, &tools).await;
    let mut votes: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for found in found.map_err(|trouble| trouble.reason().to_owned())? {
        tally.tools += 1;
        match found {
            Found::Skills(assignments) => {
                for primary in assignments.iter().filter(|assignment| assignment.is_primary) {
                    let vote = votes.entry(primary.skill.to_string()).or_default();
                    *vote = (vote.0 + 1, vote.1 + primary.confidence);
                }
            }
            Found::Nothing(_) => tally.without += 1,
        }
    }
    let most = votes.iter().max_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let category = most.and_then(|(skill, _)| CATEGORIES.iter().find(|(id, _)| id == skill)).map(|(_, c)| *c);
    let agrees = category == Some(label.primary_label.as_str());
    let follows =
        category.is_some_and(|category| label.secondary_labels.iter().any(|other| other == category));
    tally.servers += 1;
    tally.agree += usize::from(agrees);
    tally.agree_with_any += usize::from(agrees || follows);
    let row = tally.categories.entry(label.primary_label.clone()).or_default();
    *row = (row.0 + 1, row.1 + usize::from(agrees));
    Ok(())
}

/// The server and its tools as the store would have them. Names in the corpus carry a rank and the author, which says
/// nothing; the words are taken as they are.
fn records(tools: &[Tool]) -> Result<(ServerRecord, Vec<ToolRecord>), Failure> {
    let words: String = tools[0]
        .server
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let name = ServerName::parse(&format!("s-{words}")).map_err(|error| format!("{words}: {error:?}"))?;
    let at = Moment::from_millis(0);
    let server = ServerRecord {
        id: ServerId::random(),
        workspace: Workspace::default(),
        name: name.clone(),
        origin: Origin::Registered,
        description: tools[0].server_description.clone(),
        sealed_spec: None,
        is_wanted: true,
        registered_at: at,
        updated_at: at,
    };
    let record = |tool: &Tool| ToolRecord {
        id: ToolId(0),
        server: server.id,
        server_name: name.clone(),
        name: tool.name.clone(),
        description: tool.description.clone(),
        definition: String::new(),
        fingerprint: String::new(),
        curation: Curation::default(),
        skills: Vec::new(),
        first_seen_at: at,
        changed_at: None,
    };
    let tools = tools.iter().map(record).collect();
    Ok((server, tools))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

#[expect(clippy::print_stdout, reason = "it is for reading")]
#[expect(clippy::cast_precision_loss, reason = "counts of some thousands")]
fn print(tally: &Tally) {
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    for (category, (servers, agree)) in &tally.categories {
        println!("{category:30} {servers:5} servers, agreement {:.2}", share(*agree, *servers));
    }
    println!("{:30} {:5} tools, {:.3} without a skill", "", tally.tools, share(tally.without, tally.tools));
    println!("{:30} {:5} servers", "", tally.servers);
    println!("agreement with the first label: {:.3}", share(tally.agree, tally.servers));
    println!("agreement with one of the labels: {:.3}", share(tally.agree_with_any, tally.servers));
}
