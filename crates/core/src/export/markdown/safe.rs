//! Embeds other people's Markdown in ours so that it renders as intended and cannot affect anything
//! else.
//!
//! A reply may leave a fence open, close the `<details>` it is folded into, load a remote image or
//! hide a script behind a link. Where the parser finds such a construct, it is escaped, and the
//! result is parsed again, because an escape can change the meaning of what follows.

use std::io::{self, Write};
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag};

use crate::clean;
use crate::export::document::Lines;
use crate::export::link;

/// Real text needs one or two rounds. Text that needs more was made to, and is shown verbatim.
const ROUNDS: usize = 6;

/// The levels of our own headings; those of a message go below them.
const OURS: usize = 2;

/// Returns Markdown that cannot affect its surroundings.
pub(super) fn markdown(text: &str, lines: Lines) -> String {
    let clean = clean::block(text.trim_end());
    let mut text = clean.trim_start_matches('\n').to_owned();
    for _ in 0..ROUNDS {
        let Edits { offences, refinements } = look(&text, lines);
        if offences.is_empty() {
            return if refinements.is_empty() { text } else { apply(&text, refinements) };
        }
        text = apply(&text, offences);
    }
    fenced(&clean, "")
}

/// Returns any text verbatim in a fence that no line of it can close.
pub(super) fn fenced(text: &str, language: &str) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_fenced(text, language, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a fenced text like [`fenced`], without copying it, because it may be long.
pub(super) fn write_fenced(text: &str, language: &str, out: &mut dyn Write) -> io::Result<()> {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    writeln!(out, "{fence}{language}")?;
    out.write_all(text.as_bytes())?;
    writeln!(out, "{end}{fence}")
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run, mut last) = (0, 0, None);
    for at in memchr::memchr_iter(b'`', text.as_bytes()) {
        run = if at.checked_sub(1) == last && last.is_some() { run + 1 } else { 1 };
        longest = longest.max(run);
        last = Some(at);
    }
    longest
}

/// Escapes text to one line without any meaning in Markdown.
pub(in crate::export) fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in clean::line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '>' | '|' | '~' | '!' | '$' => {
                out.push('\\');
                out.push(c);
            }
            // These only have a meaning at the beginning of a line.
            '#' | '-' | '+' | '=' if out.is_empty() => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Replaces a range of the text.
struct Edit {
    at: Range<usize>,
    text: String,
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.at.start);
    let mut out = String::with_capacity(text.len() + 8 * edits.len());
    let mut done = 0;
    for edit in edits {
        // Of two findings at one place, the first is enough for this round.
        if edit.at.start < done {
            continue;
        }
        out.push_str(&text[done..edit.at.start]);
        out.push_str(&edit.text);
        done = edit.at.end;
    }
    out.push_str(&text[done..]);
    out
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Edits that are necessary, and edits that only improve the result.
#[derive(Default)]
struct Edits {
    offences: Vec<Edit>,
    refinements: Vec<Edit>,
}

fn look(text: &str, lines: Lines) -> Edits {
    let mut edits = Edits::default();
    let out = &mut edits.offences;
    let mut depth = 0;
    let parser = Parser::new_ext(text, options());
    for (_, definition) in parser.reference_definitions().iter() {
        // Definitions apply to the whole document, including the messages around this one.
        if !link::is_harmless(&definition.dest) {
            out.push(escape(definition.span.start));
        }
    }
    for (event, at) in parser.into_offset_iter() {
        match &event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let tags = text[at.clone()].match_indices('<');
                out.extend(tags.map(|(n, _)| entity(at.start + n)));
            }
            Event::Start(Tag::Link { link_type, dest_url, .. })
                if *link_type != LinkType::Email && !link::is_harmless(dest_url) =>
            {
                let is_angle = text.as_bytes().get(at.start) == Some(&b'<');
                out.push(if is_angle { entity(at.start) } else { escape(at.start) });
            }
            // The image becomes a link to it, so that nothing is loaded until somebody wants it.
            Event::Start(Tag::Image { .. }) => out.push(escape(at.start)),
            // Within a list or quotation, the block ends with it.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if depth == 0 => {
                if let Some(fence) = missing_end(&text[at.clone()]) {
                    out.push(Edit { at: text.len()..text.len(), text: format!("\n{fence}") });
                }
            }
            Event::Start(Tag::Heading { level, .. }) => {
                edits.refinements.extend(lowered(text, at, *level as usize));
            }
            Event::SoftBreak if lines == Lines::Kept => {
                edits.refinements.push(escape(at.start));
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    edits
}

/// Moves a heading below ours. A line of `=` or `-` also makes a heading of the text above it; that
/// stays text.
fn lowered(text: &str, at: Range<usize>, level: usize) -> Option<Edit> {
    let block = &text[at.clone()];
    if block.starts_with('#') {
        let more = OURS.min(HeadingLevel::H6 as usize - level);
        return Some(Edit { at: at.start..at.start, text: "#".repeat(more) });
    }
    let under = at.start + block.trim_end().rfind('\n')? + 1;
    let mark = text[under..at.end].find(['=', '-'])?;
    Some(escape(under + mark))
}

fn escape(at: usize) -> Edit {
    Edit { at: at..at, text: "\\".to_owned() }
}

fn entity(at: usize) -> Edit {
    Edit { at: at..at + 1, text: "&lt;".to_owned() }
}

/// Returns the fence that closes a code block, if it is not closed.
fn missing_end(block: &str) -> Option<String> {
    let opening = block.trim_start();
    let mark = opening.chars().next()?;
    let length = opening.chars().take_while(|c| *c == mark).count();
    let last = block.trim_end_matches('\n').split_once('\n').map(|(_, rest)| rest);
    let last = last.and_then(|rest| rest.lines().next_back());
    let ends = |line: &str| {
        let inner = line.trim_start_matches(' ');
        let indented = line.len() - inner.len() > 3;
        let inner = inner.trim_end();
        !indented && inner.chars().count() >= length && inner.chars().all(|c| c == mark)
    };
    if last.is_some_and(ends) { None } else { Some(mark.to_string().repeat(length)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn safe(text: &str) -> String {
        markdown(text, Lines::Joined)
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "Plain words, `code <b>`, **bold**, a < b && c > d.",
            "- a list\n  with lines\n- [x] done\n\n1. one\n2. two",
            "```rust\nlet a: Vec<u8> = vec![];\n```",
            "| a | b |\n| --- | --- |\n| <https://example.org> | [x](http://e.org/?q=1) |",
            "see [the source](src/main.rs) or me@example.org, <me@example.org>",
            "~~~\n<script>\n~~~",
        ] {
            assert_eq!(safe(text), text);
        }
    }

    #[test]
    fn tags_are_words() {
        assert_eq!(safe("a <b onclick=x>b</b>"), "a &lt;b onclick=x>b&lt;/b>");
        assert_eq!(safe("</details>\n\n</details>"), "&lt;/details>\n\n&lt;/details>");
        assert_eq!(safe("<!-- no end"), "&lt;!-- no end");
        // A comment hid the fence, which then would hide everything that follows.
        assert_eq!(safe("<!--\n```\n-->"), "&lt;!--\n```\n-->\n```");
    }

    #[test]
    fn links_and_pictures() {
        assert_eq!(safe("[x](javascript:alert(1))"), "\\[x](javascript:alert(1))");
        assert_eq!(safe("[x](java&#115;cript:a)"), "\\[x](java&#115;cript:a)");
        assert_eq!(safe("<javascript:alert(1)>"), "&lt;javascript:alert(1)>");
        assert_eq!(safe("[x][y]\n\n[y]: data:text/html,x"), "\\[x][y]\n\n\\[y]: data:text/html,x");
        assert_eq!(safe("![p](http://e.org/p.png)"), "\\![p](http://e.org/p.png)");
        assert_eq!(safe("![p](javascript:x)"), "\\!\\[p](javascript:x)");
    }

    #[test]
    fn what_is_open_is_closed() {
        assert_eq!(safe("```\ncode"), "```\ncode\n```");
        assert_eq!(safe("~~~~js\ncode\n~~~"), "~~~~js\ncode\n~~~\n~~~~");
        assert_eq!(safe("```"), "```\n```");
        assert_eq!(safe("```\ncode\n    ```"), "```\ncode\n    ```\n```");
        assert_eq!(safe("- ```\n  code"), "- ```\n  code");
    }

    #[test]
    fn headings_stand_below_ours() {
        assert_eq!(safe("# a\n\n##### b"), "### a\n\n###### b");
        assert_eq!(safe("You\n==="), "You\n\\===");
        assert_eq!(markdown("a\nb\n\nc", Lines::Kept), "a\\\nb\n\nc");
    }

    #[test]
    fn one_line_without_meaning() {
        assert_eq!(inline("a*b* <x> [l](u) #1\n`c`"), r"a\*b\* &lt;x\> \[l\](u) #1 \`c\`");
        assert_eq!(inline("# a-b"), r"\# a-b");
    }

    /// Text that tries to escape, made of pieces that might let it.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "```",
            "~~~",
            "````",
            "\n",
            "\n\n",
            "<",
            ">",
            "</details>",
            "<details>",
            "<script>",
            "<!--",
            "-->",
            "[a]",
            "(javascript:x)",
            "]: data:x",
            "![",
            "](",
            ")",
            "`",
            "    ",
            "- ",
            "> ",
            "# ",
            "\\",
            "&lt;",
            "<![CDATA[",
            "]]>",
            "<?",
            "x",
            "|",
            "===",
            "\t",
            "1. ",
            "<a@b.c>",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_gets_out(text in hostile(), kept: bool) {
            let safe = markdown(&text, if kept { Lines::Kept } else { Lines::Joined });
            // Folded, and followed by our own words, as in a document.
            let whole = format!("<details>\n\n{safe}\n\n</details>\n\nOURS\n");
            let mut tags = Vec::new();
            let mut last = String::new();
            let mut depth = 0;
            for event in Parser::new_ext(&whole, options()) {
                match event {
                    Event::Html(tag) | Event::InlineHtml(tag) => tags.push(tag.trim().to_owned()),
                    Event::Start(Tag::Link { dest_url, link_type, .. }) => {
                        prop_assert!(link_type == LinkType::Email || link::is_harmless(&dest_url));
                        depth += 1;
                    }
                    Event::Start(Tag::Image { .. }) => prop_assert!(false, "a picture in {safe:?}"),
                    Event::Start(Tag::Paragraph) if depth == 0 => {
                        last.clear();
                        depth += 1;
                    }
                    Event::Start(_) => depth += 1,
                    Event::End(_) => depth -= 1,
                    Event::Text(text) => last.push_str(&text),
                    _ => {}
                }
            }
            prop_assert_eq!(tags, ["<details>", "</details>"], "{}", safe);
            prop_assert_eq!(last, "OURS", "{}", safe);
        }

        #[test]
        fn no_line_ends_the_fence(text in "[`~a\n ]{0,60}") {
            let whole = format!("{}\nOURS\n", fenced(&text, "text"));
            let mut events = Parser::new_ext(&whole, options());
            let first = events.next();
            let is_code = matches!(&first, Some(Event::Start(Tag::CodeBlock(_))));
            prop_assert!(is_code, "{:?}", first);
            let inside: String = events
                .by_ref()
                .map_while(|event| match event {
                    Event::Text(text) => Some(text.to_string()),
                    _ => None,
                })
                .collect();
            prop_assert_eq!(inside.trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
    }
}
