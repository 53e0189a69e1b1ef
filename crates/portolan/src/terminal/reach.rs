//! Where the running Portolan is: as somebody says, or as it has left it in its data folder.

use super::cli::Shared;
use super::rest::{Found, Rest, RestError, address};
use crate::Failure;
use crate::data::Note;
use portolan_config::{Environment, Settings};
use url::Url;

impl Note {
    pub(crate) fn address(&self) -> Result<Url, Failure> {
        address(&self.url, "what `portolan serve` has left")
    }
}

/// The running Portolan, by `--url`, by `PORTOLAN_URL`, or by what it has left.
pub(crate) fn rest(shared: &Shared, settings: &Settings, env: &Environment) -> Result<Rest, Failure> {
    let given = match (&shared.url, env.get("PORTOLAN_URL").filter(|url| !url.is_empty())) {
        (Some(url), _) => Some(address(url, "--url")?),
        (None, Some(url)) => Some(address(url, "PORTOLAN_URL")?),
        (None, None) => None,
    };
    if let Some(url) = given {
        return Rest::new(url, Found::Given);
    }
    let folder = portolan_config::data_folder(settings, env);
    let left = folder.as_deref().and_then(Note::read).ok_or(RestError::NotRunning)?;
    Rest::new(left.address()?, Found::Left)
}
