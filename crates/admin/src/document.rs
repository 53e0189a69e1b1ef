//! What the description says of all operations together, and the problems that they share.

mod drafts;

use crate::problem::{MEDIA_TYPE, Problem};
use bytes::Bytes;
use std::collections::BTreeMap;
use utoipa::openapi::header::Header;
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder, Type,
};
use utoipa::{IntoResponses, OpenApi as _};

/// Everything that no operation says by itself.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Portolan",
        description = "Manage the MCP servers behind Portolan, and call their tools without MCP. Every error is a \
                       `Problem`. Enumerations are taken in any case. `${NAME}` in a server's values stands for the \
                       secret of that name.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "servers", description = "The MCP servers behind Portolan."),
        (name = "tools", description = "What these servers offer."),
        (name = "skills", description = "What tools can do, and how sure that is."),
        (name = "search", description = "The right tools for what is to be done."),
        (name = "calls", description = "Calls of tools."),
        (name = "questions", description = "Questions to many servers, and to the agent of one."),
        (name = "overview", description = "Everything at once."),
        (name = "secrets", description = "Values that servers need and nobody may read."),
        (name = "probes", description = "For what watches Portolan from outside."),
        (name = "pages", description = "For people.")
    ),
    components(schemas(Problem))
)]
struct Outline;

pub(crate) fn outline() -> OpenApi {
    Outline::openapi()
}

/// The description as it is served.
pub(crate) fn render(openapi: OpenApi) -> Bytes {
    // A description that was built from types can always be written.
    serde_json::to_vec(&refined(openapi)).unwrap_or_default().into()
}

/// Where a body that is posted may be left out.
const OPTIONAL_BODIES: [&str; 3] = [
    "/api/v1/aggregator/servers/{id}/disconnect",
    "/api/v1/skills/classify",
    "/api/v1/skills/suggestions/{id}/approve",
];

/// Adds what the types cannot say.
pub(crate) fn refined(mut openapi: OpenApi) -> OpenApi {
    if let Some(components) = &mut openapi.components {
        drafts::narrow(&mut components.schemas);
    }
    for path in OPTIONAL_BODIES {
        let operation = openapi.paths.paths.get_mut(path).and_then(|item| item.post.as_mut());
        if let Some(RefOr::T(body)) = operation.and_then(|operation| operation.request_body.as_mut()) {
            body.required = Some(Required::False);
        }
    }
    openapi
}

/// Sets of problems, named for what an operation does that may lead to them.
macro_rules! problems {
    ($($(#[$about:meta])* $name:ident: $($status:literal),+;)+) => {
        $(
            $(#[$about])*
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    [$($status),+].map(problem).into()
                }
            }
        )+
    };
}

problems! {
    /// It does anything at all.
    Mistakes: 500;
    /// It is part of the API, so its query is looked at.
    Anything: 422, 500;
    /// Its path names something.
    Named: 400, 404;
    /// It takes a body.
    Takes: 400, 408, 413, 415, 422;
    /// It reads what is stored.
    Reads: 503;
    /// It writes what is stored.
    Writes: 503, 507;
    /// It may be in the way of what is there, or of the state that a server is in.
    Collides: 409;
    /// It may lead to a program being started.
    Spawns: 403;
    /// It calls a tool.
    Calls: 400, 404, 502, 503, 504;
    /// It asks several servers.
    Asks: 503;
    /// It is let in one after the other, and so often.
    Limited: 429, 503;
    /// It says whether Portolan is ready.
    Unready: 500, 503;
}

fn problem(status: u16) -> (String, RefOr<Response>) {
    let about = match status {
        400 => "The request cannot be read, or does not say which tool it means.",
        403 => "This is switched off here.",
        404 => "There is no such thing.",
        408 => "The body took too long.",
        409 => "What is there already is in the way.",
        413 => "The body is too large.",
        415 => "The body is not `application/json`.",
        422 => "Something in the request cannot be taken; `errors` says what.",
        429 => "This was asked too often.",
        502 => "The server behind answered with an error, or with something that is no answer.",
        503 => "The server behind or the store is not there right now.",
        504 => "The server behind did not answer in time.",
        507 => "There is no room left to write.",
        _ => "Portolan made a mistake.",
    };
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let mut response = ResponseBuilder::new().description(about).content(MEDIA_TYPE, content);
    if matches!(status, 429 | 503) {
        response = response.header("Retry-After", retry_after());
    }
    (status.to_string(), response.build().into())
}

fn retry_after() -> Header {
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    let mut header = Header::new(seconds);
    header.description = Some("After how many seconds to try again, where that is known.".to_owned());
    header
}

#[cfg(test)]
mod tests;
