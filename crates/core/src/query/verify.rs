//! Cross-checks token counts against the totals recorded in the files.

use rustc_hash::FxHashMap;

use super::usage::bill;
use crate::archive::{
    Archive, ArchiveError, CallRow, Doubts, SessionCalls, SessionKey, TokenProblem,
};
use crate::collection::Collection;
use crate::model::{Call, Part, PartWhy, Session, SessionId, SessionKind};
use crate::number::{count, plural};
use crate::pricing::{Calls, Table};
use crate::time::Period;

/// The result of one check.
#[derive(Debug, Clone)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// Whether no case contradicts the numbers.
    pub ok: bool,
    /// The result in words.
    pub detail: String,
    /// The cases, one per entry.
    pub items: Vec<String>,
}

/// The results of all checks.
#[derive(Debug, Clone)]
pub struct Verified {
    /// The checks.
    pub checks: Vec<Check>,
    /// Token counts that cannot be right.
    pub problems: Vec<TokenProblem>,
}

#[derive(Default)]
struct Cases {
    calls: u64,
    totals: Vec<String>,
    numbers: Vec<String>,
    current: u64,
    full: u64,
    views: Vec<String>,
    copies: Vec<String>,
    imports: Vec<String>,
    fates: Vec<String>,
    missing: Vec<String>,
    at_least: Vec<String>,
    undated: Vec<String>,
    unpriced: Vec<String>,
    estimated: Vec<String>,
    upper_bound: Vec<String>,
}

/// The sums of a session.
#[derive(Default)]
struct Sums {
    tokens: u64,
    /// Whether single calls must be examined.
    has_cases: bool,
}

/// Checks the numbers of all sessions.
pub(super) fn verify(
    archive: &Archive,
    all: &Collection,
    prices: &Table,
) -> Result<Verified, ArchiveError> {
    let mut cases = Cases::default();
    let keys = archive.session_keys()?;
    let mut sums: FxHashMap<i64, Sums> = FxHashMap::default();
    archive.each_sum(&Period::default(), |row| {
        let is_counted = |key: &SessionKey| key.kind != SessionKind::Checkpoint;
        if !keys.get(&row.session).is_some_and(is_counted) {
            return;
        }
        // A further position on the bill of a call is not counted, but examined.
        let calls = Calls { count: row.calls.count.max(1), ..row.calls };
        let bill = bill(&CallRow { calls, ..*row }, prices);
        let sum = sums.entry(row.session).or_default();
        sum.tokens += row.calls.usage.total();
        sum.has_cases |= row.calls.usage.other > 0
            || row.undated > 0
            || bill.unpriced + bill.estimated + bill.upper_bound > 0;
        cases.calls += row.calls.count;
    })?;
    let mut doubts: FxHashMap<i64, Doubts> = FxHashMap::default();
    archive.each_doubt(|session, found| _ = doubts.insert(session, found))?;
    let mut problems = Vec::new();
    let mut order: Vec<(&SessionId, i64)> = keys.iter().map(|(n, key)| (&key.id, *n)).collect();
    order.sort_unstable();
    for (id, number) in order {
        let doubts = doubts.remove(&number).unwrap_or_default();
        if keys.get(&number).is_some_and(|key| key.kind != SessionKind::Checkpoint) {
            let sums = sums.remove(&number).unwrap_or_default();
            if sums.has_cases {
                cases.calls(id, &archive.session_calls(number)?, prices);
            }
            cases.session(id, &doubts, sums.tokens, all.get(id));
        }
        problems.extend(doubts.problems);
    }
    Ok(Verified { checks: cases.checks(), problems })
}

/// Describes the content that the files of a session repeat.
fn copies(repeated: u64, parts: &[Part]) -> Option<String> {
    if repeated == 0 && parts.len() < 2 {
        return None;
    }
    let files = plural(parts.len() as u64, "file", "files");
    let repeated = plural(repeated, "repeated message", "repeated messages");
    let whole = parts.iter().filter(|part| part.why == PartWhy::Copy).count();
    Some(match whole {
        0 => format!("{repeated} in {files}"),
        1 => format!("{repeated} in {files}, 1 of them a copy"),
        n => format!("{repeated} in {files}, {n} of them copies"),
    })
}

impl Cases {
    /// Examines the calls of a session.
    fn calls(&mut self, id: &str, session: &SessionCalls, prices: &Table) {
        for call in &session.calls {
            let other = call.usage.other;
            if other > 0 {
                let what = format!("{} tokens more", count(other));
                self.totals.push(format!("{id} {}: {what}", call.message));
            }
            if call.undated {
                self.undated.push(format!("{id} {}", call.message));
            }
            let model = call.model.and_then(|at| session.models.get(at as usize));
            self.price(prices, id, call, model.map(String::as_str));
        }
    }

    /// Examines a session as a whole.
    fn session(&mut self, id: &str, doubts: &Doubts, full: u64, session: Option<&Session>) {
        if let Some(file) = &doubts.lower_bound {
            self.at_least.push(format!("{id}: {file}"));
        }
        self.numbers.extend(doubts.problems.iter().map(|problem| {
            let file = problem.file.file_name().unwrap_or_default().to_string_lossy();
            format!("{id} {}: {} ({file})", problem.message, problem.what)
        }));
        let current = full.saturating_sub(doubts.outside);
        self.current += current;
        self.full += full;
        if current != full {
            let (current, full) = (count(current), count(full));
            self.views.push(format!("{id}: {current} of {full} tokens"));
        }
        let parts = session.map_or(&[][..], |session| &session.parts);
        self.copies.extend(copies(doubts.repeated, parts).map(|copies| format!("{id}: {copies}")));
        if doubts.imported > 0 {
            let calls = plural(doubts.imported, "call", "calls");
            self.imports.push(format!("{id}: {calls} of another session"));
        }
        self.missing.extend(doubts.missing.iter().map(|file| format!("{id}: {file}")));
        self.fates.extend(doubts.unexplained.iter().map(|message| format!("{id} {message}")));
    }

    /// Records the reason if a call has no exact cost.
    fn price(&mut self, prices: &Table, session: &str, call: &Call, model: Option<&str>) {
        let bill = prices.bill(model, call.at, &call.usage, call.service);
        let name = model.unwrap_or("unknown");
        let case = format!("{session} {}: {name}", call.message);
        if bill.unpriced > 0 {
            self.unpriced.push(case);
        } else if bill.estimated > 0 {
            let like = model.and_then(|model| prices.lookup(model, call.at)?.via);
            let like = like.unwrap_or_else(|| format!("{name}, standard service"));
            self.estimated.push(format!("{case} as {like}"));
        }
        if bill.upper_bound > 0 {
            let cached = count(call.usage.cached);
            self.upper_bound.push(format!("{session} {}: {cached} cached", call.message));
        }
    }

    fn checks(self) -> Vec<Check> {
        // `none` is the text for no cases; `some` follows their number.
        let check = |name, must: bool, items: Vec<String>, none: &str, some: [&str; 3]| {
            let [one, many, rest] = some;
            let detail = match items.len() as u64 {
                0 => none.to_owned(),
                n => format!("{} {rest}", plural(n, one, many)),
            };
            Check { name, ok: !must || items.is_empty(), detail, items }
        };
        let calls = plural(self.calls, "call", "calls");
        let (current, full) = (count(self.current), count(self.full));
        vec![
            // Compares the buckets of every call with the total in the file.
            check(
                "totals",
                true,
                self.totals,
                &format!("{calls}; each recorded total is the sum of its parts"),
                [
                    "call",
                    "calls",
                    "with a recorded total above its parts; the rest counts as output",
                ],
            ),
            check(
                "numbers",
                true,
                self.numbers,
                "every token count is plausible",
                [
                    "token count",
                    "token counts",
                    "negative, absurd or contradictory; see how each counts",
                ],
            ),
            // Compares the messages that the agent would load with everything that happened.
            Check {
                name: "views",
                ok: true,
                detail: format!("{full} tokens used, {current} of them in the current view"),
                items: self.views,
            },
            check(
                "copies",
                false,
                self.copies,
                "no repeated messages",
                [
                    "session",
                    "sessions",
                    "with several files or repeated messages; each call counts once",
                ],
            ),
            check(
                "imports",
                false,
                self.imports,
                "no imported calls",
                [
                    "session",
                    "sessions",
                    "with imported calls, which count in the session that made them",
                ],
            ),
            check(
                "fates",
                true,
                self.fates,
                "every removed message has a known reason",
                [
                    "message",
                    "messages",
                    "removed without a recorded rewind or compression; their calls count",
                ],
            ),
            check(
                "missing",
                false,
                self.missing,
                "no session continues a file that is missing",
                [
                    "session",
                    "sessions",
                    "with an earlier file that is missing; what was said in it is not shown",
                ],
            ),
            // In documents before 0.32, tool-only replies lost their tokens, and a rewind erased
            // them until sessions became logs.
            check(
                "at_least",
                false,
                self.at_least,
                "no sums are lower bounds because of old files",
                [
                    "session",
                    "sessions",
                    "with files that lack calls or final token counts; the sums are lower bounds",
                ],
            ),
            check(
                "undated",
                true,
                self.undated,
                "every call has a time",
                ["call", "calls", "without a time; the time of the session or file counts"],
            ),
            check(
                "unpriced",
                true,
                self.unpriced,
                "every call has a price",
                [
                    "call",
                    "calls",
                    "without a price; the cost is a lower bound (`backstory pricing`)",
                ],
            ),
            check(
                "estimated",
                false,
                self.estimated,
                "no call is priced as a similar model or service",
                ["call", "calls", "priced as a similar model or service"],
            ),
            check(
                "upper_bound",
                false,
                self.upper_bound,
                "every cached token has a price of its own",
                ["call", "calls", "without a cache price; cached tokens are priced as fresh ones"],
            ),
        ]
    }
}
