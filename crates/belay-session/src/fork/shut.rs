//! What a fork's layer holds and its owner cannot read, opened for the time of a capture.
//!
//! Invariants: nobody works in the layer meanwhile, and nobody begins to; which modes there were is durable before one is
//! changed, and whoever uses the fork next gives them back if we died.

use std::io;

use belay_event::Raw;

use crate::error::{Error, Result};
use crate::log::replace;
use crate::overlay::{Modes, Overlay};
use crate::record::{Kind, Origin, Snapshot};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

impl Workspace<'_> {
    /// The fork's state with what is shut in it, if nothing goes on in it; otherwise as it can be read.
    pub(super) fn fork_snapshot_opened(&self, why: &str, work: Work<'_>) -> Result<Snapshot> {
        let Some(layer) = self.layer().filter(|_| !belay_sys::is_root()) else { return self.fork_snapshot(why, work) };
        let _alone = match self.claim_layer() {
            Err(Error::ForkBusy { .. }) => return self.fork_snapshot(why, work),
            claimed => claimed?,
        };
        let modes = layer.open_up(Modes::new(), &mut |modes| self.note_modes(modes))?;
        if modes.is_empty() {
            return self.fork_snapshot(why, work);
        }
        let taken = self.take_shut(why, &modes, work);
        self.close_layer()?;
        taken
    }

    fn take_shut(&self, why: &str, modes: &Modes, work: Work<'_>) -> Result<Snapshot> {
        let captured = self.capture(Look::default(), work)?;
        let shut = self.shut_again(&captured, modes)?;
        let timeline = self.timeline()?;
        if let Some(latest) = timeline.latest().filter(|latest| latest.root == shut.manifest.identity) {
            return Ok(latest.clone());
        }
        let description = Some(why.to_owned());
        let request =
            SnapshotRequest { kind: Kind::Auto, origin: Origin::Auto, description, ..SnapshotRequest::default() };
        self.name_tree(&shut.manifest, shut.key, shut.stored_bytes, &request)
    }

    /// Gives back the modes that were noted; for whoever has claimed the layer.
    pub(super) fn close_layer(&self) -> Result<()> {
        let Some(layer) = self.layer() else { return Ok(()) };
        let name = self.shut_file();
        let modes: Vec<(Raw, u16)> = match self.home().disk().read(&name) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| Error::TooNew { name: name.clone() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::disk("read", name)(error)),
        };
        let modes: Modes = modes.into_iter().map(|(path, mode)| (path.bytes().to_vec(), mode)).collect();
        Overlay::close(layer, &modes)?;
        self.home().disk().remove(&name).map_err(Error::disk("remove", name))
    }

    fn note_modes(&self, modes: &Modes) -> Result<()> {
        let modes: Vec<(Raw, u16)> = modes.iter().map(|(path, mode)| (Raw::from(path.as_slice()), *mode)).collect();
        let bytes = serde_json::to_vec(&modes).expect("paths and numbers are plain data");
        replace(self.home().disk(), &self.shut_file(), &bytes)
    }

    fn shut_file(&self) -> String {
        self.file("shut.json")
    }
}
