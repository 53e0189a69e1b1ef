//! Secrets: put in and taken away, and never shown again.

use crate::Shared;
use crate::body::Json;
use crate::document::{Anything, Named, Reads, Takes, Writes};
use crate::path::{Path, SecretKey};
use crate::problem::Refusal;
use crate::query::{Nothing, Query};
use axum::extract::State;
use http::StatusCode;
use portolan_model::Secret;
use portolan_registry::SecretView;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// List the names of secrets
///
/// Values are never shown.
#[utoipa::path(
    get,
    path = "/secrets",
    tag = "secrets",
    responses((status = 200, description = "The names.", body = [SecretView]), Anything, Reads)
)]
pub(crate) async fn list_secrets(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
) -> Result<Json<Vec<SecretView>>, Refusal> {
    Ok(Json(shared.admin.registry.secrets().await?))
}

/// The value of a secret, on its way in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretValue {
    #[schema(write_only)]
    value: String,
}

/// Set a secret
///
/// Servers whose values name it as `${NAME}` get it when they next connect.
#[utoipa::path(
    put,
    path = "/secrets/{name}",
    tag = "secrets",
    params(SecretKey),
    responses((status = 204, description = "It is kept."), Anything, Takes, Writes)
)]
pub(crate) async fn set_secret(
    State(shared): State<Arc<Shared>>,
    Path(SecretKey(name)): Path<SecretKey>,
    _: Query<Nothing>,
    Json(secret): Json<SecretValue>,
) -> Result<StatusCode, Refusal> {
    shared.admin.registry.set_secret(&name, Secret::new(secret.value)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a secret
#[utoipa::path(
    delete,
    path = "/secrets/{name}",
    tag = "secrets",
    params(SecretKey),
    responses((status = 204, description = "It is gone."), Anything, Named, Writes)
)]
pub(crate) async fn remove_secret(
    State(shared): State<Arc<Shared>>,
    Path(SecretKey(name)): Path<SecretKey>,
    _: Query<Nothing>,
) -> Result<StatusCode, Refusal> {
    shared.admin.registry.remove_secret(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
