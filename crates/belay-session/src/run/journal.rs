//! The journal of a run in its directory, and the key that signs it.

use belay_journal::{Key, Writer};

use super::record::RunRecord;
use crate::error::{Error, Result};
use crate::home::Home;

/// The secret of this installation beneath belay's home.
const KEY: &str = "key";

/// Begins the journal of a run.
pub(super) fn create(home: &Home, record: &RunRecord) -> Result<Writer> {
    Ok(Writer::create(&home.run_dir(&record.id), &record.id, home.signing_key()?)?)
}

impl Home {
    /// The key with which this installation signs its records; made when it is first needed.
    pub fn signing_key(&self) -> Result<Key> {
        let disk = self.disk();
        let damaged = || Error::TooNew { name: KEY.to_owned() };
        let of =
            |bytes: Vec<u8>| <[u8; 32]>::try_from(bytes).map(|bytes| Key::from_bytes(&bytes)).map_err(|_| damaged());
        match disk.read(KEY) {
            Ok(bytes) => return of(bytes),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::disk("read", KEY)(error)),
            Err(_) => {}
        }
        // Two processes may be the first; whoever comes second finds the key of the other.
        let lock = "key.lock";
        let _held = disk.lock(lock, belay_store::LockMode::Exclusive, true).map_err(Error::disk("lock", lock))?;
        if let Ok(bytes) = disk.read(KEY) {
            return of(bytes);
        }
        let key = Key::generate()?;
        let fresh = "key.new";
        let write = || {
            let _ = disk.remove(fresh);
            let mut file = disk.create(fresh)?;
            file.write(&key.to_bytes())?;
            file.sync()?;
            disk.rename(fresh, KEY)?;
            disk.sync_dir("")
        };
        write().map_err(Error::disk("write", KEY))?;
        Ok(key)
    }
}
