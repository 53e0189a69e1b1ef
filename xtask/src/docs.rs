//! Documents that the program itself writes, so that they cannot drift from it.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// A document and the function that knows what it says.
pub(crate) struct Generated {
    pub(crate) path: &'static str,
    pub(crate) text: fn() -> String,
}

pub(crate) const GENERATED: &[Generated] = &[Generated { path: "docs/settings.md", text: settings }];

fn settings() -> String {
    let head = "# Settings\n\nWritten by `cargo xtask docs`. Later layers win: these defaults, `portolan.toml`, the environment, flags.\n\n";
    head.to_owned() + &portolan_config::reference_markdown()
}

/// Writes every generated document anew.
pub fn write(root: &Path) -> Result<()> {
    for document in GENERATED {
        let path = root.join(document.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, (document.text)()).with_context(|| format!("could not write {}", document.path))?;
        println!("{}", document.path);
    }
    Ok(())
}
