//! Expands the text of the views for an engine: `@name(argument; argument)` is replaced by its own words.

use std::collections::HashMap;

use super::dialect::Dialect;

/// Returns the statements of a text for an engine.
pub(super) fn expand(text: &str, dialect: &Dialect, people: u32) -> String {
    Expansion { dialect, people, places: HashMap::new() }.text(text)
}

struct Expansion<'a> {
    dialect: &'a Dialect,
    /// The fewest people that a row about people may cover.
    people: u32,
    /// The places of the values in the packed value that was written last.
    places: HashMap<String, usize>,
}

impl Expansion<'_> {
    fn text(&mut self, text: &str) -> String {
        // The values of `@field` are packed further below, so the packed ones are collected first.
        let mut out = String::with_capacity(text.len() * 2);
        for statement in text.split_inclusive(";\n\n") {
            if let Some(at) = statement.find("@struct(") {
                let (inside, _) = argument(&statement[at + "@struct(".len()..]);
                let names = list(inside).into_iter().map(|(name, _)| name.to_owned());
                self.places = names.zip(0..).collect();
            }
            out += &self.part(statement);
        }
        out
    }

    fn part(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once('@') else { return text.to_owned() };
        let Some((name, rest)) = rest.split_once('(') else { return text.to_owned() };
        let (inside, after) = argument(rest);
        let inside = self.part(inside);
        let arguments: Vec<&str> = inside.split(';').map(str::trim).collect();
        format!("{before}{}{}", self.word(name, &arguments), self.part(after))
    }

    fn word(&self, name: &str, arguments: &[&str]) -> String {
        let dialect = self.dialect;
        let fill = |pattern: &str| pattern.replace("{}", arguments[0]);
        match (name, arguments) {
            ("create", [name]) => dialect.create(name),
            ("min_by", [value, key]) => format!("{}({value}, {key})", dialect.min_by),
            ("max_by", [value, key]) => format!("{}({value}, {key})", dialect.max_by),
            ("struct", [values]) => (dialect.pack)(&list(values)),
            ("field", [of, name]) => {
                (dialect.field)(of, name, self.places.get(*name).copied().unwrap_or_default())
            }
            ("big", _) => fill(dialect.big),
            ("day", _) => fill(dialect.day),
            ("time", _) => fill(dialect.time),
            ("nulls", _) => dialect.nulls.to_owned(),
            ("people", _) => self.people.to_string(),
            ("usage", [name, by]) => {
                format!(
                    "{} SELECT org, {by}, {SUMS} FROM costs GROUP BY org, {by};\n",
                    dialect.create(name)
                )
            }
            ("usage_of_people", [name, by]) => self.people(name, by),
            _ => unreachable!("`@{name}` is not a word of the views"),
        }
    }

    /// Returns a view about people. Groups that are too small are one row, unless that is too small as well.
    fn people(&self, name: &str, by: &str) -> String {
        let (create, people) = (self.dialect.create(name), self.people);
        format!(
            "{create} SELECT org, {by}, {SUMS} FROM (
  SELECT c.*, CASE WHEN size >= {people} THEN of_group ELSE '(fewer than {people})' END AS {by}
  FROM (SELECT {PLAIN}, coalesce({by}, '') AS of_group FROM costs) AS c
  JOIN (SELECT org AS size_org, coalesce({by}, '') AS size_group, count(DISTINCT person) AS size
        FROM costs GROUP BY org, coalesce({by}, '')) AS sizes ON org = size_org AND of_group = size_group
) AS labelled GROUP BY org, {by} HAVING count(DISTINCT who) >= {people};\n"
        )
    }
}

/// The columns of `costs` that views about people add up.
const PLAIN: &str = "org, person AS who, session, position, undated, input, cached, cache_write_5m, \
    cache_write_1h, output, thoughts, tool, other, cost_pico, unpriced, estimated, upper_bound, at_least";

/// The sums of all usage views.
const SUMS: &str = "sum(CASE WHEN position = 0 THEN 1 ELSE 0 END) AS calls, \
    count(DISTINCT session) AS sessions, \
    sum(CASE WHEN position = 0 AND undated THEN 1 ELSE 0 END) AS undated_calls, \
    sum(input) AS input, sum(cached) AS cached, sum(cache_write_5m) AS cache_write_5m, \
    sum(cache_write_1h) AS cache_write_1h, sum(output) AS output, sum(thoughts) AS thoughts, \
    sum(tool) AS tool, sum(other) AS other, sum(cost_pico) AS cost_pico, \
    sum(unpriced) AS unpriced_calls, sum(estimated) AS estimated_calls, \
    sum(upper_bound) AS upper_bound_calls, max(CASE WHEN at_least THEN 1 ELSE 0 END) AS at_least";

/// Splits a text at the parenthesis that closes it.
fn argument(text: &str) -> (&str, &str) {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[..at], &text[at + 1..]);
        }
    }
    (text, "")
}

/// Splits a list of `value` or `value AS name` into names and values.
fn list(text: &str) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                let value = text[from..at].trim();
                out.push(
                    value.rsplit_once(" AS ").map_or((value, value), |(value, name)| (name, value)),
                );
                from = at + 1;
            }
            _ => {}
        }
    }
    out
}
