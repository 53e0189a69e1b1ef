//! What a path names: a server, its agent, a tool, a skill, a suggestion, or a secret.

use crate::problem::{Code, FieldError, Refusal};
use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{ObjectBuilder, Required, Type};

const SECRET_NAME_MAX: usize = 255;

/// The thing that the path of a request names.
pub(crate) struct Path<T>(pub(crate) T);

/// Something that paths can name.
pub(crate) trait Named: Sized {
    fn read(params: &RawPathParams) -> Result<Self, Refusal>;
}

impl<T: Named, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Refusal::new(Code::InvalidPath, "the path holds escapes that are not UTF-8"))?;
        T::read(&params).map(Self)
    }
}

/// The part of the path that the route calls `name`. Every route that is read here has it.
fn part(params: &RawPathParams, name: &str) -> String {
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).unwrap_or_default()
}

fn parameter(name: &str, about: &str, schema: ObjectBuilder) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(schema.schema_type(Type::String)))
        .build()
}

/// Something that goes by an id of its own, which is looked for as it is written.
macro_rules! by_id {
    ($($(#[$doc:meta])* $name:ident: $about:literal;)+) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name(pub(crate) String);

            impl Named for $name {
                fn read(params: &RawPathParams) -> Result<Self, Refusal> {
                    Ok(Self(part(params, "id")))
                }
            }

            impl IntoParams for $name {
                fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                    vec![parameter("id", $about, ObjectBuilder::new().min_length(Some(1)))]
                }
            }
        )+
    };
}

by_id! {
    /// A server, by its UUID or its name.
    ServerKey: "The server's UUID or its name.";
    /// A tool, by the id that it has here.
    ToolIdKey: "The tool's id.";
    /// A skill.
    SkillKey: "The skill's id.";
    /// A skill that seems to be missing.
    SuggestionKey: "The suggestion's id.";
}

/// A tool, by its server and the name that the server gives it.
pub(crate) struct ToolKey {
    pub(crate) server: String,
    pub(crate) tool: String,
}

impl Named for ToolKey {
    fn read(params: &RawPathParams) -> Result<Self, Refusal> {
        Ok(Self { server: part(params, "id"), tool: part(params, "name") })
    }
}

impl IntoParams for ToolKey {
    fn into_params(provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut params = ServerKey::into_params(provider);
        let about = "The name that the server itself gives the tool, percent-encoded.";
        params.push(parameter("name", about, ObjectBuilder::new().min_length(Some(1))));
        params
    }
}

/// The agent of a server, by the server's UUID or its name.
pub(crate) struct ConnectorKey(pub(crate) String);

impl Named for ConnectorKey {
    fn read(params: &RawPathParams) -> Result<Self, Refusal> {
        Ok(Self(part(params, "connector")))
    }
}

impl IntoParams for ConnectorKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let about = "The UUID of the agent's server, or its name.";
        vec![parameter("connector", about, ObjectBuilder::new().min_length(Some(1)))]
    }
}

/// The name of a secret: that of a variable.
pub(crate) struct SecretKey(pub(crate) String);

impl Named for SecretKey {
    fn read(params: &RawPathParams) -> Result<Self, Refusal> {
        let name = part(params, "name");
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if starts_well && is_plain && name.len() <= SECRET_NAME_MAX {
            return Ok(Self(name));
        }
        let msg = format!(
            "a secret's name starts with a letter or `_`, goes on with letters, digits or `_`, and has at most \
             {SECRET_NAME_MAX} characters"
        );
        Err(Refusal::invalid(vec![FieldError::new(&["path", "name"], msg)]))
    }
}

impl IntoParams for SecretKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let schema = ObjectBuilder::new().pattern(Some("^[A-Za-z_][A-Za-z0-9_]{0,254}$"));
        vec![parameter("name", "The name of the secret, as in `${NAME}`.", schema)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use http::{Request, StatusCode};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    #[track_caller]
    fn check(path: &str, status: StatusCode, text: &str) {
        let routes = Router::new()
            .route(
                "/tools/{id}/{name}",
                get(async |Path(key): Path<ToolKey>| format!("{}|{}", key.server, key.tool)),
            )
            .route("/secrets/{name}", get(async |Path(SecretKey(name)): Path<SecretKey>| name));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (got, body) = runtime.block_on(async {
            let response = routes.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
            (response.status(), response.into_body().collect().await.unwrap().to_bytes())
        });
        let body = String::from_utf8_lossy(&body);
        assert!(got == status && body.contains(text), "{path}: {got} {body}");
    }

    #[test]
    fn a_tool_is_named_by_its_own_name_whatever_that_holds() {
        check("/tools/s/read", StatusCode::OK, "s|read");
        check("/tools/s/api.v2.create", StatusCode::OK, "s|api.v2.create");
        check("/tools/s/a%2Fb", StatusCode::OK, "s|a/b");
        check("/tools/s/gr%C3%BC%C3%9Fe%20%F0%9F%8E%88", StatusCode::OK, "s|grüße 🎈");
        check("/tools/s/%00", StatusCode::OK, "s|\0");
        check("/tools/s/%ff", StatusCode::BAD_REQUEST, "INVALID_PATH");
    }

    #[test]
    fn a_secret_has_the_name_of_a_variable() {
        check("/secrets/GITHUB_TOKEN", StatusCode::OK, "GITHUB_TOKEN");
        check("/secrets/_1", StatusCode::OK, "_1");
        check(&format!("/secrets/{}", "a".repeat(255)), StatusCode::OK, "aaa");
        for name in ["1a", "a-b", "a%20b", "%C3%BC", "a%00", &"a".repeat(256)] {
            check(&format!("/secrets/{name}"), StatusCode::UNPROCESSABLE_ENTITY, r#""loc":["path","name"]"#);
        }
    }
}
