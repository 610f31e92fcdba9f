//! Into the store: an archive or a directory from elsewhere as a snapshot in the timeline.
//!
//! The workspace is not touched, and nothing is unpacked on the way.

use std::fs::File;
use std::path::Path;

use belay_store::{Assembled, Assembly, Coverage, Filter, Root};

use crate::archive::{self, Note, Packing, Said, Trouble};
use crate::error::{Error, Result};
use crate::outer::ignore_files;
use crate::record::{Kind, Origin, Snapshot};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

/// How an import is to be named.
#[derive(Clone, Debug, Default)]
pub struct ImportRequest {
    /// A name for it, unique in the workspace.
    pub label: Option<String>,
    /// A text for it.
    pub description: Option<String>,
}

/// What was imported.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Whether the archive is one of belay's, and its root hash was the one it says.
    pub is_verified: bool,
}

impl Workspace<'_> {
    /// Makes a snapshot of an archive, or of a directory, that lies anywhere.
    pub fn import(&self, from: &Path, request: ImportRequest, work: Work<'_>) -> Result<Imported> {
        let description = request.description.or_else(|| Some(format!("imported from {}", from.display())));
        let request = SnapshotRequest {
            kind: Kind::Manual,
            origin: Origin::Manual,
            label: request.label,
            description,
            imported: true,
            ..SnapshotRequest::default()
        };
        self.check(&*self.timeline()?, &request)?;
        if from.is_dir() {
            return self.import_dir(from, request, work);
        }
        let file = File::open(from).map_err(Error::path("open", from))?;
        let bad = |why: String| Error::Archive { path: from.to_path_buf(), why };
        let unpacked = Packing::unpack(file).map_err(|error| bad(belay_sys::plain(error)))?;
        let store = self.home.store();
        let batch = store.begin()?;
        let assembled = self.assemble(Assembly::new(store, &batch, self.settings.limits()), unpacked, work);
        let (Assembled { key, manifest, other }, note) = assembled.map_err(|trouble| match trouble {
            Trouble::Store(belay_store::Error::Invalid(why)) | Trouble::Bad(why) => bad(why),
            Trouble::Store(error) => error.into(),
            other => bad(belay_sys::plain(other)),
        })?;
        let said = note.map(|note| note.root);
        let is = said
            .and_then(|(algorithm, _)| if algorithm == store.algorithm() { Some(manifest.identity) } else { other });
        if let Some(((_, root), is)) = said.zip(is).filter(|((_, root), is)| root != is) {
            return Err(bad(format!("it says that its root hash is {root}, and it is {is}")));
        }
        let (stored_bytes, _held) = batch.finish()?;
        let snapshot = self.name_tree(&manifest, key, stored_bytes, &request)?;
        Ok(Imported { snapshot, is_verified: is.is_some() })
    }

    fn assemble(
        &self,
        mut into: Assembly<'_>,
        mut from: Box<dyn std::io::Read>,
        work: Work<'_>,
    ) -> Result<(Assembled, Option<Note>), Trouble> {
        let Said { note, gaps } = archive::read(&mut from, &mut into, self.home.store().algorithm(), work)?;
        let (filter, mut coverage) = match &note {
            Some(note) => (note.filter.clone(), note.coverage.clone()),
            // A stranger's archive claims no more than a snapshot taken now would.
            None => (Filter { outer: ignore_files(self.path()), ..self.settings.filter() }, Coverage::default()),
        };
        coverage.gaps.extend(gaps);
        Ok((into.finish(&filter, &coverage)?, note))
    }

    fn import_dir(&self, from: &Path, request: SnapshotRequest, work: Work<'_>) -> Result<Imported> {
        self.home.check_outside(from)?;
        let root = Root::open(from).map_err(Error::path("open", from))?;
        let captured = self.capture(Look { all: true, full: true, root: Some(&root), ..Look::default() }, work)?;
        let snapshot = self.name(&captured, &SnapshotRequest { all: true, ..request })?;
        Ok(Imported { snapshot, is_verified: false })
    }
}
