//! File, environment and flags become one Config.

pub mod environment;
pub mod expand;
mod json;
mod nearest;
pub mod problem;
mod quantity;
pub mod resolve;
pub mod servers;
pub mod settings;
mod system;
pub mod watch;

pub use environment::Environment;
pub use expand::{Missing, expand};
pub use problem::{Code, ConfigErrors, Problem};
pub use resolve::{check_variables, resolve};
pub use servers::{Servers, load_servers, parse_servers};
pub use settings::describe::{Row, describe, reference_markdown};
pub use settings::layers::{Flags, Loaded, Origin, SettingsErrors, SettingsProblem, load_settings};
pub use settings::{Limits, NamesSetting, Settings};
pub use watch::{Changes, WatchError, watch};
