//! Which texts are keys, and how the file with one is made and read.

use super::*;
use proptest::prelude::*;
use std::sync::Barrier;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A key file of this text that only its owner can read.
fn written(folder: &tempfile::TempDir, text: &[u8]) -> PathBuf {
    let path = folder.path().join("secret.key");
    owner_only().write(true).create_new(true).open(&path).unwrap().write_all(text).unwrap();
    path
}

#[track_caller]
fn check_malformed(text: &[u8]) {
    let folder = folder();
    let path = written(&folder, text);
    let error = Key::load_or_create(&path).unwrap_err();
    assert!(matches!(error, VaultError::Malformed { .. }), "{error:?}");
    let told = error.to_string();
    assert!(told.contains(path.to_str().unwrap()) && told.contains("Restore it from a backup"), "{told}");
    assert_eq!(std::fs::read(&path).unwrap(), text, "a file that is no key was changed");
}

#[test]
fn a_key_is_base64_or_64_hexadecimal_digits() {
    let bytes = [0xfb; 32];
    let key = Key(Zeroizing::new(bytes));
    let (padded, url_safe) = (STANDARD.encode(bytes), URL_SAFE.encode(bytes));
    let texts = [hex(&bytes), hex(&bytes).to_uppercase(), padded.clone(), url_safe, format!(" {padded}\r\n")];
    for text in &texts {
        assert_eq!(Key::from_text(text), Ok(key.clone()), "{text}");
    }
    assert_eq!(Key::from_text(padded.trim_end_matches('=')), Ok(key));
    for bad in
        ["", "hunter2", &padded[1..], &"0".repeat(63), &"g".repeat(64), &"0".repeat(66), &"é".repeat(32)]
    {
        assert_eq!(Key::from_text(bad), Err(BadKey), "{bad}");
    }
}

#[test]
fn a_key_shows_nothing_of_itself() {
    assert_eq!(format!("{:?}", Key::random().unwrap()), "***");
}

#[test]
fn the_first_use_makes_a_key_and_every_later_one_finds_it() {
    let folder = folder();
    let path = folder.path().join("data").join("secret.key");
    let key = Key::load_or_create(&path).unwrap();
    assert_eq!(Key::load_or_create(&path).unwrap(), key);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("=\n") && text.len() == 45, "not base64 and a line break");
    let names: Vec<_> = path.parent().unwrap().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["secret.key"], "something was left behind");
}

#[test]
fn two_keys_are_never_the_same() {
    assert_ne!(Key::random().unwrap(), Key::random().unwrap());
}

#[test]
fn whoever_starts_at_the_same_time_gets_the_same_key() {
    for _ in 0..20 {
        let folder = folder();
        let (path, barrier) = (folder.path().join("secret.key"), Barrier::new(8));
        let start = || {
            barrier.wait();
            Key::load_or_create(&path).unwrap()
        };
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }
}

#[test]
fn a_file_that_holds_no_key_is_refused_and_kept() {
    for text in [&b""[..], b"\n", b"hunter2\n", b"\xff\xfe", &[b'A'; 5000]] {
        check_malformed(text);
    }
}

#[test]
fn a_folder_in_the_place_of_the_file_is_refused() {
    let folder = folder();
    let error = Key::load_or_create(folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("the key file ") && error.contains(folder.path().to_str().unwrap()), "{error}");
}

#[cfg(unix)]
mod modes {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_and_its_folder_are_its_owners_alone() {
        let folder = folder();
        let path = folder.path().join("data").join("secret.key");
        Key::load_or_create(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_remedy() {
        let folder = folder();
        let path = folder.path().join("secret.key");
        let key = Key::load_or_create(&path).unwrap();
        let set = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        for mode in [0o644, 0o640, 0o604, 0o660] {
            set(mode);
            let error = Key::load_or_create(&path).unwrap_err().to_string();
            let remedy = format!("(mode {mode:o}): run `chmod 600 {}`", path.display());
            assert!(error.contains(&remedy), "{error}");
        }
        for mode in [0o400, 0o600] {
            set(mode);
            assert_eq!(Key::load_or_create(&path).unwrap(), key);
        }
    }

    #[test]
    fn a_file_that_cannot_be_made_says_what_to_do() {
        let folder = folder();
        let nowhere = folder.path().join("nowhere");
        std::os::unix::fs::symlink(folder.path().join("none"), &nowhere).unwrap();
        let error = Key::load_or_create(&nowhere.join("secret.key")).unwrap_err().to_string();
        assert!(error.contains("cannot be made: ") && error.contains("PORTOLAN_SECRET_KEY"), "{error}");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_no_endless_loop() {
        let folder = folder();
        let path = folder.path().join("secret.key");
        std::os::unix::fs::symlink(folder.path().join("none"), &path).unwrap();
        assert!(matches!(Key::load_or_create(&path), Err(VaultError::Unreadable { .. })));
    }
}

proptest! {
    #[test]
    fn every_key_reads_back_what_it_writes(bytes: [u8; KEY_LEN]) {
        let key = Key(Zeroizing::new(bytes));
        prop_assert_eq!(Key::from_text(&key.to_text()), Ok(key.clone()));
        prop_assert_eq!(Key::from_text(&hex(&bytes)), Ok(key));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,70}") {
        let _ = Key::from_text(&text);
    }
}
