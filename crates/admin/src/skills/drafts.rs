//! What people may say of a skill, and what a suggestion becomes without further words.

use crate::problem::{FieldError, Refusal};
use portolan_model::{SkillId, fingerprint};
use portolan_skills::{SkillDraft, SkillPatch, SuggestionRecord};
use serde::Deserialize;
use utoipa::ToSchema;

const LONGEST_NAME: usize = 100;
const LONGEST_DESCRIPTION: usize = 2000;
/// How many keywords and how many examples a skill has at most, and how long each is.
pub(crate) const MOST_PHRASES: usize = 100;
pub(crate) const LONGEST_PHRASE: usize = 500;
/// The field of skills that nobody has put into one.
const NO_DOMAIN: &str = "Other";
/// What stands beside the skills in the table of routes: a skill of that id could not be asked for.
const TAKEN: [&str; 2] = ["classify", "suggestions"];

/// A skill to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillBody {
    /// Made from the name where it is absent.
    #[schema(pattern = "^[a-z][a-z0-9_-]{0,63}$", example = "gardening")]
    id: Option<String>,
    #[schema(min_length = 1, max_length = 100, pattern = "\\S", example = "Gardening")]
    name: String,
    /// What such tools do, in a sentence: tools are held against it.
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = "\\S",
        example = "Plan beds, water plants and look after gardens."
    )]
    description: String,
    /// Words that speak for it.
    keywords: Option<Vec<String>>,
    /// Sentences as servers write them of such tools.
    examples: Option<Vec<String>>,
    /// The larger field that it is part of.
    #[schema(min_length = 1, max_length = 100, pattern = "\\S", example = "World", default = "Other")]
    domain: Option<String>,
}

/// What is to change of a skill; what is absent stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillChange {
    #[schema(min_length = 1, max_length = 100, pattern = "\\S")]
    name: Option<String>,
    /// What such tools do, in a sentence: tools are held against it.
    #[schema(min_length = 1, max_length = 2000, pattern = "\\S")]
    description: Option<String>,
    /// Words that speak for it; these take the place of all that were there.
    keywords: Option<Vec<String>>,
    /// Sentences as servers write them of such tools; these take the place of all that were there.
    examples: Option<Vec<String>>,
    /// The larger field that it is part of.
    #[schema(min_length = 1, max_length = 100, pattern = "\\S")]
    domain: Option<String>,
}

impl SkillBody {
    pub(super) fn draft(self) -> Result<SkillDraft, Refusal> {
        let given = self.id.as_deref().map(given_id).transpose();
        let change = SkillChange {
            name: Some(self.name.clone()),
            description: Some(self.description.clone()),
            keywords: self.keywords,
            examples: self.examples,
            domain: self.domain,
        };
        let mut errors = change.errors();
        let given = given.unwrap_or_else(|error| {
            errors.insert(0, error);
            None
        });
        if !errors.is_empty() {
            return Err(Refusal::invalid(errors));
        }
        let id = given.or_else(|| id_of(&self.name)).ok_or_else(nameless)?;
        Ok(change.onto(id, self.name, self.description))
    }
}

impl SkillChange {
    pub(super) fn patch(self) -> Result<SkillPatch, Refusal> {
        let errors = self.errors();
        if !errors.is_empty() {
            return Err(Refusal::invalid(errors));
        }
        let Self { name, description, keywords, examples, domain } = self;
        Ok(SkillPatch { name, description, keywords, examples, domain })
    }

    /// The skill that a suggestion becomes with these changes.
    pub(super) fn of(self, suggestion: SuggestionRecord) -> Result<SkillDraft, Refusal> {
        let errors = self.errors();
        if !errors.is_empty() {
            return Err(Refusal::invalid(errors));
        }
        let name = self.name.clone().unwrap_or(suggestion.name);
        let description = self.description.clone().unwrap_or(suggestion.description);
        let id = id_of(&name).ok_or_else(nameless)?;
        Ok(self.onto(id, name, description))
    }

    fn onto(self, id: SkillId, name: String, description: String) -> SkillDraft {
        SkillDraft {
            id,
            name,
            description,
            keywords: self.keywords.unwrap_or_default(),
            examples: self.examples.unwrap_or_default(),
            domain: self.domain.unwrap_or_else(|| NO_DOMAIN.to_owned()),
        }
    }

    fn errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (field, text, longest) in [
            ("name", &self.name, LONGEST_NAME),
            ("description", &self.description, LONGEST_DESCRIPTION),
            ("domain", &self.domain, LONGEST_NAME),
        ] {
            let wrong = text.as_deref().and_then(|text| complaint(text, longest));
            errors.extend(wrong.map(|msg| FieldError::new(&["body", field], msg)));
        }
        for (field, phrases) in [("keywords", &self.keywords), ("examples", &self.examples)] {
            let phrases = phrases.as_deref().unwrap_or_default();
            if phrases.len() > MOST_PHRASES {
                let msg = format!("has at most {MOST_PHRASES} entries");
                errors.push(FieldError::new(&["body", field], msg));
            }
            for (at, phrase) in phrases.iter().enumerate() {
                let wrong = complaint(phrase, LONGEST_PHRASE);
                errors.extend(wrong.map(|msg| FieldError::new(&["body", field, &at.to_string()], msg)));
            }
        }
        errors
    }
}

fn complaint(text: &str, longest: usize) -> Option<String> {
    if text.trim().is_empty() {
        return Some("must not be empty".to_owned());
    }
    (text.chars().count() > longest).then(|| format!("has at most {longest} characters"))
}

fn given_id(text: &str) -> Result<SkillId, FieldError> {
    let wrong = |msg: String| FieldError::new(&["body", "id"], msg);
    let id = SkillId::parse(text).map_err(|error| wrong(error.to_string()))?;
    if TAKEN.contains(&id.as_str()) {
        return Err(wrong(format!("{id} is the name of an operation: take another id")));
    }
    Ok(id)
}

/// The id that a skill of this name gets. A name without a letter that an id may have gets one that at least stays the same.
fn id_of(name: &str) -> Option<SkillId> {
    let readable = SkillId::from_name(name).filter(|id| !TAKEN.contains(&id.as_str()));
    let hashed = || {
        let hash = fingerprint([name.as_bytes()]);
        SkillId::parse(&format!("skill_{}", hash.get(..8)?)).ok()
    };
    readable.or_else(hashed)
}

fn nameless() -> Refusal {
    Refusal::invalid(vec![FieldError::new(&["body", "id"], "say an id, since the name gives none")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn draft(body: Value) -> Result<SkillDraft, String> {
        let body: SkillBody = serde_json::from_value(body).unwrap();
        body.draft().map_err(|refusal| format!("{refusal:?}"))
    }

    #[track_caller]
    fn check_id(body: Value, expected: &str) {
        assert_eq!(draft(body).unwrap().id.as_str(), expected);
    }

    #[test]
    fn an_id_is_the_given_one_or_made_from_the_name() {
        check_id(json!({ "id": "a-1", "name": "Bees", "description": "d" }), "a-1");
        check_id(json!({ "name": "Bees & honey", "description": "d" }), "bees_honey");
        check_id(json!({ "name": "Suggestions", "description": "d" }), "skill_6c0e5b8a");
        check_id(json!({ "name": "搜索", "description": "d" }), "skill_59b4b593");
    }

    #[test]
    fn what_is_not_said_is_empty_or_in_no_domain() {
        let made = draft(json!({ "name": "Bees", "description": "d", "keywords": null })).unwrap();
        assert_eq!((made.keywords.len(), made.examples.len(), made.domain.as_str()), (0, 0, "Other"));
    }

    #[track_caller]
    fn refused(fields: &Value, texts: &[&str]) {
        let mut body = json!({ "name": "Bees", "description": "d" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let error = draft(body).unwrap_err();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
    }

    #[test]
    fn everything_that_cannot_be_taken_is_named() {
        refused(&json!({ "id": "Bees" }), &[r#"["body", "id"]"#, "is no id of a skill"]);
        refused(&json!({ "id": "classify" }), &[r#"["body", "id"]"#, "the name of an operation"]);
        refused(&json!({ "name": " \n" }), &[r#"["body", "name"]"#, "must not be empty"]);
        refused(&json!({ "name": "é".repeat(101) }), &[r#"["body", "name"]"#, "at most 100"]);
        refused(&json!({ "description": "x".repeat(2001) }), &["at most 2000"]);
        refused(&json!({ "domain": "" }), &[r#"["body", "domain"]"#]);
        refused(&json!({ "keywords": ["a", ""] }), &[r#"["body", "keywords", "1"]"#]);
        refused(&json!({ "examples": vec!["a"; 101] }), &[r#"["body", "examples"]"#, "at most 100 entries"]);
        refused(
            &json!({ "examples": ["x".repeat(501)], "id": "", "name": "" }),
            &["examples", "\"id\"", "name"],
        );
        assert!(draft(json!({ "name": "é".repeat(100), "description": "d" })).is_ok());
    }
}
