//! The fixture and the clients, tried on each other: what they promise is what other tests stand on.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "test code")]

mod fixture {
    mod faults;
    mod flags;
    mod gateway;
    mod http;
    mod modern;
    mod questions;
    mod round_trip;
    mod tasks;
}
