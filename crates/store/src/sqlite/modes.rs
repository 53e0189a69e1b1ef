//! Files and folders that only their owner reads, in the words of each system.

pub(super) use system::{create_folder, keep_others_out, open_file, sync_folder};

use std::io::{self, Write as _};
use std::path::Path;

/// Writes a small file that only its owner reads.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = open_file(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

#[cfg(unix)]
mod system {
    use std::fs::{self, DirBuilder, File, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    const GROUP_AND_OTHERS: u32 = 0o077;
    /// Set on folders that everybody works in, such as `/tmp`.
    const STICKY: u32 = 0o1000;

    /// Makes a folder and those above it that are missing.
    pub(in crate::sqlite) fn create_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Opens a file for reading and writing; one that is missing is private from its first moment on.
    pub(in crate::sqlite) fn open_file(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
    }

    /// Takes away what others may do with a file or a folder. What is somebody else's, or everybody's, stays as it is,
    /// and the error says so.
    pub(in crate::sqlite) fn keep_others_out(path: &Path) -> io::Result<()> {
        let metadata = fs::metadata(path)?;
        let mode = metadata.mode();
        if mode & GROUP_AND_OTHERS == 0 {
            return Ok(());
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        if mode & STICKY != 0 {
            return Err(io::Error::other("it is a folder for everybody"));
        }
        fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777 & !GROUP_AND_OTHERS))
    }

    /// Makes the names in a folder survive a power cut.
    pub(in crate::sqlite) fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::path::Path;

    /// A folder within the user's own is private by what it inherits.
    pub(in crate::sqlite) fn create_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub(in crate::sqlite) fn open_file(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    }

    pub(in crate::sqlite) fn keep_others_out(_path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// A folder cannot be opened as a file here; its names are the file system's to keep.
    pub(in crate::sqlite) fn sync_folder(_path: &Path) -> io::Result<()> {
        Ok(())
    }
}
