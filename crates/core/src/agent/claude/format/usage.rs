//! Reads the token counts of a line.

use serde::{Deserialize, Serialize};

use crate::model::{Service, ServiceClass, Usage};
use crate::read::json;
use crate::read::scanner::{Invalid, Scanner};

/// The limit that counts are capped at, so that a damaged number does not spoil every sum.
const MOST: f64 = 1e12;

/// The token counts of one line, as recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::agent::claude) struct Tokens {
    input: u64,
    cached: u64,
    /// All tokens written to the cache.
    written: u64,
    written_1h: u64,
    /// All output tokens, including thinking.
    output: u64,
    thinking: u64,
    service: Service,
}

impl Tokens {
    /// Consumes a `usage` object and returns its counts.
    pub(super) fn pass(scanner: &mut Scanner<'_>) -> Result<Self, Invalid> {
        let mut tokens = Self::default();
        scanner.fields(|scanner, key| {
            let is_object = scanner.peek() == Some(b'{');
            match &*key {
                b"input_tokens" => tokens.input = count(scanner)?,
                b"cache_read_input_tokens" => tokens.cached = count(scanner)?,
                b"cache_creation_input_tokens" => tokens.written = count(scanner)?,
                b"output_tokens" => tokens.output = count(scanner)?,
                b"cache_creation" if is_object => {
                    tokens.written_1h = part(scanner, b"ephemeral_1h_input_tokens")?;
                }
                b"output_tokens_details" if is_object => {
                    tokens.thinking = part(scanner, b"thinking_tokens")?;
                }
                b"server_tool_use" if is_object => {
                    let searches = part(scanner, b"web_search_requests")?;
                    tokens.service.searches = u32::try_from(searches).unwrap_or(u32::MAX);
                }
                // `speed` is that of the model, `service_tier` that of the queue.
                b"speed" | b"service_tier" => {
                    let class = json::string(scanner.value()?).unwrap_or_default();
                    tokens.service.class = tokens.service.class.max(ServiceClass::named(&class));
                }
                b"inference_geo" => {
                    let geo = json::string(scanner.value()?);
                    tokens.service.us_only = geo.as_deref() == Some("us");
                }
                _ => scanner.pass()?,
            }
            Ok(())
        })?;
        Ok(tokens)
    }

    /// Returns the maximum of each number. A number and its parts are always taken from the same line.
    pub(in crate::agent::claude) fn max(self, other: Self) -> Self {
        let writes = |tokens: &Self| (tokens.written, tokens.written_1h);
        let output = |tokens: &Self| (tokens.output, tokens.thinking);
        let (written, written_1h) = writes(&self).max(writes(&other));
        let (output, thinking) = output(&self).max(output(&other));
        Self {
            input: self.input.max(other.input),
            cached: self.cached.max(other.cached),
            written,
            written_1h,
            output,
            thinking,
            service: self.service.max(other.service),
        }
    }

    /// Returns the conditions under which the call was served.
    pub(in crate::agent::claude) fn service(self) -> Service {
        self.service
    }

    /// Returns the counts in disjoint buckets. Cache writes that the split by duration does not cover count
    /// as five-minute writes.
    pub(in crate::agent::claude) fn usage(self) -> Usage {
        let cache_write_1h = self.written_1h.min(self.written);
        let thoughts = self.thinking.min(self.output);
        Usage {
            input: self.input,
            cached: self.cached,
            cache_write_5m: self.written - cache_write_1h,
            cache_write_1h,
            output: self.output - thoughts,
            thoughts,
            ..Usage::default()
        }
    }
}

/// Consumes the sums by model of a `cost-state` line and returns their sum.
pub(super) fn reported(scanner: &mut Scanner<'_>) -> Result<Usage, Invalid> {
    let mut sum = Usage::default();
    scanner.fields(|scanner, _| {
        if scanner.peek() != Some(b'{') {
            return scanner.pass();
        }
        let mut tokens = Tokens::default();
        scanner.fields(|scanner, key| {
            match &*key {
                b"inputTokens" => tokens.input = count(scanner)?,
                b"cacheReadInputTokens" => tokens.cached = count(scanner)?,
                b"cacheCreationInputTokens" => tokens.written = count(scanner)?,
                b"cacheCreationEphemeral1hInputTokens" => tokens.written_1h = count(scanner)?,
                b"outputTokens" => tokens.output = count(scanner)?,
                b"thinkingTokens" => tokens.thinking = count(scanner)?,
                _ => scanner.pass()?,
            }
            Ok(())
        })?;
        sum += tokens.usage();
        Ok(())
    })?;
    Ok(sum)
}

fn part(scanner: &mut Scanner<'_>, name: &[u8]) -> Result<u64, Invalid> {
    let mut found = 0;
    scanner.fields(|scanner, key| {
        if &*key == name {
            found = count(scanner)?;
            return Ok(());
        }
        scanner.pass()
    })?;
    Ok(found)
}

/// Consumes a value and returns it as a count. Anything but a positive number counts as 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and MOST")]
fn count(scanner: &mut Scanner<'_>) -> Result<u64, Invalid> {
    let value = scanner.bytes()?;
    if let Some(number) = json::natural(value) {
        return Ok(number.min(MOST as u64));
    }
    let number = str::from_utf8(value).ok().and_then(json::number).filter(|number| *number > 0.0);
    Ok(number.map_or(0, |number| number.min(MOST) as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Tokens {
        Tokens::pass(&mut Scanner::new(text)).unwrap()
    }

    #[test]
    fn what_the_split_does_not_cover_is_written_for_five_minutes() {
        let usage = |text: &str| {
            let usage = tokens(text).usage();
            (usage.cache_write_5m, usage.cache_write_1h)
        };
        let split = |split: &str| {
            usage(&format!("{{\"cache_creation\":{split},\"cache_creation_input_tokens\":100}}"))
        };
        assert_eq!(split("null"), (100, 0));
        assert_eq!(
            split(r#"{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":30}"#),
            (70, 30)
        );
        assert_eq!(split(r#"{"ephemeral_1h_input_tokens":300}"#), (0, 100));
        assert_eq!(usage("{}"), (0, 0));
    }

    #[test]
    fn thinking_is_a_part_of_the_output() {
        let usage =
            tokens(r#"{"output_tokens":10,"output_tokens_details":{"thinking_tokens":4}}"#).usage();
        assert_eq!((usage.output, usage.thoughts), (6, 4));
        let odd =
            tokens(r#"{"output_tokens":-5,"input_tokens":"7","cache_read_input_tokens":1e99}"#)
                .usage();
        assert_eq!((odd.output, odd.input, odd.cached), (0, 0, 1_000_000_000_000));
    }

    #[test]
    fn the_conditions_of_a_call() {
        let service = |text: &str| tokens(text).service();
        let plain = r#"{"speed":"standard","service_tier":"standard","inference_geo":"not_available",
            "server_tool_use":{"web_search_requests":0,"web_fetch_requests":2}}"#;
        for text in [plain, "{}", r#"{"speed":null,"inference_geo":7,"server_tool_use":null}"#] {
            assert_eq!(service(text), Service::default(), "{text}");
        }
        let special = r#"{"inference_geo":"us","speed":"fast","service_tier":"standard",
            "server_tool_use":{"web_search_requests":3}}"#;
        let want =
            Service { class: ServiceClass::Fast, us_only: true, searches: 3, is_elsewhere: false };
        assert_eq!(service(special), want);
        assert_eq!(tokens(special).max(tokens(plain)).service(), want);
        assert_eq!(service(r#"{"service_tier":"priority"}"#).class, ServiceClass::Priority);
    }

    prop_compose! {
        fn any_tokens()(
            counts in prop::array::uniform6(0..4u64),
            class in 0..ServiceClass::ALL.len(),
            us_only: bool,
            searches in 0..3u32,
        ) -> Tokens {
            let [input, cached, written, written_1h, output, thinking] = counts;
            let class = ServiceClass::ALL[class];
            let service = Service { class, us_only, searches, is_elsewhere: false };
            Tokens { input, cached, written, written_1h, output, thinking, service }
        }
    }

    proptest! {
        #[test]
        fn lines_of_a_call_merge_in_any_order(a in any_tokens(), b in any_tokens(), c in any_tokens()) {
            prop_assert_eq!(a.max(a), a);
            prop_assert_eq!(a.max(b), b.max(a));
            prop_assert_eq!(a.max(b).max(c), a.max(b.max(c)));
            let total = |tokens: Tokens| tokens.usage().total();
            prop_assert!(total(a.max(b)) >= total(a));
        }
    }
}
