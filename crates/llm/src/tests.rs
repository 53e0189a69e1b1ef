//! The client against a scripted provider over real sockets.

mod binding;
mod chats;
mod embedding;
mod faults;
mod kit;
mod spending;
