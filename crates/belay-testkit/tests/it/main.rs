//! The test worlds themselves: a harness that cannot fail proves nothing.

mod hostile;
mod machine;
mod observer;
mod transcript;
