//! Classification by meaning: where skills lie among all meanings, and how near a tool is to each.
//!
//! A skill's anchor is the mean of its texts: its description, its keywords and its examples. What stays fixed is the
//! text, not the tools that were classified by it: measured against the tools themselves, one early mistake would draw the
//! next ones after it. What a text shares with everything (`Background`) is taken off in part, or skills that are about
//! nothing in particular, such as API integration, would attract whatever is vaguely described. The server's text counts as
//! much as the tool's: `get_item` says little, and `get_item` of a shop much.
//!
//! The constants were fitted on 17,037 tools of 1,934 real servers, whose labels say which skills fit: about half of those
//! that come out with a confidence of 0.5 do, and nine in ten of those with 0.9. Scores are divided by how near the
//! anchors' own texts are to them, so that models whose cosines are larger or smaller altogether keep the meaning of the
//! constants. `examples/agreement.rs` measures it all.

use crate::taxonomy::Background;
use crate::vectors::{Vectors, dot, weighted_mean};
use portolan_model::{SkillId, SkillSource};
use portolan_store::{Assignment, SkillRecord};

/// A tool has the skills whose confidence is this or more.
pub const SURE: f64 = 0.5;
/// And the best of them, no more than these.
pub const MOST_SKILLS: usize = 3;

/// How much of the background is taken off. Servers praise themselves in much the same words; tools rather say what they do.
const ANY_TOOL: f32 = 0.3;
const ANY_SERVER: f32 = 0.7;
/// How fast confidence grows with the score.
const STEEPNESS: f64 = 6.4;
/// What the best skill, and any other, has to reach for a confidence of 0.5, times the steepness. The second best is right
/// far less often at the same score.
const BEST: f64 = 1.25;
const OTHERS: f64 = 2.2;

/// How well a skill fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub skill: SkillId,
    pub confidence: f64,
}

/// Where the skills lie, for one embedding model.
#[derive(Debug, Clone)]
pub struct Anchors {
    skills: Vec<(SkillId, Vec<f32>)>,
    any_tool: Vec<f32>,
    any_server: Vec<f32>,
    scale: f32,
}

impl Anchors {
    /// `None` while the embedding model is away.
    pub async fn of(skills: &[SkillRecord], background: &Background, vectors: &dyn Vectors) -> Option<Self> {
        let groups: Vec<Vec<String>> = skills.iter().map(texts).collect();
        let mut all: Vec<String> = groups.iter().flatten().cloned().collect();
        all.extend(background.tools.iter().chain(&background.servers).cloned());
        let count = all.len();
        let made = vectors.of(all).await.filter(|made| made.len() == count)?;
        let (of_skills, ground) = made.split_at(groups.iter().map(Vec::len).sum());
        let (tools, servers) = ground.split_at(background.tools.len());
        let any_tool = plain_mean(tools);
        let mut rest = of_skills;
        let mut anchors = Vec::with_capacity(skills.len());
        let mut nearness = 0.0;
        for (skill, group) in skills.iter().zip(&groups) {
            let (own, others) = rest.split_at(group.len());
            rest = others;
            // A skill whose texts cancel each other out is near to nothing.
            let anchor = weighted_mean(own.iter().map(|v| (v.as_slice(), 1.0))).unwrap_or_default();
            nearness += dot(&plain_mean(own), &anchor) - ANY_TOOL * dot(&any_tool, &anchor);
            anchors.push((skill.id.clone(), anchor));
        }
        #[expect(clippy::cast_precision_loss, reason = "there are some dozens of skills")]
        let scale = (nearness / skills.len().max(1) as f32).max(0.05);
        Some(Self { skills: anchors, any_tool, any_server: plain_mean(servers), scale })
    }

    /// Every skill with its confidence, the best first; ties by id.
    pub fn fits(&self, tool: &[f32], server: Option<&[f32]>) -> Vec<Fit> {
        let score = |anchor: &[f32]| {
            let of_tool = dot(tool, anchor) - ANY_TOOL * dot(&self.any_tool, anchor);
            let score = match server {
                Some(server) => {
                    f32::midpoint(of_tool, dot(server, anchor) - ANY_SERVER * dot(&self.any_server, anchor))
                }
                None => of_tool,
            };
            score / self.scale
        };
        let mut scored: Vec<(f32, &SkillId)> =
            self.skills.iter().map(|(skill, anchor)| (score(anchor), skill)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let Some(&(best, _)) = scored.first() else { return Vec::new() };
        let fit = |(rank, (score, skill)): (usize, (f32, &SkillId))| {
            let behind = f64::from(best - score);
            let bar = if rank == 0 { BEST } else { OTHERS + behind };
            Fit { skill: skill.clone(), confidence: logistic(STEEPNESS * f64::from(score) - bar) }
        };
        scored.into_iter().enumerate().map(fit).collect()
    }
}

/// The skills that a tool gets of those that were considered: at most three, each sure enough, the best one primary.
pub(crate) fn chosen(mut fits: Vec<Fit>, source: SkillSource) -> Vec<Assignment> {
    fits.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.skill.cmp(&b.skill)));
    let sure = fits.into_iter().filter(|fit| fit.confidence >= SURE).take(MOST_SKILLS);
    let assignment = |(rank, fit): (usize, Fit)| Assignment {
        skill: fit.skill,
        confidence: fit.confidence,
        source,
        is_primary: rank == 0,
    };
    sure.enumerate().map(assignment).collect()
}

/// What a skill says of itself, in the pieces that are embedded.
fn texts(skill: &SkillRecord) -> Vec<String> {
    let mut texts = vec![format!("{}: {}", skill.name, skill.description)];
    if !skill.keywords.is_empty() {
        texts.push(format!("{}: {}", skill.name, skill.keywords.join(", ")));
    }
    texts.extend(skill.examples.iter().cloned());
    texts
}

/// Not of length 1: texts that have little in common have a short one.
fn plain_mean(vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut mean = vec![0.0; vectors.first().map_or(0, Vec::len)];
    #[expect(clippy::cast_precision_loss, reason = "a skill has some dozens of texts at most")]
    let share = 1.0 / vectors.len().max(1) as f32;
    for vector in vectors {
        for (total, value) in mean.iter_mut().zip(vector) {
            *total += value * share;
        }
    }
    mean
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
