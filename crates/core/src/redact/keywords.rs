//! Searches a text for the literals of all rules at once.
//!
//! A table knows by the hash of four bytes, regardless of case, whether a literal may begin with them. The
//! positions that pass are collected, then those where the first eight bytes match too, and only there literals
//! are compared. Both steps do without branches, because a processor cannot predict where literals are. An
//! automaton would find the same, but waits for memory at each byte.

use std::ops::Range;

/// The number of positions that are examined together.
const BLOCK: usize = 256;

/// The number of bytes behind a position that are examined with it.
const BEHIND: usize = 7;

/// The number of hashes.
const HASHES: usize = 1 << 17;

/// The bits of four bytes that are the same for upper and lower case.
const CASELESS: u32 = 0x1f1f_1f1f;

/// A literal to search for.
#[derive(Debug)]
pub(super) struct Keyword {
    /// The text to search for.
    pub(super) literal: String,
    /// Whether case is ignored.
    pub(super) any_case: bool,
}

/// All literals, identified by their indices.
#[derive(Debug)]
pub(super) struct Keywords {
    /// For each hash, the index of a group; the first group is empty.
    by_hash: Vec<u16>,
    groups: Vec<Group>,
    forms: Vec<Form>,
}

/// The forms whose first four bytes have the same hash.
#[derive(Debug, Default)]
struct Group {
    /// What all of them begin with, regardless of case.
    begin: Begin,
    /// What each begins with, and its index.
    forms: Vec<(Begin, usize)>,
}

/// A spelling of a literal.
#[derive(Debug)]
struct Form {
    bytes: Box<[u8]>,
    any_case: bool,
    number: usize,
}

/// A pattern for eight bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Begin {
    bytes: u64,
    /// The bits that count.
    mask: u64,
    /// The bits to set before the bytes are compared, so that the case of letters is ignored.
    case: u64,
}

impl Keywords {
    /// Builds the table of a list of literals.
    pub(super) fn new(list: &[Keyword]) -> Self {
        let mut keywords =
            Self { by_hash: vec![0; HASHES], groups: vec![Group::default()], forms: Vec::new() };
        for (number, keyword) in list.iter().enumerate() {
            let mut spellings = keyword.spellings();
            spellings.sort_unstable();
            spellings.dedup();
            for spelling in spellings {
                keywords.add(Form::new(spelling.as_bytes(), keyword.any_case, number));
            }
        }
        keywords
    }

    fn add(&mut self, form: Form) {
        let (begin, own) = (Begin::new(&form.bytes, true), Begin::new(&form.bytes, form.any_case));
        let mut hashes: Vec<usize> = fours(&form.bytes).map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        for hash in hashes {
            let group = &mut self.by_hash[hash];
            if *group == 0 {
                // The last group takes what is too much.
                *group = u16::try_from(self.groups.len()).unwrap_or(u16::MAX);
            }
            let group = usize::from(*group);
            if group == self.groups.len() {
                self.groups.push(Group { begin, forms: Vec::new() });
            }
            let group = &mut self.groups[group];
            group.begin = group.begin.common(begin);
            group.forms.push((own, self.forms.len()));
        }
        self.forms.push(form);
    }

    /// Calls `found` with the index and the position of every literal that begins in a range of a text, in the
    /// order of their starts.
    pub(super) fn find(
        &self,
        text: &str,
        range: Range<usize>,
        mut found: impl FnMut(usize, Range<usize>),
    ) {
        let bytes = text.as_bytes();
        let (mut places, mut padded) = ([0; BLOCK], [0; BLOCK + BEHIND]);
        for start in range.clone().step_by(BLOCK) {
            let rest = &bytes[start..];
            let block = rest.first_chunk().unwrap_or_else(|| {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            for place in self.places(block, range.end - start, &mut places) {
                let (at, eight) = (start + usize::from(*place), eight(block, *place));
                for (begin, form) in &self.group(block, *place).forms {
                    if begin.is_at(eight) && self.forms[*form].ends_at(&bytes[at..]) {
                        let form = &self.forms[*form];
                        found(form.number, at..at + form.bytes.len());
                    }
                }
            }
        }
    }

    /// Returns those of the first `count` positions of a block at which a literal may begin.
    fn places<'p>(
        &self,
        block: &[u8; BLOCK + BEHIND],
        count: usize,
        places: &'p mut [u8; BLOCK],
    ) -> &'p [u8] {
        // An array of known length is indexed without a check.
        let Some(by_hash) = self.by_hash.first_chunk::<HASHES>() else { return &[] };
        let mut hits = 0;
        for place in 0..count.min(BLOCK) {
            let place = place.to_le_bytes()[0];
            places[hits % BLOCK] = place;
            hits += usize::from(by_hash[hash(four(block, place))] != 0);
        }
        let mut kept = 0;
        for hit in 0..hits {
            let place = places[hit % BLOCK];
            places[kept % BLOCK] = place;
            kept += usize::from(self.group(block, place).begin.is_at(eight(block, place)));
        }
        &places[..kept]
    }

    /// Returns the group of the forms that may begin at a position of a block.
    fn group(&self, block: &[u8; BLOCK + BEHIND], place: u8) -> &Group {
        &self.groups[usize::from(self.by_hash[hash(four(block, place))])]
    }
}

impl Keyword {
    /// Returns the spellings to compare. The comparison ignores the case of ASCII letters.
    fn spellings(&self) -> Vec<String> {
        let literal = &self.literal;
        if literal.is_ascii() || !self.any_case {
            return vec![literal.clone()];
        }
        let mut chars = literal.chars();
        let first = chars.next().into_iter().flat_map(char::to_uppercase);
        let capital = first.chain(chars).collect();
        let spellings = [literal.to_lowercase(), literal.to_uppercase(), capital];
        spellings.map(|spelling| spelling.to_ascii_lowercase()).into()
    }
}

impl Form {
    fn new(bytes: &[u8], any_case: bool, number: usize) -> Self {
        let bytes = if any_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
        Self { bytes: bytes.into(), any_case, number }
    }

    /// Returns whether a text, whose first eight bytes match, begins with it.
    fn ends_at(&self, text: &[u8]) -> bool {
        let (own, len) = (&self.bytes[self.bytes.len().min(8)..], self.bytes.len());
        text.get(len - own.len()..len).is_some_and(|text| {
            own.is_empty()
                || if self.any_case { own.eq_ignore_ascii_case(text) } else { *own == *text }
        })
    }
}

impl Begin {
    fn new(bytes: &[u8], any_case: bool) -> Self {
        let each = |of: fn(u8) -> u8| {
            let bytes = bytes.iter().take(8).rev();
            bytes.fold(0, |all, byte| all << 8 | u64::from(of(*byte)))
        };
        let case = each(|byte| 0x20 * u8::from(byte.is_ascii_alphabetic()));
        let case = if any_case { case } else { 0 };
        Self { bytes: each(|byte| byte) | case, mask: each(|_| 0xff), case }
    }

    /// Returns the pattern for what two patterns have in common.
    fn common(self, other: Self) -> Self {
        let differ = self.bytes ^ other.bytes;
        let mask = (0..8).map(|at| 0xff << (8 * at)).filter(|byte| differ & byte == 0).sum::<u64>();
        let mask = mask & self.mask & other.mask;
        Self { bytes: self.bytes & mask, mask, case: self.case & mask }
    }

    fn is_at(self, eight: u64) -> bool {
        (eight | self.case) & self.mask == self.bytes
    }
}

/// Returns the four bytes at a position of a block.
fn four(block: &[u8; BLOCK + BEHIND], place: u8) -> u32 {
    block[usize::from(place)..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

/// Returns the eight bytes at a position of a block.
fn eight(block: &[u8; BLOCK + BEHIND], place: u8) -> u64 {
    block[usize::from(place)..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// Returns the hash of four bytes, regardless of case.
fn hash(four: u32) -> usize {
    ((four & CASELESS).wrapping_mul(0x9E37_79B1) >> (32 - HASHES.ilog2())) as usize
}

/// Returns the four bytes that a literal may begin with, in any case. A literal of fewer bytes may be followed by
/// anything.
fn fours(bytes: &[u8]) -> impl Iterator<Item = u32> + use<> {
    let fixed = bytes.len().min(4);
    let mut four = [0; 4];
    four[..fixed].copy_from_slice(&bytes[..fixed]);
    (0..1u32 << (5 * (4 - fixed))).map(move |rest| {
        let mut four = four;
        for (at, byte) in four[fixed..].iter_mut().enumerate() {
            *byte = (rest >> (5 * at)).to_le_bytes()[0] & 31;
        }
        u32::from_le_bytes(four)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(list: &[(&str, bool)], text: &'t str) -> Vec<(usize, &'t str)> {
        let keyword = |(literal, any_case): &(&str, bool)| Keyword {
            literal: (*literal).into(),
            any_case: *any_case,
        };
        let keywords = Keywords::new(&list.iter().map(keyword).collect::<Vec<_>>());
        let mut found = Vec::new();
        keywords.find(text, 0..text.len(), |n, range| found.push((n, &text[range])));
        found
    }

    #[test]
    fn case_counts_where_it_has_to() {
        let list = [("SK", false), ("token", true), ("şifre", true)];
        assert_eq!(
            found(&list, "sk SK Token é TOKEN Şifre ŞIFRE şifre SK"),
            [
                (0, "SK"),
                (1, "Token"),
                (1, "TOKEN"),
                (2, "Şifre"),
                (2, "ŞIFRE"),
                (2, "şifre"),
                (0, "SK")
            ]
        );
    }

    #[test]
    fn a_literal_is_found_at_every_position() {
        let list = [("ghp_", false), ("key", true), ("pw", true), ("password", true)];
        for (number, (literal, _)) in list.iter().enumerate().filter(|(n, _)| *n != 3) {
            for before in (0..20).chain(BLOCK - 9..BLOCK + 2) {
                for after in 0..12 {
                    let text = format!("{}{literal}{}", ".".repeat(before), "=".repeat(after));
                    assert_eq!(found(&list, &text), [(number, *literal)], "{text}");
                }
            }
        }
    }

    #[test]
    fn short_and_overlapping_literals_are_found() {
        let list = [("@", false), ("ab", false), ("abc", false), ("bcd", false)];
        assert_eq!(found(&list, "abcd@"), [(1, "ab"), (2, "abc"), (3, "bcd"), (0, "@")]);
        assert_eq!(found(&list, "a"), []);
        assert_eq!(found(&list, "ab"), [(1, "ab")]);
    }
}
