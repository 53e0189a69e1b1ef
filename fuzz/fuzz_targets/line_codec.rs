//! Lines in, messages out: nothing over the limit, the same however the bytes were cut, and back in step after a line
//! too long.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_wire::line::{Line, Lines};

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (limit, cut, bytes) = (2 + usize::from(input.0), 1 + usize::from(input.1), input.2);
    // However the bytes end, this line must come out whole.
    let bytes = [bytes, b"\nok\n"].concat();
    let cut_up = read(limit, bytes.chunks(cut));
    let at_once = read(limit, std::iter::once(&bytes[..]));
    assert_eq!(cut_up.last().map(Vec::as_slice), Some(&b"ok"[..]));
    assert_eq!(cut_up, at_once, "limit {limit}, pieces of {cut}");
});

fn read<'a>(limit: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut lines = Lines::new(limit);
    let mut messages = Vec::new();
    let mut is_skipping = false;
    for chunk in chunks {
        lines.feed(chunk);
        while let Some(line) = lines.next_line() {
            match line {
                Line::Message(message) => {
                    assert!(!is_skipping, "a message in the middle of a line too long");
                    assert!(message.len() <= limit && !message.contains(&b'\n'));
                    assert!(!message.iter().all(u8::is_ascii_whitespace));
                    messages.push(message.to_vec());
                }
                Line::Oversized { .. } => assert!(!std::mem::replace(&mut is_skipping, true)),
                Line::Resumed { .. } => assert!(std::mem::replace(&mut is_skipping, false)),
            }
        }
    }
    messages
}
