//! Calls that wait for their client to come back with an answer.
//!
//! A server of the handshake era asks while it works; a client of 2026-07-28 is asked by the answer to its request, and comes
//! back with a new one. In between the call stands here, still running. What brings the client back to it is a text that
//! only we can make, and that is good for this one call, unchanged, for a while.

use crate::client::locked;
use crate::questions::give;
use crate::request::{Pieces, Request};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use portolan_router::{Aside, Question};
use portolan_wire::json::Members;
use sha2::Sha256;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// How long a call waits for its client: a person may have to be found first.
const WAIT: Duration = Duration::from_mins(5);
/// How many calls may wait; each has a place at its server.
const MOST: usize = 4096;

pub(crate) type Answering = Pin<Box<dyn Future<Output = Option<Pieces>> + Send>>;

/// A call that waits.
pub(crate) struct Parked {
    pub(crate) answering: Answering,
    pub(crate) aside: Arc<Aside>,
    /// The id of the request that began it: its answer will be under that one.
    pub(crate) began_as: Bytes,
    /// What its client has been asked and has not answered.
    pub(crate) asked: Vec<(String, Arc<Question>)>,
    /// What its request said.
    digest: String,
    until: Instant,
}

pub(crate) struct Lot {
    /// Who has made a text: others' are not ours to judge.
    instance: String,
    seal: Option<Hmac<Sha256>>,
    parked: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    all: HashMap<u64, Parked>,
    next: u64,
}

/// What a request that comes back leads to.
pub(crate) enum Return {
    /// It does not come back to anything here.
    None,
    Call(Box<Parked>),
    Refused(&'static str),
}

impl Lot {
    pub(crate) fn new(instance: &str) -> Self {
        let mut key = [0; 32];
        let seal = getrandom::fill(&mut key).ok().and_then(|()| Hmac::new_from_slice(&key).ok());
        Self { instance: instance.to_owned(), seal, parked: Mutex::default() }
    }

    /// Lets a call wait: the text that brings its client back to it, or `None` if there is no room.
    pub(crate) fn park(&self, request: &Request, call: Waiting) -> Option<String> {
        let digest = digest(request)?;
        let mut table = locked(&self.parked);
        if table.all.len() >= MOST {
            return None;
        }
        table.next += 1;
        let number = table.next;
        let state = self.state(number, &digest)?;
        let Waiting { answering, aside, began_as, asked } = call;
        let until = Instant::now() + WAIT;
        table.all.insert(number, Parked { answering, aside, began_as, asked, digest, until });
        Some(state)
    }

    fn state(&self, number: u64, digest: &str) -> Option<String> {
        let tag = self.mac(number, digest)?.finalize().into_bytes();
        Some(format!("portolan.{}.{number}.{}", self.instance, URL_SAFE_NO_PAD.encode(tag)))
    }

    fn mac(&self, number: u64, digest: &str) -> Option<Hmac<Sha256>> {
        let mut mac = self.seal.clone()?;
        mac.update(&number.to_be_bytes());
        mac.update(digest.as_bytes());
        Some(mac)
    }

    /// Finds the call that a request comes back to, and hands the client's answers to its server. A call is given out once:
    /// whoever comes back with the same text meanwhile finds nothing.
    pub(crate) fn back(&self, request: &Request) -> Return {
        let Ok(params) = request.params() else { return Return::None };
        let Some(state) = params.text("requestState") else { return Return::None };
        let Some(rest) =
            state.strip_prefix("portolan.").and_then(|rest| rest.strip_prefix(self.instance.as_str()))
        else {
            return Return::None;
        };
        let refused = Return::Refused("requestState is not one that was given out here");
        let Some((number, tag)) = rest.strip_prefix('.').and_then(|rest| rest.split_once('.')) else {
            return refused;
        };
        let (Ok(number), Ok(tag)) = (number.parse(), URL_SAFE_NO_PAD.decode(tag)) else { return refused };
        let Some(digest) = digest(request) else { return refused };
        // The digest is part of what is sealed: on another request the text is worth nothing.
        if self.mac(number, &digest).is_none_or(|mac| mac.verify_slice(&tag).is_err()) {
            return refused;
        }
        let parked = locked(&self.parked).all.remove(&number);
        let Some(mut parked) =
            parked.filter(|parked| parked.digest == digest && parked.until > Instant::now())
        else {
            return Return::Refused(
                "requestState has expired, or was used before; send the request anew without it",
            );
        };
        let given = params.get("inputResponses").and_then(|raw| Members::parse(raw).ok()).unwrap_or_default();
        parked.asked.retain(|(key, question)| match given.get(key) {
            Some(answer) => {
                give(question, answer);
                false
            }
            None => question.is_open(),
        });
        Return::Call(Box::new(parked))
    }

    /// Gives up calls whose clients have not come back; dropping them tells their servers.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let overdue: Vec<Parked> = {
            let mut table = locked(&self.parked);
            let over: Vec<u64> = table
                .all
                .iter()
                .filter(|(_, parked)| parked.until <= now)
                .map(|(number, _)| *number)
                .collect();
            over.iter().filter_map(|number| table.all.remove(number)).collect()
        };
        drop(overdue);
    }

    /// Gives up all of them: nobody will be there to come back to.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut locked(&self.parked).all);
        drop(all);
    }
}

/// A call that is about to wait.
pub(crate) struct Waiting {
    pub(crate) answering: Answering,
    pub(crate) aside: Arc<Aside>,
    pub(crate) began_as: Bytes,
    pub(crate) asked: Vec<(String, Arc<Question>)>,
}

/// What a request asks for, whatever it says of itself and of rounds before.
fn digest(request: &Request) -> Option<String> {
    let params = request.params().ok()?.raw().unwrap_or("{}");
    let mut params: serde_json::Value = serde_json::from_str(params).ok()?;
    let members = params.as_object_mut()?;
    for key in ["_meta", "inputResponses", "requestState"] {
        members.remove(key);
    }
    Some(portolan_model::fingerprint([request.method.name().as_bytes(), params.to_string().as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(state: Option<&str>) -> Request {
        let mut params = serde_json::json!({"name": "t"});
        if let Some(state) = state {
            params["requestState"] = state.into();
        }
        let line = Bytes::from(params.to_string());
        let mut request = Request::new(&line, "", "tools/call", std::str::from_utf8(&line).ok());
        request.id = "1".into();
        request
    }

    /// Parks a call whose client is not there: the way back to it, and what shows that it is still running.
    fn parked(lot: &Lot) -> (String, Arc<()>) {
        let running = Arc::new(());
        let held = running.clone();
        let answering: Answering = Box::pin(async move {
            std::future::pending::<()>().await;
            drop(held);
            None
        });
        let waiting = Waiting { answering, aside: Arc::default(), began_as: "1".into(), asked: Vec::new() };
        (lot.park(&request(None), waiting).unwrap(), running)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_client_has_not_come_back_in_time_is_given_up_and_a_late_return_refused() {
        let lot = Lot::new("i");
        let (early, one) = parked(&lot);
        tokio::time::advance(WAIT / 2).await;
        let (late, other) = parked(&lot);
        tokio::time::advance(WAIT / 2).await;
        lot.sweep();
        let is_running = |call: &Arc<()>| Arc::strong_count(call) > 1;
        assert_eq!((is_running(&one), is_running(&other)), (false, true));
        assert!(matches!(lot.back(&request(Some(&early))), Return::Refused(why) if why.contains("expired")));
        // Whether it was swept or not: what is over is over.
        tokio::time::advance(WAIT / 2).await;
        assert!(is_running(&other));
        assert!(matches!(lot.back(&request(Some(&late))), Return::Refused(why) if why.contains("expired")));
        assert!(!is_running(&other));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_client_comes_back_in_time_is_given_out_once() {
        let lot = Lot::new("i");
        let (state, running) = parked(&lot);
        tokio::time::advance(WAIT / 2).await;
        lot.sweep();
        let Return::Call(call) = lot.back(&request(Some(&state))) else { panic!("it is not there") };
        assert!(matches!(lot.back(&request(Some(&state))), Return::Refused(_)));
        assert_eq!(Arc::strong_count(&running), 2);
        drop(call);
        assert_eq!(Arc::strong_count(&running), 1);
    }
}
