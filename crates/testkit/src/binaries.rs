//! Where the programs of the workspace are.

use std::path::PathBuf;

/// A program of this workspace, built in the profile that the test was built in.
pub fn bin(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/TEST-HASH, or target/PROFILE/PROGRAM for what is no test.
    let mut directory = test.parent().unwrap();
    if directory.ends_with("deps") {
        directory = directory.parent().unwrap();
    }
    let program = directory.join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --workspace --bins` first", program.display());
    program
}
