//! Classification with scripted vectors and a scripted model: no network, no waiting.

mod background;
mod kit;
mod meaning;
mod model;
mod outages;
mod people;
mod real;
