//! What holds for every answer: headers that keep browsers from making more of it than it is, a problem where there is
//! no such page, and one request at most that a panic costs.

use crate::problem::{Code, Refusal};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use std::panic::AssertUnwindSafe;

/// The policy of our pages: what they load comes from here, and nothing is written into them.
pub(crate) const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Pages and their parts may be kept, but are asked for again each time.
pub(crate) const PAGE_CACHING: HeaderValue = HeaderValue::from_static("no-cache");

/// Unless an answer has its own.
const COMMON: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
];

/// Puts around routes what holds for all of them.
pub(crate) fn guarded<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes
        .fallback(async || {
            Refusal::new(Code::NotFound, "there is no such page: the surface is described at /docs")
        })
        .method_not_allowed_fallback(async || {
            Refusal::new(Code::MethodNotAllowed, "this page does not take that method: see the header Allow")
        })
        .layer(from_fn(survive))
        .layer(from_fn(dress))
}

async fn dress(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in COMMON {
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// A panic is our mistake: it costs the request that met it, and no other. What it says is in the log, where the
/// panic itself is reported.
async fn survive(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            tracing::error!(%method, path, "a request was given up because of a mistake of ours");
            Refusal::new(Code::InternalError, "Portolan made a mistake: the log says more").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::routing::{get, patch};
    use http::{HeaderMap, Method, Request, StatusCode};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    async fn broken() -> &'static str {
        panic!("canary")
    }

    fn routes() -> Router {
        let own = [(CONTENT_SECURITY_POLICY, PAGE_POLICY), (CACHE_CONTROL, PAGE_CACHING)];
        let inner = Router::new().route("/page", get(async move || (own, "page")));
        let outer = Router::new()
            .nest("/inner", inner)
            .route("/", get(async || "here").merge(patch(async || "patched")))
            .route("/broken", get(broken));
        guarded(outer)
    }

    async fn ask(routes: &Router, method: Method, path: &str) -> (StatusCode, HeaderMap, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let (head, body) = routes.clone().oneshot(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn t28_every_answer_carries_the_headers_whatever_it_is() {
        for (method, path) in [
            (Method::GET, "/"),
            (Method::POST, "/"),
            (Method::GET, "/nowhere"),
            (Method::GET, "/inner/nowhere"),
            (Method::GET, "/broken"),
        ] {
            let (_, headers, _) = ask(&routes(), method, path).await;
            for (name, value) in COMMON {
                assert_eq!(headers.get_all(&name).iter().collect::<Vec<_>>(), [&value], "{path} {name}");
            }
        }
        let (_, headers, _) = ask(&routes(), Method::GET, "/inner/page").await;
        assert_eq!(headers[CONTENT_SECURITY_POLICY], PAGE_POLICY);
        assert_eq!(headers[CACHE_CONTROL], PAGE_CACHING);
        assert_eq!(headers[X_FRAME_OPTIONS], "DENY");
    }

    #[tokio::test]
    async fn a_page_that_is_not_there_and_a_method_that_is_not_taken_are_problems() {
        let (status, headers, body) = ask(&routes(), Method::GET, "/inner/nowhere").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert_eq!(headers["content-type"], "application/problem+json");
        assert!(body.contains("NOT_FOUND"), "{body}");
        for method in [Method::POST, Method::OPTIONS, Method::TRACE] {
            let (status, headers, body) = ask(&routes(), method, "/").await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
            assert_eq!(headers["allow"], "GET,HEAD,PATCH");
            assert!(body.contains("METHOD_NOT_ALLOWED"), "{body}");
        }
        let (status, _, body) = ask(&routes(), Method::HEAD, "/").await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, ""));
    }

    #[tokio::test]
    async fn f68_a_panic_costs_one_request_and_tells_nothing_of_itself() {
        let routes = routes();
        let (status, _, body) = ask(&routes, Method::GET, "/broken").await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(body.contains("INTERNAL_ERROR") && !body.contains("canary"), "{body}");
        assert_eq!(ask(&routes, Method::GET, "/").await.0, StatusCode::OK);
    }
}
