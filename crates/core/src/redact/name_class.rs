//! Classifies names by their words: how strongly a name suggests that its value is a secret.

use super::identifier::words;
use super::words::{
    KEYS, NOT_PASS, OTHER_KEYS, OTHER_PASSES, OTHER_TOKENS, PASSWORDS, PLURALS, SECRETS, SUFFIXES,
    WEAK, WEAK_ENV, Words,
};

/// The kind of value that a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A password.
    Password,
    /// Another secret, such as a token or a key.
    Secret,
}

/// The strength of a name as evidence. A weak name requires a value that is clearly random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Any value is likely to be a secret.
    Strong,
    /// The value must be random.
    Weak,
}

/// Classifies a name by its words, and returns its strength.
fn classify(words: &[String], is_env: bool) -> Option<(Class, Strength)> {
    use Class::{Password, Secret};
    use Strength::{Strong, Weak};
    let is_suffix = |word: &String| {
        SUFFIXES.contains(word.as_str()) || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let suffixes = words.iter().rev().take(3).take_while(|word| is_suffix(word)).count();
    let (words, _) = words.split_at(words.len() - suffixes);
    let (last, head) = words.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let last = if PLURALS.contains(last) { &last[..last.len() - 1] } else { last };
    let has = |list: &Words| head.iter().any(|word| list.contains(word.as_str()));
    // `hashed_secret`
    if head.iter().any(|word| matches!(word.as_str(), "hashed" | "masked" | "redacted")) {
        return None;
    }
    if PASSWORDS.iter().any(|word| last.ends_with(word)) {
        return Some((Password, Strong));
    }
    // `pass_phrase`, `pass-code`
    let is_split = matches!(last, "phrase" | "code" | "word" | "wd");
    if is_split && head.last().is_some_and(|word| word == "pass") {
        return Some((Password, Strong));
    }
    if last == "pass" && has(&OTHER_PASSES) {
        return None;
    }
    if last.ends_with("pass") && !NOT_PASS.contains(last) || last.ends_with("pw") {
        return Some((Password, if head.is_empty() && last.len() <= 4 { Weak } else { Strong }));
    }
    if last.ends_with("secret") || (last.ends_with("token") && !has(&OTHER_TOKENS)) {
        return Some((Secret, Strong));
    }
    let qualifier = head.last().map(String::as_str);
    if last == "id" && head.ends_with(&["access".to_owned(), "key".to_owned()]) {
        return Some((Secret, Weak));
    }
    let is_key = last == "key" && qualifier.is_some_and(|word| KEYS.contains(word));
    let is_joined =
        last.strip_suffix("key").is_some_and(|word| KEYS.contains(word) || word.ends_with("api"));
    if is_key || is_joined {
        return Some((Secret, Strong));
    }
    // Any other kind of key, unless it is known to be a name for something public.
    let is_ranked = matches!(qualifier, Some("primary" | "secondary"));
    let is_other_key = last == "key" && (is_ranked || !has(&OTHER_KEYS));
    let is_weak = WEAK.contains(last)
        || is_other_key
        || (last == "salt" && qualifier.is_some())
        || (is_env && qualifier.is_some() && WEAK_ENV.contains(last) && !has(&OTHER_KEYS));
    is_weak.then_some((Secret, Weak))
}

/// Classifies a name that is not written in ASCII: scripts differ in where a word ends.
fn foreign(name: &str) -> Option<(Class, Strength)> {
    if name.is_ascii() {
        return None;
    }
    let lower = name.to_lowercase();
    let is_in = |words: &Words| words.iter().any(|word| lower.ends_with(word));
    let class = is_in(&PASSWORDS).then_some(Class::Password);
    let class = class.or_else(|| is_in(&SECRETS).then_some(Class::Secret))?;
    Some((class, Strength::Strong))
}

/// The classification of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameClass {
    /// The kind of value that it suggests.
    pub(super) class: Class,
    /// Its strength as evidence.
    pub(super) strength: Strength,
    /// Whether it is in upper case, like an environment variable.
    pub(super) is_env: bool,
    /// Whether it is just `token`, which has many meanings.
    pub(super) is_plain_token: bool,
    /// Whether one of its words is `secret`.
    pub(super) is_secret: bool,
    /// Whether it is just `key`, which has even more.
    pub(super) is_plain_key: bool,
    /// Whether it is a plural such as `tokens`, which is more often followed by a count than by a secret.
    pub(super) is_plural: bool,
}

impl NameClass {
    /// Returns whether the name is strong evidence of a secret.
    pub(super) fn is_strong(self) -> bool {
        self.strength == Strength::Strong
    }

    /// Classifies a name; `None` if it does not suggest a secret.
    pub(super) fn of(name: &str) -> Option<Self> {
        let words = words(name);
        let is_env = name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let (class, strength) = foreign(name).or_else(|| classify(&words, is_env))?;
        let is_plain_token = words.len() == 1 && words[0] == "token";
        let is_plain = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_digit()) == "key";
        let is_plain_key = match &words[..] {
            [word] => is_plain(word) && !is_env,
            [.., of, word] => is_plain(word) && matches!(of.as_str(), "primary" | "secondary"),
            [] => false,
        };
        let is_secret = words.iter().any(|word| word == "secret");
        let is_plural = words.last().is_some_and(|word| PLURALS.contains(word.as_str()));
        Some(Self { class, strength, is_env, is_plain_token, is_secret, is_plain_key, is_plural })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_script() {
        for name in ["पासवर्ड", "รหัสผ่าน", "Lösenordet", "كلمة المرور", "비밀번호", "ПАРОЛЬ"]
        {
            let known = NameClass::of(name).unwrap();
            assert!(known.class == Class::Password && known.is_strong(), "{name}");
        }
        for name in ["токен", "密钥", "Schlüssel"] {
            assert!(NameClass::of(name).is_some_and(|name| name.class == Class::Secret), "{name}");
        }
        assert!(NameClass::of("слово").is_none());
    }
}
