//! The rows of faults.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use backstory_core::fault::FaultKind;
use backstory_core::path_text::to_text;
use backstory_core::{Archive, ArchiveError, Session};

use crate::policy::Policy;
use crate::tables::FaultRow;
use crate::value::{Text, count};

/// Returns the faults of the files of sessions that leave, by file. Those of other files stay: nobody
/// knows which project they belong to.
pub(super) fn rows(
    archive: &Archive,
    leaving: &[&Session],
    staying: &[&Session],
    policy: &Policy,
) -> Result<BTreeMap<Text, Vec<FaultRow>>, ArchiveError> {
    let files = |sessions: &[&'_ Session]| -> HashSet<std::path::PathBuf> {
        sessions.iter().flat_map(|s| &s.parts).map(|part| part.file.clone()).collect()
    };
    let (leaving, staying) = (files(leaving), files(staying));
    let leaves = |path: &Path| leaving.contains(path) && !staying.contains(path);
    let mut out: BTreeMap<Text, Vec<FaultRow>> = BTreeMap::new();
    if archive.faults()?.files == 0 {
        return Ok(out);
    }
    for file in archive.files()? {
        let source = &file.source;
        if source.is_replaced() || !archive.is_local(source) || !leaves(&source.path) {
            continue;
        }
        let name = policy.key.pseudonym("path", &to_text(&source.path));
        let faults = file.about.faults.details.iter().filter(|fault| !fault.what.is_pending());
        for (position, fault) in faults.enumerate() {
            out.entry(format!("faults-{name}").into()).or_default().push(FaultRow {
                source: name.as_str().into(),
                position: count(position),
                agent: source.agent.as_str().into(),
                line: fault.line.map(count),
                kind: kind(&fault.what).into(),
                reason: reason(&fault.what).filter(|_| policy.text).map(Into::into),
            });
        }
    }
    Ok(out)
}

fn kind(what: &FaultKind) -> &'static str {
    match what {
        FaultKind::Malformed(_) => "malformed",
        FaultKind::Torn => "torn",
        FaultKind::Unknown(_) => "unknown",
        FaultKind::LoaderDrops => "loader_drops",
        FaultKind::NoId => "no_id",
        FaultKind::Repaired(_) => "repaired",
        FaultKind::CutOff(_) => "cut_off",
        FaultKind::Refused(_) => "refused",
        FaultKind::Unreadable(_) => "unreadable",
    }
}

/// Returns the reason; that of a file that cannot be read may contain its path.
fn reason(what: &FaultKind) -> Option<String> {
    (!matches!(what, FaultKind::Unreadable(_))).then(|| what.to_string())
}
