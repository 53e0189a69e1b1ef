//! How other programs write variables, in our own notation.

use super::Program;
use crate::json::{Json, Object};

/// The keys of an entry whose texts we would expand.
const EXPANDED: [&str; 9] =
    ["command", "args", "env", "cwd", "url", "base_url", "serverUrl", "httpUrl", "headers"];

/// The entry with every text in our notation, or why one cannot be said in it.
pub(super) fn translate(program: Program, fields: &Object) -> Result<Object, String> {
    let translated = |(key, value): (&str, &Json)| {
        let value = if EXPANDED.contains(&key) { translate_value(program, value)? } else { value.clone() };
        Ok((key.to_owned(), value))
    };
    fields.iter().map(translated).collect()
}

/// Texts, and those in lists and objects: there is nothing deeper that we would read.
fn translate_value(program: Program, value: &Json) -> Result<Json, String> {
    let text = |value: &Json| match value {
        Json::Text(text) => translate_text(program, text).map(Json::Text),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => Ok(value.clone()),
    };
    match value {
        Json::List(items) => items.iter().map(text).collect::<Result<_, _>>().map(Json::List),
        Json::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.to_owned(), text(value)?)));
            members.collect::<Result<Object, String>>().map(Json::Object)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => text(value),
    }
}

/// None of these programs takes `$NAME` for a variable, so a dollar that begins no `${…}` is a plain one, as in many a
/// password: it is doubled, which is how we write a plain one.
fn translate_text(program: Program, text: &str) -> Result<String, String> {
    let mut translated = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        translated.push_str(&rest[..at]);
        let braced = rest[at + 1..].strip_prefix('{').and_then(|body| body.split_once('}'));
        rest = match braced {
            Some((body, after)) => {
                translated.push_str(&reference(program, body)?);
                after
            }
            None => {
                translated.push_str("$$");
                &rest[at + 1..]
            }
        };
    }
    translated.push_str(rest);
    Ok(translated)
}

fn reference(program: Program, body: &str) -> Result<String, String> {
    let plain = body.strip_prefix("env:").unwrap_or(body);
    let name = plain.split_once(":-").map_or(plain, |(name, _)| name);
    if is_variable(name) && !(plain == body && is_known_to_editors(name)) {
        return Ok(format!("${{{plain}}}"));
    }
    let remedy = if body.starts_with("input:") {
        format!(
            "is asked for by {program} alone: put the value into a secret (`portolan secret set NAME`) and add the \
             server with ${{NAME}} in its place"
        )
    } else if body.contains("Folder") || body.contains("file") {
        format!("is a path that only {program} knows: add the server with the path itself in its place")
    } else {
        format!("means something to {program} alone: add the server with the value itself in its place")
    };
    Err(format!("`${{{body}}}` {remedy}"))
}

/// As variables are called: other programs' own words hold colons and slashes.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Words that VS Code and its kin replace by themselves and that look like variables. No variable is written in this
/// way of putting capitals.
fn is_known_to_editors(name: &str) -> bool {
    const WORDS: [&str; 18] = [
        "userHome",
        "workspaceFolder",
        "workspaceFolderBasename",
        "workspaceRoot",
        "workspaceRootFolderName",
        "file",
        "fileBasename",
        "fileBasenameNoExtension",
        "fileDirname",
        "fileExtname",
        "fileWorkspaceFolder",
        "relativeFile",
        "relativeFileDirname",
        "cwd",
        "execPath",
        "pathSeparator",
        "defaultBuildTask",
        "selectedText",
    ];
    WORDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::expand;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(translate_text(Program::VsCode, text).as_deref(), Ok(expected), "{text}");
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let reason = translate_text(Program::VsCode, text).unwrap_err();
        assert!(reason.contains(expected) && reason.contains("VS Code"), "{reason}");
    }

    #[test]
    fn variables_are_taken_over_in_every_spelling() {
        check("${env:TOKEN}", "${TOKEN}");
        check("a ${TOKEN} ${B:-c}", "a ${TOKEN} ${B:-c}");
        check("${env:userHome}", "${userHome}");
    }

    #[test]
    fn a_dollar_that_means_nothing_to_them_means_nothing_to_us() {
        check("pa$WORD", "pa$$WORD");
        check("$$", "$$$$");
        check("${unclosed", "$${unclosed");
        check("a$", "a$$");
    }

    #[test]
    fn what_only_the_program_knows_is_refused_with_a_remedy() {
        check_refused(
            "Bearer ${input:key}",
            "`${input:key}` is asked for by VS Code alone: put the value into a secret",
        );
        check_refused("${workspaceFolder}/x", "`${workspaceFolder}` is a path that only VS Code knows");
        check_refused("${workspaceFolder:api}", "path that only VS Code knows");
        check_refused("${userHome}", "means something to VS Code alone");
        check_refused("${command:x.y}", "`${command:x.y}` means something to VS Code alone");
        check_refused("${}", "means something to VS Code alone");
    }

    proptest! {
        #[test]
        fn every_text_without_braces_comes_out_as_it_was(text in "[$A-Z_a-z -]{0,30}") {
            let translated = translate_text(Program::Codex, &text).unwrap();
            prop_assert_eq!(expand(&translated, &|_| None), Ok(text));
        }

        #[test]
        fn nothing_makes_it_panic(text in "[${}:A-C_aé-]{0,30}") {
            let _ = translate_text(Program::Cursor, &text);
        }
    }
}
