//! Cross-checks token counts against the totals recorded in the files.

use crate::archive::{SessionCalls, TokenProblem, token_problems};
use crate::assemble::SessionFacts;
use crate::model::{Call, PartWhy, SessionKind};
use crate::number::{count, plural};
use crate::pricing::Table;

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

/// Examines sessions one by one and sums up the results.
pub struct Verify<'a> {
    prices: &'a Table,
    cases: Cases,
}

#[derive(Default)]
struct Cases {
    calls: usize,
    totals: Vec<String>,
    numbers: Vec<String>,
    current: u64,
    full: u64,
    views: Vec<String>,
    copies: Vec<String>,
    imports: Vec<String>,
    fates: Vec<String>,
    at_least: Vec<String>,
    undated: Vec<String>,
    unpriced: Vec<String>,
    estimated: Vec<String>,
    upper_bound: Vec<String>,
}

impl<'a> Verify<'a> {
    /// Returns a check without sessions.
    pub fn new(prices: &'a Table) -> Self {
        Self { prices, cases: Cases::default() }
    }

    /// Examines a session.
    pub fn add(&mut self, assembled: &SessionFacts) {
        let id = &assembled.session.id;
        if assembled.session.kind == SessionKind::Checkpoint {
            return;
        }
        let detail = SessionCalls::of(&assembled.session, assembled.messages.clone());
        let cases = &mut self.cases;
        cases.calls += detail.calls.len();
        for call in &detail.calls {
            let other = call.usage.other;
            if other > 0 {
                let what = format!("{} tokens more", count(other));
                cases.totals.push(format!("{id} {}: {what}", call.message));
            }
            if call.undated {
                cases.undated.push(format!("{id} {}", call.message));
            }
            let model = call.model.map(|at| detail.models[at as usize].as_str());
            cases.price(self.prices, id, call, model);
        }
        if detail.calls.iter().any(|call| call.at_least) {
            let file = assembled.own_files().next().and_then(|file| file.path.file_name());
            cases.at_least.push(format!("{id}: {}", file.unwrap_or_default().to_string_lossy()));
        }
        let problem = |p: TokenProblem| {
            let file = p.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("{id} {}: {} ({file})", p.message, p.what)
        };
        cases.numbers.extend(token_problems(assembled).into_iter().map(problem));
        let sum = |current: bool| -> u64 {
            let calls = detail.calls.iter().filter(|call| call.current || !current);
            calls.map(|call| call.usage.total()).sum()
        };
        let (current, full) = (sum(true), sum(false));
        cases.current += current;
        cases.full += full;
        if current != full {
            let (current, full) = (count(current), count(full));
            cases.views.push(format!("{id}: {current} of {full} tokens"));
        }
        cases.copies.extend(copies(assembled).map(|copies| format!("{id}: {copies}")));
        let imported = assembled.listed().filter(|p| !p.owned && p.facts.call.is_some()).count();
        if imported > 0 {
            let calls = plural(imported as u64, "call", "calls");
            cases.imports.push(format!("{id}: {calls} of another session"));
        }
        for placed in assembled.listed().filter(|placed| placed.facts.unexplained) {
            cases.fates.push(format!("{id} {}", placed.facts.id));
        }
    }

    /// Returns the results.
    pub fn checks(self) -> Vec<Check> {
        self.cases.checks()
    }
}

/// Describes the content that the files of a session repeat.
fn copies(assembled: &SessionFacts) -> Option<String> {
    let repeated = assembled.messages.iter().filter(|placed| placed.facts.is_copy).count();
    let parts = &assembled.session.parts;
    if repeated == 0 && parts.len() < 2 {
        return None;
    }
    let files = plural(parts.len() as u64, "file", "files");
    let repeated = plural(repeated as u64, "repeated message", "repeated messages");
    let whole = parts.iter().filter(|part| part.why == PartWhy::Copy).count();
    Some(match whole {
        0 => format!("{repeated} in {files}"),
        1 => format!("{repeated} in {files}, 1 of them a copy"),
        n => format!("{repeated} in {files}, {n} of them copies"),
    })
}

impl Cases {
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
        let calls = plural(self.calls as u64, "call", "calls");
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
