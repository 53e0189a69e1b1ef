//! One HTTP/1.1 POST on a connection of its own: the demo needs no more, and no client library for it.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Over the 60 s that a call may take at most.
const READ_LIMIT: Duration = Duration::from_secs(70);

#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Response {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

pub(super) fn post(authority: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Response> {
    let mut stream =
        TcpStream::connect(authority).with_context(|| format!("could not connect to {authority}"))?;
    stream.set_read_timeout(Some(READ_LIMIT))?;
    stream.set_nodelay(true)?;
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    let length = body.len().to_string();
    for (name, value) in headers.iter().chain(&[("Content-Length", length.as_str())]) {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    read_response(BufReader::new(stream)).context("the answer is no HTTP that the demo understands")
}

fn read_response(mut stream: impl BufRead) -> Result<Response> {
    let first = read_line(&mut stream)?;
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.with_context(|| format!("no status in {first:?}"))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(&mut stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').with_context(|| format!("no header: {line:?}"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut response = Response { status, headers, body: String::new() };
    let mut body = Vec::new();
    if response.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        read_chunks(&mut stream, &mut body)?;
    } else if let Some(length) = response.header("content-length") {
        let length: u64 = length.parse().context("a length that is no number")?;
        stream.take(length).read_to_end(&mut body)?;
    } else {
        stream.read_to_end(&mut body)?;
    }
    response.body = String::from_utf8(body)?;
    Ok(response)
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> Result<()> {
    loop {
        let line = read_line(stream)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).with_context(|| format!("no size of a chunk: {line:?}"))?;
        if size == 0 {
            return Ok(());
        }
        stream.by_ref().take(size).read_to_end(body)?;
        if !read_line(stream)?.is_empty() {
            bail!("a chunk is longer than it says");
        }
    }
}

/// A line without its end.
fn read_line(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        bail!("the connection ended in the middle");
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_body(rest: &str, expected: &str) {
        let response = read_response(format!("HTTP/1.1 200 OK\r\nX-Name: v\r\n{rest}").as_bytes()).unwrap();
        assert_eq!((response.status, response.header("x-name")), (200, Some("v")));
        assert_eq!(response.body, expected);
    }

    #[test]
    fn bodies_are_read_by_length_in_chunks_and_to_the_end() {
        check_body("Content-Length: 2\r\n\r\nhello", "he");
        check_body(
            "Transfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n",
            "wiki0123456789",
        );
        check_body("\r\nhello", "hello");
    }

    #[test]
    fn half_an_answer_is_an_error() {
        for half in
            ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwi"]
        {
            assert!(read_response(half.as_bytes()).is_err(), "{half:?}");
        }
    }
}
