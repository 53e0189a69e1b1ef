//! Which word was meant: the nearest of those that are known.

/// No key that is known is longer, and comparing costs the product of both lengths.
const LONGEST: usize = 64;

/// The known word nearest to `word`, if one is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain_word = plain(word);
    if plain_word.len() > LONGEST {
        return None;
    }
    let distance = |candidate: &str| distance(&plain_word, &plain(candidate));
    let (steps, best) = known.into_iter().map(|candidate| (distance(candidate), candidate)).min()?;
    // A third of the letters wrong is a slip; more is another word.
    (steps <= plain_word.len().max(3) / 3).then_some(best)
}

/// Case and the marks between words are not what makes two names differ.
fn plain(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | '.')).flat_map(char::to_lowercase).collect()
}

/// Letters to add, drop, change or swap with their neighbour to get from one to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let width = to.len() + 1;
    let mut rows = vec![0; (from.len() + 1) * width];
    for (i, cell) in rows.iter_mut().enumerate() {
        let (row, column) = (i / width, i % width);
        if row == 0 || column == 0 {
            *cell = row + column;
        }
    }
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let at = |back_i: usize, back_j: usize| rows[(i - back_i) * width + (j - back_j)];
            let change = at(1, 1) + usize::from(from[i - 1] != to[j - 1]);
            let mut best = change.min(at(1, 0) + 1).min(at(0, 1) + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(at(2, 2) + 1);
            }
            rows[i * width + j] = best;
        }
    }
    rows[from.len() * width + to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let known = ["command", "args", "env", "cwd", "limits.call_timeout"];
        assert_eq!(nearest(word, known), expected, "{word}");
    }

    #[test]
    fn a_slip_of_the_pen_finds_its_word_and_another_word_does_not() {
        check("comand", Some("command"));
        check("Command", Some("command"));
        check("arsg", Some("args"));
        check("envs", Some("env"));
        check("limits.callTimeout", Some("limits.call_timeout"));
        check("limits.call_timout", Some("limits.call_timeout"));
        check("colour", None);
        check("", None);
        check(&"command".repeat(100), None);
    }
}
