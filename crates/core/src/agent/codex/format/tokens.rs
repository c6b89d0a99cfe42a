//! Reads token counts as Codex CLI records them.

use serde::{Deserialize, Serialize};

use crate::model::Usage;
use crate::read::json::{JsStr, Raw};
use crate::read::scanner::{Invalid, Scanner};

/// The recorded numbers. Input includes tokens read from or written to the cache; output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Tokens {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    total: u64,
}

impl Tokens {
    /// Reads the numbers of a usage object. Missing numbers count as 0.
    pub(crate) fn of(raw: Option<Raw<'_>>) -> Self {
        raw.and_then(|raw| Self::pass(&mut Scanner::new(raw.get())).ok()).unwrap_or_default()
    }

    /// Consumes a usage object and returns its numbers.
    fn pass(scanner: &mut Scanner<'_>) -> Result<Self, Invalid> {
        let mut tokens = Self::default();
        // Fields in their usual order need not be looked up by name.
        if !scanner.literal(b"{\"input_tokens\":") {
            scanner.fields(|scanner, key| tokens.field(scanner, &key))?;
            return Ok(tokens);
        }
        tokens.input = scanner.natural()?.unwrap_or(0);
        next(scanner, b",\"cached_input_tokens\":", &mut tokens.cached)?;
        next(scanner, b",\"cache_write_input_tokens\":", &mut tokens.cache_write)?;
        next(scanner, b",\"output_tokens\":", &mut tokens.output)?;
        next(scanner, b",\"reasoning_output_tokens\":", &mut tokens.reasoning)?;
        next(scanner, b",\"total_tokens\":", &mut tokens.total)?;
        scanner.more_fields(|scanner, key| tokens.field(scanner, &key))?;
        Ok(tokens)
    }

    fn field(&mut self, scanner: &mut Scanner<'_>, key: &[u8]) -> Result<(), Invalid> {
        let field = match key {
            b"input_tokens" => &mut self.input,
            b"cached_input_tokens" => &mut self.cached,
            b"cache_write_input_tokens" => &mut self.cache_write,
            b"output_tokens" => &mut self.output,
            b"reasoning_output_tokens" => &mut self.reasoning,
            b"total_tokens" => &mut self.total,
            _ => return scanner.pass(),
        };
        *field = scanner.natural()?.unwrap_or(0);
        Ok(())
    }

    fn numbers(&self) -> [u64; 6] {
        [self.input, self.cached, self.cache_write, self.output, self.reasoning, self.total]
    }

    /// Returns whether the numbers are those of a model call rather than an estimate.
    pub(crate) fn is_call(&self) -> bool {
        self.input > 0 || self.output > 0
    }

    /// Returns the difference to earlier numbers; `None` if any number is smaller.
    pub(crate) fn growth(&self, before: &Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(before.input)?,
            cached: self.cached.checked_sub(before.cached)?,
            cache_write: self.cache_write.checked_sub(before.cache_write)?,
            output: self.output.checked_sub(before.output)?,
            reasoning: self.reasoning.checked_sub(before.reasoning)?,
            total: self.total.checked_sub(before.total)?,
        })
    }

    /// Returns whether each number is at least as large as its counterpart.
    pub(crate) fn covers(&self, others: &Self) -> bool {
        self.numbers().iter().zip(others.numbers()).all(|(own, other)| *own >= other)
    }

    /// Returns the number of tokens, which is never smaller than that of numbers that these cover.
    pub(crate) fn sum(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the numbers in disjoint buckets.
    pub(crate) fn usage(&self) -> Usage {
        let cached = self.cached.min(self.input);
        let cache_write_5m = self.cache_write.min(self.input - cached);
        let thoughts = self.reasoning.min(self.output);
        Usage {
            input: self.input - cached - cache_write_5m,
            cached,
            cache_write_5m,
            output: self.output - thoughts,
            thoughts,
            ..Usage::default()
        }
    }

    /// Appends a text that is equal for equal numbers.
    pub(crate) fn push_key(&self, key: &mut String) {
        // Formatting would take several times as long, and there are many. A number has at most 20 digits, of which the
        // last one is found first.
        let mut text = [b','; 6 * 21];
        let mut at = text.len();
        for mut rest in self.numbers().into_iter().rev() {
            loop {
                at -= 1;
                text[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            // The comma before it.
            at -= 1;
        }
        key.push_str(str::from_utf8(&text[at + 1..]).unwrap_or_default());
    }

    /// Reads the numbers that [`push_key`](Self::push_key) wrote.
    pub(crate) fn from_key(key: &str) -> Option<Self> {
        let mut numbers = key.split(',').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            input: next()?,
            cached: next()?,
            cache_write: next()?,
            output: next()?,
            reasoning: next()?,
            total: next()?,
        })
    }
}

/// Reads the next field of an object if it has this name.
#[inline]
fn next<const N: usize>(
    scanner: &mut Scanner<'_>,
    name: &[u8; N],
    field: &mut u64,
) -> Result<(), Invalid> {
    if scanner.literal(name) {
        *field = scanner.natural()?.unwrap_or(0);
    }
    Ok(())
}

/// The total of all calls so far, and the numbers of the last one.
pub(crate) type Count = (Tokens, Tokens);

/// Consumes the `info` of a token count. Returns `None` if it has no total. Of a repeated field, the last one
/// counts, and a field that is `null` is missing.
pub(crate) fn count(scanner: &mut Scanner<'_>) -> Result<Option<Count>, Invalid> {
    let (mut total, mut last) = (None, None);
    if scanner.peek() != Some(b'{') {
        scanner.pass()?;
        return Ok(None);
    }
    let is_usual = scanner.literal(b"{\"total_token_usage\":");
    if is_usual {
        total = part(scanner)?;
        if scanner.literal(b",\"last_token_usage\":") {
            last = part(scanner)?;
        }
    }
    let field = |scanner: &mut Scanner<'_>, key: JsStr<'_>| {
        match &*key {
            b"total_token_usage" => total = part(scanner)?,
            b"last_token_usage" => last = part(scanner)?,
            _ => scanner.pass()?,
        }
        Ok(())
    };
    if is_usual {
        scanner.more_fields(field)?;
    } else {
        scanner.fields(field)?;
    }
    Ok(total.map(|total| (total, last.unwrap_or_default())))
}

/// Consumes the value of a field of a token count. Returns `None` if it is `null`.
fn part(scanner: &mut Scanner<'_>) -> Result<Option<Tokens>, Invalid> {
    match scanner.peek() {
        Some(b'{') => Tokens::pass(scanner).map(Some),
        _ => Ok((scanner.bytes()? != b"null").then(Tokens::default)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_disjoint() {
        let text = r#"{"input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":10,
            "output_tokens":50,"reasoning_output_tokens":20,"total_tokens":150}"#;
        let usage = Tokens::of(Raw::new(text)).usage();
        assert_eq!((usage.input, usage.cached, usage.cache_write_5m), (30, 60, 10));
        assert_eq!((usage.output, usage.thoughts, usage.total()), (30, 20, 150));
    }

    #[test]
    fn a_key_has_all_numbers() {
        let numbers = [0, 9, 10, 1_234_567, u64::MAX, 7];
        let [input, cached, cache_write, output, reasoning, total] = numbers;
        let tokens = Tokens { input, cached, cache_write, output, reasoning, total };
        let mut key = "k:".to_owned();
        tokens.push_key(&mut key);
        assert_eq!(key, "k:0,9,10,1234567,18446744073709551615,7");
        assert_eq!(Tokens::from_key(&key[2..]), Some(tokens));
    }

    #[test]
    fn the_last_of_repeated_numbers_counts() {
        let count = |text: &str| {
            let count = count(&mut Scanner::new(text)).unwrap();
            count.map(|(total, last)| (total.input, last.input))
        };
        let one = r#"{"input_tokens":1}"#;
        for none in ["null", "7", "[]", "{}", &format!(r#"{{"total_token_usage":null,"x":{one}}}"#)]
        {
            assert_eq!(count(none), None, "{none}");
        }
        let total = |rest: &str| count(&format!(r#"{{"total_token_usage":{one}{rest}}}"#));
        assert_eq!(total(""), Some((1, 0)));
        assert_eq!(
            total(r#","last_token_usage":{"input_tokens":3,"input_tokens":2}"#),
            Some((1, 2))
        );
        assert_eq!(
            total(r#","last_token_usage":{"input_tokens":3,"input_tokens":null}"#),
            Some((1, 0))
        );
        assert_eq!(total(r#","total_token_usage":{"input\u005ftokens":4}"#), Some((4, 0)));
        assert_eq!(total(r#","total_token_usage":"x""#), Some((0, 0)));
        assert_eq!(total(r#","total_token_usage":null"#), None);
        assert_eq!(total(r#","last_token_usage":{"input_tokens":-1}"#), Some((1, 0)));
    }

    #[test]
    fn numbers_that_cannot_be_right_never_underflow() {
        let text = r#"{"input_tokens":5,"cached_input_tokens":60,"output_tokens":1,"reasoning_output_tokens":9}"#;
        assert_eq!(Tokens::of(Raw::new(text)).usage().total(), 6);
    }
}
