//! Why prices of the user's own could not be used.

use std::fmt;

use thiserror::Error;

use crate::money::NotMoney;

/// Names the file, the model and the key, and says what belongs there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PricingError {
    #[error("`{file}` is not JSON: {cause}")]
    NotJson { file: String, cause: String },

    /// JSON, but in neither of the two forms.
    #[error(
        "`{file}` is not a price file: expected `{{\"rows\": [{{\"model\": …, \"input\": …, \"output\": …}}]}}` \
         in USD per million tokens, or LiteLLM's JSON with `input_cost_per_token`; found {found}"
    )]
    Neither { file: String, found: String },

    /// Our form, with a key missing, misspelt or of the wrong kind.
    #[error("`{file}`: {cause}")]
    Form { file: String, cause: String },

    #[error("`{file}`: `{model}`: `{key}` is {got}: {why}; expected {unit}")]
    Price { file: String, model: String, key: String, got: String, why: NotMoney, unit: Unit },

    #[error("`{file}`: `{model}`: {problem}")]
    Row { file: String, model: String, problem: &'static str },

    #[error("`{file}` has no price in it{}", skipped_words(*.skipped))]
    NoRows { file: String, skipped: usize },
}

/// What a price is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    PerMillion,
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
