//! The built-in taxonomy with the built-in model: what nobody would doubt comes out so.

use super::kit::{server, tool};
use crate::{Classifier, Found, PlainPassages, Taxonomy, Vectors};
use async_trait::async_trait;
use portolan_embed::Model;
use portolan_model::{Moment, Workspace};
use std::sync::Arc;

struct BuiltIn(Model);

#[async_trait]
impl Vectors for BuiltIn {
    fn model(&self) -> String {
        portolan_embed::MODEL_ID.to_owned()
    }

    async fn of(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        Some(self.0.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()))
    }
}

#[tokio::test]
async fn tools_that_nobody_would_doubt_have_the_skill_that_everybody_would_name() {
    let taxonomy = Taxonomy::built_in().unwrap();
    let skills = taxonomy.skills(&Workspace::default(), Moment::now());
    let vectors = Arc::new(BuiltIn(Model::built_in().unwrap()));
    let classifier = Classifier::new(vectors, Arc::new(PlainPassages), taxonomy.background, None);
    for (about, name, description, expected) in [
        ("GitHub's official server", "create_pull_request", "Open a pull request", "source_control"),
        ("PostgreSQL access", "query", "Run a read-only SQL query", "database"),
        ("Forecasts of the weather service", "get_forecast", "Forecast for a place", "weather"),
        ("Mail in Gmail", "send_email", "Send an email", "email"),
        ("Local files", "read_file", "Read a file from the disk", "file_management"),
        ("Control a browser with Playwright", "browser_click", "Click an element", "browser_automation"),
        ("Token prices on chains", "get_token_price", "Price of a token", "blockchain"),
        ("Jira boards", "create_sprint", "Create a sprint on a board", "project_management"),
    ] {
        let tool = tool(name, description);
        let found = classifier.classify(&skills, &server(Some(about)), &[&tool]).await.unwrap().remove(0);
        let Found::Skills(assignments) = &found else { panic!("{name}: {found:?}") };
        assert_eq!(assignments[0].skill.as_str(), expected, "{name}: {found:?}");
    }
}
