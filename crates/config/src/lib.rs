//! File, environment and flags become one Config.
