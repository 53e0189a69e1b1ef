//! A list in pages, for whoever wants it so.

use crate::cursor::{self, Place};
use crate::render::List;
use crate::snapshot::{Eyes, Part, Snapshot};
use bytes::Bytes;
use portolan_model::{Kind, ServerName};

/// Which page of a list is asked for.
#[derive(Debug, Clone)]
pub struct PageAsk {
    /// Where the page before ended, from its cursor; the first page follows nothing.
    pub after: Option<Place>,
    pub size: usize,
}

impl Snapshot {
    /// One page of a kind's list. Pages go by servers and keys, not by each server's own order: however the list changes
    /// between two pages, what stayed is on exactly one of them.
    pub fn page(&self, kind: Kind, eyes: &Eyes<'_>, ask: &PageAsk) -> Bytes {
        // Without cursors all has to fit on one page.
        let size = if cursor::can_be_made() { ask.size.max(1) } else { usize::MAX };
        let mut list = List::begin(kind, eyes.revision, 0);
        let mut last: Option<(&ServerName, &str)> = None;
        let mut left = size;
        'all: for part in self.parts(kind, eyes) {
            for &at in part.rest(kind, ask.after.as_ref()) {
                let Some(piece) = part.shelf.offer.piece(kind, at) else { continue };
                if !eyes.view.has(kind, part.server, piece.key) {
                    continue;
                }
                if left == 0 {
                    let end = last.map(|(server, key)| Place { server: server.clone(), key: key.to_owned() });
                    if let Some(cursor) = end.and_then(|end| cursor::seal(kind, &end)) {
                        list.goes_on(cursor);
                    }
                    break 'all;
                }
                match eyes.view.alone() {
                    None => list.add(piece, &self.shown(kind, eyes.style, &part, at), part.shared.tasks),
                    Some(_) => list.add(piece, piece.key, part.shared.tasks),
                }
                last = Some((part.server, piece.key));
                left -= 1;
            }
        }
        list.say_what_is_missing(self, eyes);
        list.finish()
    }
}

impl<'s> Part<'s> {
    /// The places that come after a place, in the order of their keys.
    fn rest(&self, kind: Kind, after: Option<&Place>) -> &'s [usize] {
        let all = self.shelf.by_key(kind);
        match after {
            Some(place) if *self.server < place.server => &[],
            Some(place) if *self.server == place.server => {
                &all[all.partition_point(|&at| self.shelf.key(kind, at) <= place.key.as_str())..]
            }
            Some(_) | None => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::kit::{eyes, file, filed, keys, offer, server};
    use crate::{Catalog, View};
    use portolan_model::NameStyle;
    use portolan_wire::Revision;
    use serde_json::Value;

    /// One page in any view, and the cursor of the next.
    fn page(
        catalog: &Catalog,
        view: &View,
        cursor: Option<&str>,
        size: usize,
    ) -> (Vec<String>, Option<String>) {
        let after = cursor.map(|cursor| cursor::open(Kind::Tools, cursor).unwrap());
        let page =
            catalog.snapshot().page(Kind::Tools, &eyes(view, NameStyle::Safe), &PageAsk { after, size });
        let value: Value = serde_json::from_slice(&page).unwrap();
        (keys(Kind::Tools, &page), value["nextCursor"].as_str().map(str::to_owned))
    }

    /// All pages; before each but the first something happens.
    fn walk(catalog: &Catalog, size: usize, mut between: impl FnMut(usize)) -> Vec<Vec<String>> {
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let (names, next) = page(catalog, &View::All, cursor.as_deref(), size);
            pages.push(names);
            cursor = next;
            if cursor.is_none() {
                return pages;
            }
            between(pages.len());
        }
    }

    fn tools(names: &[&str]) -> portolan_model::Offer {
        offer(Kind::Tools, names)
    }

    #[test]
    fn pages_have_everything_once_and_the_last_one_says_so() {
        let catalog = filed([("a", tools(&["z", "x.y"])), ("b", tools(&[])), ("c", tools(&["n", "m", "o"]))]);
        let pages = walk(&catalog, 2, |_| {});
        assert_eq!(pages, [vec!["a__x_y", "a__z"], vec!["c__m", "c__n"], vec!["c__o"]]);
        assert_eq!(walk(&catalog, 5, |_| {}).len(), 1, "a page that is just full is the last");
        assert_eq!(walk(&catalog, 0, |_| {}).len(), 5, "no page is empty");
        assert_eq!(walk(&Catalog::default(), 2, |_| {}), [Vec::<String>::new()]);
    }

    #[test]
    fn one_server_by_itself_has_pages_of_its_own() {
        let catalog = filed([("a", tools(&["x"])), ("b", tools(&["n", "m"])), ("c", tools(&["y"]))]);
        let view = View::Server(server("b"));
        let (first, cursor) = page(&catalog, &view, None, 1);
        let (second, end) = page(&catalog, &view, cursor.as_deref(), 1);
        assert_eq!((first, second, end), (vec!["m".to_owned()], vec!["n".to_owned()], None));
    }

    #[test]
    fn a_list_that_changes_between_pages_neither_repeats_nor_loses_what_stayed() {
        let catalog = filed([("a", tools(&["d", "b"])), ("b", tools(&["k", "l", "m"]))]);
        let pages = walk(&catalog, 2, |page| match page {
            // What was shown last is gone, something came before it, and the order is another.
            1 => {
                file(&catalog, "a", tools(&["e", "b", "a"]));
                file(&catalog, "b", tools(&["m", "l", "k"]));
            }
            // A whole server is gone with the place in it.
            2 => {
                catalog.file(crate::Filing::Removed { server: server("a") });
                file(&catalog, "aa", tools(&["new"]));
            }
            _ => {}
        });
        assert_eq!(pages, [vec!["a__b", "a__d"], vec!["a__e", "b__k"], vec!["b__l", "b__m"]]);
    }

    #[test]
    fn a_page_shows_resources_as_the_whole_list_does() {
        let kind = Kind::Resources;
        let catalog = filed([("a", offer(kind, &["x:1"])), ("b", offer(kind, &["x:1", "y:1"]))]);
        let eyes = Eyes { revision: Revision::V2026_07_28, ..eyes(&View::All, NameStyle::Dot) };
        let page = catalog.snapshot().page(kind, &eyes, &PageAsk { after: None, size: 2 });
        assert_eq!(keys(kind, &page), ["x:1", "portolan://b/x%3A1"]);
        assert!(page.starts_with(br#"{"resultType":"complete","#));
    }
}
