//! A light stemmer: plurals and the commonest English endings, nothing that joins words of different sense.

/// The shortest word that loses an ending: shorter ones are mostly names and abbreviations.
const SHORTEST: usize = 4;

/// Writes of `word`, which is in lower case, what its forms have in common. Words of other scripts and words with
/// digits stay as they are.
pub(crate) fn stem(word: &mut String) {
    if word.len() < SHORTEST || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    drop_plural(word);
    drop_tense(word);
    // `create` and `creating`, `query` and `queries` meet here.
    if word.len() > 4 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
}

fn drop_plural(word: &mut String) {
    let length = word.len();
    if word == "news" {
        return;
    }
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 1) {
        word.truncate(base.len());
        word.push('y');
    } else if word.ends_with("sses") || is_hissing_plural(word) {
        word.truncate(length - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        word.truncate(length - 1);
    }
}

/// `boxes`, `searches`, `quizzes`: the `e` belongs to the ending.
fn is_hissing_plural(word: &str) -> bool {
    let base = word.strip_suffix("es").filter(|base| base.len() > 2);
    base.is_some_and(|base| base.ends_with(['x', 'z', 'h']))
}

fn drop_tense(word: &mut String) {
    let base = ["ing", "ed"].iter().find_map(|ending| {
        let base = word.strip_suffix(ending)?;
        (base.len() >= 3 && base.contains(['a', 'e', 'i', 'o', 'u', 'y'])).then_some(base.len())
    });
    let Some(base) = base else { return };
    word.truncate(base);
    // `planning` is of `plan`, but `calling` of `call`.
    let bytes = word.as_bytes();
    if let [.., before, last] = bytes
        && before == last
        && base > 3
        && !b"lsz".contains(last)
    {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(forms: &[&str]) {
        let stems: Vec<String> = forms
            .iter()
            .map(|form| {
                let mut word = (*form).to_owned();
                stem(&mut word);
                word
            })
            .collect();
        assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms:?} became {stems:?}");
    }

    #[track_caller]
    fn check_apart(one: &str, other: &str) {
        let (mut a, mut b) = (one.to_owned(), other.to_owned());
        stem(&mut a);
        stem(&mut b);
        assert_ne!(a, b);
    }

    #[test]
    fn the_forms_of_a_word_become_one() {
        check(&["issue", "issues"]);
        check(&["create", "creates", "created", "creating"]);
        check(&["query", "queries", "queried", "querying"]);
        check(&["search", "searches", "searched", "searching"]);
        check(&["box", "boxes"]);
        check(&["address", "addresses"]);
        check(&["plan", "plans", "planned", "planning"]);
        check(&["call", "calls", "called", "calling"]);
        check(&["city", "cities"]);
    }

    #[test]
    fn what_is_no_ending_stays() {
        for word in ["status", "bus", "css", "aws", "dns", "analysis", "ring", "bed", "s3", "größen", "東京"]
        {
            let mut stemmed = word.to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, word);
        }
        check_apart("new", "news");
        check_apart("spring", "sprain");
    }
}
