//! What a credential looks like, and what the names of flags, variables and headers that carry one are made of.

/// Parts of names whose values are credentials.
const SECRET_WORDS: [&str; 14] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "api-key",
    "apikey",
    "auth",
    "credential",
    "private-key",
    "privatekey",
    "access-key",
    "accesskey",
    "cookie",
];

/// Names that hold such a part and mean something else.
const PLAIN_WORDS: [&str; 4] = ["max-token", "token-limit", "tokenizer", "token-count"];

/// A flag that begins so takes no value; one that ends so says where or how, and not what.
const SWITCHES: [&str; 3] = ["no-", "disable-", "skip-"];
const WAYS: [&str; 8] = ["-file", "-path", "-type", "-mode", "-method", "-url", "-uri", "-stdin"];

/// Whether a flag, a variable or a header of this name carries a credential.
pub(super) fn is_secret_name(name: &str) -> bool {
    let plain: String = dashed(name.trim_start_matches('-'));
    let is_other = PLAIN_WORDS.iter().any(|word| plain.contains(word))
        || SWITCHES.iter().any(|start| plain.starts_with(start))
        || WAYS.iter().any(|end| plain.ends_with(end));
    // An author is nobody's credential, an authorization is.
    let plain = plain.replace("authoriz", "auth-").replace("author", "");
    !is_other
        && (SECRET_WORDS.iter().any(|word| plain.contains(word))
            || plain.split('-').any(|word| matches!(word, "pass" | "pwd")))
}

/// `API_KEY`, `apiKey` and `api.key` as `api-key`.
fn dashed(name: &str) -> String {
    let mut dashed = String::with_capacity(name.len());
    let mut is_after_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && is_after_lower {
            dashed.push('-');
        }
        is_after_lower = c.is_ascii_lowercase();
        dashed.push(if matches!(c, '_' | '.' | ' ') { '-' } else { c.to_ascii_lowercase() });
    }
    dashed
}

/// What the keys of well-known services begin with, and how much has to follow.
const PREFIXES: [(&str, usize); 26] = [
    ("sk-", 6),
    ("sk_", 12),
    ("rk_", 12),
    ("pk_live_", 8),
    ("ghp_", 4),
    ("gho_", 4),
    ("ghu_", 4),
    ("ghs_", 4),
    ("ghr_", 4),
    ("github_pat_", 4),
    ("glpat-", 4),
    ("xoxa-", 4),
    ("xoxb-", 4),
    ("xoxp-", 4),
    ("xoxe.", 4),
    ("xapp-", 4),
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 30),
    ("eyJ", 12),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 40),
    ("ya29.", 10),
    ("SG.", 20),
    ("figd_", 10),
];

/// Whether a text is a credential by its looks alone, `shortest` being how long something random must be to count.
/// It errs on the side of paths and names of packages: those are what people need to see.
pub(super) fn is_credential(text: &str, shortest: usize) -> bool {
    PREFIXES
        .iter()
        .any(|(prefix, least)| text.strip_prefix(prefix).is_some_and(|rest| is_key_rest(rest, *least)))
        || is_uuid(text)
        || is_random(text, shortest)
}

/// After a prefix there are no words: `sk-learn` is a package.
fn is_key_rest(rest: &str, least: usize) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let is_key = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
    rest.len() >= least && rest.bytes().all(is_part) && (rest.bytes().any(is_key) || rest.len() >= 32)
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut groups = text.split('-');
    let fits = |length| groups.next().is_some_and(|group: &str| group.len() == length && is_hex(group));
    lengths.into_iter().all(fits) && groups.next().is_none()
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Words shorter than this are like `k8s` and `i18n`, however mixed.
const SHORTEST_MIX: usize = 5;
/// In a random text about every second letter is of another kind than the one before, in a name not one in ten.
const LETTERS_A_CHANGE: usize = 6;

/// Letters and digits through each other, for a long time.
fn is_random(text: &str, shortest: usize) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"_-+/=".contains(&b);
    if text.len() < shortest || !text.bytes().all(is_part) || is_path(text) {
        return false;
    }
    let is_mixed = text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic());
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= SHORTEST_MIX);
    is_mixed && words.map(changes).sum::<usize>() * LETTERS_A_CHANGE >= text.len()
}

/// A slash is also a sign of base64, where no plain word stands between two of them.
fn is_path(text: &str) -> bool {
    let is_word = |part: &str| part.len() > 1 && part.bytes().all(|b| b.is_ascii_lowercase());
    text.starts_with('/') || (text.contains('/') && text.split('/').any(is_word))
}

/// How often a digit meets a letter, or a capital follows a small letter.
fn changes(word: &str) -> usize {
    let is_change = |pair: &[u8]| {
        let [one, other] = [pair[0], pair[1]];
        one.is_ascii_digit() != other.is_ascii_digit()
            || (one.is_ascii_lowercase() && other.is_ascii_uppercase())
    };
    word.as_bytes().windows(2).filter(|pair| is_change(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_carry_credentials_are_known_in_every_spelling() {
        for secret in [
            "--token",
            "--api-key",
            "apiKey",
            "API_KEY",
            "X-API-Key",
            "GITHUB_PERSONAL_ACCESS_TOKEN",
            "--client-secret",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "Authorization",
            "--oauth",
            "aws_secret_access_key",
            "--private-key",
            "Cookie",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
        for plain in [
            "--author",
            "--max-tokens",
            "maxTokens",
            "--tokenizer",
            "--no-auth",
            "--token-file",
            "--auth-type",
            "--compass",
            "--keyboard",
            "PATH",
            "NODE_ENV",
            "",
        ] {
            assert!(!is_secret_name(plain), "{plain}");
        }
    }

    #[test]
    fn keys_of_well_known_services_are_known_by_their_beginning() {
        for key in [
            "sk-abc123",
            "sk-ant-api03-xyz",
            "ghp_1234567890abcdef",
            "github_pat_11ABC",
            "glpat-x1y2z3",
            "xoxb-123-456-abc",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        ] {
            assert!(is_credential(key, 24), "{key}");
        }
        for name in
            ["sk-learn", "sk-learn-mcp", "pypi-server", "hf_transfer", "npm_config", "AKIA", "eyJ", "sk-"]
        {
            assert!(!is_credential(name, 24), "{name}");
        }
    }

    #[test]
    fn long_random_texts_are_credentials() {
        for random in [
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "4f3a9b2c8d1e7f6a5b4c3d2e",
            "550e8400-e29b-41d4-a716-446655440000",
            "dGhpcyBpcyBhIHZlcnkgc2VjcmV0IGtleQ9",
            "A7xk2P_9dLmQ-4vWz81RtYbN",
        ] {
            assert!(is_credential(random, 24), "{random}");
        }
    }

    proptest! {
        #[test]
        fn random_keys_are_found_in_every_usual_spelling(
            hex in "[0-9a-f]{32,64}",
            base62 in "[0-9]{2}[A-Za-z0-9]{38}",
            base64 in "[0-9]{2}[A-Za-z0-9_-]{41}",
        ) {
            // By chance a key may look like a word; then it has far fewer changes than others.
            for key in [hex, base62, base64].iter().filter(|key| changes(key) * 5 >= key.len()) {
                let words = key.split(['-', '_']).filter(|word| word.len() < SHORTEST_MIX).count();
                prop_assert!(words > 0 || is_credential(key, 24), "{}", key);
            }
        }

        #[test]
        fn words_with_dashes_and_numbers_are_no_credentials(
            words in prop::collection::vec("[a-z]{2,12}[0-9]{0,4}|[0-9]{1,4}|v[0-9]|[A-Z][a-z]{2,9}", 1..8),
            mark in "[-_/]",
        ) {
            let name = words.join(&mark);
            prop_assert!(!is_credential(&name, 20), "{}", name);
        }
    }
}
