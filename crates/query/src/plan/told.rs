//! What an answer tells that the next call can be made with: places, names, files.

use crate::cut::{read_data, says_nothing, squeezed};
use crate::forms::is_absolute;
use crate::reply::Reply;
use serde_json::Value;

/// A list beyond this is read no further.
const MOST: usize = 500;
/// How deep a tree of folders is followed.
const DEPTH: usize = 12;
/// Members that hold the name of a thing.
const NAMES: [&str; 8] = ["name", "tablename", "table", "title", "id", "key", "path", "slug"];
/// Files that are no text.
const BINARY: [&str; 28] = [
    "png", "jpg", "jpeg", "gif", "webp", "ico", "bmp", "tiff", "mp3", "mp4", "mov", "avi", "wav", "ogg",
    "zip", "gz", "tar", "7z", "exe", "dll", "so", "bin", "pdf", "docx", "xlsx", "pptx", "db", "sqlite",
];

/// An answer as data or as lines, whichever it is.
enum Said<'r> {
    Data(Value),
    Lines(&'r str),
}

fn said(reply: &Reply) -> Vec<Said<'_>> {
    let mut said: Vec<Said<'_>> = Vec::new();
    for text in reply.texts().filter(|text| !says_nothing(text.trim())) {
        said.push(read_data(text).map_or(Said::Lines(text), Said::Data));
    }
    if said.is_empty() {
        said.extend(reply.structured.clone().map(Said::Data));
    }
    said
}

/// Absolute paths of folders.
pub(super) fn places(reply: &Reply) -> Vec<String> {
    let mut found = Vec::new();
    for said in said(reply) {
        match said {
            Said::Lines(text) => found.extend(text.lines().take(MOST).filter_map(path_in)),
            Said::Data(value) => each_text(&value, DEPTH, &mut |text| found.extend(path_in(text))),
        }
    }
    found.truncate(MOST);
    found
}

/// The path that a line is, without what marks it as an entry of a list.
fn path_in(line: &str) -> Option<String> {
    let bare = line.trim().trim_start_matches(['-', '*', '•', ' ']).trim();
    let bare = bare.strip_prefix("file://").unwrap_or(bare);
    let after = bare.split_once(": ").map_or(bare, |(_, after)| after.trim());
    [bare, after].into_iter().find(|text| is_absolute(text) && text.len() <= 1024).map(str::to_owned)
}

/// Names of things: the entries of a list, or what the entries are called.
pub(super) fn names(reply: &Reply) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for said in said(reply) {
        match said {
            Said::Lines(text) => {
                let lines = text.lines().take(MOST).filter(|line| !line.trim_end().ends_with(':'));
                found.extend(
                    lines.map(|line| line.trim().trim_start_matches(['-', '*', '•', ' ']).to_owned()),
                );
            }
            Said::Data(value) => names_in(&value, DEPTH, &mut found),
        }
    }
    found.retain(|name| !name.is_empty() && name.len() <= 200);
    found.truncate(MOST);
    found
}

fn names_in(value: &Value, depth: usize, found: &mut Vec<String>) {
    if depth == 0 || found.len() >= MOST {
        return;
    }
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| names_in(element, depth - 1, found)),
        Value::Object(members) => {
            let named = |name: &&str| {
                members
                    .iter()
                    .find(|(key, value)| squeezed(key) == **name && value.is_string())
                    .map(|(_, value)| value)
            };
            match NAMES.iter().find_map(named) {
                Some(name) => names_in(name, depth - 1, found),
                None => members.values().filter(|v| v.is_array()).for_each(|v| names_in(v, depth - 1, found)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Files that an answer names, as absolute paths: what is relative stands in the place that was asked about.
pub(super) fn files(reply: &Reply, place: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    for said in said(reply) {
        match said {
            Said::Lines(text) => {
                found.extend(text.lines().take(MOST).filter_map(|line| file_in(line, place)));
            }
            Said::Data(value) => files_in(&value, place, DEPTH, &mut found),
        }
    }
    found.truncate(MOST);
    found
}

fn file_in(line: &str, place: Option<&str>) -> Option<String> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("[FILE]") {
        return place.map(|place| joined(place, name.trim()));
    }
    path_in(line)
}

/// A tree of `name` and `children`, or texts that are paths.
fn files_in(value: &Value, place: Option<&str>, depth: usize, found: &mut Vec<String>) {
    if depth == 0 || found.len() >= MOST {
        return;
    }
    match value {
        Value::String(text) => found.extend(path_in(text)),
        Value::Array(elements) => {
            for element in elements {
                files_in(element, place, depth - 1, found);
            }
        }
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            let path = match (text("path"), text("name"), place) {
                (Some(path), _, _) if is_absolute(path) => Some(path.to_owned()),
                (Some(relative), _, Some(place)) | (None, Some(relative), Some(place)) => {
                    Some(joined(place, relative))
                }
                (_, _, _) => None,
            };
            let is_folder = matches!(text("type"), Some("directory" | "dir" | "folder"))
                || members.contains_key("children");
            if let (Some(path), false) = (&path, is_folder) {
                found.push(path.clone());
            }
            for inner in members.values().filter(|value| value.is_array()) {
                files_in(inner, path.as_deref().or(place), depth - 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn joined(place: &str, name: &str) -> String {
    format!("{}/{}", place.trim_end_matches('/'), name.trim_start_matches('/'))
}

fn each_text(value: &Value, depth: usize, take: &mut impl FnMut(&str)) {
    if depth == 0 {
        return;
    }
    match value {
        Value::String(text) => take(text),
        Value::Array(elements) => {
            elements.iter().take(MOST).for_each(|element| each_text(element, depth - 1, take));
        }
        Value::Object(members) => {
            members.values().take(MOST).for_each(|member| each_text(member, depth - 1, take));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a file may be text, by its name; one without an ending may be a folder, and is left alone.
pub(super) fn is_readable(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    ending.is_some_and(|ending| !ending.is_empty() && !BINARY.contains(&ending.as_str()))
}
