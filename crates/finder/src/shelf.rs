//! The tools by their skills: which tool has which, and which skills fit a query.

use crate::board::Board;
use portolan_model::{ServerId, ServerName, SkillId, ToolName};
use portolan_search::{Doc, DocKey, Index, Query, QueryVectors, Shard, Vectors, clauses};
use portolan_skills::weighted_mean;
use portolan_store::{AssignmentRecord, SkillRecord};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Skills that a query is taken to be about.
const MOST_MATCHED: usize = 3;
/// A skill that fits less than this does not fit at all, and neither does one that fits so much less than the best.
const FITS: f32 = 0.3;
const NEXT_TO_BEST: f32 = 0.7;

/// A skill that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedSkill {
    pub id: SkillId,
    pub name: String,
    pub score: f32,
}

/// The skills of one moment.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    skills: Vec<(SkillId, String)>,
    /// The skills as documents, so that they are found as tools are: by words, and by where their tools lie.
    index: Index,
    of_tools: OfTools,
}

type OfTools = BTreeMap<ServerName, HashMap<Box<str>, Having>>;

/// The skills of one tool, by their place in the list; the primary one first.
type Having = Vec<(u32, f64)>;

/// What a shelf is made of.
pub(crate) struct Stock<'s> {
    pub(crate) skills: &'s [SkillRecord],
    pub(crate) assignments: &'s [AssignmentRecord],
    pub(crate) names: &'s HashMap<ServerId, ServerName>,
    /// What the skills' own texts mean, where that is known: it stands for skills that no tool has.
    pub(crate) own: Option<&'s [Vec<f32>]>,
}

/// What a skill says of itself.
pub(crate) fn about(skill: &SkillRecord) -> String {
    format!("{}: {}", skill.name, skill.description)
}

impl Shelf {
    pub(crate) fn new(stock: &Stock<'_>, board: &Board) -> Self {
        let places: HashMap<&SkillId, u32> =
            (0..).zip(stock.skills).map(|(place, skill)| (&skill.id, place)).collect();
        let mut of_tools: OfTools = BTreeMap::new();
        for record in stock.assignments {
            let place = places.get(&record.assignment.skill);
            if let (Some(server), Some(place)) = (stock.names.get(&record.server), place) {
                let of_server = of_tools.entry(server.clone()).or_default();
                let of_tool = of_server.entry(record.tool.as_str().into()).or_default();
                of_tool.push((*place, record.assignment.confidence));
            }
        }
        let vectors = embeddings(stock, &of_tools, board);
        let docs: Vec<Doc> = (0..).zip(stock.skills).map(|(place, skill)| doc(place, skill)).collect();
        let tools = vectors.iter().map(Option::as_deref).collect();
        let shard = Shard::new("skills".into(), "", &docs);
        let index =
            Index::default().with_server(shard).with_vectors("skills", &Vectors { tools, server: None });
        let skills = stock.skills.iter().map(|skill| (skill.id.clone(), skill.name.clone())).collect();
        Self { skills, index, of_tools }
    }

    /// The skills that a query is about, the best first.
    pub(crate) fn matched(&self, query: &str, vectors: Option<QueryVectors<'_>>) -> Vec<MatchedSkill> {
        let parts = clauses(query);
        let wanted = Query { text: query, clauses: &parts, vectors, limit: MOST_MATCHED, only: None };
        let hits = self.index.search(&wanted);
        let best = hits.first().map_or(0.0, |hit| hit.score);
        // A word in common always means something; everything means a little of everything.
        let least = if vectors.is_some() { FITS.max(best * NEXT_TO_BEST) } else { best * NEXT_TO_BEST };
        let fitting = hits.into_iter().filter(|hit| hit.score > 0.0 && hit.score >= least);
        let named = fitting.filter_map(|hit| {
            let (id, name) = self.skills.get(usize::try_from(hit.key.0).ok()?)?;
            Some(MatchedSkill { id: id.clone(), name: name.clone(), score: hit.score })
        });
        named.collect()
    }

    /// The tools of the index that have one of these skills.
    pub(crate) fn keys(&self, board: &Board, skills: &[SkillId]) -> BTreeSet<DocKey> {
        let wanted: BTreeSet<u32> = (0..)
            .zip(&self.skills)
            .filter(|(_, (id, _))| skills.contains(id))
            .map(|(place, _)| place)
            .collect();
        let has = |having: &Having| having.iter().any(|(place, _)| wanted.contains(place));
        let mut keys = BTreeSet::new();
        for (server, tools) in &self.of_tools {
            let filed = board.tools_of(server);
            keys.extend(filed.filter(|(_, name)| tools.get(*name).is_some_and(has)).map(|(key, _)| key));
        }
        keys
    }

    /// The skills of a tool, the primary one first.
    pub(crate) fn of(&self, tool: &ToolName) -> Vec<SkillId> {
        let having = self.of_tools.get(&tool.server).and_then(|tools| tools.get(tool.tool.as_str()));
        let ids = having.into_iter().flatten().filter_map(|(place, _)| {
            self.skills.get(usize::try_from(*place).ok()?).map(|(id, _)| id.clone())
        });
        ids.collect()
    }

    pub(crate) fn has(&self, skill: &SkillId) -> bool {
        self.skills.iter().any(|(id, _)| id == skill)
    }
}

/// Where each skill lies: in the middle of the tools that have it, by confidence; by its own text where none has it.
fn embeddings(stock: &Stock<'_>, of_tools: &OfTools, board: &Board) -> Vec<Option<Vec<f32>>> {
    let mut sums: Vec<Vec<f32>> = vec![Vec::new(); stock.skills.len()];
    for (server, tools) in of_tools {
        for (name, vector) in board.vectors_of(server) {
            for (place, confidence) in tools.get(name).into_iter().flatten() {
                if let Some(sum) = usize::try_from(*place).ok().and_then(|place| sums.get_mut(place)) {
                    add(sum, &vector.unpack(), *confidence);
                }
            }
        }
    }
    let own = |place: usize| stock.own.and_then(|own| own.get(place)).cloned();
    let middle = |(place, sum): (usize, Vec<f32>)| weighted_mean([(&*sum, 1.0)]).or_else(|| own(place));
    sums.into_iter().enumerate().map(middle).collect()
}

fn add(sum: &mut Vec<f32>, vector: &[f32], weight: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "a confidence needs no more digits")]
    let weight = weight as f32;
    sum.resize(vector.len(), 0.0);
    for (total, value) in sum.iter_mut().zip(vector) {
        *total += value * weight;
    }
}

fn doc(place: u32, skill: &SkillRecord) -> Doc {
    Doc {
        key: DocKey(u64::from(place)),
        name: skill.name.clone(),
        title: None,
        description: skill.description.clone(),
        // Whoever names a keyword means the skill, as whoever names an argument means its tool.
        arguments: skill.keywords.iter().map(|keyword| (keyword.clone(), String::new())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Listed;
    use crate::packed::Packed;
    use portolan_model::{Moment, SkillSource, Tool, Workspace};
    use portolan_store::Assignment;
    use serde_json::json;
    use serde_json::value::to_raw_value;
    use std::sync::Arc;

    fn skill(id: &str, description: &str) -> SkillRecord {
        SkillRecord {
            workspace: Workspace::default(),
            id: SkillId::parse(id).unwrap(),
            name: id.to_owned(),
            description: description.to_owned(),
            keywords: Vec::new(),
            examples: Vec::new(),
            domain: String::new(),
            is_built_in: false,
            created_at: Moment::now(),
            updated_at: Moment::now(),
        }
    }

    fn server() -> ServerName {
        ServerName::parse("desk").unwrap()
    }

    /// Two tools, of which it is known that the first means 1 0 and the second 0 1.
    fn board() -> Board {
        let tool = |name: &str| {
            let definition = to_raw_value(&json!({"name": name})).unwrap();
            Arc::new(Tool { name: name.into(), definition })
        };
        let (server, mut board) = (server(), Board::default());
        board.file(&Listed { server: &server, stamp: 1, about: "", tools: &[tool("mail"), tool("post")] });
        let texts = board.texts();
        let vectors = [[1.0, 0.0], [0.0, 1.0]].map(|vector| Packed::of(&vector).unwrap());
        board.learn(&texts.iter().map(|text| text.hash.clone()).zip(vectors).collect());
        board
    }

    fn shelf(having: &[(&str, &str, f64)]) -> Shelf {
        let id: ServerId = ServerId::random();
        let record = |(tool, skill, confidence): &(&str, &str, f64)| AssignmentRecord {
            server: id,
            tool: (*tool).to_owned(),
            assignment: Assignment {
                skill: SkillId::parse(skill).unwrap(),
                confidence: *confidence,
                source: SkillSource::Embedding,
                is_primary: true,
            },
        };
        let stock = Stock {
            skills: &[skill("letters", "Send letters"), skill("music", "Play songs")],
            assignments: &having.iter().map(record).collect::<Vec<_>>(),
            names: &[(id, server())].into(),
            own: Some(&[vec![0.6, 0.8], vec![-1.0, 0.0]]),
        };
        Shelf::new(&stock, &board())
    }

    #[track_caller]
    fn check(shelf: &Shelf, vector: [f32; 2], expected: &[&str]) {
        let vectors = QueryVectors { whole: &vector, clauses: &[] };
        let matched = shelf.matched("zzz", Some(vectors));
        assert_eq!(matched.iter().map(|skill| skill.id.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_skill_lies_where_its_tools_lie_and_where_its_text_lies_without_any() {
        check(&shelf(&[("mail", "letters", 0.9)]), [1.0, 0.0], &["letters"]);
        check(&shelf(&[("mail", "letters", 0.9)]), [0.0, 1.0], &[]);
        check(&shelf(&[]), [-1.0, 0.0], &["music"]);
        check(&shelf(&[("mail", "music", 0.9)]), [-1.0, 0.0], &[]);
    }

    #[test]
    fn without_vectors_skills_are_found_by_their_words() {
        let matched = shelf(&[]).matched("play a song", None);
        assert_eq!(matched.len(), 1);
        assert_eq!(matched[0].id.as_str(), "music");
    }

    #[test]
    fn the_tools_of_a_skill_and_the_skills_of_a_tool_are_known() {
        let (shelf, board) = (shelf(&[("mail", "letters", 0.9), ("gone", "music", 0.9)]), board());
        let keys = |id: &str| shelf.keys(&board, &[SkillId::parse(id).unwrap()]);
        let named = |keys: BTreeSet<DocKey>| -> Vec<String> {
            keys.into_iter().filter_map(|key| board.tool_of(key)).map(|tool| tool.tool).collect()
        };
        assert_eq!(named(keys("letters")), ["mail"]);
        assert_eq!(named(keys("music")), [""; 0]);
        let of = |tool: &str| shelf.of(&ToolName { server: server(), tool: tool.to_owned() });
        assert_eq!((of("mail").len(), of("post").len()), (1, 0));
    }
}
