//! Captures a large file by sharing its blocks with the store, where the disk can.

use std::fs::File;

use super::hand::Hand;
use crate::error::Result;
use crate::objects::{ObjectKind, Piece};
use crate::tree::{Content, Segment};

impl Hand<'_> {
    /// The content of a large file that was shared, and its length; `None` if it has to be copied.
    pub(super) fn share_large(&mut self, file: &File) -> Result<Option<(Content, u64)>> {
        let Some(clone) = self.job.batch.map(|batch| batch.share(file)).transpose()?.flatten() else { return Ok(None) };
        let algorithm = self.job.store.algorithm();
        let (len, mut all, mut pieces) = (clone.content.len, algorithm.hasher(), Vec::new());
        let read = |buffer: &mut [u8], at: u64| clone.content.read(buffer, at).map(|()| buffer.len());
        self.cut(len, self.job.store.packing, &read, &mut |_, piece| {
            all.update(piece);
            pieces.push(Piece::of(algorithm, piece));
            Ok(())
        })?;
        let new_bytes = clone.new_bytes(&pieces)?;
        if new_bytes * 2 >= len {
            clone.keep(&pieces, new_bytes)?;
        } else {
            // Most of it is there already: the rest is little, and smaller when it is packed.
            let mut at = 0;
            for piece in &pieces {
                let mut bytes = vec![0; piece.len as usize];
                clone.content.read(&mut bytes, at)?;
                self.put_as(ObjectKind::Content, &piece.key, &bytes)?;
                at += u64::from(piece.len);
            }
        }
        let segments: Vec<Segment> =
            pieces.iter().map(|piece| Segment::Data { key: piece.key, len: piece.len.into() }).collect();
        let list = self.put(ObjectKind::Tree, &Segment::encode_list(&segments))?;
        Ok(Some((Content::Chunked { hash: all.finish(), list }, len)))
    }
}
