//! Messages as lines: the stdio transport's framing, bounded, and able to find its feet after a line too long.

use bytes::{Bytes, BytesMut};

/// How much of an oversized line is kept from either end, to find out whose it was.
const KEPT: usize = 512;

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Message(Bytes),
    /// A line has just grown over the limit; its rest is being thrown away. These are its first bytes.
    Oversized {
        head: Bytes,
    },
    /// The oversized line has ended; messages follow again. These are its last bytes.
    Resumed {
        tail: Bytes,
    },
}

#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// Up to here the buffer is known to hold no newline.
    scanned: usize,
    limit: usize,
    skipping: bool,
    skipped: usize,
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, limit, skipping: false, skipped: 0 }
    }

    /// Where a reader puts what it has read, with room for at least `room` bytes.
    pub fn space(&mut self, room: usize) -> &mut BytesMut {
        // An empty buffer that once held a large message gives its memory back.
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * room {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(room);
        &mut self.buffer
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// How many bytes of the present oversized line have been thrown away.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The next finished line, if there is one. Empty lines are passed over.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                return self.overflow();
            };
            let mut line = self.buffer.split_to(self.scanned + at + 1);
            self.scanned = 0;
            line.truncate(line.len() - 1);
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if self.skipping {
                self.skipping = false;
                self.skipped = 0;
                let from = line.len().saturating_sub(KEPT);
                return Some(Line::Resumed { tail: Bytes::copy_from_slice(&line[from..]) });
            }
            if line.len() > self.limit {
                // It came whole in one gulp: the same two steps, without the waiting.
                self.skipping = true;
                let head = Bytes::copy_from_slice(&line[..KEPT.min(line.len())]);
                let from = line.len().saturating_sub(KEPT);
                let mut again = BytesMut::from(&line[from..]);
                again.extend_from_slice(b"\n");
                again.extend_from_slice(&self.buffer);
                self.buffer = again;
                return Some(Line::Oversized { head });
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Line::Message(line.freeze()));
            }
        }
    }

    fn overflow(&mut self) -> Option<Line> {
        if self.skipping {
            // Keep the end only: the id may stand there.
            if self.buffer.len() > 2 * KEPT {
                let gone = self.buffer.len() - KEPT;
                self.skipped += gone;
                self.buffer = BytesMut::from(&self.buffer[gone..]);
                self.scanned = self.buffer.len();
            }
            return None;
        }
        // A return at the end may be half of the line's own ending.
        let held = self.buffer.len() - usize::from(self.buffer.last() == Some(&b'\r'));
        if held <= self.limit {
            return None;
        }
        self.skipping = true;
        let head = Bytes::copy_from_slice(&self.buffer[..KEPT.min(self.buffer.len())]);
        self.overflow();
        Some(Line::Oversized { head })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(lines: &mut Lines) -> Vec<Line> {
        std::iter::from_fn(|| lines.next_line()).collect()
    }

    fn message(text: &str) -> Line {
        Line::Message(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn f20_lines_come_whole_however_they_were_cut() {
        let text = b"one\r\n\n  \ntwo\nthr";
        for cut in 0..text.len() {
            let mut lines = Lines::new(100);
            lines.feed(&text[..cut]);
            let mut got = all(&mut lines);
            lines.feed(&text[cut..]);
            got.extend(all(&mut lines));
            assert_eq!(got, [message("one"), message("two")]);
        }
    }

    #[test]
    fn f14_a_line_over_the_limit_is_told_at_once_thrown_away_and_the_next_one_read() {
        let mut lines = Lines::new(1000);
        lines.feed(&[b'x'; 1001]);
        assert!(matches!(lines.next_line(), Some(Line::Oversized { .. })));
        for _ in 0..100 {
            lines.feed(&[b'y'; 1000]);
            assert_eq!(lines.next_line(), None);
            assert!(lines.buffer.len() <= 2 * KEPT);
        }
        lines.feed(b"end\nnext\n");
        let Some(Line::Resumed { tail }) = lines.next_line() else { panic!() };
        assert!(tail.ends_with(b"end"));
        assert_eq!(lines.next_line(), Some(message("next")));
    }

    proptest! {
        #[test]
        fn what_is_fed_comes_out_line_by_line(parts in prop::collection::vec("[a-z ]{0,30}", 0..20), cut in 1usize..7) {
            let text: String = parts.iter().flat_map(|p| [p.as_str(), "\n"]).collect();
            let mut lines = Lines::new(20);
            let (mut short, mut long) = (Vec::new(), 0);
            for chunk in text.as_bytes().chunks(cut) {
                lines.feed(chunk);
                for line in all(&mut lines) {
                    match line {
                        Line::Message(m) => short.push(String::from_utf8(m.to_vec()).unwrap()),
                        Line::Oversized { .. } => {}
                        Line::Resumed { .. } => long += 1,
                    }
                }
            }
            let expected: Vec<&String> = parts.iter().filter(|p| p.len() <= 20 && !p.trim().is_empty()).collect();
            prop_assert_eq!(short.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(long, parts.iter().filter(|p| p.len() > 20).count());
        }
    }
}
