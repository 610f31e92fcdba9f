//! Files of the store as blobs of git.

use std::io;

use belay_store::{Content, Segment, View};

use super::id::{GitId, Kind};
use super::ids::Ids;
use super::objects::Objects;
use crate::error::{Error, Result};

/// The name that content has, or would have, in the repository; none if git would refuse it.
pub(super) fn blob_id(
    view: View<'_>,
    objects: &Objects,
    ids: &mut Ids,
    size: u64,
    content: &Content,
) -> Result<Option<GitId>> {
    if let Some(id) = ids.get(content) {
        return Ok(Some(id));
    }
    let mut hashing = objects.format().hashing();
    hashing.update(&Kind::Blob.header(size));
    pour(view, size, content, &mut |bytes| {
        hashing.update(bytes);
        Ok(())
    })?;
    let Ok(id) = hashing.finish() else { return Ok(None) };
    ids.put(content, id);
    Ok(Some(id))
}

/// Hands over the bytes of a file, a hole as zeros.
pub(super) fn pour(
    view: View<'_>,
    size: u64,
    content: &Content,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<()> {
    let zeros = [0; 1 << 16];
    for segment in view.segments(size, content)? {
        match segment {
            Segment::Data { key, .. } => take(&view.store().read(&key)?).map_err(Error::Output)?,
            Segment::Hole { mut len } => {
                while len > 0 {
                    let piece = len.min(zeros.len() as u64);
                    take(&zeros[..piece as usize]).map_err(Error::Output)?;
                    len -= piece;
                }
            }
        }
    }
    Ok(())
}
