//! One request in as many rounds as its server needs: what a server of 2026-07-28 wants to know, an older client is asked
//! as it knows to be asked, and the request goes out again with the answers.

use crate::call::Call;
use crate::target::{Target, What, quoted};
use crate::tasks::{self, Mode, Relay, Wards};
use bytes::Bytes;
use futures_util::future::join_all;
use portolan_upstream::{Ask, CallError, Member, Note, Question, Reply, Session};
use portolan_wire::meta::TASKS;
use portolan_wire::mrtr::{self, InputRequest, InputRequired};
use portolan_wire::params::{Changes, Hop, Stamp};
use portolan_wire::{Abilities, json};
use std::time::Duration;
use tokio::time::timeout;

/// A server that asks and asks would keep its client for ever.
const MOST_ROUNDS: usize = 10;
/// How long a client may take over an answer: a person may have to be found first.
const FOR_AN_ANSWER: Duration = Duration::from_mins(10);

pub(crate) struct Rounds<'r> {
    wards: &'r Wards,
    member: &'r Member,
    target: &'r Target,
    call: &'r Call<'r>,
    /// The answers to the last round's questions, as raw JSON, and the server's note to itself.
    answers: Option<(String, Option<String>)>,
    done: usize,
    /// How a tool is called, and the client's capabilities with tasks declared for it where that is the way.
    mode: Mode,
    extended: Option<Abilities>,
}

/// What one round came to.
enum Round {
    Over(Reply),
    Again,
}

impl<'r> Rounds<'r> {
    pub(crate) fn new(wards: &'r Wards, member: &'r Member, target: &'r Target, call: &'r Call<'r>) -> Self {
        Self { wards, member, target, call, answers: None, done: 0, mode: Mode::Plain, extended: None }
    }

    /// Goes on until there is an answer. Each round is a request of its own: one that was not sent can be tried again on
    /// another session, without those before it.
    pub(crate) async fn go_on(&mut self, session: &Session) -> Result<Reply, CallError> {
        self.set_mode(Mode::of(self.target, self.call, session.revision()));
        loop {
            let reply = self.send(session).await?;
            // An older server asks while it works. A newer client answers for itself.
            if session.revision().has_handshake() || !self.call.caller.revision.has_handshake() {
                return Ok(reply);
            }
            if self.mode == Mode::Plain && tasks::wants_extension(&reply) {
                // Nothing was done yet, and whoever wants the answer need not know how it comes about.
                self.set_mode(Mode::Extended);
                continue;
            }
            // Boxed, as all that few calls come to: each call carries room for what it may come to.
            match Box::pin(self.read(reply)).await? {
                Round::Over(reply) => return Ok(reply),
                Round::Again if self.done < MOST_ROUNDS => self.done += 1,
                Round::Again => {
                    return Err(self.broke(format!("it asked for input more than {MOST_ROUNDS} times")));
                }
            }
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.extended =
            (mode == Mode::Extended).then(|| self.call.caller.party.abilities.with_extension(TASKS));
    }

    async fn send(&self, session: &Session) -> Result<Reply, CallError> {
        let (call, target) = (self.call, self.target);
        let own = (target.member, target.value.as_str());
        let task = self.mode.member(session.revision());
        let (more, task) = (usize::from(task.is_some()), ("task", task.unwrap_or_default()));
        let with_answers;
        let set: &[(&str, &str)] = match &self.answers {
            Some((responses, state)) => {
                let state = state.as_deref().unwrap_or("");
                with_answers = [own, ("inputResponses", responses), ("requestState", state), task];
                &with_answers[..3 + more]
            }
            // Such members mean nothing to a server that asks while it works.
            None if session.revision().has_handshake() => {
                with_answers = [own, ("inputResponses", ""), ("requestState", ""), task];
                &with_answers[..3 + more]
            }
            None => {
                with_answers = [own, task, task, task];
                &with_answers[..=more]
            }
        };
        let stamp = Stamp {
            capabilities: self.extended.as_ref().unwrap_or(&call.caller.party.abilities).as_raw(),
            level: call.caller.level,
            is_own: false,
        };
        let write = |hop: &Hop<'_>, out: &mut Vec<u8>| {
            call.params.write(hop, &stamp, &Changes { set }, out);
        };
        let mirrored = match call.what {
            What::Tool if session.is_labelled() => target.mirrored(call.params.get("arguments")),
            What::Tool | What::Prompt | What::Resource | What::Completion | What::Task(_) | What::Tasks => {
                Vec::new()
            }
        };
        let ask = Ask {
            method: call.what.method(),
            params: &write,
            params_len: call.params.byte_len() + 64,
            timeout: self.member.call_timeout,
            aside: Some(call.aside),
            name: target.name.as_deref(),
            mirrored: &mirrored,
        };
        if self.mode == Mode::Asked {
            let relay = Relay::before(call, self.wards);
            return Box::pin(relay.carry(session.request(Ask { aside: Some(relay.aside()), ..ask }))).await;
        }
        session.request(ask).await
    }

    /// Asks the client whatever the server wants to know, all at once.
    async fn read(&mut self, reply: Reply) -> Result<Round, CallError> {
        let Reply::Result(raw) = &reply else { return Ok(Round::Over(reply)) };
        let text = std::str::from_utf8(raw).unwrap_or("null");
        let Some(required) = mrtr::input_required(text) else { return Ok(Round::Over(reply)) };
        let InputRequired { requests, state } = required
            .map_err(|malformed| self.broke(format!("what it asks for cannot be read: {malformed}")))?;
        let state = state.map(str::to_owned);
        match self.ask_all(raw, requests).await? {
            Ok(responses) => {
                self.answers = Some((responses, state));
                Ok(Round::Again)
            }
            Err(error) => Ok(Round::Over(Reply::Error(error))),
        }
    }

    /// The client's answers as its server wants them, or the error of a client that refuses.
    pub(crate) async fn ask_all(
        &self,
        raw: &Bytes,
        requests: Vec<InputRequest<'_>>,
    ) -> Result<Result<String, Bytes>, CallError> {
        let asked = requests.into_iter().map(|request| self.ask(raw, request));
        let mut responses = vec![b'{'];
        for answered in join_all(asked).await {
            let (key, answer) = answered?;
            let answer = match answer {
                Reply::Result(answer) => answer,
                Reply::Error(error) => return Ok(Err(error)),
            };
            if responses.len() > 1 {
                responses.push(b',');
            }
            json::write_text(&key, &mut responses);
            responses.push(b':');
            responses.extend_from_slice(&answer);
        }
        responses.push(b'}');
        Ok(Ok(String::from_utf8_lossy(&responses).into_owned()))
    }

    async fn ask(&self, raw: &Bytes, request: InputRequest<'_>) -> Result<(String, Reply), CallError> {
        let (caller, aside) = (self.call.caller, self.call.aside);
        if !aside.can_be_asked() || !caller.party.abilities.allow(&request.method, request.params) {
            let method = quoted(&request.method);
            return Err(self.broke(format!("it asks for {method}, which the client has not declared")));
        }
        let params = request.params.map(|params| raw.slice_ref(params.as_bytes()));
        let (question, answered) = Question::new(self.target.server.clone(), &request.method, params, None);
        if !aside.add(Note::Question(question)) {
            return Err(self.broke("it asks for more than its client takes in".to_owned()));
        }
        let answer = tokio::select! {
            answer = timeout(FOR_AN_ANSWER, answered) => answer,
            () = aside.cancelled() => return Err(CallError::Cancelled),
        };
        let Ok(answer) = answer else {
            let server = self.target.server.clone();
            return Err(CallError::TimedOut { server, limit: FOR_AN_ANSWER });
        };
        match answer {
            Ok(Reply::Error(_)) if request.method == "elicitation/create" => {
                // A person who is not there has not answered, which this revision can say.
                Ok((request.key, Reply::Result(Bytes::from_static(br#"{"action":"cancel"}"#))))
            }
            Ok(answer) => Ok((request.key, answer)),
            Err(_) => Err(self.broke("its question found no answer".to_owned())),
        }
    }

    fn broke(&self, reason: String) -> CallError {
        CallError::Protocol { server: self.target.server.clone(), reason }
    }
}
