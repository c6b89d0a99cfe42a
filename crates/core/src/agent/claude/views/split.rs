//! Assigns each line to its session: one file may contain lines of several sessions.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

use super::row::{LineContent, Row};

/// The session that a line belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::agent::claude) enum Owner {
    /// A main session, by its id.
    Main(Arc<str>),
    /// An agent that wrote to its parent's file, identified by its first line.
    Sidechain {
        /// The session that started the agent.
        session: Arc<str>,
        /// The uuid of its first line.
        root: Box<str>,
    },
    /// An agent with an id.
    Agent {
        /// The session that started the agent.
        session: Arc<str>,
        /// The id of the agent.
        id: Arc<str>,
    },
}

impl Owner {
    /// Returns whether it is an agent that begins with copies of its parent's lines, to compact them or to
    /// answer a question beside the conversation.
    pub(in crate::agent::claude) fn is_copying(&self) -> bool {
        matches!(self, Self::Agent { id, .. }
            if id.starts_with("acompact-") || id.starts_with("aside_question-"))
    }
}

/// The lines of one session in a file.
#[derive(Debug, Default)]
pub(in crate::agent::claude) struct Share {
    /// The indices of its rows, in the order of the file.
    pub(in crate::agent::claude) rows: Vec<usize>,
    /// The index in `rows` of the first row that was not copied from another session.
    pub(in crate::agent::claude) own_from: usize,
    /// The session that the rows were copied from.
    pub(in crate::agent::claude) forked_from: Option<Arc<str>>,
    /// Whether all rows are nested in lines of the parent.
    pub(in crate::agent::claude) is_nested: bool,
}

/// The owners that the path of a file implies for its lines.
#[derive(Debug)]
pub(in crate::agent::claude) struct Place {
    /// The name of the file without its extension, usually the id of its session.
    pub(in crate::agent::claude) stem: Arc<str>,
    /// The agent that the file is named after.
    pub(in crate::agent::claude) agent: Option<Arc<str>>,
    /// The session whose folder the file is in.
    pub(in crate::agent::claude) parent: Option<Arc<str>>,
}

/// Splits the rows of a file into sessions.
pub(in crate::agent::claude) fn split(
    rows: &[Row],
    place: &Place,
) -> IndexMap<Owner, Share, FxBuildHasher> {
    let copied = Copied::find(rows, place);
    let sides = sidechains(rows);
    let mut out: IndexMap<Owner, Share, FxBuildHasher> = IndexMap::default();
    for (at, row) in rows.iter().enumerate() {
        let session = row.session.as_ref().unwrap_or(&place.stem);
        let agent = row.agent.as_ref().filter(|_| row.is_sidechain || row.is_nested);
        let is_copied = copied.contains(at, session);
        let owner = match (&place.agent, agent) {
            (Some(id), _) if !row.is_nested => Owner::Agent {
                session: place.parent.as_ref().unwrap_or(session).clone(),
                id: id.clone(),
            },
            (_, Some(id)) => Owner::Agent { session: session.clone(), id: id.clone() },
            _ if row.is_sidechain => {
                Owner::Sidechain { session: session.clone(), root: rows[sides[at]].uuid.clone() }
            }
            _ if is_copied => Owner::Main(place.stem.clone()),
            _ => Owner::Main(session.clone()),
        };
        let share =
            out.entry(owner).or_insert_with(|| Share { is_nested: true, ..Share::default() });
        share.rows.push(at);
        share.is_nested &= row.is_nested;
        if is_copied {
            share.own_from = share.rows.len();
            share.forked_from.get_or_insert_with(|| session.clone());
        }
        if let Some(from) = &row.forked_from {
            share.own_from = share.rows.len();
            share.forked_from.get_or_insert_with(|| from.clone());
        }
    }
    // Some versions keep the old session only on the lines of the user, so the replies to them are copies too.
    let is_reply =
        |at: &usize| matches!(rows[*at].content, LineContent::Reply(_) | LineContent::Progress);
    for share in out.values_mut().filter(|share| share.own_from > 0) {
        share.own_from += share.rows[share.own_from..].iter().take_while(|at| is_reply(at)).count();
    }
    out
}

/// Rows that still name the session from which a fork copied them: rows of the file's own session follow
/// them.
struct Copied<'a> {
    /// The last copied row of each other session.
    last: HashMap<&'a str, usize>,
}

impl<'a> Copied<'a> {
    fn find(rows: &'a [Row], place: &Place) -> Self {
        let mut last = HashMap::default();
        let is_own = |row: &Row| row.session.as_deref() == Some(&*place.stem);
        let has_other = |row: &Row| row.session.is_some() && !is_own(row);
        if !rows.iter().any(is_own) || !rows.iter().any(has_other) {
            return Self { last };
        }
        // Old versions reuse uuids, so a row of the same session takes precedence.
        let mut known: HashMap<(&str, Option<&str>), usize> = HashMap::default();
        for (at, row) in rows.iter().enumerate() {
            known.insert((&row.uuid, row.session.as_deref()), at);
            known.insert((&row.uuid, None), at);
        }
        let mut seen = vec![false; rows.len()];
        let mut open: Vec<usize> = (0..rows.len()).filter(|at| is_own(&rows[*at])).collect();
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let row = &rows[at];
            if let Some(session) = row.session.as_deref().filter(|_| !is_own(row)) {
                let last = last.entry(session).or_insert(at);
                *last = at.max(*last);
            }
            for parent in row.parent.iter().chain(&row.logical_parent) {
                let same = known.get(&(&**parent, row.session.as_deref()));
                open.extend(same.or_else(|| known.get(&(&**parent, None))));
            }
        }
        Self { last }
    }

    fn contains(&self, at: usize, session: &str) -> bool {
        self.last.get(session).is_some_and(|last| at <= *last)
    }
}

/// Returns, for each row, the first row of its sidechain.
fn sidechains(rows: &[Row]) -> Vec<usize> {
    let mut first: Vec<usize> = (0..rows.len()).collect();
    let known: HashMap<&str, usize> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is_sidechain)
        .map(|(at, row)| (&*row.uuid, at))
        .collect();
    for at in 0..rows.len() {
        if !rows[at].is_sidechain {
            continue;
        }
        let mut path = vec![at];
        let mut top = at;
        // A path longer than the file contains a cycle.
        while let Some(parent) = rows[top].parent.as_deref().and_then(|parent| known.get(parent)) {
            if path.len() > rows.len() || *parent == top {
                break;
            }
            top = *parent;
            path.push(top);
            if first[top] != top {
                top = first[top];
                break;
            }
        }
        for row in path {
            first[row] = top;
        }
    }
    first
}
