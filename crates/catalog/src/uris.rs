//! Whose resource a uri is, at one moment of the catalog.

use crate::entry::{Entry, Shelf};
use crate::foreign;
use crate::snapshot::Snapshot;
use crate::view::View;
use portolan_model::{Item, Kind, ServerName};
use std::borrow::{Borrow, Cow};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Where a resource is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub server: ServerName,
    /// As the server itself knows it.
    pub uri: String,
}

/// Whose everything is. What only some clients are shown comes last: it takes nothing from what everybody is.
#[derive(Default)]
pub(crate) struct Uris {
    of_all: Index,
    of_some: Index,
}

/// Who comes first with what, servers by name.
#[derive(Default)]
struct Index {
    resources: HashMap<Listed, ServerName>,
    /// By their text, as completions name them.
    templates: HashMap<Listed, ServerName>,
    /// The most specific first, and of equal ones the first server's.
    patterns: Vec<Pattern>,
    /// The only server that lists anything of a scheme; `None` where there are several.
    schemes: HashMap<String, Option<ServerName>>,
}

/// Something listed, found by its key.
struct Listed(Arc<Item>);

struct Pattern {
    specificity: usize,
    server: ServerName,
    shelf: Arc<Shelf>,
    at: usize,
}

impl Uris {
    pub(crate) fn new(servers: &BTreeMap<ServerName, Entry>) -> Self {
        let shared = servers.iter().filter_map(|(server, entry)| Some((server, entry.shelf()?)));
        let of_all = Index::new(shared);
        let aspects = servers
            .iter()
            .flat_map(|(server, entry)| entry.aspects.values().map(move |aspect| (server, &aspect.shelf)));
        let mut of_some = Index::new(aspects);
        of_some.schemes.retain(|scheme, _| !of_all.schemes.contains_key(scheme));
        Self { of_all, of_some }
    }

    fn owner(&self, uri: &str) -> Option<&ServerName> {
        let known = self.of_all.knows(uri).or_else(|| self.of_some.knows(uri));
        known.or_else(|| self.of_all.alone(uri)).or_else(|| self.of_some.alone(uri))
    }

    /// How a server's own uri or template is shown among all: as it is where nobody comes first with it.
    pub(crate) fn shown<'u>(&self, kind: Kind, server: &ServerName, uri: &'u str) -> Cow<'u, str> {
        let templates = || self.of_all.templates.get(uri).or_else(|| self.of_some.templates.get(uri));
        let first = if kind == Kind::Templates { templates() } else { self.owner(uri) };
        if first == Some(server) && !foreign::is_ours(uri) {
            Cow::Borrowed(uri)
        } else {
            Cow::Owned(foreign::seal(server, uri))
        }
    }
}

impl Index {
    fn new<'s>(shelves: impl Iterator<Item = (&'s ServerName, &'s Arc<Shelf>)>) -> Self {
        let mut index = Self::default();
        for (server, shelf) in shelves {
            for item in &shelf.offer.resources {
                index.note_scheme(&item.key, server);
                index.resources.entry(Listed(item.clone())).or_insert_with(|| server.clone());
            }
            for (at, item) in shelf.offer.templates.iter().enumerate() {
                index.note_scheme(&item.key, server);
                index.templates.entry(Listed(item.clone())).or_insert_with(|| server.clone());
                if let Some(Some(template)) = shelf.templates.get(at) {
                    let (server, shelf) = (server.clone(), shelf.clone());
                    index.patterns.push(Pattern { specificity: template.specificity(), server, shelf, at });
                }
            }
        }
        // The sort is stable: servers stay in their order.
        index.patterns.sort_by_key(|pattern| Reverse(pattern.specificity));
        index
    }

    fn note_scheme(&mut self, uri: &str, server: &ServerName) {
        let Some(scheme) = scheme(uri) else { return };
        let owner = self.schemes.entry(scheme).or_insert_with(|| Some(server.clone()));
        if owner.as_ref() != Some(server) {
            *owner = None;
        }
    }

    /// Who lists this, or a template that it fits.
    fn knows(&self, uri: &str) -> Option<&ServerName> {
        let listed = self.resources.get(uri).or_else(|| self.templates.get(uri));
        listed.or_else(|| self.patterns.iter().find(|pattern| pattern.matches(uri)).map(|p| &p.server))
    }

    /// Who has all that there is of its scheme.
    fn alone(&self, uri: &str) -> Option<&ServerName> {
        self.schemes.get(&scheme(uri)?)?.as_ref()
    }
}

impl Pattern {
    fn matches(&self, uri: &str) -> bool {
        matches!(self.shelf.templates.get(self.at), Some(Some(template)) if template.matches(uri))
    }
}

impl Snapshot {
    /// Whose resource a uri is: that of the server it names in our own form, of the first that lists it, of the one whose
    /// template fits it most closely, or of the only one that has anything of its scheme. One server by itself is asked
    /// for everything.
    pub fn resource_owner(&self, view: &View, uri: &str) -> Option<Found> {
        let named = foreign::open(uri);
        match view.alone() {
            None => {
                let is_here = |server: &ServerName| self.servers().contains_key(server);
                let found = match named.filter(|(server, _)| is_here(server)) {
                    Some((server, uri)) => Found { server, uri },
                    None => Found { server: self.uris().owner(uri)?.clone(), uri: uri.to_owned() },
                };
                view.has_server(&found.server).then_some(found)
            }
            Some(own) => {
                // Behind it may be a Portolan, whose own uris look like ours.
                let is_its_own = self.servers().get(own).is_some_and(|e| e.has(Kind::Resources, uri));
                let named = named.filter(|(server, _)| server == own && !is_its_own);
                let uri = named.map_or_else(|| uri.to_owned(), |(_, uri)| uri);
                Some(Found { server: own.clone(), uri })
            }
        }
    }

    /// How a resource of a server is shown among all servers' resources: as it is where reading that would reach the server.
    pub fn shown_uri<'u>(&self, server: &ServerName, uri: &'u str) -> Cow<'u, str> {
        self.uris().shown(Kind::Resources, server, uri)
    }
}

/// What stands before the first colon, if it can be a scheme.
fn scheme(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    let starts_well = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    (starts_well && scheme.bytes().all(is_fine)).then(|| scheme.to_ascii_lowercase())
}

impl Borrow<str> for Listed {
    fn borrow(&self) -> &str {
        &self.0.key
    }
}

impl Hash for Listed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Listed {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;
    use crate::tests::kit::{and, eyes, filed, keys, offer, server};
    use portolan_model::{NameStyle, Offer};

    fn resources(uris: &[&str]) -> Offer {
        offer(Kind::Resources, uris)
    }

    fn templates(uris: &[&str]) -> Offer {
        offer(Kind::Templates, uris)
    }

    fn list(catalog: &Catalog, kind: Kind, view: &View) -> Vec<String> {
        keys(kind, &catalog.snapshot().list(kind, &eyes(view, NameStyle::Safe)))
    }

    #[track_caller]
    fn check(catalog: &Catalog, view: &View, uri: &str, expected: &str) {
        let found = catalog.snapshot().resource_owner(view, uri);
        let found =
            found.map_or_else(|| "nobody".to_owned(), |found| format!("{} {}", found.server, found.uri));
        assert_eq!(found, expected, "{uri}");
    }

    #[test]
    fn a_uri_of_several_servers_is_the_firsts_and_the_others_are_shown_under_their_names() {
        let offers = [("b", resources(&["file:///x y", "b:own"])), ("a", resources(&["file:///x y"]))];
        let catalog = filed(offers);
        let shown = list(&catalog, Kind::Resources, &View::All);
        assert_eq!(shown, ["file:///x y", "portolan://b/file%3A%2F%2F%2Fx%20y", "b:own"]);
        check(&catalog, &View::All, &shown[0], "a file:///x y");
        check(&catalog, &View::All, &shown[1], "b file:///x y");
        check(&catalog, &View::All, "portolan://a/file%3A%2F%2F%2Fx%20y", "a file:///x y");
        let alone = View::Server(server("b"));
        assert_eq!(list(&catalog, Kind::Resources, &alone), ["file:///x y", "b:own"]);
        check(&catalog, &alone, "file:///x y", "b file:///x y");
        let snapshot = catalog.snapshot();
        assert_eq!(snapshot.shown_uri(&server("a"), "file:///x y"), "file:///x y");
        assert_eq!(snapshot.shown_uri(&server("b"), "file:///x y"), shown[1]);
        assert_eq!(snapshot.shown_uri(&server("b"), "b:other"), "b:other", "the scheme is b's alone");
        assert_eq!(snapshot.shown_uri(&server("a"), "b:other"), "portolan://a/b%3Aother");
    }

    #[test]
    fn when_the_first_server_goes_the_uri_is_the_next_ones() {
        let catalog = filed([("a", resources(&["x:1"])), ("b", resources(&["x:1"]))]);
        check(&catalog, &View::All, "x:1", "a x:1");
        catalog.file(crate::Filing::Withdrawn { server: server("a") });
        check(&catalog, &View::All, "x:1", "b x:1");
        assert_eq!(list(&catalog, Kind::Resources, &View::All), ["x:1"]);
    }

    #[test]
    fn equal_templates_are_told_apart_like_equal_uris() {
        let catalog = filed([("a", templates(&["db://{t}/{id}"])), ("b", templates(&["db://{t}/{id}"]))]);
        let shown = list(&catalog, Kind::Templates, &View::All);
        assert_eq!(shown, ["db://{t}/{id}", "portolan://b/db%3A%2F%2F%7Bt%7D%2F%7Bid%7D"]);
        check(&catalog, &View::All, &shown[0], "a db://{t}/{id}");
        check(&catalog, &View::All, &shown[1], "b db://{t}/{id}");
        check(&catalog, &View::All, "db://users/1", "a db://users/1");
        check(&catalog, &View::All, "portolan://b/db%3A%2F%2Fusers%2F1", "b db://users/1");
    }

    #[test]
    fn a_uri_goes_to_who_lists_it_then_to_the_closest_template_then_to_the_only_one_of_its_scheme() {
        let a = and(templates(&["file:///{+path}"]), &resources(&["note:a"]));
        let b = and(templates(&["file:///logs/{name}", "file:///logs/{day}"]), &resources(&["note:b"]));
        let c =
            and(templates(&["file:///logs/{which}"]), &resources(&["file:///logs/today", "HTTP://only.c/"]));
        let catalog = filed([("a", a), ("b", b), ("c", c)]);
        let all = View::All;
        check(&catalog, &all, "file:///logs/today", "c file:///logs/today");
        check(&catalog, &all, "file:///logs/old", "b file:///logs/old");
        check(&catalog, &all, "file:///etc/hosts", "a file:///etc/hosts");
        check(&catalog, &all, "http://only.c/else", "c http://only.c/else");
        check(&catalog, &all, "note:c", "nobody");
        check(&catalog, &all, "ftp://x", "nobody");
        check(&catalog, &all, "no scheme", "nobody");
        check(&catalog, &all, "", "nobody");
    }

    #[test]
    fn one_server_by_itself_is_asked_for_everything() {
        let catalog = filed([("a", resources(&["x:1", "portolan://a/x%3A2"])), ("b", resources(&["y:1"]))]);
        let view = View::Server(server("a"));
        check(&catalog, &view, "y:1", "a y:1");
        check(&catalog, &view, "portolan://a/x%3A1", "a x:1");
        check(&catalog, &view, "portolan://a/x%3A2", "a portolan://a/x%3A2");
        check(&catalog, &view, "portolan://b/y%3A1", "a portolan://b/y%3A1");
    }

    #[test]
    fn nobody_takes_over_what_stands_under_anothers_name() {
        let catalog = filed([("evil", resources(&["portolan://good/x%3A1"])), ("good", resources(&["x:1"]))]);
        check(&catalog, &View::All, "portolan://good/x%3A1", "good x:1");
        let shown = list(&catalog, Kind::Resources, &View::All);
        assert_eq!(shown, ["portolan://evil/portolan%3A%2F%2Fgood%2Fx%253A1", "x:1"]);
        check(&catalog, &View::All, &shown[0], "evil portolan://good/x%3A1");
        check(&catalog, &View::All, "portolan://gone/x", "evil portolan://gone/x");
    }
}
