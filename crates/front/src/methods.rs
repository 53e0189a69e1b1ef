//! What clients can ask: one short function a method.

use crate::Front;
use crate::client::{Client, Terms, UNASKED, locked};
use crate::fault::{self, BUSY, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, refusal};
use crate::request::{Method, Pieces, Request};
use bytes::Bytes;
use portolan_catalog::{Eyes, PageAsk, Peer, View, cursor};
use portolan_model::Kind;
use portolan_router::{Answered, Aside, Call, OwnAnswer, Reply, What};
use portolan_wire::era::{self, Keeping};
use portolan_wire::json::Members;
use portolan_wire::level::Level;
use portolan_wire::{Message, Revision, answer, envelope, mrtr};
use std::sync::Arc;
use std::time::Duration;

/// How long a Portolan that asks for lists waits for what only clients like its own are shown.
const PEERS_WAIT: Duration = Duration::from_secs(10);

/// What a batch may hold at most.
const MOST_IN_BATCH: usize = 100;

impl Front {
    /// Answers a request of a client; `None` where no answer is due. Only what servers answer has something beside it.
    pub(crate) async fn answer(
        &self,
        client: &Client,
        request: &Request,
        aside: &Arc<Aside>,
    ) -> Option<Pieces> {
        let id = request.id();
        if !request.method.is_of(request.terms(client)) {
            return Some(Self::unknown(request));
        }
        Some(match &request.method {
            Method::Ask(what) => return self.ask(client, request, *what, aside).await,
            Method::List(kind) => self.list(client, request, *kind).await,
            Method::Ping => answer::result(id, b"{}").into(),
            Method::Discover => self.discover(client, request),
            Method::Subscribe => self.subscribe(client, request).await,
            Method::Unsubscribe => self.unsubscribe(client, request),
            Method::SetLevel => self.log_level(client, request).await,
            Method::Initialize => {
                refusal(id, INVALID_REQUEST, "initialize was sent before; a session has one")
            }
            // Streams have their own way through each transport.
            Method::Listen | Method::Unknown(_) => Self::unknown(request),
        })
    }

    pub(crate) fn unknown(request: &Request) -> Pieces {
        refusal(request.id(), METHOD_NOT_FOUND, &format!("method not found: {}", request.method.name()))
    }

    async fn list(&self, client: &Client, request: &Request, kind: Kind) -> Pieces {
        if let Some(server) = client.view.alone()
            && !self.declares(server, kind.capability())
        {
            return Self::unknown(request);
        }
        let terms = request.terms(client);
        self.look(&client.view, terms).await;
        self.catalog().settled(self.lists_wait_until).await;
        let cursor = match request.params() {
            Ok(params) => params.text("cursor").filter(|text| !text.is_empty()),
            Err(refused) => return refused,
        };
        let after = match cursor.map(|text| cursor::open(kind, &text)).transpose() {
            Ok(place) => place,
            Err(bad) => return refusal(request.id(), INVALID_PARAMS, &bad.to_string()),
        };
        let mut head = Vec::with_capacity(64);
        answer::result_head(request.id(), &mut head);
        if kind == Kind::Tools
            && let Some(result) = self.own_list(client, request)
        {
            return Pieces::Shared { head: head.into(), result };
        }
        let snapshot = self.catalog().snapshot();
        let eyes = Eyes {
            view: &client.view,
            style: terms.style,
            revision: terms.revision,
            abilities: &terms.abilities,
        };
        let result = match (&terms.peer, self.options.list_page) {
            (Some(asking), _) if client.view == View::All => {
                let peer = Peer { asking, own: &self.options.instance };
                snapshot.list_for_peer(kind, &peer, &eyes)
            }
            (_, 0) if after.is_none() => snapshot.list(kind, &eyes),
            (_, size) => {
                let size = if size == 0 { usize::MAX } else { size };
                snapshot.page(kind, &eyes, &PageAsk { after, size })
            }
        };
        Pieces::Shared { head: head.into(), result }
    }

    /// Has servers looked at with the eyes of such a client. The first of its kind waits a moment for that; a Portolan waits for
    /// all of it: it asks in the background itself, and none of its clients waits for that.
    async fn look(&self, view: &View, terms: &Terms) {
        let one = view.alone();
        self.router.fleet.look(&terms.abilities, one);
        match terms.peer {
            Some(_) => self.router.fleet.looked(&terms.abilities, one, PEERS_WAIT).await,
            None => self.router.fleet.looked_at_first(&terms.abilities, one).await,
        }
    }

    /// What a server answers: calls, prompts, resources, completions.
    async fn ask(
        &self,
        client: &Client,
        request: &Request,
        what: What,
        aside: &Arc<Aside>,
    ) -> Option<Pieces> {
        let id = request.id();
        let params = match request.params() {
            Ok(params) => params,
            Err(refused) => return Some(refused),
        };
        if let Some(refused) = self.refuses_tasks(client, request, what) {
            return Some(refused);
        }
        let Ok(_slot) = client.slots.try_acquire() else {
            let limit = self.options.limits.in_flight_per_client;
            let text =
                format!("this client has {limit} calls in flight, which is the limit; try again later");
            return Some(refusal(id, BUSY, &text));
        };
        let _in_flight = client.begin(request.id.clone(), aside);
        let caller = client.caller(request);
        if let Some(level) = caller.level.filter(|_| !caller.revision.has_handshake()) {
            // Servers of the handshake era log for whole sessions, and for one request only if they log that much at all.
            self.router.set_level(level.min(UNASKED)).await;
        }
        let instead;
        let params = match self.own_call(client, what, params, (&caller, aside)).await {
            None => params,
            Some(Ok(OwnAnswer::Instead(other))) => {
                instead = other;
                &instead
            }
            Some(Ok(OwnAnswer::Result(result))) => {
                // It was written as text.
                let result = std::str::from_utf8(&result).unwrap_or("null");
                let from = Revision::NEWEST_WITH_HANDSHAKE;
                let shown = era::result(result, from, caller.revision, Keeping::Never);
                return Some(answer::result(id, &shown).into());
            }
            Some(Ok(OwnAnswer::Error(error))) => return Some(answer::raw_error(id, &error).into()),
            Some(Err(error)) => return fault::reply(id, &error, caller.revision, true).map(Pieces::from),
        };
        let call = Call { view: &client.view, what, params, aside, caller: &caller };
        match self.router.call(call).await {
            Ok(answered) => Some(answer_of(client, request, what, &answered)),
            Err(error) => fault::reply(id, &error, caller.revision, what == What::Tool).map(Pieces::from),
        }
    }

    async fn subscribe(&self, client: &Client, request: &Request) -> Pieces {
        let (id, revision) = (request.id(), request.terms(client).revision);
        let Some(uri) = text_in(request, "uri") else {
            return refusal(id, INVALID_PARAMS, "resources/subscribe needs params with a `uri`");
        };
        let outcome = async {
            let watched = self.router.watched(&client.view, &uri)?;
            if locked(&client.watched).contains_key(&watched) {
                return Ok((watched, Reply::Result(Bytes::from_static(b"{}"))));
            }
            let reply = self.router.subscribe(&watched).await?;
            Ok((watched, reply))
        };
        match outcome.await {
            Ok((watched, Reply::Result(_))) => {
                let before = locked(&client.watched).insert(watched.clone(), uri);
                // Two at once have been counted twice.
                if before.is_some() {
                    self.router.unsubscribe(&watched);
                }
                answer::result(id, b"{}").into()
            }
            Ok((watched, Reply::Error(error))) => {
                let error = std::str::from_utf8(&error).unwrap_or("null");
                answer::raw_error(id, &answer::with_server(error, watched.server.as_str())).into()
            }
            Err(error) => fault::reply(id, &error, revision, false)
                .map_or_else(|| refusal(id, INVALID_REQUEST, "cancelled"), Pieces::from),
        }
    }

    fn unsubscribe(&self, client: &Client, request: &Request) -> Pieces {
        let id = request.id();
        let Some(uri) = text_in(request, "uri") else {
            return refusal(id, INVALID_PARAMS, "resources/unsubscribe needs params with a `uri`");
        };
        let watched = self.router.watched(&client.view, &uri).ok();
        let known = watched.filter(|watched| locked(&client.watched).remove(watched).is_some());
        if let Some(watched) = known {
            self.router.unsubscribe(&watched);
        }
        answer::result(id, b"{}").into()
    }

    async fn log_level(&self, client: &Client, request: &Request) -> Pieces {
        match text_in(request, "level").as_deref().and_then(Level::parse) {
            Some(level) => {
                client.set_level(level);
                // Clients that have not asked hear of this much, so no server is asked for less.
                self.router.set_level(level.min(UNASKED)).await;
                answer::result(request.id(), b"{}").into()
            }
            None => {
                let known = Level::ALL.map(Level::as_str).join(", ");
                refusal(request.id(), INVALID_PARAMS, &format!("`level` must be one of {known}"))
            }
        }
    }

    /// Takes a notification of a client.
    pub(crate) fn notified(&self, client: &Client, method: &str, params: Option<&str>) {
        match method {
            "notifications/cancelled" => {
                if let Some(Ok(members)) = params.map(Members::parse)
                    && let Some(id) = members.get("requestId")
                {
                    client.cancel(id, members.get("reason"));
                }
            }
            // Its servers are told, where it has some of its own.
            "notifications/roots/list_changed" => self.router.fleet.tell_for(client.number, method, params),
            _ => {}
        }
    }

    /// A client has gone: what was done for it alone ends.
    pub(crate) fn parted(&self, client: &Client) {
        self.router.fleet.forget_client(client.number);
        self.router.forget_tasks_of(client.number);
        for (watched, _) in locked(&client.watched).drain() {
            self.router.unsubscribe(&watched);
        }
    }
}

/// A server's answer in the words of the client's revision.
fn answer_of(client: &Client, request: &Request, what: What, answered: &Answered) -> Pieces {
    let (id, to) = (request.id(), request.terms(client).revision);
    match &answered.reply {
        Reply::Result(result) => {
            // It was parsed as text when it came in.
            let result = std::str::from_utf8(result).unwrap_or("null");
            // What asks for something is not kept.
            let is_kept = what == What::Resource && mrtr::input_required(result).is_none();
            let keeping = if is_kept { Keeping::Hinted } else { Keeping::Never };
            answer::result(id, &era::result(result, answered.revision, to, keeping)).into()
        }
        Reply::Error(error) => {
            let error = std::str::from_utf8(error).unwrap_or("null");
            let opens_pages =
                || request.terms(client).abilities.allow("elicitation/create", Some(r#"{"mode":"url"}"#));
            if !to.has_handshake()
                && let Some(asked) = mrtr::pages_first(error).filter(|_| opens_pages())
            {
                return answer::result(id, &asked).into();
            }
            let across = match what {
                What::Resource => fault::across(error, answered.revision, to),
                What::Tool | What::Prompt | What::Completion | What::Task(_) | What::Tasks => None,
            };
            let error = across.as_deref().unwrap_or(error);
            match client.view.alone() {
                None => answer::raw_error(id, &answer::with_server(error, answered.server.as_str())).into(),
                Some(_) => answer::raw_error(id, error.as_bytes()).into(),
            }
        }
    }
}

fn text_in(request: &Request, key: &str) -> Option<String> {
    request.params().ok()?.text(key).map(std::borrow::Cow::into_owned)
}

impl Front {
    /// The answer to a batch, as one array with the answers in the order of their requests; `None` where none is due.
    pub(crate) async fn batch(
        &self,
        client: &Client,
        line: &Bytes,
        entries: &[&str],
    ) -> Result<Option<Bytes>, Pieces> {
        if !client.terms().revision.has_batches() {
            let text = format!("batches are part of {} only", Revision::V2025_03_26);
            return Err(refusal("null", INVALID_REQUEST, &text));
        }
        if entries.is_empty() || entries.len() > MOST_IN_BATCH {
            let text = format!("a batch holds 1 to {MOST_IN_BATCH} messages");
            return Err(refusal("null", INVALID_REQUEST, &text));
        }
        let answers = entries.iter().map(async |entry| match envelope::parse_one(entry) {
            Ok(Message::Request { id, method, params }) => {
                let request = Request::new(line, id, &method, params);
                // A batch has one answer: what servers say meanwhile has no place in it.
                self.answer(client, &request, &Arc::default()).await.map(Pieces::whole)
            }
            Ok(Message::Notification { method, params }) => {
                self.notified(client, &method, params);
                None
            }
            Ok(Message::Reply { id, outcome }) => {
                client.questions.answered(id, outcome);
                None
            }
            Err(malformed) => Some(refusal("null", malformed.code(), &malformed.to_string()).whole()),
        });
        let answers: Vec<Bytes> =
            futures_util::future::join_all(answers).await.into_iter().flatten().collect();
        let array = || Bytes::from([&b"["[..], &answers.join(&b","[..]), b"]"].concat());
        Ok((!answers.is_empty()).then(array))
    }
}
