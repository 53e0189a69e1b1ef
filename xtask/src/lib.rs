//! The rules of the house as a program.
