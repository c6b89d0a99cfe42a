//! How the numbers were come by, and what in the files speaks against them.

use crate::agent::gemini::Assembled;
use crate::archive::{Detail, TokenProblem, token_problems};
use crate::model::SessionKind;
use crate::number::{count, plural};

/// One thing that was checked.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: &'static str,
    /// Whether nothing speaks against the numbers.
    pub ok: bool,
    pub detail: String,
    /// Each case.
    pub items: Vec<String>,
}

/// Looks at sessions one by one and sums up.
#[derive(Default)]
pub struct Verify {
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
}

impl Verify {
    pub fn add(&mut self, assembled: &Assembled) {
        let id = &assembled.session.id;
        if assembled.session.kind == SessionKind::Checkpoint {
            return;
        }
        let detail = Detail::of(&assembled.session, assembled.messages.clone());
        self.calls += detail.calls.len();
        for call in &detail.calls {
            let other = call.usage.other;
            if other > 0 {
                let what = format!("the recorded total has {other} tokens more");
                self.totals.push(format!("{id} {}: {what}", call.message));
            }
            if call.undated {
                self.undated.push(format!("{id} {}", call.message));
            }
        }
        if detail.calls.iter().any(|call| call.at_least) {
            let file = assembled.files.first().and_then(|file| file.path.file_name());
            self.at_least.push(format!("{id}: {}", file.unwrap_or_default().to_string_lossy()));
        }
        let problem =
            |p: TokenProblem| format!("{id} {}: {} ({})", p.message, p.what, p.file.display());
        self.numbers.extend(token_problems(assembled).into_iter().map(problem));
        let sum = |current: bool| -> u64 {
            let calls = detail.calls.iter().filter(|call| call.current || !current);
            calls.map(|call| call.usage.total()).sum()
        };
        let (current, full) = (sum(true), sum(false));
        self.current += current;
        self.full += full;
        if current != full {
            self.views.push(format!("{id}: {current} current, {full} full"));
        }
        let copies = assembled.messages.iter().filter(|placed| placed.said.is_copy).count();
        let files = assembled.session.parts.len();
        if copies > 0 || files > 1 {
            self.copies.push(format!("{id}: {copies} copies, {files} files"));
        }
        let imported = assembled.listed().filter(|p| !p.owned && p.said.tokens.is_some()).count();
        if imported > 0 {
            self.imports.push(format!("{id}: {imported} calls of another session"));
        }
        for placed in assembled.listed().filter(|placed| placed.said.unexplained) {
            self.fates.push(format!("{id} {}", placed.said.id));
        }
    }

    pub fn checks(self) -> Vec<Check> {
        let check = |name, must: bool, detail: String, items: Vec<String>| {
            let ok = !must || items.is_empty();
            Check { name, ok, detail, items }
        };
        let n = |items: &[String], one: &str, many: &str| plural(items.len() as u64, one, many);
        let sessions = |items: &[String]| n(items, "session", "sessions");
        let calls = plural(self.calls as u64, "call", "calls");
        let (current, full) = (count(self.current), count(self.full));
        vec![
            // Every call's buckets against the file's own total.
            check(
                "totals",
                true,
                format!(
                    "{calls}, {} with a total beyond their buckets",
                    count(self.totals.len() as u64)
                ),
                self.totals,
            ),
            check(
                "numbers",
                true,
                format!("{} that cannot be right", n(&self.numbers, "count", "counts")),
                self.numbers,
            ),
            // What the agent would load against all that happened.
            check(
                "views",
                false,
                format!("{current} tokens current, {full} full; full is what was paid for"),
                self.views,
            ),
            check(
                "copies",
                false,
                format!(
                    "{} with copies or several files, each call counted once",
                    sessions(&self.copies)
                ),
                self.copies,
            ),
            check(
                "imports",
                false,
                format!(
                    "{} with imported calls, counted where they were made",
                    sessions(&self.imports)
                ),
                self.imports,
            ),
            check(
                "fates",
                true,
                format!(
                    "{} left the list for no known reason",
                    n(&self.fates, "message", "messages")
                ),
                self.fates,
            ),
            // Whole documents: before 0.32 tool-only replies lost their tokens, and a rewind erased
            // them until sessions became logs.
            check(
                "at_least",
                false,
                format!(
                    "{} whose files can have lost calls: at least that much",
                    sessions(&self.at_least)
                ),
                self.at_least,
            ),
            check(
                "undated",
                true,
                format!("{} without a time of their own", n(&self.undated, "call", "calls")),
                self.undated,
            ),
        ]
    }
}
