//! The six forms in which a server can stand behind.

use crate::kit::listed;
use portolan_testkit::{Fixture, Gateway, GatewayBuilder, Journal, Profile, Signal, StdioClient, processes};
use serde_json::{Value, json};

/// The name of the server in every gateway here.
pub(crate) const ONE: &str = "one";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    StdioLegacy,
    StdioModern,
    HttpLegacy,
    HttpStateless,
    HttpModern,
    Sse,
}

impl Form {
    pub(crate) const ALL: [Self; 6] = [
        Self::StdioLegacy,
        Self::StdioModern,
        Self::HttpLegacy,
        Self::HttpStateless,
        Self::HttpModern,
        Self::Sse,
    ];

    /// Those that keep something between two requests.
    pub(crate) const LASTING: [Self; 5] =
        [Self::StdioLegacy, Self::StdioModern, Self::HttpLegacy, Self::HttpModern, Self::Sse];

    pub(crate) fn is_modern(self) -> bool {
        matches!(self, Self::StdioModern | Self::HttpModern)
    }

    /// Starts a server of this form if it runs by itself; its entry in a gateway's configuration comes with it.
    pub(crate) async fn start(self, name: &str, flags: &[&str], builder: &GatewayBuilder) -> Server {
        let own: &[&str] = match self {
            Self::StdioLegacy | Self::HttpLegacy | Self::Sse => &[],
            Self::StdioModern | Self::HttpModern => &["--era", "modern"],
            Self::HttpStateless => &["--stateless"],
        };
        let flags = [own, flags].concat();
        let fixture = match self {
            Self::StdioLegacy | Self::StdioModern => {
                let (entry, journal) = (builder.fixture_entry(name, &flags), builder.journal(name));
                return Server { form: self, entry, journal, fixture: None };
            }
            Self::HttpLegacy | Self::HttpStateless | Self::HttpModern => Fixture::http(&flags).await,
            Self::Sse => Fixture::sse(&flags).await,
        };
        let (entry, journal) = (fixture.entry(), fixture.journal().clone());
        Server { form: self, entry, journal, fixture: Some(fixture) }
    }

    /// A gateway over one server of this form, which is connected.
    pub(crate) async fn serve(self, flags: &[&str]) -> Behind {
        self.serve_as(flags, json!({}), Gateway::builder()).await
    }

    /// The same with Portolan's own extras in the server's entry, and a gateway that was set up before.
    pub(crate) async fn serve_as(self, flags: &[&str], extras: Value, builder: GatewayBuilder) -> Behind {
        let mut server = self.start(ONE, flags, &builder).await;
        server.entry["portolan"] = extras;
        let gateway = builder.server(ONE, server.entry.clone()).serve().await;
        listed(&gateway.connect().await, &[ONE]).await;
        Behind { gateway, journal: server.journal.clone(), server }
    }

    /// The stdio form of the gateway over one server, with a client on its pipes that has not said anything yet.
    pub(crate) async fn over_stdio(self, flags: &[&str], profile: Profile) -> (Behind, StdioClient) {
        let builder = Gateway::builder();
        let server = self.start(ONE, flags, &builder).await;
        let (gateway, client) = builder.server(ONE, server.entry.clone()).stdio(profile);
        (Behind { gateway, journal: server.journal.clone(), server }, client)
    }
}

/// A server, running by itself or as the gateway's own child.
pub(crate) struct Server {
    form: Form,
    pub(crate) entry: Value,
    pub(crate) journal: Journal,
    fixture: Option<Fixture>,
}

impl Server {
    /// Replaces a server that runs by itself by another in its place, and the journal by that one's. One that is the
    /// gateway's child is killed instead: the gateway starts it again, and the journal goes on.
    pub(crate) async fn start_again(&mut self, flags: &[&str]) {
        match &mut self.fixture {
            Some(fixture) => {
                fixture.stop().await;
                let port = fixture.port().to_string();
                let flags = [flags, &["--port", &port]].concat();
                *self = self.form.start(ONE, &flags, &Gateway::builder()).await;
            }
            None => {
                let starts = self.journal.events("start");
                let pid = starts.last().unwrap()["details"]["pid"].as_u64().unwrap();
                processes::signal(u32::try_from(pid).unwrap(), Signal::KILL);
            }
        }
    }
}

/// A gateway and the server behind it.
pub(crate) struct Behind {
    pub(crate) gateway: Gateway,
    pub(crate) journal: Journal,
    pub(crate) server: Server,
}
