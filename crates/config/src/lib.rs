//! File, environment and flags become one Config.

pub mod environment;
pub mod expand;
pub mod import;
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
pub use import::{Found, Program, places, read_program};
pub use problem::{Code, ConfigErrors, Problem};
pub use resolve::{Lookup, check_variables, references, required_references, resolve, resolve_with};
pub use servers::{Servers, load_servers, parse_servers};
pub use settings::describe::{Row, describe, reference_markdown};
pub use settings::dollars::{Dollars, NoAmount};
pub use settings::layers::{Flags, Loaded, Origin, SettingsErrors, SettingsProblem, load_settings};
pub use settings::llm::{Home, ProviderSetting, llm_key};
pub use settings::places::{data_folder, key_file, search_key, secret_key};
pub use settings::profiles::Profiles;
pub use settings::query::{QueryRoute, Weights};
pub use settings::url::HttpUrl;
pub use settings::{
    AgentsSettings, EmbeddingsSetting, Limits, LlmSettings, NamesSetting, QuerySettings, SearchSettings,
    SecretSettings, Settings, StdioRegister, StdioSettings,
};
pub use watch::{Changes, WatchError, watch};
