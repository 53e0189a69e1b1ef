//! Text cut into items: records, entries of lists, sections, lines, and else passages at the ends of sentences.

use super::dates;
use crate::item::{Haul, Item, Over};
use std::ops::Range;

/// What a text has beyond these is counted, and not looked at.
const MOST_BYTES: usize = 512 << 10;
const MOST_LINES: usize = 20_000;
/// About as much as one thought takes.
const PASSAGE: usize = 600;
/// A sentence that goes on beyond this is cut between words.
const LONGEST_SENTENCE: usize = 900;
/// An entry or a record beyond this is none: the text only happens to begin like a list.
const LONGEST_ENTRY: usize = 3000;
/// A line beyond this is prose.
const LONGEST_LINE: usize = 200;
/// Words in a line that names something and says nothing of it.
const WORDS_IN_NAME: usize = 5;
/// Lines before the first entry that only say that a list follows.
const INTRODUCTION: usize = 2;

pub(super) fn items(text: &str) -> Haul {
    let whole = text.trim();
    if whole.is_empty() || says_nothing(whole) {
        return Haul::default();
    }
    let text = beginning(whole);
    let lines: Vec<Line<'_>> = lines(text);
    let mut items = records(text, &lines)
        .or_else(|| sections(text, &lines))
        .or_else(|| entries(text, &lines))
        .or_else(|| names(&lines))
        .unwrap_or_else(|| passages(text, 0..text.len()).into_iter().map(plain).collect());
    items.retain(|item| !item.text.is_empty());
    Haul { items, over: Over { bytes: whole.len() - text.len(), ..Over::default() } }
}

/// As much of a text as is cut at all. A flood of lines takes many times its own bytes while it is looked at.
fn beginning(text: &str) -> &str {
    let text = &text[..text.floor_char_boundary(MOST_BYTES)];
    let end = text.match_indices('\n').nth(MOST_LINES).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// `No matches found` is no result, though it comes as one.
pub(crate) fn says_nothing(text: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "no ",
        "0 ",
        "nothing ",
        "none",
        "not found",
        "could not find",
        "couldn't find",
        "found 0",
        "found no",
    ];
    const WORDS: [&str; 7] = ["found", "match", "result", "available", "exist", "none", "nothing"];
    if text.len() > 160 {
        return false;
    }
    // `Staged changes:` with nothing after it.
    if text.ends_with(':') && !text.contains('\n') {
        return true;
    }
    let lower = text.to_lowercase();
    BEGINNINGS.iter().any(|begin| lower.starts_with(begin)) && WORDS.iter().any(|word| lower.contains(word))
}

#[derive(Clone)]
struct Line<'t> {
    text: &'t str,
    range: Range<usize>,
    /// Inside of a fence nothing is a heading or an entry.
    is_code: bool,
}

impl Line<'_> {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut at = 0;
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        let range = at..at + line.len();
        lines.push(Line { text: line.trim_end_matches(['\n', '\r']), range, is_code: is_code || is_fence });
        is_code ^= is_fence;
        at += line.len();
    }
    lines
}

fn plain(text: &str) -> Item {
    Item { text: text.to_owned(), ..Item::default() }
}

/// `Title: …` lines that begin with the same word again and again: one record each.
fn records(text: &str, lines: &[Line<'_>]) -> Option<Vec<Item>> {
    let first = lines
        .iter()
        .filter(|line| !line.is_blank())
        .take(INTRODUCTION + 1)
        .find_map(|line| field(line.text))?;
    let begins = |line: &Line<'_>| !line.is_code && field(line.text).is_some_and(|(key, _)| key == first.0);
    let starts: Vec<usize> = lines.iter().filter(|line| begins(line)).map(|line| line.range.start).collect();
    let items: Vec<Item> = parts(text, &starts)?.into_iter().map(record).collect();
    Some(items)
}

/// The name and the value of a line `Name: value`.
fn field(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.len() <= 24
        && key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    (is_key && value.starts_with(' ') && !value.trim().is_empty()).then(|| (key, value.trim()))
}

fn record(text: &str) -> Item {
    let of = |names: &[&str]| {
        let fields = text.lines().filter_map(field);
        let mut fitting = fields.filter(|(key, _)| names.contains(&key.to_ascii_lowercase().as_str()));
        fitting.next().map(|(_, value)| value)
    };
    Item {
        title: of(&["title", "name", "subject", "message", "summary"]).map(str::to_owned),
        url: of(&["url", "link", "uri", "source"]).filter(|url| url.contains("://")).map(str::to_owned),
        date: of(&["date", "updated", "modified", "published", "created", "time"]).and_then(dates::of_text),
        ..plain(text)
    }
}

/// `- one`, `2. two`: an entry goes on until the next one of the same depth.
fn entries(text: &str, lines: &[Line<'_>]) -> Option<Vec<Item>> {
    let marked: Vec<(usize, &Line<'_>)> = lines
        .iter()
        .filter(|line| !line.is_code)
        .filter_map(|line| Some((marker(line.text)?, line)))
        .collect();
    let depth = marked.iter().map(|(depth, _)| *depth).min()?;
    let starts: Vec<usize> =
        marked.iter().filter(|(d, _)| *d == depth).map(|(_, line)| line.range.start).collect();
    let before = lines.iter().take_while(|line| Some(&line.range.start) != starts.first());
    if before.filter(|line| !line.is_blank()).count() > INTRODUCTION {
        return None;
    }
    let parts = parts(text, &starts)?;
    Some(parts.into_iter().map(entry).collect())
}

fn entry(text: &str) -> Item {
    let bare = text.trim_start();
    let bare = marker_length(bare).map_or(bare, |length| bare[length..].trim());
    let url = bare.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '"'));
    let url = url.into_iter().find(|word| word.starts_with("http://") || word.starts_with("https://"));
    let mut title = None;
    if let Some((name, _)) = bare.strip_prefix("**").and_then(|rest| rest.split_once("**")) {
        title = Some(name.trim_end_matches(':').to_owned());
    }
    Item { title, url: url.map(str::to_owned), date: dates::of_text(bare), ..plain(bare) }
}

/// How deep an entry is that begins with this line.
fn marker(line: &str) -> Option<usize> {
    let bare = line.trim_start();
    marker_length(bare).map(|_| line.len() - bare.len())
}

fn marker_length(bare: &str) -> Option<usize> {
    if let Some(bullet) = ["- ", "* ", "• ", "– "].iter().find(|bullet| bare.starts_with(**bullet)) {
        return Some(bullet.len());
    }
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let is_number =
        (1..=4).contains(&digits) && [". ", ") "].iter().any(|end| bare[digits..].starts_with(end));
    is_number.then_some(digits + 2)
}

/// The texts between the starts of parts, if there are two of them and none is too long to be one.
fn parts<'t>(text: &'t str, starts: &[usize]) -> Option<Vec<&'t str>> {
    if starts.len() < 2 {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts: Vec<&str> = starts.iter().zip(ends).map(|(start, end)| text[*start..end].trim()).collect();
    parts.iter().all(|part| part.len() <= LONGEST_ENTRY).then_some(parts)
}

/// Markdown: each heading with what stands under it, in passages.
fn sections(text: &str, lines: &[Line<'_>]) -> Option<Vec<Item>> {
    let headings: Vec<(&str, Range<usize>)> = lines
        .iter()
        .filter(|line| !line.is_code)
        .filter_map(|line| Some((heading(line.text)?, line.range.clone())))
        .collect();
    let first = headings.first()?.1.start;
    let mut items: Vec<Item> = passages(text, 0..first).into_iter().map(plain).collect();
    for (at, (title, range)) in headings.iter().enumerate() {
        let end = headings.get(at + 1).map_or(text.len(), |(_, next)| next.start);
        if text[range.end..end].trim().is_empty() {
            continue;
        }
        for passage in passages(text, range.end..end) {
            let text = format!("{title}\n{passage}");
            items.push(Item {
                title: Some((*title).to_owned()),
                date: dates::of_text(title),
                ..plain(&text)
            });
        }
    }
    // A text of headings alone says what they say.
    (!items.is_empty()).then_some(items)
}

fn heading(line: &str) -> Option<&str> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !title.is_empty()).then_some(title)
}

/// A list of names or paths, one a line, perhaps after a line that says of what.
fn names(lines: &[Line<'_>]) -> Option<Vec<Item>> {
    let is_name = |line: &&Line<'_>| {
        let text = line.text;
        let words = text.split_whitespace().count();
        let is_path = text.contains('/') && !text.contains(". ");
        text.len() <= LONGEST_LINE
            && !text.starts_with(char::is_whitespace)
            && !line.is_code
            && !text.ends_with(['.', ';', '{', '}', ',', '?', '!'])
            && (words <= WORDS_IN_NAME || is_path)
    };
    let skipped = usize::from(lines.first()?.text.ends_with(':'));
    let named = lines.get(skipped..).unwrap_or_default();
    let is_list = named.len() + skipped >= 2 && named.iter().all(|line| is_name(&line));
    (is_list && !named.is_empty()).then(|| named.iter().map(|line| plain(line.text.trim())).collect())
}

/// Passages of about the same size, each of whole paragraphs or whole sentences where that is possible.
fn passages(text: &str, within: Range<usize>) -> Vec<&str> {
    let mut passages: Vec<Range<usize>> = Vec::new();
    for paragraph in paragraphs(text, within) {
        let pieces = if paragraph.len() <= PASSAGE {
            vec![paragraph.clone()]
        } else {
            sentences(text, paragraph.clone())
        };
        for (at, piece) in pieces.into_iter().enumerate() {
            // A paragraph that has to be cut begins a passage, so that passages do not mix two thoughts.
            let may_join = at > 0 || paragraph.len() <= PASSAGE;
            match passages.last_mut() {
                Some(last) if may_join && piece.end - last.start <= PASSAGE => last.end = piece.end,
                Some(_) | None => passages.push(piece),
            }
        }
    }
    passages.into_iter().map(|range| text[range].trim()).filter(|passage| !passage.is_empty()).collect()
}

/// Runs of lines that are not blank.
fn paragraphs(text: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = within.start;
    let mut is_open = false;
    for line in text[within].split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        if line.trim().is_empty() {
            is_open = false;
            continue;
        }
        match found.last_mut() {
            Some(last) if is_open => last.end = range.end,
            Some(_) | None => found.push(range),
        }
        is_open = true;
    }
    found
}

/// Cut after the end of each sentence or line, and between words where a sentence has no end.
fn sentences(text: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = within.start;
    let mut last_space = None;
    let mut before = ' ';
    for (offset, c) in text[within.clone()].char_indices() {
        let at = within.start + offset;
        let after = at + c.len_utf8();
        let ends = c == '\n'
            || matches!(c, '。' | '！' | '？')
            || (c.is_whitespace() && matches!(before, '.' | '!' | '?'));
        if c.is_whitespace() {
            last_space = Some(after);
        }
        before = c;
        if ends {
            found.push(start..after);
            (start, last_space) = (after, None);
        } else if after - start >= LONGEST_SENTENCE {
            let end = last_space.filter(|end| *end > start).unwrap_or(after);
            found.push(start..end);
            (start, last_space) = (end, None);
        }
    }
    if start < within.end {
        found.push(start..within.end);
    }
    found
}
