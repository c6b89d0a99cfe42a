//! Charts of calls over time: divided into days, weeks or months, and those by agent, model or project.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use backstory_core::Session;
use backstory_core::model::SessionId;
use backstory_core::number::{brief, count};
use backstory_core::pricing::Bill;
use backstory_core::query::usage::{Answer, Group, Question, Row, Sum};
use jiff::ToSpan;
use jiff::civil::Date;
use maud::{Markup, html};

use crate::app::Ask;
use crate::chart::{Column, Columns};
use crate::reply::Problem;
use crate::scope::Scope;
use crate::words::{dollars, float};

/// The maximum number of columns by day; longer periods have columns by week or month.
const DAYS: usize = 92;
const WEEKS: usize = 380;

/// The maximum number of series, of which the last may be all others.
const SERIES: usize = 6;

/// What calls are divided by, and what their columns measure: the values in the address.
const DIVISIONS: [&str; 3] = ["agent", "model", "project"];
const MEASURES: [&str; 2] = ["cost", "tokens"];

/// Returns one of the known values of the address; the first one without a choice.
fn chosen(ask: &Ask<'_>, name: &str, known: &[&'static str]) -> &'static str {
    let wanted = ask.query.get(name);
    known.iter().find(|known| wanted == Some(**known)).unwrap_or(&known[0])
}

/// Shows the choices of a chart on the page at a path.
pub(super) fn switches(ask: &Ask<'_>, path: &str) -> Markup {
    let choice = |label: &str, name: &str, known: &[&'static str]| {
        let current = chosen(ask, name, known);
        html! {
            div.switch role="group" aria-label=(label) {
                @for value in known { a href=(ask.query.with(name, Some(value)).address(path)) aria-current=[(*value == current).then_some("true")] { (value) } }
            }
        }
    };
    html! { (choice("Measure", "show", &MEASURES)) (choice("Colour by", "by", &DIVISIONS)) }
}

/// Draws the calls of a scope, as the address chooses. `length` is that of a column: a day, a week or a month.
pub(super) fn chart(ask: &Ask<'_>, scope: &Scope, length: Group) -> Result<Markup, Problem> {
    let by = chosen(ask, "by", &DIVISIONS);
    let is_cost = chosen(ask, "show", &MEASURES) == "cost";
    let parts = split(ask, scope, by, length)?;
    let size =
        |row: &Row| if is_cost { dollars(&row.sum.bill) } else { float(row.sum.usage.total()) };
    let text =
        |row: &Row| if is_cost { row.sum.bill.short() } else { Some(count(row.sum.usage.total())) };
    let columns = columns(ask, scope, length, &parts, &size, &text);
    let series: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of tokens for a scale"
    )]
    let scale = |value: f64| match value {
        value if !is_cost => brief(value as u64),
        value if value >= 10.0 || value == 0.0 => format!("${value:.0}"),
        value => format!("${value:.2}"),
    };
    let title = format!("{} by {} and {by}", if is_cost { "Cost" } else { "Tokens" }, name(length));
    Ok(Columns { title: &title, series: &series, each: &columns, scale: &scale, labels: 8 }.draw())
}

fn name(length: Group) -> &'static str {
    match length {
        Group::Weekly => "week",
        Group::Monthly => "month",
        _ => "day",
    }
}

/// Returns the length of a column: a day, a week or a month.
pub(super) fn group_of(scope: &Scope, ask: &Ask<'_>) -> Group {
    let first = ask.all().sessions.iter().filter_map(|session| session.started).min();
    let since = first.map_or(0, |first| ask.now.duration_since(first).as_hours() / 24);
    let length = scope.days.map_or(since, |(from, to)| i64::from((to - from).get_days()) + 1);
    let length = usize::try_from(length).unwrap_or(0);
    match length {
        0..=DAYS => Group::Daily,
        _ if length <= WEEKS => Group::Weekly,
        _ => Group::Monthly,
    }
}

/// Divides the calls of a scope into at most six series, once per snapshot.
fn split(
    ask: &Ask<'_>,
    scope: &Scope,
    by: &str,
    group: Group,
) -> Result<Arc<Vec<(String, Answer)>>, Problem> {
    let (period, agent, project) = (scope.period, &scope.agent, &scope.project);
    let key = format!("series {by} {group:?} {period:?} {agent:?} {project:?}");
    ask.snapshot.memo.get(&key, || series(ask, scope, by, group))
}

fn series(
    ask: &Ask<'_>,
    scope: &Scope,
    by: &str,
    group: Group,
) -> Result<Vec<(String, Answer)>, Problem> {
    let all = ask.usage(scope, scope.period, by_group(by))?;
    let mut keys: Vec<&Row> = all.rows.iter().collect();
    keys.sort_by(|a, b| dollars(&b.sum.bill).total_cmp(&dollars(&a.sum.bill)));
    let most = if keys.len() > SERIES { SERIES - 1 } else { SERIES };
    let mut out = Vec::new();
    let wanted = scope.sessions(ask.all());
    let is_wanted =
        |session: &&Session| wanted.as_ref().is_none_or(|ids| ids.contains(&session.id));
    let chosen: Vec<String> = keys.iter().take(most).map(|row| row.key.clone()).collect();
    let rest = keys.len() > most;
    if by == "model" {
        let question = |models: Vec<String>| Question {
            period: scope.period,
            sessions: wanted.clone(),
            models,
            breakdown: true,
            ..Question::new(group)
        };
        let answer = ask.reports().usage(&question(Vec::new()))?;
        for key in &chosen {
            out.push((key.clone(), only_model(&answer, &|model| model == key)));
        }
        if rest {
            out.push((
                "others".to_owned(),
                only_model(&answer, &|model| !chosen.iter().any(|key| key == model)),
            ));
        }
        return Ok(out);
    }
    let key_of = |session: &Session| match by {
        "project" => session.project.key().to_owned(),
        _ => session.agent.as_str().to_owned(),
    };
    let mut ids: BTreeMap<usize, BTreeSet<SessionId>> = BTreeMap::new();
    for session in ask.all().sessions.iter().filter(is_wanted) {
        let key = key_of(session);
        let place = chosen.iter().position(|known| *known == key).unwrap_or(chosen.len());
        ids.entry(place).or_default().insert(session.id.clone());
    }
    for (place, ids) in ids {
        let name = match chosen.get(place) {
            Some(key) if by == "project" => project_name(ask, key),
            Some(key) => ask.agent_name(key),
            None if rest => "others".to_owned(),
            None => continue,
        };
        out.push((name, ask.usage_of(scope.period, Some(ids), group)?));
    }
    Ok(out)
}

fn by_group(by: &str) -> Group {
    match by {
        "model" => Group::Model,
        "project" => Group::Project,
        _ => Group::Agent,
    }
}

/// Returns an answer with only the calls of some models.
fn only_model(answer: &Answer, is_wanted: &dyn Fn(&str) -> bool) -> Answer {
    let mut out = Answer { rows: Vec::new(), total: Sum::default(), ..answer.clone() };
    for row in &answer.rows {
        let mut sum = Sum::default();
        for model in row.models.iter().filter(|model| is_wanted(&model.key)) {
            sum.calls += model.sum.calls;
            sum.usage += model.sum.usage;
            sum.bill.add(&model.sum.bill);
        }
        out.total.calls += sum.calls;
        out.total.bill.add(&sum.bill);
        out.rows.push(Row { key: row.key.clone(), text: None, sum, models: Vec::new() });
    }
    out
}

/// Returns a column for every day, week or month of a scope, also for those without calls.
fn columns(
    ask: &Ask<'_>,
    scope: &Scope,
    group: Group,
    parts: &[(String, Answer)],
    length: &dyn Fn(&Row) -> f64,
    text: &dyn Fn(&Row) -> Option<String>,
) -> Vec<Column> {
    let today = ask.zoned().date();
    let rows: Vec<BTreeMap<&str, &Row>> = parts
        .iter()
        .map(|(_, answer)| answer.rows.iter().map(|row| (row.key.as_str(), row)).collect())
        .collect();
    let first = parts
        .iter()
        .flat_map(|(_, answer)| answer.rows.iter().filter_map(|row| row.sum.first))
        .min();
    let from = match (scope.days, first) {
        (Some((from, _)), _) => from,
        (None, Some(first)) => first.to_zoned(ask.app.site.zone.clone()).date(),
        (None, None) => return Vec::new(),
    };
    let to = scope.days.map_or(today, |(_, to)| to);
    let mut out: Vec<Column> = Vec::new();
    for span in Spans::new(group, from, to) {
        let found: Vec<Option<&Row>> =
            rows.iter().map(|rows| rows.get(span.key.as_str()).copied()).collect();
        let lengths: Vec<f64> = found.iter().map(|row| row.map_or(0.0, length)).collect();
        let mut bill = Bill::default();
        let mut calls = 0;
        let mut total_tokens = 0;
        for row in found.iter().flatten() {
            bill.add(&row.sum.bill);
            calls += row.sum.calls;
            total_tokens += row.sum.usage.total();
        }
        let shown = if calls == 0 {
            "nothing".to_owned()
        } else {
            format!(
                "{}, {} tokens",
                bill.short().unwrap_or_else(|| "no cost".to_owned()),
                count(total_tokens)
            )
        };
        out.push(Column {
            label: span.label,
            name: span.name,
            values: found
                .iter()
                .map(|row| row.and_then(text).unwrap_or_else(|| "–".to_owned()))
                .collect(),
            parts: lengths,
            total: shown,
            link: (calls > 0).then(|| {
                scope.link_days("/sessions", &span.first.to_string(), &span.last.to_string())
            }),
            is_open: span.last >= today,
        });
    }
    out
}

/// A day, week or month.
struct Span {
    key: String,
    label: String,
    name: String,
    first: Date,
    last: Date,
}

/// All days, weeks or months from one day to another.
struct Spans {
    group: Group,
    next: Option<Date>,
    to: Date,
}

impl Spans {
    fn new(group: Group, from: Date, to: Date) -> Self {
        let next = match group {
            Group::Weekly => {
                from.checked_sub(i32::from(from.weekday().to_monday_zero_offset()).days()).ok()
            }
            Group::Monthly => Some(from.first_of_month()),
            _ => Some(from),
        };
        Self { group, next, to }
    }
}

impl Iterator for Spans {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let first = self.next.filter(|first| *first <= self.to)?;
        let after = match self.group {
            Group::Weekly => first.checked_add(1.week()),
            Group::Monthly => first.checked_add(1.month()),
            _ => first.tomorrow(),
        };
        self.next = after.ok();
        let last = self.next.and_then(|after| after.yesterday().ok()).unwrap_or(first);
        let (key, label, name) = match self.group {
            Group::Weekly => ("%G-W%V", "%-d %b", "week of %-d %b %Y"),
            Group::Monthly => ("%Y-%m", "%b %y", "%B %Y"),
            _ => ("%Y-%m-%d", "%-d %b", "%a %-d %b %Y"),
        };
        let text = |pattern: &str| first.strftime(pattern).to_string();
        Some(Span { key: text(key), label: text(label), name: text(name), first, last })
    }
}

/// Returns the name of the project with a key.
pub(super) fn project_name(ask: &Ask<'_>, key: &str) -> String {
    let of = |session: &&Session| session.project.key() == key;
    let session = ask.all().sessions.iter().find(of);
    session.map_or_else(|| key.to_owned(), |session| session.project.name.clone())
}
