//! Single values: secrets and settings.

use crate::{SecretRecord, Store};
use portolan_model::{Moment, Workspace};
use std::sync::Arc;

fn secret(workspace: &str, name: &str, sealed: &[u8]) -> SecretRecord {
    SecretRecord {
        workspace: workspace.into(),
        name: name.to_owned(),
        sealed: sealed.to_vec(),
        updated_at: Moment::from_millis(5),
    }
}

pub(crate) async fn secrets_come_by_name_each_workspace_its_own(store: Arc<dyn Store>) {
    let ours = Workspace::default();
    assert_eq!(store.secrets(&ours).await.unwrap(), []);
    let (b, a) = (secret("default", "B 🧭", &[0, 255]), secret("default", "A", &[]));
    let theirs = secret("theirs", "A", b"theirs");
    for secret in [&b, &theirs, &a] {
        store.put_secret(secret).await.unwrap();
    }
    assert_eq!(store.secrets(&ours).await.unwrap(), [a, b]);
    assert_eq!(store.secrets(&"theirs".into()).await.unwrap(), [theirs]);
}

pub(crate) async fn a_secret_is_replaced_and_removed(store: Arc<dyn Store>) {
    let ours = Workspace::default();
    store.put_secret(&secret("default", "TOKEN", b"old")).await.unwrap();
    store.put_secret(&secret("theirs", "TOKEN", b"theirs")).await.unwrap();
    let new = SecretRecord { updated_at: Moment::from_millis(6), ..secret("default", "TOKEN", b"new") };
    store.put_secret(&new).await.unwrap();
    assert_eq!(store.secrets(&ours).await.unwrap(), [new]);

    assert!(!store.remove_secret(&ours, "token").await.unwrap());
    assert!(store.remove_secret(&ours, "TOKEN").await.unwrap());
    assert!(!store.remove_secret(&ours, "TOKEN").await.unwrap());
    assert_eq!(store.secrets(&ours).await.unwrap(), []);
    assert_eq!(store.secrets(&"theirs".into()).await.unwrap().len(), 1);
}

pub(crate) async fn a_setting_is_what_was_put_last(store: Arc<dyn Store>) {
    assert_eq!(store.setting("instance").await.unwrap(), None);
    for value in [&b"first"[..], &[0, 159, 146, 150], b""] {
        store.put_setting("instance", value).await.unwrap();
        assert_eq!(store.setting("instance").await.unwrap().as_deref(), Some(value));
    }
    store.put_setting("other", b"x").await.unwrap();
    assert_eq!(store.setting("instance").await.unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(store.setting("Instance").await.unwrap(), None);
}

pub(crate) async fn a_store_answers(store: Arc<dyn Store>) {
    store.ping().await.unwrap();
}
