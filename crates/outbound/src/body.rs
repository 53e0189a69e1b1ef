//! Reading an answer into memory, up to a limit.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

use crate::OutboundError;

/// The whole body, or `TooLarge` as soon as it is known to pass the limit.
///
/// An answer that arrives in one frame, as most do, is handed on as hyper read it. There is no deadline here;
/// dropping the future, like an early error, closes the connection under the rest of the body.
pub async fn read_body(mut body: Incoming, limit: usize) -> Result<Bytes, OutboundError> {
    let Some(first) = next_data(&mut body, 0, limit).await? else { return Ok(Bytes::new()) };
    if body.is_end_stream() {
        return Ok(first);
    }
    let Some(second) = next_data(&mut body, first.len(), limit).await? else { return Ok(first) };
    let expected = first.len().saturating_add(second.len()).saturating_add(announced(&body));
    let mut all = BytesMut::with_capacity(expected.min(limit));
    all.extend_from_slice(&first);
    all.extend_from_slice(&second);
    while let Some(data) = next_data(&mut body, all.len(), limit).await? {
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// The next piece of data after `taken` bytes. Trailers are of no use to anybody here.
async fn next_data(body: &mut Incoming, taken: usize, limit: usize) -> Result<Option<Bytes>, OutboundError> {
    let room = limit.saturating_sub(taken);
    // A length that is announced counts before it has come.
    if announced(body) > room {
        return Err(OutboundError::TooLarge { limit });
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|failure| OutboundError::from_body(&failure))?;
        let Ok(data) = frame.into_data() else { continue };
        return if data.len() > room { Err(OutboundError::TooLarge { limit }) } else { Ok(Some(data)) };
    }
    Ok(None)
}

fn announced(body: &Incoming) -> usize {
    usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX)
}
