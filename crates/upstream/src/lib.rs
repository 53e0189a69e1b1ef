//! Sessions to the servers behind.
