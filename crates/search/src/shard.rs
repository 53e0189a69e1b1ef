//! One server's tools: which terms each has and how much they weigh, and their vectors.

use crate::doc::{Doc, DocKey};
use crate::meaning::Rows;
use crate::words::{squeezed, terms};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How soon a term that comes often stops adding (BM25's k1).
const SATURATION: f32 = 2.0;
/// How much a long text's terms lose against a short one's (BM25's b).
const LENGTH_PENALTY: f32 = 0.75;

/// A part of what is known of a tool: how much a term in it weighs, and how many terms such a part usually has.
/// The usual lengths are those of real servers, taken once: a server's weights then do not depend on the others', and
/// one that changes leaves the rest of the index as it is.
struct Field {
    weight: f32,
    usual_length: f32,
}

const NAME: Field = Field { weight: 3.0, usual_length: 3.0 };
const TITLE: Field = Field { weight: 1.5, usual_length: 3.0 };
const DESCRIPTION: Field = Field { weight: 1.5, usual_length: 12.0 };
const ARGUMENT_NAMES: Field = Field { weight: 1.0, usual_length: 4.0 };
const ARGUMENT_TEXTS: Field = Field { weight: 0.5, usual_length: 15.0 };
const SERVER_NAME: Field = Field { weight: 3.0, usual_length: 3.0 };
const SERVER_TEXT: Field = Field { weight: 0.1, usual_length: 20.0 };

/// That a tool has a term, and what that adds before the term's rarity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub(crate) doc: u32,
    pub(crate) weight: f32,
}

/// What is shown and compared of a tool.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: DocKey,
    pub(crate) name: Box<str>,
    /// Letters and digits of the name alone.
    pub(crate) squeezed: Box<str>,
}

/// The words of one server's tools.
#[derive(Debug)]
pub(crate) struct Lexicon {
    pub(crate) entries: Vec<Entry>,
    /// Each term's own stretch of `postings`, in the order of the terms.
    pub(crate) stretches: Vec<(Arc<str>, std::ops::Range<u32>)>,
    pub(crate) postings: Vec<Posting>,
    pub(crate) squeezed_server: Box<str>,
    /// The terms of the server's name, which all its tools have.
    pub(crate) server_terms: BTreeSet<String>,
    /// The server says nothing of itself: its vector is that of its name.
    pub(crate) is_silent: bool,
}

/// The vectors of one server: its tools' in their order, and its own.
#[derive(Debug, Clone, Default)]
pub struct Vectors<'v> {
    pub tools: Vec<Option<&'v [f32]>>,
    pub server: Option<&'v [f32]>,
}

/// One server's tools, ready to be searched: made once and shared by every index that has the server.
#[derive(Debug, Clone)]
pub struct Shard {
    pub(crate) server: Arc<str>,
    pub(crate) lexicon: Arc<Lexicon>,
    pub(crate) tools: Arc<Rows>,
    pub(crate) about: Arc<Rows>,
}

impl Shard {
    /// `about` is the server's own description, or what it tells models about itself.
    pub fn new(server: Arc<str>, about: &str, docs: &[Doc]) -> Self {
        let lexicon = Arc::new(Lexicon::new(&server, about, docs));
        let none = Vectors { tools: vec![None; docs.len()], server: None };
        Self { server, lexicon, tools: Arc::default(), about: Arc::default() }.with_vectors(&none)
    }

    /// The same tools with these vectors. Tools that have none yet are found by their words.
    #[must_use]
    pub fn with_vectors(&self, vectors: &Vectors<'_>) -> Self {
        let mut tools = vectors.tools.clone();
        tools.resize(self.len(), None);
        let tools = Arc::new(Rows::new(&tools));
        let about = Arc::new(Rows::new(&[vectors.server]));
        Self { server: Arc::clone(&self.server), lexicon: Arc::clone(&self.lexicon), tools, about }
    }

    pub fn server(&self) -> &Arc<str> {
        &self.server
    }

    pub fn len(&self) -> usize {
        self.lexicon.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lexicon.entries.is_empty()
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let lexicon = &self.lexicon;
        let names: usize = lexicon.entries.iter().map(|entry| entry.name.len() + entry.squeezed.len()).sum();
        names
            + lexicon.entries.len() * size_of::<Entry>()
            + lexicon.stretches.len() * size_of::<(Arc<str>, std::ops::Range<u32>)>()
            + lexicon.postings.len() * size_of::<Posting>()
            + self.tools.bytes()
            + self.about.bytes()
    }
}

impl Lexicon {
    fn new(server: &str, about: &str, docs: &[Doc]) -> Self {
        let mut shared = HashMap::new();
        let server_terms = terms(server);
        add(&mut shared, &SERVER_NAME, &server_terms);
        add(&mut shared, &SERVER_TEXT, &terms(about));
        let mut of_terms: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
        for (at, doc) in (0_u32..).zip(docs) {
            for (term, weight) in weights(doc, shared.clone()) {
                let weight = weight / (SATURATION + weight);
                of_terms.entry(term).or_default().push(Posting { doc: at, weight });
            }
        }
        let mut postings = Vec::with_capacity(of_terms.values().map(Vec::len).sum());
        let mut stretches = Vec::with_capacity(of_terms.len());
        for (term, of_term) in of_terms {
            let start = count(postings.len());
            postings.extend(of_term);
            stretches.push((Arc::from(term), start..count(postings.len())));
        }
        let entry = |doc: &Doc| Entry {
            key: doc.key,
            name: doc.name.as_str().into(),
            squeezed: squeezed(&doc.name).into(),
        };
        let entries = docs.iter().map(entry).collect();
        let server_terms = server_terms.into_iter().collect();
        let (squeezed_server, is_silent) = (squeezed(server).into(), about.trim().is_empty());
        Self { entries, stretches, postings, squeezed_server, server_terms, is_silent }
    }
}

/// What each term of a tool weighs, all its parts together.
fn weights(doc: &Doc, mut weights: HashMap<String, f32>) -> HashMap<String, f32> {
    add(&mut weights, &NAME, &terms(&doc.name));
    if let Some(title) = &doc.title {
        add(&mut weights, &TITLE, &terms(title));
    }
    add(&mut weights, &DESCRIPTION, &terms(&doc.description));
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (name, text) in &doc.arguments {
        names.extend(terms(name));
        texts.extend(terms(text));
    }
    add(&mut weights, &ARGUMENT_NAMES, &names);
    add(&mut weights, &ARGUMENT_TEXTS, &texts);
    weights
}

#[expect(clippy::cast_precision_loss, reason = "texts of a tool have far fewer than 2^24 terms")]
fn add(weights: &mut HashMap<String, f32>, field: &Field, terms: &[String]) {
    let length = 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * terms.len() as f32 / field.usual_length;
    for term in terms {
        *weights.entry(term.clone()).or_default() += field.weight / length;
    }
}

/// A catalog stays far below 2^32 postings; one beyond would only lose what is beyond.
pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(name: &str, description: &str) -> Doc {
        Doc {
            key: DocKey(7),
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            arguments: vec![("repo".to_owned(), "Which repository".to_owned())],
        }
    }

    fn weight(shard: &Shard, term: &str, doc: u32) -> f32 {
        let (_, stretch) = shard.lexicon.stretches.iter().find(|(own, _)| &**own == term).unwrap();
        let of_term = &shard.lexicon.postings[stretch.start as usize..stretch.end as usize];
        of_term.iter().find(|posting| posting.doc == doc).map_or(0.0, |posting| posting.weight)
    }

    #[test]
    fn a_name_weighs_more_than_a_description_and_that_more_than_an_argument() {
        let docs = [
            doc("create_issue", "Opens a ticket"),
            doc("close", "Closes an issue of a repository that was solved long ago"),
        ];
        let shard = Shard::new("github".into(), "Code hosting", &docs);
        assert!(weight(&shard, "issu", 0) > weight(&shard, "issu", 1));
        assert!(weight(&shard, "ticket", 0) > weight(&shard, "repo", 0));
        assert!(weight(&shard, "repo", 0) > weight(&shard, "host", 0));
        assert!(weight(&shard, "github", 1) > 0.0, "a server's name is in each of its tools");
        assert!(weight(&shard, "ticket", 1) < f32::EPSILON);
    }

    #[test]
    fn a_term_that_comes_often_adds_less_each_time() {
        let docs = [doc("x", "mail a b c"), doc("y", "mail mail b c"), doc("z", "mail mail mail mail")];
        let shard = Shard::new("s".into(), "", &docs);
        let (once, twice, often) =
            (weight(&shard, "mail", 0), weight(&shard, "mail", 1), weight(&shard, "mail", 2));
        assert!(once < twice && twice < often && often < 1.0);
        assert!(often - twice < 2.0 * (twice - once) + f32::EPSILON);
    }

    #[test]
    fn vectors_of_fewer_or_more_tools_than_there_are_do_no_harm() {
        let shard = Shard::new("s".into(), "", &[doc("a", ""), doc("b", "")]);
        let one = [1.0, 0.0];
        for tools in [vec![], vec![Some(&one[..])], vec![Some(&one[..]); 3]] {
            let with = shard.with_vectors(&Vectors { tools, server: None });
            assert_eq!(with.len(), 2);
            assert!(!with.tools.has(1, 1));
        }
    }
}
