//! Times, spans and sizes as people write them.

use jiff::SignedDuration;

use crate::error::Result;

/// A span such as `7d`, `36h`, `90 minutes` or `2 weeks`.
pub fn parse_span(_text: &str) -> Result<SignedDuration> {
    unimplemented!()
}

/// A size such as `2GiB`, `500 MB` or `1024`.
pub fn parse_size(_text: &str) -> Result<u64> {
    unimplemented!()
}
