//! What is offered right now, as an immutable snapshot.
