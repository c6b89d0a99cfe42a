//! Sums the calls of a session by the prompt that led to them, so that costs of prompts need no single calls.

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::call_rows::CallRow;
use super::calls::SessionCalls;
use super::sums::{Sum, add_up, span};
use super::{Archive, ArchiveError, codec};
use crate::time::Period;

/// The sums of a session.
#[derive(Debug, Serialize, Deserialize)]
struct PromptSums<'a> {
    /// The models that calls name.
    #[serde(borrow)]
    models: Vec<&'a str>,
    /// The ids of the prompts.
    #[serde(borrow)]
    prompts: Vec<&'a str>,
    /// The index of each prompt, and a sum of calls that it led to.
    sums: Vec<(u32, Sum)>,
}

/// Stores the sums of a session; `id` names it in the error.
pub(super) fn put(
    db: &Connection,
    session: i64,
    detail: &SessionCalls,
    id: &str,
) -> Result<(), ArchiveError> {
    let sums = add_up(detail, |call| call.prompt);
    if sums.is_empty() {
        return Ok(());
    }
    let (first, last) = span(sums.iter().map(|(_, sum)| sum));
    let models = detail.models.iter().map(String::as_str).collect();
    let prompts = detail.prompts.iter().map(|(id, _)| id.as_str()).collect();
    let body = codec::encode(&PromptSums { models, prompts, sums }, id)?;
    db.prepare_cached("INSERT INTO prompt_sums VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session, first, last, body])?;
    Ok(())
}

impl Archive {
    /// Passes the sums of all calls in a period that prompts led to, to `each`, with the id of the prompt. The
    /// period must not split a quarter of an hour.
    pub(crate) fn each_prompt_sum(
        &self,
        period: &Period,
        mut each: impl FnMut(&CallRow<'_>, &str),
    ) -> Result<(), ArchiveError> {
        self.each_rollup("prompt_sums", period, |session, body| {
            let PromptSums { models, prompts, sums } = codec::decode(body, "a session")?;
            for (prompt, sum) in sums {
                let row = sum.row(session, &models);
                if let Some(prompt) = prompts.get(prompt as usize)
                    && period.includes(row.at)
                {
                    each(&row, prompt);
                }
            }
            Ok(())
        })
    }
}
