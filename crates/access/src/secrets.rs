//! The opened secret store: what `${NAME}` stands for in servers that were registered over REST.

use arc_swap::ArcSwap;
use portolan_model::Secret;
use std::collections::BTreeMap;
use std::fmt;

/// The longest name that a secret may have.
const LONGEST: usize = 255;

/// Whether a secret may be called so: as a variable may, because `${NAME}` can mean either.
pub fn is_secret_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && name.len() <= LONGEST && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Every secret by its name. Sessions look theirs up while others are set, and neither waits for the other.
#[derive(Default)]
pub struct Secrets(ArcSwap<BTreeMap<String, Secret>>);

impl Secrets {
    pub fn new(secrets: BTreeMap<String, Secret>) -> Self {
        Self(ArcSwap::from_pointee(secrets))
    }

    pub fn get(&self, name: &str) -> Option<Secret> {
        self.0.load().get(name).cloned()
    }

    /// Adds a secret or replaces the one of this name. Whoever takes names from outside asks `is_secret_name` first.
    pub fn set(&self, name: &str, value: &Secret) {
        self.0.rcu(|secrets| {
            let mut secrets = BTreeMap::clone(secrets);
            secrets.insert(name.to_owned(), value.clone());
            secrets
        });
    }

    /// Whether there was one to remove.
    pub fn remove(&self, name: &str) -> bool {
        let before = self.0.rcu(|secrets| {
            let mut secrets = BTreeMap::clone(secrets);
            secrets.remove(name);
            secrets
        });
        before.contains_key(name)
    }

    /// In alphabetical order.
    pub fn names(&self) -> Vec<String> {
        self.0.load().keys().cloned().collect()
    }
}

/// Names only.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.load().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_called_as_a_variable_may_be() {
        for good in ["A", "_", "GITHUB_TOKEN", "lower_2", &"a".repeat(255)] {
            assert!(is_secret_name(good), "{good}");
        }
        for bad in ["", "1A", "A-B", "A.B", "A B", "env:A", "É", "A\n", &"a".repeat(256)] {
            assert!(!is_secret_name(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_set_is_found_until_it_is_removed() {
        let secrets = Secrets::new(BTreeMap::from([("B".to_owned(), Secret::new("old"))]));
        secrets.set("B", &Secret::new("new"));
        secrets.set("A", &Secret::new("1"));
        assert_eq!((secrets.get("A"), secrets.get("B")), (Some(Secret::new("1")), Some(Secret::new("new"))));
        assert_eq!(secrets.names(), ["A", "B"]);
        assert!(secrets.remove("A"));
        assert!(!secrets.remove("A"));
        assert_eq!(secrets.get("A"), None);
    }

    #[test]
    fn secrets_that_are_set_at_once_are_all_there() {
        let secrets = Secrets::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let secrets = &secrets;
                scope.spawn(move || {
                    (0..50).for_each(|n| secrets.set(&format!("S{thread}_{n}"), &Secret::new("x")));
                });
            }
        });
        assert_eq!(secrets.names().len(), 200);
    }

    #[test]
    fn the_store_shows_names_and_no_values() {
        let secrets = Secrets::default();
        secrets.set("TOKEN", &Secret::new("hunter2"));
        assert_eq!(format!("{secrets:?}"), r#"{"TOKEN"}"#);
    }
}
