//! Defines the errors of the user's own prices.

use std::fmt;

use thiserror::Error;

use crate::money::NotMoney;

/// A problem of a price file, which names the file, the model and the key, and the expected value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PricingError {
    /// The file is not JSON.
    #[error("`{file}` is not JSON: {cause}")]
    NotJson {
        /// The name of the file.
        file: String,
        /// The parser's message.
        cause: String,
    },

    /// The file is JSON, but in neither format.
    #[error(
        "`{file}` is not a price file: expected `{{\"rows\": [{{\"model\": …, \"input\": …, \"output\": …}}]}}` \
         in USD per million tokens, or LiteLLM's JSON with `input_cost_per_token`; found {found}"
    )]
    Neither {
        /// The name of the file.
        file: String,
        /// The first key that was found.
        found: String,
    },

    /// The file is in our own format, but a key is missing, misspelt or of the wrong type.
    #[error("`{file}`: {cause}")]
    Form {
        /// The name of the file.
        file: String,
        /// The parser's message.
        cause: String,
    },

    /// A price is not a valid amount.
    #[error("`{file}`: `{model}`: `{key}` is {got}: {why}; expected {unit}")]
    Price {
        /// The name of the file.
        file: String,
        /// The model of the row.
        model: String,
        /// The key of the price.
        key: String,
        /// The value that was found.
        got: String,
        /// The reason.
        why: NotMoney,
        /// The unit of the price.
        unit: Unit,
    },

    /// A row is inconsistent.
    #[error("`{file}`: `{model}`: {problem}")]
    Row {
        /// The name of the file.
        file: String,
        /// The model of the row.
        model: String,
        /// What is wrong with the row.
        problem: &'static str,
    },

    /// The file contains no prices.
    #[error("`{file}` has no price in it{}", skipped_words(*.skipped))]
    NoRows {
        /// The name of the file.
        file: String,
        /// The number of rows that were skipped.
        skipped: usize,
    },
}

/// The unit of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// USD per million tokens.
    PerMillion,
    /// USD per token.
    PerToken,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerMillion => "USD per million tokens as a number, such as 1.25",
            Self::PerToken => "USD per token as a number, such as 1.25e-06",
        })
    }
}

fn skipped_words(skipped: usize) -> String {
    match skipped {
        0 => String::new(),
        1 => " (1 entry without prices of tokens)".to_owned(),
        n => format!(" ({n} entries without prices of tokens)"),
    }
}
