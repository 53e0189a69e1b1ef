//! Races: several that write at once, and those that read meanwhile.

use super::{added, draft, drafts, names, of_server, server};
use crate::{Page, Store, StoreError};
use portolan_model::Workspace;
use std::sync::Arc;
use tokio::task::JoinSet;

pub(crate) async fn twenty_writers_all_get_through(store: Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for number in 0..20 {
        let store = store.clone();
        writers.spawn(async move {
            let server = added(&*store, &format!("server-{number}")).await;
            store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
            store.tools(&of_server(server.id), Page::ALL).await.unwrap().total
        });
    }
    // What one has written it reads at once, whatever the others do.
    assert_eq!(writers.join_all().await, [2; 20]);
    assert_eq!(store.servers(&Workspace::default()).await.unwrap().len(), 20);
}

pub(crate) async fn f70_of_many_that_race_for_a_name_one_wins(store: Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for _ in 0..20 {
        let store = store.clone();
        writers.spawn(async move {
            let server = server("github");
            store.add_server(&server).await.map(|()| server)
        });
    }
    let (won, lost): (Vec<_>, Vec<_>) = writers.join_all().await.into_iter().partition(Result::is_ok);
    assert!(
        lost.iter()
            .filter_map(|lost| lost.as_ref().err())
            .all(|error| matches!(error, StoreError::NameTaken(_)))
    );
    assert_eq!((won.len(), lost.len()), (1, 19));
    let winners: Vec<_> = won.into_iter().map(Result::unwrap).collect();
    assert_eq!(store.servers(&Workspace::default()).await.unwrap(), winners);
}

pub(crate) async fn readers_see_whole_lists_only(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let lists: [Vec<_>; 2] =
        ["a", "b"].map(|list| (0..20).map(|number| draft(&format!("{list}{number}"))).collect());
    store.put_tools(server.id, &lists[0]).await.unwrap();
    let mut tasks = JoinSet::new();
    let writer = store.clone();
    tasks.spawn(async move {
        for turn in 1..20 {
            writer.put_tools(server.id, &lists[turn % 2]).await.unwrap();
        }
    });
    for _ in 0..3 {
        let store = store.clone();
        tasks.spawn(async move {
            for _ in 0..20 {
                let found = store.tools(&of_server(server.id), Page::ALL).await.unwrap();
                let names = names(&found.items);
                assert_eq!((found.total, names.len()), (20, 20));
                assert!(names.iter().all(|name| name[..1] == names[0][..1]), "{names:?}");
            }
        });
    }
    tasks.join_all().await;
}
