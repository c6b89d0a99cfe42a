//! Distinguishes secrets from other text in their place.
//!
//! A name such as `password` is followed by a secret less often than by a type, a variable, a call or a
//! placeholder. Only the form of the text distinguishes them.

use serde::Deserialize;

use super::alphabet::Alphabet;
use super::form::{
    has_entropy, is_basic, is_glob, is_masked, is_number, is_of_signs, is_public, is_sequence,
    is_uuid, small_steps, turns,
};
use super::scan::floor;
use super::words::{
    FOREIGN, LONGEST_WORD, NAMES, PASSES, PLACEHOLDER_PARTS, SAMPLE_WORDS, TELLTALES, USERS,
    WELL_KNOWN, WORDS,
};

/// The form that a secret must have in addition to matching a rule: `value` in `rules.toml`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Value {
    /// Anything.
    Any,
    /// Anything but a sample of the same form, such as `ghp_xxxx`.
    #[default]
    Token,
    /// The password of a URL.
    Url,
    /// A literal: neither a reference to something else nor a placeholder.
    Literal,
    /// Like `Literal`, but neither letters alone nor a name.
    Mixed,
    /// Like `Mixed`, and as random as a key.
    Random,
    /// Like `Random`, and with a special character, or with digits among lower-case and upper-case letters.
    Strict,
    /// The value of a header: any literal with a digit.
    Header,
    /// Base64 of `user:password`.
    Basic,
}

/// Returns whether the secret of a match has the form that its rule requires. `next` is the character behind
/// it.
pub(super) fn fits_in(value: Value, whole: &str, secret: &str, next: Option<char>) -> bool {
    match value {
        Value::Url => {
            let user = whole.trim_start_matches([':', '/']).split(':').next().unwrap_or_default();
            let lower = (user.to_ascii_lowercase(), secret.to_ascii_lowercase());
            let is_user = lower.0.is_empty() || USERS.iter().any(|name| lower.0.ends_with(name));
            let is_sample = is_user && PASSES.contains(lower.1.as_str());
            // `://[^:]+:[^@]+@` is a pattern.
            let is_text = |text: &str| text.chars().any(char::is_alphanumeric);
            let is_pattern = !is_text(secret) || !(user.is_empty() || is_text(user));
            // `postgres:postgres`
            let is_default =
                lower.0 == lower.1 && secret.bytes().all(|byte| byte.is_ascii_alphabetic());
            !(is_sample
                || is_default
                || is_pattern
                || is_reference(secret)
                || is_masked(secret)
                || lower.1.starts_with("your")
                || is_foreign(&lower.1))
        }
        value => fits(value, secret, next),
    }
}

/// Returns whether a value has the required form, judged without the text around it.
pub(super) fn fits(value: Value, secret: &str, next: Option<char>) -> bool {
    let text = Candidate::of(secret);
    if text.is_telling && WELL_KNOWN.iter().any(|known| secret.contains(known)) {
        return false;
    }
    match value {
        Value::Any => true,
        Value::Token | Value::Url => !text.is_sample(),
        Value::Literal => text.is_literal(next),
        Value::Mixed => text.is_literal(next) && text.is_mixed(),
        Value::Random => text.is_random(next),
        Value::Strict => {
            let (digits, lower, upper) = (Alphabet::DIGIT, Alphabet::LOWER, Alphabet::UPPER);
            let is_odd = text.alphabet.has(const { Alphabet::of("!@#$%^&*+~?=") });
            let digit = secret.bytes().position(|byte| byte.is_ascii_digit());
            let is_inside =
                digit.is_some_and(|at| secret[at..].bytes().any(|byte| byte.is_ascii_alphabetic()));
            let is_cased = text.alphabet.has(lower) && text.alphabet.has(upper);
            // `Harbor_Saturn6080`
            let is_joined = || {
                let number = secret.bytes().rev().take_while(u8::is_ascii_digit).count();
                number >= 3 && text.alphabet.has(const { Alphabet::of("_-") })
            };
            (is_odd || is_cased && text.alphabet.has(digits) && (is_inside || is_joined()))
                && !text.alphabet.has(const { Alphabet::of(":/,") })
                && text.is_random(next)
        }
        Value::Header => {
            text.alphabet.has(Alphabet::DIGIT)
                && text.is_literal(next)
                && !text.is_sample()
                && !is_variable(secret)
                && !is_path(secret)
        }
        Value::Basic => is_basic(secret),
    }
}

/// A value, and what is known about it from two passes over it. Most values are random letters and digits, and need no
/// further look at their form.
struct Candidate<'t> {
    text: &'t str,
    alphabet: Alphabet,
    /// The length of the longest run of `small_steps`.
    steps: usize,
    /// Whether it may contain a part of a placeholder or a value that is known to everyone.
    is_telling: bool,
}

impl<'t> Candidate<'t> {
    fn of(text: &'t str) -> Self {
        let (alphabet, steps) = (Alphabet::of(text), small_steps(text));
        Self { text, alphabet, steps, is_telling: TELLTALES.is_match(text) }
    }

    /// Returns whether it is a sample from documentation: `ghp_xxxx`, `AKIAIOSFODNN7EXAMPLE`,
    /// `sk-1234567890abcdef`.
    fn is_sample(&self) -> bool {
        self.has_sample_word() || self.is_masked() || self.is_sequence()
    }

    fn is_masked(&self) -> bool {
        let may_be = self.steps >= 3 || self.text.len() < 3 || self.alphabet.has(Alphabet::OTHER);
        may_be && is_masked(self.text)
    }

    fn is_sequence(&self) -> bool {
        (self.steps >= 5 || self.text.is_empty()) && is_sequence(self.text)
    }

    fn has_sample_word(&self) -> bool {
        const LONGEST: usize = 128;
        // In a token that is long enough, any word may occur by chance.
        self.is_telling && self.text.len() <= LONGEST && {
            let lower = self.text.to_ascii_lowercase();
            SAMPLE_WORDS.iter().any(|word| has_own_word(self.text, &lower, word))
        }
    }

    /// Returns whether it is as random as a key.
    fn is_random(&self, next: Option<char>) -> bool {
        (self.alphabet.has(Alphabet::DIGIT) || is_scrambled(self.text))
            && self.alphabet.has(Alphabet::LETTER)
            && self.is_literal(next)
            && self.is_mixed()
            && !self.is_sample()
            && !is_uuid(self.text)
    }

    /// Returns whether it is a literal that a person chose, not a variable, call or placeholder.
    fn is_literal(&self, next: Option<char>) -> bool {
        // The beginning is enough to recognize a name or a placeholder.
        const BEGINNING: usize = 96;
        let text = self.text;
        let begin = &text[..floor(text, BEGINNING)];
        let trimmed = begin.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}']);
        if matches!(next, Some('(' | '['))
            || self.is_masked()
            || trimmed.len() <= LONGEST_WORD && WORDS.contains(&*trimmed.to_ascii_lowercase())
            || (text.len() >= 16 && self.is_sequence())
        {
            return false;
        }
        // Nothing below can be true of mere letters and digits.
        if self.alphabet.is_within(Alphabet::WORD) && !self.is_telling && !text.starts_with('0') {
            return true;
        }
        let lower = begin.to_ascii_lowercase();
        !(is_reference(text)
            || is_number(&lower[..trimmed.len()])
            || (self.alphabet.has(const { Alphabet::of("([{") }) && !is_of_signs(text))
            || is_public(text)
            // The end of a regex: `^(password|token)$`.
            || text.ends_with(")$")
            || is_glob(text)
            || (self.is_telling && has_placeholder(text, &lower))
            || is_foreign(&lower)
            // In minified code more follows: `t.password=n.password,t}`.
            || is_dotted_name(
                trimmed.split([',', ';', '}', '=']).next().unwrap_or_default(),
            ))
    }

    /// Returns whether it mixes letters with digits or signs, or is a long random run of letters, and does not look
    /// like a name or a path.
    fn is_mixed(&self) -> bool {
        let text = self.text;
        let digit = self.alphabet.has(Alphabet::DIGIT);
        let letter = self.alphabet.has(Alphabet::LETTER | Alphabet::OTHER);
        let sign = self.alphabet.has(const { Alphabet::of("!\"#$%&'()*+,;<=>?@[\\]^`{}~") });
        let is_joined = self.alphabet.has(const { Alphabet::of("-_.:/|") });
        let is_disorder =
            if is_joined { text.split(is_separator).any(is_disorder) } else { is_disorder(text) };
        if !(letter && (digit || sign)) && !(digit && sign) && !is_disorder {
            return false;
        }
        !(is_pair(text) || (sign && is_variable(text)))
            && (sign
                || is_disorder
                || !(is_joined && (is_words(text) || is_path(text))
                    || is_constant(text)
                    || is_variable(text)))
    }
}

/// Returns whether a text contains a word that a person wrote: it does not mix lower and upper case, and does
/// not begin inside another word. In a random value, such letters occur by chance. `lower` is the text in
/// lower case.
fn has_own_word(text: &str, lower: &str, word: &str) -> bool {
    let is_letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
    lower.match_indices(word).any(|(at, _)| {
        let found = &text.as_bytes()[at..at + word.len()];
        let is_large = found[0].is_ascii_uppercase();
        let same = |rest: &[u8], is: fn(&u8) -> bool| rest.iter().all(is);
        let is_even =
            same(found, u8::is_ascii_uppercase) || same(&found[1..], u8::is_ascii_lowercase);
        let begins = match at.checked_sub(1).map(|before| text.as_bytes()[before]) {
            Some(before) if before.is_ascii_alphabetic() => {
                (is_large && before.is_ascii_lowercase()) || before == found[0]
            }
            _ => true,
        };
        // A longer word does not occur in a value by chance.
        !is_letters || (is_even && (begins || word.len() > 5))
    })
}

/// Returns whether a text is a placeholder in another language: `ton_mot_de_passe`, `dein-passwort-hier`.
fn is_foreign(lower: &str) -> bool {
    let is_word = |part: &str| {
        part.trim_end_matches(|c: char| c.is_ascii_digit()).chars().all(char::is_alphabetic)
    };
    let parts = || lower.split(['_', '-', '.', ' ']).filter(|part| !part.is_empty());
    parts().count() > 1 && parts().all(is_word) && parts().any(|part| FOREIGN.contains(part))
}

/// Returns whether a text has a part that only occurs in placeholders.
fn has_placeholder(text: &str, lower: &str) -> bool {
    PLACEHOLDER_PARTS.iter().any(|part| has_own_word(text, lower, part))
}

/// Returns whether a text is a variable of a shell, a template or a format string, or a path or an option.
fn is_reference(text: &str) -> bool {
    // `op://vault/item/field`, and the name of an argument: `help='…'`.
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    if text.split_once("://").is_some_and(|(scheme, rest)| is_name(scheme) && !rest.contains('@'))
        || text.strip_suffix('=').is_some_and(is_name)
    {
        return true;
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('$'), Some(c)) => {
            c.is_ascii_alphabetic() || matches!(c, '{' | '(' | '_' | '$' | '1' | '@')
        }
        (Some('{' | '<' | '[' | '('), _) => true,
        (Some('%'), Some(c)) => matches!(c, 's' | 'v' | 'q' | '(' | '{') || text.ends_with('%'),
        (Some('&' | '*' | '@' | '!'), Some(c)) => {
            c.is_ascii_alphabetic() && is_plain_name(&text[1..])
        }
        (Some('-'), Some(c)) => {
            let is_option = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            c == '-' || text.bytes().all(|byte| is_option(byte) || matches!(byte, b'-' | b'='))
        }
        (Some('/'), Some(_)) if text.split(['/', '+', '=']).any(is_disorder) => false,
        (Some('/' | '.' | '~'), Some(c)) => c == '/' || c.is_ascii_lowercase(),
        _ => false,
    }
}

fn is_plain_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'.')
}

/// Returns whether a text is a dotted name: `user.password`, `config.auth.v2`.
fn is_dotted_name(text: &str) -> bool {
    let is_name = |part: &str| {
        let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_letters =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        // `win32api`, `colon2_token`
        let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        let is_numbered = stem.len() > 5
            && stem.bytes().take(3).all(|byte| byte.is_ascii_alphabetic())
            && stem.bytes().filter(u8::is_ascii_digit).count() <= 2
            && stem.bytes().all(|byte| is_lower(byte) || byte.is_ascii_digit());
        !stem.is_empty()
            && part.len() < if part.contains('_') { 40 } else { 20 }
            && part.len() - stem.len() <= 2
            && (is_letters(stem) || is_numbered)
    };
    let text = text.strip_prefix('&').unwrap_or(text);
    let mut parts = text.split('.');
    let is_member = matches!(parts.next(), Some("self" | "this" | "exports" | "module"));
    text.contains('.')
        && (text.split('.').all(is_name)
            || is_member && parts.all(|part| is_name(part) || is_type_name(part)))
}

/// Returns whether a text is a name of code with one number in it: `Curve25519SeedBin`, `NID_aes_256_cbc`.
pub(super) fn is_type_name(text: &str) -> bool {
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return false;
    }
    let digits = |c: char| c.is_ascii_digit();
    let runs = text.split(|c: char| !digits(c)).filter(|run| !run.is_empty());
    let (count, longest) = runs.fold((0, 0), |(count, most), run| (count + 1, run.len().max(most)));
    let is_constant = text.contains('_')
        && text.split('_').all(|word| {
            let stem = word.trim_matches(digits);
            stem.bytes().all(|byte| byte.is_ascii_alphabetic()) && stem.len() != 1
        });
    count <= 1
        && longest <= 5
        && (is_constant || text.bytes().any(|byte| byte.is_ascii_uppercase()) && is_camel(text))
}

/// Returns whether letters and digits are too random for a name: `wjDRGbpIOUuuaZgmMcMTfL`.
fn is_disorder(part: &str) -> bool {
    part.len() >= 16
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && part.bytes().any(|byte| byte.is_ascii_uppercase())
        && !is_camel(part)
        && has_entropy(part, 3.5)
}

/// Returns whether letters alone change case too often for words: `lafKFtyJkFOtqfdAalHd`.
fn is_scrambled(text: &str) -> bool {
    text.len() >= 20 && is_disorder(text) && turns(text) * 5 >= text.len()
}

/// Returns whether a text has few upper-case letters for its length, like `myVeryLongVariableName`.
fn is_camel(text: &str) -> bool {
    let large = text.bytes().filter(u8::is_ascii_uppercase).count();
    large * 4 <= text.len()
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | ':' | '/' | '|')
}

/// Returns whether a text consists of words and small numbers with separators, in lower or upper case:
/// `my-app-secret-v2`.
fn is_words(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
    if has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) {
        return false;
    }
    let is_long = text.split(is_separator).count() >= 3;
    let is_word = |part: &str| {
        let letters = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let is_number = letters.len() <= 3 && letters.bytes().all(|byte| byte.is_ascii_digit());
        let is_numbered = letters.len() == 1 && is_long;
        letters.is_empty()
            || (is_number
                && (part.len() == letters.len() || part.len() - letters.len() <= 1 || is_numbered))
    };
    text.contains(is_separator) && text.split(is_separator).all(is_word)
}

/// Returns whether a text consists of words in upper case, some with a number: `XXH3_SECRET_SIZE_MIN`.
fn is_constant(text: &str) -> bool {
    let is_letters = |part: &&str| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_uppercase());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && digits * 4 <= text.len()
        && text.split('_').filter(is_letters).count() >= 2
}

/// Returns whether a text is a name that contains one of `NAMES`, with at most a short number at its end:
/// `password2`, `auth_token_v1`.
fn is_variable(text: &str) -> bool {
    let has_name = |text: &str| {
        let lower = text.to_ascii_lowercase();
        NAMES.iter().any(|name| lower.contains(name))
    };
    // A type of generated code: `Schema$AppCheckV1Token`.
    if text.len() >= 20 && text.contains('$') {
        let is_name = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic());
        return text.split('$').all(is_name) && has_name(text);
    }
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    text.len() - stem.len() <= 2
        && stem.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && has_name(stem)
}

/// Returns whether a text is itself a name and a value: `id=npmrc`.
fn is_pair(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    (2..=8).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase())
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns whether a text is a path or a URL: `projects/12/secrets/x`, `https://…`, `config/app.v1.json`.
fn is_path(text: &str) -> bool {
    let is_word = |part: &str| {
        part.len() >= 4
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_')
    };
    text.contains('/') && (text.contains("://") || text.split(['/', '.']).any(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_references() {
        for literal in ["hunter2", "postgres", "Sw0rd!fish", "$2b$10$abcdef", "p@ss"] {
            assert!(fits(Value::Literal, literal, None), "{literal}");
        }
        for not in [
            "$DB_PW",
            "${PW}",
            "$(cat x)",
            "<password>",
            "changeme",
            "your-key",
            "user.password",
            "null",
        ] {
            assert!(!fits(Value::Literal, not, None), "{not}");
        }
        assert!(!fits(Value::Literal, "getToken1", Some('(')));
    }

    #[test]
    fn names_are_no_secrets() {
        for mixed in ["hunter2", "Sw0rdfish", "tr0ub4dor&3", "12345!"] {
            assert!(fits(Value::Mixed, mixed, None), "{mixed}");
        }
        for not in
            ["swordfish", "password2", "my-app-secret-v2", "secrets/app1/config", "auth_token_v1"]
        {
            assert!(!fits(Value::Mixed, not, None), "{not}");
        }
    }

    #[test]
    fn letters_of_a_random_value_are_no_placeholder() {
        for token in ["a8Kd93jLmQ2xVbT7yRzYoUr5NfHs1PuE4gXo", "k2jyour8Qm1fxFaKe0Zt"] {
            assert!(fits(Value::Token, token, None), "{token}");
        }
        for sample in [
            "your-token-1",
            "AKIAIOSFODNN7EXAMPLE",
            "K7MDENGbPxRfiCYEXAMPLEKEY",
            "xxxxxxxx1a",
            "myExampleKey1",
            "YOUR_KEY_1",
        ] {
            assert!(!fits(Value::Token, sample, None), "{sample}");
        }
    }

    #[test]
    fn basic_is_a_user_and_a_password() {
        assert!(fits(Value::Basic, "dXNlcjpwYXNzd29yZA==", None));
        assert!(!fits(Value::Basic, "authentication", None));
    }
}
