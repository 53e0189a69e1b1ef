//! Opening a link: the transport, and which of the two eras the server speaks.

use crate::error::{CallError, ConnectError};
use crate::fleet::Identity;
use crate::handshake::{self, Verdict, Welcome};
use crate::inbox::Inbox;
use crate::link::Link;
use crate::link::http::{HttpLink, OpenError};
use crate::link::remote::{Labels, Remote};
use crate::link::sse::SseLink;
use crate::link::stdio::StdioLink;
use crate::pending::Reply;
use crate::session::Ground;
use portolan_model::{Endpoint, Era, RemoteKind};
use portolan_wire::{Abilities, answer};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The whole try to connect has a limit of its own, which is shorter than this.
const LIMIT: Duration = Duration::from_hours(1);
/// How long the question for the newer era may stay unanswered. Slow programs need seconds to start, so silence alone is
/// no verdict: after this both questions stand.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known before the first word.
pub(crate) struct Opening<'o> {
    pub(crate) endpoint: &'o Endpoint,
    /// Which era it spoke last time.
    pub(crate) era: Option<Era>,
    /// What we declare to a server that wants a handshake.
    pub(crate) abilities: &'o Abilities,
}

pub(crate) struct Opened {
    pub(crate) link: Link,
    pub(crate) welcome: Welcome,
}

/// Why no link could be opened.
pub(crate) enum Failure {
    /// It was gone after a question that only servers of the newer era know; without that it may stay.
    AtTheQuestion(ConnectError),
    Otherwise(ConnectError),
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self::Otherwise(error)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Otherwise(error.into())
    }
}

impl Failure {
    pub(crate) fn error(self) -> ConnectError {
        match self {
            Self::AtTheQuestion(error) | Self::Otherwise(error) => error,
        }
    }
}

impl Opening<'_> {
    pub(crate) async fn open(&self, inbox: &Arc<Inbox>, ground: &Ground) -> Result<Opened, Failure> {
        let identity = &ground.outside.identity;
        match self.endpoint {
            Endpoint::Child(spec) => {
                let link = StdioLink::open(spec, inbox.clone(), ground).map_err(ConnectError::Failed)?;
                let talk = Talk { link: Link::Stdio(link), inbox, identity, abilities: self.abilities };
                let patience = PATIENCE.min(ground.outside.limits.connect_timeout / 3);
                let welcome = match self.era {
                    Some(era) => talk.as_last_time(era).await?,
                    None => talk.find_out(patience).await?,
                };
                Ok(Opened { link: talk.link, welcome })
            }
            Endpoint::Remote { kind, url, headers, origin } => {
                let remote = Remote::new(ground.outside.outbound.clone(), *origin, url, headers)?;
                if *kind == RemoteKind::Sse {
                    return self.over_sse(&remote, inbox, ground).await;
                }
                match self.over_http(&remote, inbox, ground).await {
                    Ok(opened) => Ok(opened),
                    Err(OpenError::Connect(error)) => Err(error.into()),
                    Err(OpenError::AnotherTransport(status)) if *kind == RemoteKind::Http => {
                        Err(ConnectError::Failed(format!(
                            "it answered {status} to initialize: is the url right?"
                        ))
                        .into())
                    }
                    Err(OpenError::AnotherTransport(_)) => self.over_sse(&remote, inbox, ground).await,
                }
            }
        }
    }

    /// The older transport, which only the older era has.
    async fn over_sse(
        &self,
        remote: &Remote,
        inbox: &Arc<Inbox>,
        ground: &Ground,
    ) -> Result<Opened, Failure> {
        let identity = &ground.outside.identity;
        let link = SseLink::open(remote, inbox.clone(), ground).await?;
        let talk = Talk { link: Link::Sse(link), inbox, identity, abilities: self.abilities };
        let welcome = Welcome::of_initialize(&talk.initialize().await?, identity)?;
        Ok(Opened { link: talk.link, welcome })
    }

    async fn over_http(
        &self,
        remote: &Remote,
        inbox: &Arc<Inbox>,
        ground: &Ground,
    ) -> Result<Opened, OpenError> {
        if self.era == Some(Era::Legacy) {
            let refused = match self.initialize_over_http(remote, inbox, ground).await {
                Ok(opened) => return Ok(opened),
                Err(OpenError::Connect(error)) if !error.is_worth_a_retry() => {
                    return Err(OpenError::Connect(error));
                }
                Err(refused) => refused,
            };
            // What it spoke last time it need not speak today.
            let found = self.discover_over_http(remote, inbox, ground).await.map_err(OpenError::Connect)?;
            return found.ok_or(refused);
        }
        match self.discover_over_http(remote, inbox, ground).await.map_err(OpenError::Connect)? {
            Some(opened) => Ok(opened),
            None => self.initialize_over_http(remote, inbox, ground).await,
        }
    }

    async fn discover_over_http(
        &self,
        remote: &Remote,
        inbox: &Arc<Inbox>,
        ground: &Ground,
    ) -> Result<Option<Opened>, ConnectError> {
        let identity = &ground.outside.identity;
        let link = HttpLink::new(remote.clone(), inbox.clone(), ground).labelled();
        let patience = PATIENCE.min(ground.outside.limits.connect_timeout / 3);
        // One that leaves the question open may still answer the older one.
        let ask = || timeout(patience, link.discover(0, handshake::discover(0, identity)));
        let Some(mut reply) = ask().await.unwrap_or(Ok(None))? else { return Ok(None) };
        if handshake::is_of_the_newer_era(&reply) {
            // It knows the question and did not like something about it: once more, and not the other question.
            reply = match ask().await.unwrap_or(Ok(None))? {
                Some(again) => again,
                None => reply,
            };
            if let Reply::Error(_) = reply {
                return Welcome::of_discover(&reply, identity).map(|_| None);
            }
        }
        match handshake::judge(&reply) {
            Verdict::Legacy => Ok(None),
            Verdict::Modern | Verdict::Refused => {
                let welcome = Welcome::of_discover(&reply, identity)?;
                Ok(Some(Opened { link: Link::Http(link), welcome }))
            }
        }
    }

    async fn initialize_over_http(
        &self,
        remote: &Remote,
        inbox: &Arc<Inbox>,
        ground: &Ground,
    ) -> Result<Opened, OpenError> {
        let identity = &ground.outside.identity;
        let mut link = HttpLink::new(remote.clone(), inbox.clone(), ground);
        let reply = link.initialize(0, handshake::initialize(0, identity, self.abilities)).await?;
        let welcome = Welcome::of_initialize(&reply, identity).map_err(OpenError::Connect)?;
        link.negotiated(welcome.revision);
        Ok(Opened { link: Link::Http(link), welcome })
    }
}

/// First words over a link that carries replies by id.
struct Talk<'t> {
    link: Link,
    inbox: &'t Inbox,
    identity: &'t Identity,
    abilities: &'t Abilities,
}

impl Talk<'_> {
    async fn initialize(&self) -> Result<Reply, CallError> {
        let mut ticket = self.inbox.pending.open(LIMIT, None)?;
        let body = handshake::initialize(ticket.id, self.identity, self.abilities);
        self.link.carry(&mut ticket, body, &Labels::default()).await
    }

    async fn discover(&self) -> Result<Reply, CallError> {
        let mut ticket = self.inbox.pending.open(LIMIT, None)?;
        let body = handshake::discover(ticket.id, self.identity);
        self.link.carry(&mut ticket, body, &Labels::default()).await
    }

    /// Speaks as it did last time, and the other way if that is refused.
    async fn as_last_time(&self, era: Era) -> Result<Welcome, Failure> {
        match era {
            Era::Legacy => {
                let reply = self.initialize().await?;
                if matches!(&reply, Reply::Error(_))
                    && let Verdict::Modern = handshake::judge(&self.discover().await?)
                {
                    return Ok(Welcome::of_discover(&self.discover().await?, self.identity)?);
                }
                Ok(Welcome::of_initialize(&reply, self.identity)?)
            }
            Era::Modern => {
                let reply = self.discover().await?;
                self.after_discover(&reply).await
            }
        }
    }

    async fn after_discover(&self, reply: &Reply) -> Result<Welcome, Failure> {
        Ok(match handshake::judge(reply) {
            Verdict::Modern | Verdict::Refused => Welcome::of_discover(reply, self.identity)?,
            Verdict::Legacy => Welcome::of_initialize(&self.initialize().await?, self.identity)?,
        })
    }

    /// Asks a server of which nothing is known. Those of the older era answer an error, or nothing, or end.
    async fn find_out(&self, patience: Duration) -> Result<Welcome, Failure> {
        let mut discovering = std::pin::pin!(self.discover());
        let at_the_question = |error: CallError| Failure::AtTheQuestion(error.into());
        if let Ok(reply) = timeout(patience, &mut discovering).await {
            return self.after_discover(&reply.map_err(at_the_question)?).await;
        }
        let mut initializing = std::pin::pin!(self.initialize());
        tokio::select! {
            reply = &mut initializing => {
                Ok(Welcome::of_initialize(&reply.map_err(at_the_question)?, self.identity)?)
            }
            reply = &mut discovering => {
                let reply = reply.map_err(at_the_question)?;
                match handshake::judge(&reply) {
                    Verdict::Modern | Verdict::Refused => Ok(Welcome::of_discover(&reply, self.identity)?),
                    Verdict::Legacy => {
                        let reply = initializing.await.map_err(at_the_question)?;
                        Ok(Welcome::of_initialize(&reply, self.identity)?)
                    }
                }
            }
        }
    }
}

/// What follows a handshake.
pub(crate) fn initialized() -> bytes::Bytes {
    answer::notification("notifications/initialized", None).into()
}
