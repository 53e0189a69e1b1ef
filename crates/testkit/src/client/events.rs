//! A small parser of server-sent events.

/// One event as it was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub event: Option<String>,
    pub id: Option<String>,
    pub retry: Option<u64>,
    pub data: String,
}

/// Takes bytes as they come and gives the events that are complete.
#[derive(Debug, Default)]
pub struct EventParser {
    bytes: Vec<u8>,
    current: Event,
    data: Vec<String>,
}

impl EventParser {
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.bytes.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                events.extend(self.dispatch());
            } else {
                self.field(line);
            }
        }
        events
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => self.data.push(value.to_owned()),
            "event" => self.current.event = Some(value.to_owned()),
            "id" => self.current.id = Some(value.to_owned()),
            "retry" => self.current.retry = value.parse().ok(),
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        let mut event = std::mem::take(&mut self.current);
        event.data = std::mem::take(&mut self.data).join("\n");
        (event != Event::default()).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_however_the_bytes_are_cut() {
        let text =
            b": comment\n\nid: 7\r\nretry: 100\r\ndata: \r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\n";
        for size in 1..text.len() {
            let mut parser = EventParser::default();
            let events: Vec<Event> = text.chunks(size).flat_map(|bytes| parser.push(bytes)).collect();
            assert_eq!(events.len(), 2, "in pieces of {size}");
            assert_eq!(events[0].id.as_deref(), Some("7"));
            assert_eq!(events[0].retry, Some(100));
            assert_eq!(events[1].data, "{\"a\":\n1}");
        }
    }
}
