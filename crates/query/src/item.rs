//! One thing that a server said, cut from its answer, and how much of an answer is kept.

use portolan_model::Moment;

/// Marks where a text was cut.
const CUT: char = '…';

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    pub title: Option<String>,
    /// All of it that is text, the title included.
    pub text: String,
    pub url: Option<String>,
    pub date: Option<Moment>,
    /// The JSON that it was cut from, where it was an object and is no longer than an item may be.
    pub raw: Option<Box<str>>,
}

impl Item {
    pub(crate) fn bytes(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.text.len()
            + optional(&self.title)
            + optional(&self.url)
            + self.raw.as_ref().map_or(0, |raw| raw.len())
    }
}

/// How much is kept of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub items: usize,
    /// For the text of one item; its other members have the same each.
    pub item_bytes: usize,
    pub bytes: usize,
}

/// What there was beyond the bounds: counted, since nothing is lost without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Over {
    pub items: usize,
    /// Of texts that were cut short and of items that were left out.
    pub bytes: usize,
    /// Pictures, sounds and other things that no text can be made of.
    pub untold: usize,
}

impl Over {
    pub(crate) fn add(&mut self, other: Self) {
        self.items = self.items.saturating_add(other.items);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.untold = self.untold.saturating_add(other.untold);
    }

    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// What was kept of one server, in its own order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Haul {
    pub items: Vec<Item>,
    pub over: Over,
}

impl Haul {
    pub(crate) fn add(&mut self, other: Self) {
        self.items.extend(other.items);
        self.over.add(other.over);
    }

    /// Keeps what the bounds allow, the first items first, and counts the rest.
    #[must_use]
    pub(crate) fn bounded(self, bounds: Bounds) -> Self {
        let mut kept = Self { items: Vec::new(), over: self.over };
        let mut left = bounds.bytes;
        let mut is_full = false;
        for mut item in self.items {
            kept.over.bytes += shorten(&mut item, bounds.item_bytes);
            let bytes = item.bytes();
            // What comes after the first that has no room is left out too, so that nothing small slips past it.
            is_full = is_full || kept.items.len() == bounds.items || bytes > left;
            if is_full {
                kept.over.items += 1;
                kept.over.bytes += bytes;
            } else {
                left -= bytes;
                kept.items.push(item);
            }
        }
        kept
    }
}

/// Cuts every member of an item to `most` bytes and says how many bytes that took. Raw JSON cannot be cut: what is
/// too long of it goes, and is not counted, since its text is there.
fn shorten(item: &mut Item, most: usize) -> usize {
    let mut taken = shorten_text(&mut item.text, most);
    if let Some(title) = &mut item.title {
        taken += shorten_text(title, most.min(200));
    }
    // Half an address leads nowhere.
    item.url.take_if(|url| url.len() > most.min(2048));
    item.raw.take_if(|raw| raw.len() > most);
    taken
}

pub(crate) fn shorten_text(text: &mut String, most: usize) -> usize {
    if text.len() <= most {
        return 0;
    }
    let before = text.len();
    text.truncate(text.floor_char_boundary(most.saturating_sub(CUT.len_utf8())));
    let kept = text.len();
    text.push(CUT);
    before - kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item {
        Item { text: text.to_owned(), ..Item::default() }
    }

    #[test]
    fn what_is_over_the_bounds_is_counted_and_what_is_kept_comes_first() {
        let haul = Haul { items: (0..10).map(|_| item("12345678")).collect(), over: Over::default() };
        let bounds = |items, item_bytes, bytes| Bounds { items, item_bytes, bytes };
        let few = haul.clone().bounded(bounds(3, 100, 1000));
        assert_eq!((few.items.len(), few.over), (3, Over { items: 7, bytes: 56, untold: 0 }));
        let small = haul.clone().bounded(bounds(100, 100, 20));
        assert_eq!((small.items.len(), small.over), (2, Over { items: 8, bytes: 64, untold: 0 }));
        let short = haul.bounded(bounds(1, 7, 1000));
        assert_eq!((short.items[0].text.as_str(), short.over.items), ("1234…", 9));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        for most in 0..12 {
            let mut text = "aéé漢é".to_owned();
            let taken = shorten_text(&mut text, most);
            assert!(text.len() <= most.max(3), "{most}: {text}");
            assert_eq!(taken == 0, most >= 10);
        }
    }
}
