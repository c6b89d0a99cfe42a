//! The manifest of a machine: what its objects contain.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The units that were written.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) units: BTreeMap<String, WrittenUnit>,
}

/// A unit as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WrittenUnit {
    pub(super) stamp: String,
    /// The objects that contain its rows.
    pub(super) objects: BTreeSet<Object>,
}

/// The rows of a table in a month; in text `calls/2026-11`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Object {
    pub(super) table: String,
    pub(super) month: String,
}

impl From<Object> for String {
    fn from(object: Object) -> Self {
        format!("{}/{}", object.table, object.month)
    }
}

impl TryFrom<String> for Object {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        let (table, month) = text.split_once('/').ok_or("not an object")?;
        Ok(Self { table: table.to_owned(), month: month.to_owned() })
    }
}

impl Manifest {
    /// Parses a manifest. One that is not understood is empty, so that everything is written again.
    pub(super) fn parse(text: &[u8]) -> Self {
        serde_json::from_slice(text).unwrap_or_default()
    }

    pub(super) fn to_text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(Error::target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_back_as_written() {
        let object = Object { table: "calls".into(), month: "2026-11".into() };
        let written = WrittenUnit { stamp: "1".into(), objects: [object].into() };
        let manifest = Manifest { units: [("a".to_owned(), written)].into() };
        let text = manifest.to_text().unwrap();
        assert_eq!(text, r#"{"units":{"a":{"stamp":"1","objects":["calls/2026-11"]}}}"#);
        assert_eq!(Manifest::parse(text.as_bytes()), manifest);
        assert_eq!(Manifest::parse(b"{"), Manifest::default());
    }
}
