//! What the clerk files, and what it leaves alone.

use super::*;
use portolan_catalog::{Eyes, View};
use portolan_model::{Item, NameStyle, Tool};
use portolan_wire::Revision;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

fn offer(tools: &[&str], prompts: &[&str]) -> Offer {
    let definition = || RawValue::from_string("{}".to_owned()).unwrap();
    let tool = |name: &&str| Arc::new(Tool { name: (*name).into(), definition: definition() });
    let prompt = |name: &&str| Arc::new(Item { key: (*name).into(), definition: definition() });
    Offer {
        tools: tools.iter().map(tool).collect(),
        prompts: prompts.iter().map(prompt).collect(),
        ..Offer::default()
    }
}

fn offered(name: &str, offer: Offer, announced: Kinds) -> Happening {
    Happening::Offered { server: server(name), offer, announced, filed: oneshot::channel().0 }
}

/// How many of each kind a server is shown to have.
fn shown(catalog: &Catalog, name: &str) -> [usize; 4] {
    let snapshot = catalog.snapshot();
    let entry = snapshot.servers().get(&server(name)).and_then(|entry| entry.offer());
    Kind::ALL.map(|kind| entry.map_or(0, |offer| offer.len(kind)))
}

#[test]
fn the_limit_of_tools_leaves_everything_else_alone() {
    let catalog: Arc<Catalog> = Arc::default();
    let clerk = Clerk::without_books(catalog.clone(), 3);
    clerk.file(offered("a", offer(&["t", "u"], &["p"]), Kinds::NONE));
    clerk.file(offered("b", offer(&["t", "u"], &["p", "q"]), Kinds::NONE));
    assert_eq!((shown(&catalog, "a"), shown(&catalog, "b")), ([2, 1, 0, 0], [1, 2, 0, 0]));
    let (left_out, is_partial) = clerk.shortfall(&server("b"));
    assert_eq!((left_out.len(), &*left_out[0].tool, is_partial), (1, "u", true));
    assert_eq!(clerk.tool_count(&server("b")), 1);
}

#[test]
fn what_is_wrong_with_prompts_is_no_shortfall_of_tools() {
    let clerk = Clerk::without_books(Arc::default(), 10);
    let bad = LeftOut { kind: Kind::Prompts, tool: "?".to_owned(), reason: "it has no name".to_owned() };
    let partial = Kinds::NONE.with(Kind::Prompts);
    let offer = Offer { left_out: vec![bad], partial, ..offer(&["t"], &["p"]) };
    clerk.file(offered("a", offer, Kinds::NONE));
    assert_eq!(clerk.shortfall(&server("a")), (Vec::new(), false));
}

#[test]
fn what_a_server_announces_is_passed_on_and_so_is_its_word_that_lists_are_stale() {
    let catalog: Arc<Catalog> = Arc::default();
    let clerk = Clerk::without_books(catalog.clone(), 10);
    let listed = || catalog.generations().borrow().listed;
    clerk.file(offered("a", offer(&["t"], &["p"]), Kinds::NONE));
    assert_eq!(listed(), [1, 1, 0, 0]);
    clerk.file(offered("a", offer(&["t"], &["p"]), Kinds::NONE.with(Kind::Prompts)));
    assert_eq!(listed(), [1, 2, 0, 0]);
    clerk.file(Happening::Stale { server: server("a"), kinds: Kinds::NONE.with(Kind::Tools) });
    assert_eq!((listed(), shown(&catalog, "a")), ([2, 2, 0, 0], [1, 1, 0, 0]));
}

/// Files a look at a server, and says whether it has shown a difference.
fn look(clerk: &Clerk, name: &str, offer: Offer, missing: Kinds) -> bool {
    let (differs, mut told) = oneshot::channel();
    clerk.file(Happening::Seen { server: server(name), abilities: asked(), offer, missing, differs });
    told.try_recv().unwrap()
}

fn asked() -> Abilities {
    Abilities::parse(r#"{"elicitation":{}}"#)
}

#[test]
fn what_some_are_shown_is_curated_like_what_all_are_and_bounded_by_what_is_left_out() {
    let catalog: Arc<Catalog> = Arc::default();
    let clerk = Clerk::without_books(catalog.clone(), 2);
    clerk.file(offered("a", offer(&["t", "u", "over"], &["p"]), Kinds::NONE));
    clerk.curate(&server("a"), "u", Curation { is_enabled: false, description: None });
    let same = offer(&["over", "u", "t"], &["p"]);
    assert!(!look(&clerk, "a", same.clone(), Kinds::NONE), "there is nothing more to see");
    assert!(!look(&clerk, "a", offer(&["u", "t"], &[]), Kinds::NONE.with(Kind::Prompts)));
    assert!(!look(&clerk, "nobody", same, Kinds::NONE));
    assert!(look(&clerk, "a", offer(&["t", "u", "over", "x"], &["p"]), Kinds::NONE));
    let tools = |abilities: &Abilities| {
        let revision = Revision::NEWEST_WITH_HANDSHAKE;
        let eyes = Eyes { view: &View::All, style: NameStyle::Dot, revision, abilities };
        let list = catalog.snapshot().list(Kind::Tools, &eyes);
        let list: Value = serde_json::from_slice(&list).unwrap();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        list["tools"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(tools(&asked()), ["a.t", "a.x"]);
    assert_eq!(tools(&Abilities::default()), ["a.t"]);
    clerk.curate(&server("a"), "u", Curation { is_enabled: true, description: None });
    assert_eq!(tools(&asked()).len(), 3);
    clerk.file(Happening::Unseen { abilities: asked() });
    assert_eq!(tools(&asked()), tools(&Abilities::default()));
    assert_eq!(clerk.tool_count(&server("a")), 2);
}

#[test]
fn a_tool_that_is_switched_off_is_news_about_tools_alone() {
    let catalog: Arc<Catalog> = Arc::default();
    let clerk = Clerk::without_books(catalog.clone(), 10);
    clerk.file(offered("a", offer(&["t"], &["t"]), Kinds::NONE));
    clerk.curate(&server("a"), "t", Curation { is_enabled: false, description: None });
    assert_eq!(shown(&catalog, "a"), [0, 1, 0, 0]);
    assert_eq!(catalog.generations().borrow().listed, [2, 1, 0, 0]);
}
