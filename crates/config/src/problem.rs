//! What can be wrong with a servers file, told all at once, each with its place and its remedy.

use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    FileNotFound,
    InvalidJson,
    InvalidSchema,
    MissingEnvVar,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileNotFound => "file_not_found",
            Self::InvalidJson => "invalid_json",
            Self::InvalidSchema => "invalid_schema",
            Self::MissingEnvVar => "missing_env_var",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong. It never holds a value from the file or the environment, only names and places.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} at {path}{}: {message}", Position(*.line, *.column))]
pub struct Problem {
    pub code: Code,
    /// `$.mcpServers.fs.command`; `$` for the file as a whole.
    pub path: String,
    pub message: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
}

impl Problem {
    pub(crate) fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: path.into(), message: message.into(), line: None, column: None }
    }

    pub(crate) fn schema(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidSchema, path, message)
    }
}

struct Position(Option<usize>, Option<usize>);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(line), Some(column)) => write!(f, " ({line}:{column})"),
            (Some(line), None) => write!(f, " (line {line})"),
            (None, _) => Ok(()),
        }
    }
}

/// Everything that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    pub path: PathBuf,
    pub problems: Vec<Problem>,
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            let new_line = if n == 0 { "" } else { "\n" };
            write!(f, "{new_line}{}: {problem}", self.path.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_has_a_line_with_file_code_path_and_position() {
        let json =
            Problem { line: Some(3), column: Some(7), ..Problem::new(Code::InvalidJson, "$", "mend it") };
        let env = Problem::new(Code::MissingEnvVar, "$.mcpServers.a.env.T", "set it");
        let errors = ConfigErrors { path: "mcp.json".into(), problems: vec![json, env] };
        assert_eq!(
            errors.to_string(),
            "mcp.json: invalid_json at $ (3:7): mend it\n\
             mcp.json: missing_env_var at $.mcpServers.a.env.T: set it"
        );
    }
}
