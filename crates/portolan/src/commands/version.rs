//! `portolan --version`.

use crate::Failure;
use std::process::ExitCode;

#[expect(clippy::print_stdout, reason = "the version is what was asked for")]
#[expect(clippy::unnecessary_wraps, reason = "every verb has the same shape")]
pub(crate) fn run() -> Result<ExitCode, Failure> {
    println!("portolan {}", env!("CARGO_PKG_VERSION"));
    Ok(ExitCode::SUCCESS)
}
