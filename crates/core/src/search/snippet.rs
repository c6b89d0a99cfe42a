//! Extracts a short part of a long text, with the matches marked.

use std::ops::Range;

/// The number of characters around a match.
const AROUND: usize = 60;
const LONGEST_SNIPPET: usize = 240;

/// A piece of a snippet, and whether it is a match.
pub type Bit = (String, bool);

/// Returns the part of the text with the most matches, with `…` where text was left out.
pub fn snippet(text: &str, marks: &[Range<usize>]) -> Vec<Bit> {
    let window = window(text, marks);
    let mut out: Vec<Bit> = Vec::new();
    let mut push = |part: &str, found: bool| {
        let part = one_line(part);
        match out.last_mut() {
            Some((last, was)) if *was == found => last.push_str(&part),
            _ if part.is_empty() => {}
            _ => out.push((part, found)),
        }
    };
    if window.start > 0 {
        push("…", false);
    }
    let mut at = window.start;
    for mark in marks.iter().filter(|mark| mark.start < window.end && mark.end > window.start) {
        let (start, end) = (mark.start.max(at), mark.end.min(window.end));
        push(&text[at..start], false);
        push(&text[start..end], true);
        at = end;
    }
    push(&text[at..window.end], false);
    if window.end < text.len() {
        push("…", false);
    }
    out
}

/// Returns the range from before the first match of the densest stretch to after its last.
fn window(text: &str, marks: &[Range<usize>]) -> Range<usize> {
    let Some(first) = marks.first() else {
        return 0..forward(text, 0, 2 * AROUND);
    };
    let mut best = (0, first.clone());
    let mut last = 0;
    for (n, mark) in marks.iter().enumerate() {
        last = last.max(n);
        while marks
            .get(last + 1)
            .is_some_and(|next| next.end - mark.start <= LONGEST_SNIPPET - 2 * AROUND)
        {
            last += 1;
        }
        if last - n + 1 > best.0 {
            best = (last - n + 1, mark.start..marks[last].end);
        }
    }
    let Range { start, end } = best.1;
    let end = end.min(forward(text, start, LONGEST_SNIPPET));
    back(text, start, AROUND)..forward(text, end, AROUND)
}

/// Moves `count` characters forward, or to the end of a word nearby.
fn forward(text: &str, at: usize, count: usize) -> usize {
    let rest = &text[at..];
    let end = rest.char_indices().nth(count).map_or(rest.len(), |(at, _)| at);
    let cut = if end < rest.len() { rest[..end].rfind(char::is_whitespace) } else { None };
    at + cut.filter(|cut| end - cut < 20).unwrap_or(end)
}

fn back(text: &str, at: usize, count: usize) -> usize {
    let before = &text[..at];
    let start = before.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    if start == 0 {
        return 0;
    }
    let space = before[start..].char_indices().find(|(_, c)| c.is_whitespace());
    let word = space.map(|(at, c)| start + at + c.len_utf8());
    word.filter(|word| word - start < 20).unwrap_or(start)
}

/// Collapses white space, so that a snippet is one line.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_whitespace() { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, marks: &[Range<usize>]) -> String {
        let bits = snippet(text, marks);
        bits.into_iter()
            .map(|(text, found)| if found { format!("[{text}]") } else { text })
            .collect()
    }

    fn one(mark: Range<usize>) -> Vec<Range<usize>> {
        std::iter::once(mark).collect()
    }

    #[test]
    fn short_texts_are_whole() {
        assert_eq!(shown("add a cart\n\tnow", &one(6..10)), "add a [cart] now");
        assert_eq!(shown("cart", &one(0..4)), "[cart]");
        assert_eq!(shown("", &[]), "");
        assert_eq!(shown("nothing marked", &[]), "nothing marked");
    }

    #[test]
    fn long_texts_are_cut_at_words() {
        let text = format!("{}the cart is here {}", "word ".repeat(100), "more ".repeat(100));
        let at = text.find("cart").unwrap();
        let got = shown(&text, &one(at..at + 4));
        assert!(
            got.starts_with("…word")
                && got.contains(" the [cart] is here more")
                && got.ends_with("more…"),
            "{got}"
        );
        assert!(got.chars().count() < 150, "{got}");
    }

    #[test]
    fn the_densest_stretch_is_chosen() {
        let text = format!("one {}two three", "x ".repeat(300));
        let two = text.find("two").unwrap();
        let got = shown(&text, &[0..3, two..two + 3, two + 4..two + 9]);
        assert!(got.ends_with("[two] [three]"), "{got}");
    }

    proptest! {
        /// No character is split, and nothing beyond the matches is marked.
        #[test]
        fn any_text(text in "\\PC{0,400}", places in proptest::collection::vec((0_usize..400, 1_usize..300), 0..6)) {
            let mut marks: Vec<Range<usize>> = Vec::new();
            let mut places = places;
            places.sort_unstable();
            for (start, length) in places {
                let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                let start = boundary(start.max(marks.last().map_or(0, |mark| mark.end + 4)));
                let end = boundary(start + length);
                if start < end && marks.last().is_none_or(|mark| mark.end < start) {
                    marks.push(start..end);
                }
            }
            let bits = snippet(&text, &marks);
            prop_assert!(marks.is_empty() || bits.iter().any(|(text, found)| *found && !text.is_empty()));
            let length: usize = bits.iter().map(|(text, _)| text.chars().count()).sum();
            prop_assert!(length <= LONGEST_SNIPPET + 2 * AROUND + 2);
        }
    }
}
