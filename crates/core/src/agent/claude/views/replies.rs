//! Names the replies whose id does not identify them. Gateways to other models leave the id out, or give all replies
//! the same one.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::row::{LineContent, Row};

/// The beginnings of the ids that Anthropic's API, Bedrock and Vertex make. No two replies have the same.
const API: [&str; 3] = ["msg_01", "msg_bdrk_", "msg_vrtx_"];

/// The maximum number of lines between two replies with the same id.
const FAR: usize = 64;

/// Gives each reply without an id, and each whose id others have too, the id of the reply that its line continues or
/// begins, otherwise the uuid of its first line: forks copy it. The lines of a reply follow each other.
pub(in crate::agent::claude) fn name(rows: &mut [Row]) {
    let has_all_ids =
        rows.iter().filter_map(Row::reply).all(|reply| reply.id.is_some() || reply.is_synthetic);
    let repeated = repeated(rows);
    if has_all_ids && repeated.is_empty() {
        return;
    }
    let names = names(rows, &repeated);
    for (at, name) in names {
        if let LineContent::Reply(reply) = &mut rows[at].content {
            // A call needs an id: without one, its copies would be counted again.
            reply.tokens = reply.tokens.filter(|_| name.is_some());
            reply.id = name;
        }
    }
}

/// Returns the new id of each reply that needs one.
fn names(rows: &[Row], repeated: &HashSet<Box<str>>) -> Vec<(usize, Option<Box<str>>)> {
    let known = by_uuid(rows);
    let id = |at: usize| {
        let reply = rows[at].reply().filter(|reply| !reply.is_synthetic)?;
        Some(reply.id.as_deref().filter(|id| !repeated.contains(*id)))
    };
    // The first reply with an id that follows each line.
    let mut next: HashMap<usize, &str> = HashMap::default();
    for at in 0..rows.len() {
        if let (Some(parent), Some(Some(id))) = (parent(rows, &known, at), id(at)) {
            next.entry(parent).or_insert(id);
        }
    }
    let mut names: HashMap<usize, Option<Box<str>>> = HashMap::default();
    for at in (0..rows.len()).filter(|at| id(*at) == Some(None)) {
        let (mut path, mut first) = (Vec::new(), at);
        let name = loop {
            if let Some(name) = names.get(&first) {
                break name.clone();
            }
            path.push(first);
            match parent(rows, &known, first).map(|above| (above, id(above))) {
                Some((_, Some(Some(id)))) => break Some(id.into()),
                // A path longer than the file contains a cycle.
                Some((above, Some(None))) if path.len() <= rows.len() => first = above,
                _ => {
                    let uuid = || {
                        Some(&*rows[first].uuid)
                            .filter(|uuid| !uuid.is_empty() && !uuid.starts_with('#'))
                    };
                    break next.get(&first).copied().or_else(uuid).map(Box::from);
                }
            }
        };
        names.extend(path.into_iter().map(|row| (row, name.clone())));
    }
    names.into_iter().collect()
}

/// Returns the ids that several replies have: those of lines with at least three different prompts, and those that a
/// reply has again after words to the model. Two prompts alone prove nothing, because a gateway may report an estimate
/// first; nor do lines that follow each other, because their numbers may be damaged.
fn repeated(rows: &[Row]) -> HashSet<Box<str>> {
    let mut out = HashSet::default();
    let mut known: Option<HashMap<&str, usize>> = None;
    let mut seen: HashMap<&str, (usize, Vec<u64>)> = HashMap::default();
    for (at, row) in rows.iter().enumerate() {
        let id = row.reply().and_then(|reply| reply.id.as_deref());
        let Some(id) = id.filter(|id| !API.iter().any(|made| id.starts_with(made))) else {
            continue;
        };
        let prompt = prompt(row);
        let is_new = !seen.contains_key(id);
        let (last, prompts) = seen.entry(id).or_insert((at, Vec::new()));
        let before = std::mem::replace(last, at);
        let follows = !is_new && row.parent.as_deref() == Some(&*rows[before].uuid);
        if follows || out.contains(id) {
            continue;
        }
        if prompt > 0 && !prompts.contains(&prompt) {
            prompts.push(prompt);
        }
        let is_repeated = prompts.len() > 2
            || !is_new && is_another(rows, known.get_or_insert_with(|| by_uuid(rows)), at, id);
        if is_repeated {
            out.insert(id.into());
        }
    }
    out
}

/// Returns whether words to the model, which changed the prompt, are between a line and the nearest one above it that
/// has the same id.
fn is_another(rows: &[Row], known: &HashMap<&str, usize>, at: usize, id: &str) -> bool {
    let mut has_words = false;
    let mut above = parent(rows, known, at);
    for _ in 0..FAR {
        let Some(row) = above.map(|above| &rows[above]) else { break };
        match &row.content {
            LineContent::Reply(reply) if reply.id.as_deref() == Some(id) => {
                let (own, other) = (prompt(&rows[at]), prompt(row));
                return has_words && (own == 0 || own != other);
            }
            LineContent::Words(words) => has_words |= words.is_user,
            _ => {}
        }
        above = above.and_then(|above| parent(rows, known, above));
    }
    false
}

/// Returns the size of the prompt that a line of a reply records; 0 without one.
fn prompt(row: &Row) -> u64 {
    let tokens = row.reply().and_then(|reply| reply.tokens);
    tokens.map_or(0, |tokens| tokens.usage().prompt())
}

fn parent(rows: &[Row], known: &HashMap<&str, usize>, at: usize) -> Option<usize> {
    rows[at].parent.as_deref().and_then(|parent| known.get(parent)).copied()
}

/// Returns the rows by uuid. Of rows with the same uuid, the last one counts.
fn by_uuid(rows: &[Row]) -> HashMap<&str, usize> {
    rows.iter().enumerate().map(|(at, row)| (&*row.uuid, at)).collect()
}
