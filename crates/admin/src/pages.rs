//! Pages for people: where they are, and what the surface takes. Nothing in them comes from elsewhere.

use crate::Shared;
use crate::body::raw;
use crate::document::Mistakes;
use crate::headers::{PAGE_CACHING, PAGE_POLICY};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use std::sync::Arc;

const START: &str = include_str!("../assets/start.html");
const DOCS: &str = include_str!("../assets/docs.html");
const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");

/// A part of a page, under the policy for pages.
fn part(media_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (CACHE_CONTROL, PAGE_CACHING),
    ];
    (headers, text).into_response()
}

/// Read this description
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "pages",
    responses((status = 200, description = "An OpenAPI 3.1 document.", body = serde_json::Value,
        content_type = "application/json"), Mistakes)
)]
pub(crate) async fn get_document(State(shared): State<Arc<Shared>>) -> Response {
    raw(shared.document.clone())
}

/// See where you are
#[utoipa::path(
    get,
    path = "/",
    tag = "pages",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html"), Mistakes)
)]
pub(crate) async fn get_start_page() -> Response {
    part("text/html; charset=utf-8", START)
}

/// Read and try this description
#[utoipa::path(
    get,
    path = "/docs",
    tag = "pages",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html"), Mistakes)
)]
pub(crate) async fn get_docs_page() -> Response {
    part("text/html; charset=utf-8", DOCS)
}

/// Get the script of the page
#[utoipa::path(
    get,
    path = "/docs/page.js",
    tag = "pages",
    responses((status = 200, description = "A script.", body = String, content_type = "text/javascript"), Mistakes)
)]
pub(crate) async fn get_docs_script() -> Response {
    part("text/javascript; charset=utf-8", SCRIPT)
}

/// Get the style of the pages
#[utoipa::path(
    get,
    path = "/docs/page.css",
    tag = "pages",
    responses((status = 200, description = "A style sheet.", body = String, content_type = "text/css"), Mistakes)
)]
pub(crate) async fn get_docs_style() -> Response {
    part("text/css; charset=utf-8", STYLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t28_the_pages_hold_nothing_inline_and_load_nothing_from_elsewhere() {
        for page in [START, DOCS] {
            let page = page.to_ascii_lowercase();
            for script in page.split("<script").skip(1) {
                let (tag, after) = script.split_once('>').unwrap();
                assert!(tag.contains("src=\"/"), "{tag}");
                assert!(after.starts_with("</script>"), "a script has text of its own: {after}");
            }
            for forbidden in ["<style", "style=", " on", "javascript:", "http:", "https:", "//"] {
                let found = page.match_indices(forbidden).any(|(at, _)| is_markup(&page, at));
                assert!(!found, "{forbidden} in {page}");
            }
        }
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "import("] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
        for word in ["@import", "url(", "//"] {
            assert!(!STYLE.contains(word), "{word}");
        }
    }

    /// Whether a place of a page is within a tag.
    fn is_markup(page: &str, at: usize) -> bool {
        page[..at].rfind('<') > page[..at].rfind('>')
    }

    #[test]
    fn what_the_pages_name_is_served() {
        for place in ["/docs/page.js", "/docs/page.css"] {
            assert!(DOCS.contains(place), "{place}");
            assert!(crate::openapi().paths.paths.contains_key(place), "{place}");
        }
        assert!(START.contains("\"/docs\""));
    }
}
