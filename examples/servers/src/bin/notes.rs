//! An MCP server that keeps short notes, in memory or with `--file F` on disk.
#![expect(clippy::print_stderr, reason = "stdout carries MCP, so what is meant for people goes to stderr")]

use portolan_examples::{Answer, Args, Refusal, Tool, ToolKind, Toolbox, serve};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// Enough for one screen; the answer says when there are more.
const DEFAULT_LIMIT: u64 = 50;

#[derive(Debug, Clone, PartialEq)]
struct Note {
    /// Never given twice, so that an id in an old conversation cannot mean a new note.
    id: u64,
    text: String,
    tags: Vec<String>,
}

impl Note {
    fn to_json(&self) -> Value {
        json!({ "id": self.id, "text": self.text, "tags": self.tags })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let tags = value["tags"].as_array()?.iter().map(|tag| tag.as_str().map(str::to_owned));
        Some(Self {
            id: value["id"].as_u64()?,
            text: value["text"].as_str()?.to_owned(),
            tags: tags.collect::<Option<_>>()?,
        })
    }

    fn line(&self) -> String {
        let plain = format!("{}. {}", self.id, self.text);
        self.tags.iter().fold(plain, |line, tag| line + " #" + tag)
    }

    fn has_tag(&self, wanted: &str) -> bool {
        self.tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted))
    }

    fn holds_word(&self, word: &str) -> bool {
        self.text.to_lowercase().contains(word)
            || self.tags.iter().any(|tag| tag.to_lowercase().contains(word))
    }
}

#[derive(Default)]
struct Notes {
    kept: Vec<Note>,
    last_id: u64,
    file: Option<PathBuf>,
}

impl Notes {
    /// A file that is not there yet is an empty one.
    fn open(file: PathBuf) -> io::Result<Self> {
        let mut notes = Self::default();
        match fs::read(&file) {
            Ok(bytes) => notes.restore(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        notes.file = Some(file);
        Ok(notes)
    }

    fn restore(&mut self, bytes: &[u8]) -> io::Result<()> {
        let saved: Value = serde_json::from_slice(bytes)?;
        let notes = saved["notes"].as_array().map(|list| list.iter().map(Note::from_json));
        let notes: Option<Vec<Note>> = notes.and_then(Iterator::collect);
        let (Some(notes), Some(last_id)) = (notes, saved["last_id"].as_u64()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not a file of notes"));
        };
        (self.kept, self.last_id) = (notes, last_id);
        Ok(())
    }

    /// Saved first and only then believed: what could not be kept is not shown as kept.
    fn replace(&mut self, notes: Vec<Note>, last_id: u64) -> Result<(), Refusal> {
        if let Some(file) = &self.file {
            save(file, &notes, last_id).map_err(|error| {
                Refusal(format!("nothing was changed: {} could not be written: {error}", file.display()))
            })?;
        }
        (self.kept, self.last_id) = (notes, last_id);
        Ok(())
    }

    fn add(&mut self, args: &Args<'_>) -> Result<Answer, Refusal> {
        let (text, tags) = (args.text("text")?.to_owned(), args.optional_texts("tags")?);
        let note = Note { id: self.last_id + 1, text, tags };
        let mut notes = self.kept.clone();
        notes.push(note.clone());
        self.replace(notes, note.id)?;
        Ok(Answer { text: format!("Kept as note {}.", note.id), data: note.to_json() })
    }

    fn list(&self, args: &Args<'_>) -> Result<Answer, Refusal> {
        let (tag, limit) = (args.optional_text("tag")?, args.optional_count("limit")?);
        Ok(shown(self.kept.iter().filter(|note| tag.is_none_or(|tag| note.has_tag(tag))), limit))
    }

    fn search(&self, args: &Args<'_>) -> Result<Answer, Refusal> {
        let (query, limit) = (args.text("query")?.to_lowercase(), args.optional_count("limit")?);
        let words: Vec<&str> = query.split_whitespace().collect();
        Ok(shown(self.kept.iter().filter(|note| words.iter().all(|word| note.holds_word(word))), limit))
    }

    fn delete(&mut self, args: &Args<'_>) -> Result<Answer, Refusal> {
        let id = args.optional_count("id")?;
        let Some(at) = self.kept.iter().position(|note| Some(note.id) == id) else {
            let id = id.unwrap_or_default();
            return Err(Refusal(format!("there is no note {id}; list_notes shows the notes with their ids")));
        };
        let mut notes = self.kept.clone();
        let note = notes.remove(at);
        self.replace(notes, self.last_id)?;
        Ok(Answer { text: format!("Deleted note {}: {}", note.id, note.text), data: note.to_json() })
    }
}

/// Written beside and moved over, so that a crash leaves the old file or the new one, never half of one.
fn save(file: &Path, notes: &[Note], last_id: u64) -> io::Result<()> {
    let notes: Vec<Value> = notes.iter().map(Note::to_json).collect();
    let beside = file.with_added_extension("new");
    fs::write(&beside, json!({ "last_id": last_id, "notes": notes }).to_string())?;
    fs::rename(&beside, file)
}

/// The newest notes first, as many as asked for.
fn shown<'a>(notes: impl DoubleEndedIterator<Item = &'a Note>, limit: Option<u64>) -> Answer {
    let all: Vec<&Note> = notes.rev().collect();
    let limit = usize::try_from(limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(usize::MAX);
    let cut = &all[..all.len().min(limit)];
    let mut lines: Vec<String> = cut.iter().map(|note| note.line()).collect();
    if all.is_empty() {
        lines.push("No notes.".to_owned());
    } else if cut.len() < all.len() {
        lines.push(format!("… and {} more", all.len() - cut.len()));
    }
    let notes: Vec<Value> = cut.iter().map(|note| note.to_json()).collect();
    Answer { text: lines.join("\n"), data: json!({ "notes": notes, "total": all.len() }) }
}

impl Toolbox for Notes {
    const NAME: &'static str = "portolan-example-notes";
    const TITLE: &'static str = "Notes";
    const INSTRUCTIONS: &'static str = "Keeps short notes for the user. Search before adding, so that nothing is \
        kept twice. Notes have ids that are never used again.";

    fn tools() -> Vec<Tool> {
        let limit = json!({
            "type": "integer", "minimum": 1, "default": DEFAULT_LIMIT, "description": "How many notes to show at most",
        });
        vec![
            Tool {
                name: "add_note",
                title: "Add a note",
                description: "Keep a short text for later, with tags to find it by. Answers with the note and its id.",
                kind: ToolKind::Adds,
                properties: json!({
                    "text": { "type": "string", "minLength": 1, "description": "What to remember" },
                    "tags": {
                        "type": "array",
                        "items": { "type": "string", "minLength": 1 },
                        "description": "Words to file it under, such as `shopping` or `ideas`",
                    },
                }),
                required: &["text"],
                output_schema: note_schema(),
            },
            Tool {
                name: "list_notes",
                title: "List notes",
                description: "Show the notes, the newest first; only those with a tag if one is given.",
                kind: ToolKind::Reads,
                properties: json!({
                    "tag": { "type": "string", "minLength": 1, "description": "Show only notes with this tag" },
                    "limit": limit,
                }),
                required: &[],
                output_schema: notes_schema(),
            },
            Tool {
                name: "search_notes",
                title: "Search notes",
                description: "Find the notes whose text or tags hold every word of the query, the newest first. Case \
                    does not matter, and a part of a word is enough.",
                kind: ToolKind::Reads,
                properties: json!({
                    "query": { "type": "string", "minLength": 1, "description": "One or more words" },
                    "limit": limit,
                }),
                required: &["query"],
                output_schema: notes_schema(),
            },
            Tool {
                name: "delete_note",
                title: "Delete a note",
                description: "Remove one note for good, by its id. Answers with the note that was removed.",
                kind: ToolKind::Destroys,
                properties: json!({
                    "id": { "type": "integer", "minimum": 1, "description": "The note's id, as list_notes shows it" },
                }),
                required: &["id"],
                output_schema: note_schema(),
            },
        ]
    }

    fn call(&mut self, tool: &str, args: &Args<'_>) -> Result<Answer, Refusal> {
        match tool {
            "add_note" => self.add(args),
            "list_notes" => self.list(args),
            "search_notes" => self.search(args),
            "delete_note" => self.delete(args),
            other => Err(Refusal(format!("{other} is listed but not built"))),
        }
    }
}

fn note_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "integer" },
            "text": { "type": "string" },
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["id", "text", "tags"],
    })
}

fn notes_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "notes": { "type": "array", "items": note_schema() },
            "total": { "type": "integer", "description": "How many there are, shown or not" },
        },
        "required": ["notes", "total"],
    })
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let notes = match args[..] {
        [] => Ok(Notes::default()),
        ["--file", file] => {
            Notes::open(Path::new(file).to_owned()).map_err(|error| format!("{file}: {error}"))
        }
        _ => {
            eprintln!("usage: portolan-example-notes [--file FILE]");
            return ExitCode::from(2);
        }
    };
    let served = notes
        .and_then(|notes| serve(notes, io::stdin().lock(), io::stdout().lock()).map_err(|e| e.to_string()));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("portolan-example-notes: {why}");
            ExitCode::FAILURE
        }
    }
}
