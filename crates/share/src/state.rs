//! What this machine wrote into each folder and took from it.
//!
//! It is stored in the archive, so that an older copy of the archive comes with an older state. A state that is
//! lost costs work and nothing else: parcels are merged and written again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backstory_core::archive::Archive;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::folder::Parcel;

/// The states of all folders, by path.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    folders: BTreeMap<String, FolderState>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FolderState {
    /// The parcels of this machine, oldest first.
    pub(crate) written: Vec<WrittenParcel>,
    /// The names of the parcels whose content is in the archive.
    pub(crate) merged: BTreeSet<String>,
    /// The names and tags, and the forgotten sessions, as they were last written.
    pub(crate) annotations: i64,
    pub(crate) forgotten: i64,
}

/// A parcel of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenParcel {
    pub(crate) parcel: Parcel,
    /// The stamps of the files in it, with their sizes.
    pub(crate) files: BTreeMap<i64, u64>,
}

impl State {
    pub(crate) fn of(archive: &Archive) -> Result<Self> {
        let stored = archive.exchanged()?.unwrap_or_default();
        Ok(serde_json::from_slice(&stored).unwrap_or_default())
    }

    pub(crate) fn folder(&mut self, folder: &Path) -> &mut FolderState {
        self.folders.entry(folder.to_string_lossy().into_owned()).or_default()
    }

    pub(crate) fn save(&self, archive: &mut Archive) -> Result<()> {
        // A value of numbers, texts and lists can always be written.
        let stored = serde_json::to_vec(self).unwrap_or_default();
        if archive.exchanged()?.as_ref() != Some(&stored) {
            archive.set_exchanged(&stored)?;
        }
        Ok(())
    }
}
