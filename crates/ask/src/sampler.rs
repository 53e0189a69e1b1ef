//! The calling client as a model.

use crate::Who;
use crate::calls::message_of;
use crate::hands::ask_client;
use async_trait::async_trait;
use portolan_agent::{SampleFailed, Sampler};
use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_router::{Aside, Caller, Reply};
use serde_json::value::RawValue;
use std::sync::Arc;

const SAMPLE: &str = "sampling/createMessage";

pub(crate) struct ClientSampler {
    server: ServerName,
    view: View,
    caller: Caller,
    aside: Arc<Aside>,
}

impl ClientSampler {
    /// Of a client that can be asked to sample.
    pub(crate) fn of(server: &ServerName, who: Who<'_>) -> Option<Self> {
        let aside = who.aside.filter(|aside| aside.can_be_asked())?;
        who.caller.party.abilities.allow(SAMPLE, None).then(|| Self {
            server: server.clone(),
            view: who.view.clone(),
            caller: who.caller.clone(),
            aside: aside.clone(),
        })
    }
}

#[async_trait]
impl Sampler for ClientSampler {
    fn can_use_tools(&self) -> bool {
        self.caller.party.abilities.allow(SAMPLE, Some(r#"{"tools":[]}"#))
    }

    async fn create_message(&self, params: Box<RawValue>) -> Result<Box<RawValue>, SampleFailed> {
        let failed = |reason: &str| SampleFailed { reason: reason.to_owned() };
        let who = Who { view: &self.view, caller: &self.caller, aside: Some(&self.aside) };
        match ask_client(&self.server, who, SAMPLE, params.get()).await {
            Some(Reply::Result(result)) => {
                let text = String::from_utf8(result.into()).map_err(|_| failed("its answer is no text"))?;
                RawValue::from_string(text).map_err(|_| failed("its answer is no JSON"))
            }
            Some(Reply::Error(error)) => Err(failed(&message_of(&String::from_utf8_lossy(&error)))),
            None => Err(failed("it cannot be asked, or has gone")),
        }
    }
}
