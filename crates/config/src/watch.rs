//! Tells when a file has changed, however it was written.

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Editors write in several steps; after this long without another one, they are done.
const QUIET: Duration = Duration::from_millis(200);

/// A file that is written without a pause is told of all the same.
const LONGEST: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
#[error(
    "changes of {path} will not be noticed until a restart: the folder {folder} cannot be watched: {reason}"
)]
pub struct WatchError {
    path: String,
    folder: String,
    reason: notify::Error,
}

/// The changes of one file. It needs no task of its own: the waiting is done by whoever asks, and the watching
/// ends when this is dropped.
pub struct Changes {
    path: PathBuf,
    watcher: RecommendedWatcher,
    /// Where the file really is, if the path is a link into another folder.
    target_folder: Option<PathBuf>,
    quiet: Quiet,
}

/// Watches the file's folder rather than the file: editors replace files by renaming, and the file may be a link
/// that is pointed elsewhere, as Kubernetes does with its config maps. The file need not exist yet.
pub fn watch(path: PathBuf, stop: CancellationToken) -> Result<Changes, WatchError> {
    let folder = folder_of(&path);
    let fail = |reason| WatchError {
        path: path.display().to_string(),
        folder: folder.display().to_string(),
        reason,
    };
    // One place is enough: a second change before the first is looked at says nothing new.
    let (touch, touched) = mpsc::channel(1);
    let mut filter = Filter::new(&path);
    let handler = move |event: notify::Result<Event>| {
        if filter.is_about_the_file(event) {
            // Full means that it is already known.
            let _ = touch.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(handler).map_err(fail)?;
    watcher.watch(&folder, RecursiveMode::NonRecursive).map_err(fail)?;
    let quiet = Quiet { touched, stop, since: None };
    let mut changes = Changes { path, watcher, target_folder: None, quiet };
    changes.follow_link();
    Ok(changes)
}

impl Changes {
    /// The next change, or `None` once `stop` is cancelled. Nothing is lost if this is dropped while it waits.
    pub async fn recv(&mut self) -> Option<()> {
        self.quiet.recv().await?;
        self.follow_link();
        Some(())
    }

    /// A link into another folder is edited there, so that folder is watched as well.
    fn follow_link(&mut self) {
        let target = self.path.canonicalize().ok().map(|target| folder_of(&target));
        let own = folder_of(&self.path).canonicalize().ok();
        let target = target.filter(|folder| Some(folder) != own.as_ref());
        if target == self.target_folder {
            return;
        }
        if let Some(old) = self.target_folder.take() {
            // It may be gone already, and then so is the watch.
            let _ = self.watcher.unwatch(&old);
        }
        let Some(folder) = target else { return };
        match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
            Ok(()) => self.target_folder = Some(folder),
            Err(reason) => {
                tracing::warn!(%reason, path = %self.path.display(), "the link's target is not watched");
            }
        }
    }
}

/// `mcp.json` is in `.`, not in the empty path.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// Tells the events of the file from those of its neighbours.
struct Filter {
    path: PathBuf,
    target: Option<PathBuf>,
}

impl Filter {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), target: path.canonicalize().ok() }
    }

    fn is_about_the_file(&mut self, event: notify::Result<Event>) -> bool {
        let Ok(event) = event else {
            // Something was missed; looking once too often does no harm.
            return true;
        };
        if event.need_rescan() {
            return true;
        }
        // Our own reading makes events too, and must not lead to reading again.
        let is_change = match event.kind {
            EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => true,
        };
        if !is_change {
            return false;
        }
        // Both are asked, because the second also takes note of where the path leads now.
        let (is_named, has_moved) = (self.is_named(&event.paths), self.has_moved());
        is_named || has_moved
    }

    fn is_named(&self, paths: &[PathBuf]) -> bool {
        let names: [Option<OsString>; 2] =
            [Some(&self.path), self.target.as_ref()].map(|path| path?.file_name().map(ToOwned::to_owned));
        paths
            .iter()
            .any(|path| path.file_name().is_some_and(|name| names.iter().flatten().any(|n| n == name)))
    }

    /// A neighbour changed, and with it where the path leads: a link on the way was replaced.
    fn has_moved(&mut self) -> bool {
        let target = self.path.canonicalize().ok();
        let has_moved = target != self.target;
        self.target = target;
        has_moved
    }
}

/// Many touches become one change.
struct Quiet {
    touched: mpsc::Receiver<()>,
    stop: CancellationToken,
    /// The first and the last touch that were not told of yet.
    since: Option<(Instant, Instant)>,
}

impl Quiet {
    async fn recv(&mut self) -> Option<()> {
        loop {
            let due = self.since.map(|(first, last)| (last + QUIET).min(first + LONGEST));
            // Whichever branch is dropped here has taken nothing: what is known is in `since`.
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = at(due) => {
                    self.since = None;
                    return Some(());
                }
                touch = self.touched.recv() => {
                    touch?;
                    let now = Instant::now();
                    self.since = Some((self.since.map_or(now, |(first, _)| first), now));
                }
            }
        }
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tokio::time::timeout;

    /// Real events come when the system likes.
    const SOON: Duration = Duration::from_secs(10);
    const NEVER: Duration = Duration::from_millis(600);

    fn watched(path: &Path) -> Changes {
        watch(path.to_owned(), CancellationToken::new()).unwrap()
    }

    #[track_caller]
    fn folder_with(file: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        fs::write(&path, "1").unwrap();
        (folder, path)
    }

    #[tokio::test]
    async fn a_file_that_is_written_or_replaced_or_removed_has_changed() {
        let (folder, path) = folder_with("mcp.json");
        let mut changes = watched(&path);
        fs::write(&path, "2").unwrap();
        assert_eq!(timeout(SOON, changes.recv()).await, Ok(Some(())));
        fs::write(folder.path().join("mcp.json.tmp"), "3").unwrap();
        fs::rename(folder.path().join("mcp.json.tmp"), &path).unwrap();
        assert_eq!(timeout(SOON, changes.recv()).await, Ok(Some(())));
        fs::remove_file(&path).unwrap();
        assert_eq!(timeout(SOON, changes.recv()).await, Ok(Some(())));
    }

    #[tokio::test]
    async fn neighbours_and_reading_are_no_changes() {
        let (folder, path) = folder_with("mcp.json");
        let mut changes = watched(&path);
        fs::write(folder.path().join("other.json"), "2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1");
        assert!(timeout(NEVER, changes.recv()).await.is_err());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_that_is_pointed_elsewhere_has_changed_as_with_config_maps() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for version in ["..v1", "..v2"] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("mcp.json"), version).unwrap();
        }
        symlink("..v1", at("..data")).unwrap();
        symlink("..data/mcp.json", at("mcp.json")).unwrap();
        let mut changes = watched(&at("mcp.json"));
        symlink("..v2", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        assert_eq!(timeout(SOON, changes.recv()).await, Ok(Some(())));
        // And the new target is the one that is watched from now on.
        fs::write(at("..v2").join("mcp.json"), "edited").unwrap();
        assert_eq!(timeout(SOON, changes.recv()).await, Ok(Some(())));
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_cannot_be_watched() {
        let error = watch(PathBuf::from("/none/such/mcp.json"), CancellationToken::new()).err().unwrap();
        assert!(error.to_string().contains("changes of /none/such/mcp.json will not be noticed"), "{error}");
    }

    fn quiet() -> (mpsc::Sender<()>, CancellationToken, Quiet) {
        let ((touch, touched), stop) = (mpsc::channel(1), CancellationToken::new());
        (touch, stop.clone(), Quiet { touched, stop, since: None })
    }

    #[tokio::test(start_paused = true)]
    async fn many_touches_are_one_change_once_it_is_quiet() {
        let (touch, _stop, mut quiet) = quiet();
        let start = Instant::now();
        let touching = async {
            for _ in 0..5 {
                let _ = touch.try_send(());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let (told, ()) = tokio::join!(quiet.recv(), touching);
        assert_eq!((told, start.elapsed().as_millis() / 10), (Some(()), 60));
        assert!(timeout(SOON, quiet.recv()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_never_rests_is_told_of_all_the_same() {
        let (touch, _stop, mut quiet) = quiet();
        let start = Instant::now();
        let touching = async {
            loop {
                let _ = touch.try_send(());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            told = quiet.recv() => assert_eq!(told, Some(())),
            () = touching => {}
        }
        assert_eq!(start.elapsed().as_millis() / 100, 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_touch_outlives_a_wait_that_was_dropped() {
        let (touch, _stop, mut quiet) = quiet();
        touch.try_send(()).unwrap();
        assert!(timeout(Duration::from_millis(50), quiet.recv()).await.is_err());
        assert_eq!(timeout(SOON, quiet.recv()).await, Ok(Some(())));
    }

    #[tokio::test]
    async fn it_ends_when_it_is_stopped() {
        let (_touch, stop, mut quiet) = quiet();
        stop.cancel();
        assert_eq!(quiet.recv().await, None);
    }
}
