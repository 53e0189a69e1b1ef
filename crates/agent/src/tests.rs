//! Agents at work, against scripted models, clients and servers.

mod bounds;
mod consent;
mod kit;
mod model;
mod numbers;
mod sampling;
mod steps;
mod trouble;
mod unaided;
