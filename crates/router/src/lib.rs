//! From a name to an answer.
