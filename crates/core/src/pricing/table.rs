//! Defines the price table: the embedded one, and the user's rows over it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use indexmap::IndexMap;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::error::PricingError;
use super::row::{PriceRow, Row};
use super::{dates, file};
use crate::model::ServiceClass;

/// Prices of models, by date.
#[derive(Debug, Clone)]
pub struct Table {
    date: Date,
    sources: Vec<Source>,
    aliases: BTreeMap<String, String>,
    models: IndexMap<String, Model>,
    overrides: Vec<Override>,
}

/// The rows of one model, each list sorted by date and not empty.
#[derive(Debug, Clone, Default)]
struct Model {
    standard: Vec<Row>,
    /// The rows of other classes of service.
    classes: BTreeMap<ServiceClass, Vec<Row>>,
}

/// A source of the embedded prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The id by which rows refer to it.
    pub id: String,
    /// The name of the source.
    pub name: String,
    /// The revision that was read.
    pub revision: String,
    /// The date of that revision.
    pub date: Date,
}

/// A file that was laid over the embedded prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Override {
    /// The name of the file.
    pub name: String,
    /// The number of its rows.
    pub rows: usize,
    /// Entries of a `LiteLLM` file without token prices: images, audio, embeddings.
    pub skipped: usize,
}

static EMBEDDED: LazyLock<Table> = LazyLock::new(|| {
    // A test reads it, and the text cannot change after that.
    read_embedded(include_str!("table.json")).expect("the embedded price table is sound")
});

fn read_embedded(text: &str) -> Result<Table, PricingError> {
    #[derive(Deserialize)]
    struct Head {
        date: Date,
        sources: Vec<Source>,
        aliases: BTreeMap<String, String>,
    }
    let name = "table.json";
    let head: Head = serde_json::from_str(text).map_err(|error| PricingError::NotJson {
        file: name.to_owned(),
        cause: error.to_string(),
    })?;
    let mut table = Table {
        date: head.date,
        sources: head.sources,
        aliases: head.aliases,
        models: IndexMap::new(),
        overrides: Vec::new(),
    };
    table.lay_over(file::own_rows(text, name)?, name, false)?;
    Ok(table)
}

impl Table {
    /// Returns the embedded table.
    pub fn embedded() -> Self {
        EMBEDDED.clone()
    }

    /// Returns the date of the embedded prices, to be shown with every cost.
    pub fn date(&self) -> Date {
        self.date
    }

    /// Returns the sources of the embedded prices.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Iterates over all rows, by model, class of service and time.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let models = self.models.values();
        models.flat_map(|model| model.standard.iter().chain(model.classes.values().flatten()))
    }

    /// Iterates over other names of models: the name, and the model whose price applies.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, model)| (alias.as_str(), model.as_str()))
    }

    /// Returns the files laid over it, in order.
    pub fn overrides(&self) -> &[Override] {
        &self.overrides
    }

    /// Lays a price file over the table, in our format or `LiteLLM`'s; `name` is for messages.
    ///
    /// A row without dates replaces all rows of its model, or of its class of service if it names
    /// one; one with dates applies on those days only.
    pub fn with_file(mut self, text: &str, name: &str) -> Result<Self, PricingError> {
        let file = file::read(text, name)?;
        let rows = file.rows.len();
        if rows == 0 {
            return Err(PricingError::NoRows { file: name.to_owned(), skipped: file.skipped });
        }
        self.lay_over(file.rows, name, true)?;
        self.overrides.push(Override { name: name.to_owned(), rows, skipped: file.skipped });
        Ok(self)
    }

    /// Lays the rows of the config file over the table, like [`Table::with_file`]. An empty list is
    /// not an error here, because most configs contain no prices.
    pub fn with_rows(mut self, rows: Vec<PriceRow>, name: &str) -> Result<Self, PricingError> {
        let count = rows.len();
        self.lay_over(rows, name, true)?;
        if count > 0 {
            self.overrides.push(Override { name: name.to_owned(), rows: count, skipped: 0 });
        }
        Ok(self)
    }

    fn lay_over(
        &mut self,
        rows: Vec<PriceRow>,
        file: &str,
        overridden: bool,
    ) -> Result<(), PricingError> {
        let wrong = |model: &str, problem| PricingError::Row {
            file: file.to_owned(),
            model: model.to_owned(),
            problem,
        };
        let mut new: IndexMap<String, BTreeMap<ServiceClass, Vec<Row>>> = IndexMap::new();
        for row in rows {
            let model = row.model.clone();
            let row = row.into_row(overridden).map_err(|problem| wrong(&model, problem))?;
            new.entry(model).or_default().entry(row.service).or_default().push(row);
        }
        for (name, classes) in new {
            let model = self.models.entry(name.clone()).or_default();
            model.lay_over(classes).map_err(|problem| wrong(&name, problem))?;
        }
        Ok(())
    }

    /// Returns the rows of exactly this name for the standard service.
    pub(super) fn model(&self, id: &str) -> Option<&[Row]> {
        self.models.get(id).map(|model| model.standard.as_slice())
    }

    /// Returns the rows of exactly this name for another class of service.
    pub(super) fn class(&self, id: &str, class: ServiceClass) -> &[Row] {
        self.models.get(id).and_then(|model| model.classes.get(&class)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn alias(&self, id: &str) -> Option<&str> {
        self.aliases.get(id).map(String::as_str)
    }
}

impl Model {
    /// Lays new rows over the existing ones. The error is a description of the problem.
    fn lay_over(&mut self, new: BTreeMap<ServiceClass, Vec<Row>>) -> Result<(), &'static str> {
        // The standard class comes first: if all of its rows are replaced, the other classes are too.
        for (class, rows) in new {
            let lasts = |row: &Row| row.from.is_none() && row.to.is_none();
            if class == ServiceClass::Standard && rows.iter().any(lasts) {
                self.classes.clear();
            }
            let list = match class {
                ServiceClass::Standard => &mut self.standard,
                _ => self.classes.entry(class).or_default(),
            };
            *list = dates::lay_over(std::mem::take(list), rows)?;
        }
        if self.standard.is_empty() {
            return Err("it has no row for the standard service");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::money::Price;

    #[test]
    fn every_embedded_model_has_a_price() {
        let table = read_embedded(include_str!("table.json")).unwrap();
        assert_eq!(table.date().to_string(), "2026-11-15");
        assert_eq!(table.sources().len(), 6);
        assert!(table.models.len() > 190, "{}", table.models.len());
        let (mut free, mut odd) = (BTreeSet::new(), Vec::new());
        for row in table.rows() {
            let found = table.lookup(&row.model, None).unwrap();
            assert_eq!((&found.row.model, found.estimated, found.via), (&row.model, false, None));
            let prices = [Some(row.input), Some(row.output), row.cache_read];
            if prices.into_iter().flatten().any(Price::is_zero) {
                free.insert(row.model.as_str());
                continue;
            }
            // A misplaced decimal point would fail here.
            let cache = row.cache_read.is_none_or(|cache| cache < row.input);
            let tier = row.tier.is_none_or(|tier| {
                let cache = tier.cache_read.is_none_or(|cache| cache < tier.input);
                cache && tier.input >= row.input && tier.output >= row.output
            });
            if !(cache && tier && row.output >= row.input) {
                odd.push((row.model.as_str(), row.from.unwrap().to_string()));
            }
        }
        let gemma = ["gemma-3-27b-it", "gemma-4-26b-a4b-it", "gemma-4-31b-it"];
        assert_eq!(free, BTreeSet::from(gemma), "the source gives them for nothing");
        // The source had these for a few weeks and then corrected them; both are older than Gemini
        // CLI.
        let slips = [
            ("claude-3-5-haiku-20241022", "2025-03-02".to_owned()),
            ("gemini-2.5-pro-preview-03-25", "2025-04-05".to_owned()),
        ];
        assert_eq!(odd, slips);
    }

    #[test]
    fn rows_that_gemini_cli_needs() {
        const NEEDED: [&str; 5] = [
            "gemini-2.5-pro",
            "gemini-3-pro-preview",
            "gemini-3.5-flash",
            "gemini-3.6-flash",
            "gemini-3.8-flash",
        ];
        let table = Table::embedded();
        let shown: Vec<String> = NEEDED
            .iter()
            .flat_map(|model| table.model(model).unwrap())
            .map(|row| {
                let day = |day: Option<Date>| day.map_or("-".to_owned(), |day| day.to_string());
                let cache = row.cache_read.map_or("-".to_owned(), |price| price.to_string());
                let tier = row.tier.map_or("-".to_owned(), |tier| {
                    let cache = tier.cache_read.map_or("-".to_owned(), |price| price.to_string());
                    format!("{} {}/{}/{cache}", tier.above, tier.input, tier.output)
                });
                let (from, to) = (day(row.from), day(row.to));
                format!("{from} {to} {}/{}/{cache} {tier}", row.input, row.output)
            })
            .collect();
        let want = [
            "2025-06-20 2025-07-19 1.25/10.00/- 200000 2.50/15.00/-",
            "2025-07-19 2026-01-17 1.25/10.00/0.3125 200000 2.50/15.00/-",
            "2026-01-17 - 1.25/10.00/0.125 200000 2.50/15.00/0.25",
            "- - 2.00/12.00/0.20 200000 4.00/18.00/0.40",
            "- - 1.50/9.00/0.15 -",
            "- 2026-11-15 1.50/7.50/0.15 -",
            "2026-11-15 - 0.75/3.75/0.075 -",
            "- - 0.75/3.75/0.075 -",
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn cache_writes_of_the_other_vendors() {
        let table = Table::embedded();
        let writes = |model: &str| {
            let row = table.lookup(model, None).unwrap().row;
            let tier = row.tier.map(|tier| (tier.cache_write_5m, tier.cache_write_1h));
            let shown = |price: Option<Price>| price.map_or("-".to_owned(), |p| p.to_string());
            let pair = |(a, b)| format!("{}/{}", shown(a), shown(b));
            let base = pair((row.cache_write_5m, row.cache_write_1h));
            format!("{base} {}", tier.map_or(String::new(), pair))
        };
        assert_eq!(writes("claude-haiku-5-5"), "0.125/0.20 0.625/1.00");
        assert_eq!(writes("claude-sonnet-4-5"), "3.75/6.00 ");
        assert_eq!(writes("gpt-5.6"), "5.00/- 10.00/-");
        assert_eq!(writes("gemini-2.5-pro"), "-/- -/-");
    }

    #[test]
    fn the_users_rows() {
        let rows = |json| serde_json::from_str::<Vec<PriceRow>>(json).unwrap();
        let table = Table::embedded().with_rows(vec![], "config.toml").unwrap();
        assert_eq!(table.overrides(), []);
        let one = r#"[{"model": "gemini-2.5-pro", "input": 1, "output": 2},
            {"model": "gemini-2.5-flash", "input": 1, "output": 2, "from": "2026-02-01"},
            {"model": "mine", "input": 1, "output": 2}]"#;
        let table = table.with_rows(rows(one), "config.toml").unwrap();
        let count = |model| {
            let rows = table.model(model).unwrap();
            (rows.len(), rows.iter().filter(|row| row.overridden).count())
        };
        assert_eq!(count("gemini-2.5-pro"), (1, 1));
        assert_eq!(count("gemini-2.5-flash"), (4, 1));
        assert_eq!(count("gemini-2.5-flash-lite"), (2, 0));
        assert_eq!(count("mine"), (1, 1));
        let want = Override { name: "config.toml".to_owned(), rows: 3, skipped: 0 };
        assert_eq!(table.overrides(), [want]);

        let twice =
            r#"[{"model": "m", "input": 1, "output": 2}, {"model": "m", "input": 1, "output": 3}]"#;
        let error = table.with_rows(rows(twice), "config.toml").unwrap_err();
        assert_eq!(error.to_string(), "`config.toml`: `m`: it has two rows without dates");
    }

    #[test]
    fn a_file_beats_the_config() {
        let row = |price| format!(r#"[{{"model": "m", "input": {price}, "output": {price}}}]"#);
        let config = serde_json::from_str(&row(1)).unwrap();
        let table = Table::embedded().with_rows(config, "config.toml").unwrap();
        let table = table.with_file(&row(2), "prices.json").unwrap();
        assert_eq!(table.lookup("m", None).unwrap().row.input.to_string(), "2.00");
    }
}
