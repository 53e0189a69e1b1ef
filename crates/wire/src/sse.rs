//! `text/event-stream`, both ways: an incremental, bounded reader and the writer of one event.

use bytes::{Bytes, BytesMut};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Empty for the default, `message`.
    pub name: String,
    pub data: Bytes,
    pub id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct TooLarge {
    pub limit: usize,
}

#[derive(Debug)]
pub struct Events {
    buffer: BytesMut,
    scanned: usize,
    limit: usize,
    name: String,
    id: Option<String>,
    data: Option<Data>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

/// One data line needs no copy; only a second one starts to gather.
#[derive(Debug)]
enum Data {
    One(Bytes),
    Many(BytesMut),
}

impl Events {
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            scanned: 0,
            limit,
            name: String::new(),
            id: None,
            data: None,
            last_id: None,
            retry_ms: None,
        }
    }

    /// The id of the last event, by which a stream that broke can be taken up again.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the sender wants to be left alone before that.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next finished event; `None` when more bytes are needed.
    pub fn next_event(&mut self) -> Result<Option<Event>, TooLarge> {
        loop {
            let Some(line) = self.next_line() else {
                let held = self.buffer.len() + self.data.as_ref().map_or(0, Data::len);
                return if held > self.limit { Err(TooLarge { limit: self.limit }) } else { Ok(None) };
            };
            if !line.is_empty() {
                self.take(&line)?;
            } else if let Some(event) = self.finish() {
                return Ok(Some(event));
            }
        }
    }

    fn next_line(&mut self) -> Option<Bytes> {
        let at = self.scanned
            + memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]).or_else(|| {
                self.scanned = self.buffer.len();
                None
            })?;
        // A return at the very end may be half of CRLF: wait for what follows.
        let end = match (self.buffer[at], self.buffer.get(at + 1)) {
            (b'\r', None) => {
                self.scanned = at;
                return None;
            }
            (b'\r', Some(b'\n')) => at + 2,
            _ => at + 1,
        };
        let mut line = self.buffer.split_to(end);
        self.scanned = 0;
        line.truncate(at);
        Some(line.freeze())
    }

    fn take(&mut self, line: &Bytes) -> Result<(), TooLarge> {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let mut value = line.slice((colon + 1).min(line.len())..);
        if value.first() == Some(&b' ') {
            value = value.slice(1..);
        }
        match &line[..colon] {
            b"data" => {
                self.data = Some(match self.data.take() {
                    None => Data::One(value),
                    Some(data) => data.and(&value),
                });
                if self.data.as_ref().map_or(0, Data::len) > self.limit {
                    return Err(TooLarge { limit: self.limit });
                }
            }
            b"event" => self.name = String::from_utf8_lossy(&value).into_owned(),
            b"id" => self.id = Some(String::from_utf8_lossy(&value).into_owned()),
            b"retry" => {
                self.retry_ms =
                    std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok()).or(self.retry_ms);
            }
            // Comments and what nobody knows.
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> Option<Event> {
        let (name, id) = (std::mem::take(&mut self.name), self.id.take());
        if id.is_some() {
            self.last_id.clone_from(&id);
        }
        let data = match self.data.take()? {
            Data::One(data) => data,
            Data::Many(data) => data.freeze(),
        };
        Some(Event { name, data, id })
    }
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::One(data) => data.len(),
            Self::Many(data) => data.len(),
        }
    }

    fn and(self, more: &[u8]) -> Self {
        let mut all = match self {
            Self::One(data) => BytesMut::from(&data[..]),
            Self::Many(data) => data,
        };
        all.extend_from_slice(b"\n");
        all.extend_from_slice(more);
        Self::Many(all)
    }
}

/// One `message` event. JSON from elsewhere may be pretty-printed: each of its lines becomes a data line, whichever way
/// it is ended, for a reader takes a lone return for the end of a line too.
pub fn message(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + 32);
    out.extend_from_slice(b"event: message\n");
    for line in json.split(|b| *b == b'\n' || *b == b'\r') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

/// The same under an id, by which the stream can be taken up again after it.
pub fn message_as(id: &str, json: &[u8]) -> Vec<u8> {
    let mut out = format!("id: {id}\n").into_bytes();
    out.extend_from_slice(&message(json));
    out
}

/// An event that says nothing but its id: a stream that breaks before the first message can be taken up again.
pub fn first_word(id: &str) -> Vec<u8> {
    format!("id: {id}\ndata: \n\n").into_bytes()
}

/// Keeps an idle stream from being cut by whatever stands between.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Vec<Event> {
        let mut events = Events::new(1000);
        let mut got = Vec::new();
        for chunk in chunks {
            events.feed(chunk);
            while let Some(event) = events.next_event().unwrap() {
                got.push(event);
            }
        }
        got
    }

    #[test]
    fn events_come_whole_however_they_were_cut_and_ended() {
        let text = b": hello\r\nevent: endpoint\r\ndata: /x\r\n\r\nid: 7\ndata:a\ndata: b\n\nretry: 3\n\ndata: c\r\r";
        for cut in 0..text.len() {
            let got = read(&[&text[..cut], &text[cut..], b"\n"]);
            let shape: Vec<(&str, &[u8], Option<&str>)> =
                got.iter().map(|e| (e.name.as_str(), &e.data[..], e.id.as_deref())).collect();
            assert_eq!(
                shape,
                [("endpoint", &b"/x"[..], None), ("", b"a\nb", Some("7")), ("", b"c", None)],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn an_event_over_the_limit_ends_the_reading() {
        let mut events = Events::new(10);
        events.feed(b"data: 0123456789abcdef");
        assert_eq!(events.next_event(), Err(TooLarge { limit: 10 }));
        let mut events = Events::new(10);
        events.feed(b"data: 012345\ndata: 678901\n");
        assert_eq!(events.next_event(), Err(TooLarge { limit: 10 }));
    }

    #[test]
    fn a_lone_return_between_tokens_loses_nothing() {
        let got = read(&[&message(b"{\"a\":1,\r\"b\":2}")]);
        assert_eq!(&got[0].data[..], b"{\"a\":1,\n\"b\":2}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(texts in prop::collection::vec("[^\\r]{1,40}", 1..10), cut in 1usize..9) {
            let stream: Vec<u8> = texts.iter().flat_map(|t| message(t.as_bytes())).collect();
            let chunks: Vec<&[u8]> = stream.chunks(cut).collect();
            let got = read(&chunks);
            let data: Vec<&[u8]> = got.iter().map(|e| &e.data[..]).collect();
            prop_assert_eq!(data, texts.iter().map(String::as_bytes).collect::<Vec<_>>());
        }
    }
}
