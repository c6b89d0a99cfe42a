//! Other spellings of a word that occurs nowhere.

use std::collections::BTreeSet;

/// The length of the shortest word that is corrected; the variants of shorter ones are mostly other words.
const SHORTEST: usize = 4;

/// A term of a query that occurs nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTerm {
    /// The text as typed.
    pub text: String,
    /// The most frequent word that differs from it by one mistake.
    pub near: Option<String>,
}

/// Returns every spelling that differs from a token by one letter: left out, swapped with the next, replaced or added.
/// Returns none for short tokens.
pub(crate) fn variants(token: &str) -> BTreeSet<String> {
    let letters: Vec<char> = token.chars().collect();
    let mut out = BTreeSet::new();
    if letters.len() < SHORTEST {
        return out;
    }
    let others = || ('a'..='z').chain('0'..='9');
    for at in 0..=letters.len() {
        let (before, after) = letters.split_at(at);
        let mut add = |middle: &[char], rest: &[char]| {
            out.insert(before.iter().chain(middle).chain(rest).collect::<String>());
        };
        others().for_each(|letter| add(&[letter], after));
        if let [first, rest @ ..] = after {
            add(&[], rest);
            others().for_each(|letter| add(&[letter], rest));
            if let [second, rest @ ..] = rest {
                add(&[*second, *first], rest);
            }
        }
    }
    out.remove(token);
    out
}

/// Returns a query with its missing terms corrected, or `None` if no correction is known.
pub fn corrected(query: &str, missing: &[MissingTerm]) -> Option<String> {
    let mut out = query.to_owned();
    for term in missing {
        let near = term.near.as_deref()?;
        let whole = |at: &usize| {
            let (before, rest) = out.split_at(*at);
            // A word after a colon is the value of a condition.
            !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == ':')
                && !rest[term.text.len()..].chars().next().is_some_and(char::is_alphanumeric)
        };
        let at = out.match_indices(&term.text).map(|(at, _)| at).find(whole)?;
        out.replace_range(at..at + term.text.len(), near);
    }
    (!missing.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mistake_of_each_kind() {
        let of = variants("tide");
        for near in ["ide", "tie", "itde", "tdie", "tile", "side", "tides", "atide", "tid3"] {
            assert!(of.contains(near), "{near}");
        }
        assert!(!of.contains("tide") && !of.contains("idet"));
        assert!(variants("tid").is_empty());
        assert!(variants("вода").contains("вдоа"));
    }

    #[test]
    fn only_whole_words_are_corrected() {
        let missing = |text: &str, near: Option<&str>| MissingTerm {
            text: text.into(),
            near: near.map(Into::into),
        };
        let cart = missing("cart", Some("card"));
        assert_eq!(
            corrected("carts cart -x", std::slice::from_ref(&cart)).unwrap(),
            "carts card -x"
        );
        assert_eq!(corrected("\"cart\"", std::slice::from_ref(&cart)).unwrap(), "\"card\"");
        assert_eq!(corrected("cart zzzz", &[cart, missing("zzzz", None)]), None);
        assert_eq!(corrected("cart", &[]), None);
        let cart = missing("cart", Some("card"));
        assert_eq!(corrected("tool:cart cart", &[cart]).unwrap(), "tool:cart card");
    }
}
