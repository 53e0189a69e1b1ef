//! Event streams: the same however they were cut, nothing over the limit, and what is written is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_wire::sse::{Event, Events, TooLarge, message};

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (limit, cut, bytes) = (usize::from(input.0), 1 + usize::from(input.1), input.2);
    // A return at the very end waits for what follows; two newlines end whatever was begun.
    let stream = [bytes, b"\n\n"].concat();
    let ample = stream.len() + 1;
    assert_eq!(read(ample, stream.chunks(cut)), read(ample, std::iter::once(&stream[..])));
    if let Ok(events) = read(limit, stream.chunks(cut)) {
        assert!(events.iter().all(|event| event.data.len() <= limit));
    }
    // JSON has line ends only between its tokens, where they mean nothing: all else must come back.
    let tokens = |bytes: &[u8]| bytes.iter().copied().filter(|b| !b"\r\n".contains(b)).collect::<Vec<u8>>();
    if tokens(bytes).is_empty() {
        return;
    }
    let written = message(bytes);
    let Ok(events) = read(2 * written.len(), written.chunks(cut)) else { panic!("within the limit") };
    let [event] = &events[..] else { panic!("one event was written and {} were read", events.len()) };
    assert_eq!((event.name.as_str(), tokens(&event.data)), ("message", tokens(bytes)));
});

fn read<'a>(limit: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Event>, TooLarge> {
    let mut events = Events::new(limit);
    let mut got = Vec::new();
    for chunk in chunks {
        events.feed(chunk);
        while let Some(event) = events.next_event()? {
            got.push(event);
        }
    }
    Ok(got)
}
