//! Renders the Markdown of a message as inert HTML.

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

use super::code::highlighted;
use crate::clean;
use crate::export::document::Lines;
use crate::export::escape;
use crate::export::link;

pub(super) fn render(text: &str, lines: Lines) -> String {
    let clean = clean::block(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // Whether each enclosing link is written as a link.
    let mut links: Vec<bool> = Vec::new();
    // The language of the enclosing block of code.
    let mut language: Option<String> = None;
    let events = Parser::new_ext(&clean, options).filter_map(|event| {
        Some(match event {
            // Tags are treated as text; a block of them is code that was not marked as such.
            Event::Html(tag) | Event::InlineHtml(tag) => Event::Text(tag),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::CodeBlock),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let name = info.split([' ', ',', '{']).next().unwrap_or_default();
                language = Some(name.to_owned());
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info)))
            }
            Event::End(TagEnd::CodeBlock) => {
                language = None;
                Event::End(TagEnd::CodeBlock)
            }
            Event::Text(text) => match &language {
                Some(language) => Event::Html(highlighted(&text, language).into_owned().into()),
                None => Event::Text(text),
            },
            Event::SoftBreak if lines == Lines::Kept => Event::HardBreak,
            // The page and its messages use the levels above these.
            Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
                level: below(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            }),
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let to = if link_type == LinkType::Email {
                    format!("mailto:{dest_url}").into()
                } else {
                    dest_url
                };
                links.push(link::is_web(&to));
                anchor(&to)
            }
            // A page that loads images reveals that it is being read.
            Event::Start(Tag::Image { dest_url, .. }) => {
                links.push(link::is_web(&dest_url));
                anchor(&dest_url)
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let is_link = links.pop()?;
                Event::InlineHtml(if is_link { "</a>" } else { "</span>" }.into())
            }
            Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
            Event::InlineMath(text) | Event::DisplayMath(text) => Event::Text(text),
            event => event,
        })
    });
    let mut out = String::with_capacity(clean.len() * 3 / 2);
    html::push_html(&mut out, events);
    // Code may be wider than the page, and scrolling it must not need a mouse.
    out.replace("<pre><code", "<pre tabindex=\"0\"><code")
}

/// Returns the beginning of a link. A link that does not lead to the web only shows its target.
fn anchor<'a>(to: &str) -> Event<'a> {
    let shown = escape::html(to);
    let tag: CowStr<'a> = if link::is_web(to) {
        format!("<a href=\"{shown}\">").into()
    } else {
        format!("<span title=\"{shown}\">").into()
    };
    Event::InlineHtml(tag)
}

fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(text: &str) -> String {
        render(text, Lines::Joined)
    }

    #[test]
    fn what_is_meant_is_shown() {
        assert_eq!(html("# A *b*\n\nc"), "<h3>A <em>b</em></h3>\n<p>c</p>\n");
        assert_eq!(
            html("[x](https://e.org/?a=1&b=2)"),
            "<p><a href=\"https://e.org/?a=1&amp;b=2\">x</a></p>\n"
        );
        assert_eq!(html("<me@e.org>"), "<p><a href=\"mailto:me@e.org\">me@e.org</a></p>\n");
        assert_eq!(render("a\nb", Lines::Kept), "<p>a<br />\nb</p>\n");
        assert_eq!(
            html("```rust\na<b\n```"),
            "<pre tabindex=\"0\"><code class=\"language-rust\">a&lt;b\n</code></pre>\n"
        );
    }

    #[test]
    fn nothing_runs() {
        assert_eq!(
            html("<script>alert(1)</script>"),
            "<pre tabindex=\"0\"><code>&lt;script&gt;alert(1)&lt;/script&gt;</code></pre>\n"
        );
        assert_eq!(html("a <b onclick=x>"), "<p>a &lt;b onclick=x&gt;</p>\n");
        assert_eq!(
            html("[x](javascript:alert(1))"),
            "<p><span title=\"javascript:alert(1)\">x</span></p>\n"
        );
        assert_eq!(html("[x](java\\\nscript:a)"), "<p>[x](java<br />\nscript:a)</p>\n");
        assert_eq!(
            html("[x](data:text/html,y)"),
            "<p><span title=\"data:text/html,y\">x</span></p>\n"
        );
        assert_eq!(
            html("![x](http://e.org/p.png \"t\")"),
            "<p><a href=\"http://e.org/p.png\">x</a></p>\n"
        );
        assert_eq!(
            html("```\"onload=x\n```"),
            "<pre tabindex=\"0\"><code class=\"language-&quot;onload=x\"></code></pre>\n"
        );
    }

    /// The allowed tags, each as far as it is fixed.
    const KNOWN: [&str; 32] = [
        "p>",
        "em>",
        "strong>",
        "del>",
        "code",
        "pre>",
        "pre tabindex=\"0\">",
        "ul>",
        "ol",
        "li>",
        "blockquote>",
        "h3>",
        "h4>",
        "h5>",
        "h6>",
        "br />",
        "hr />",
        "table>",
        "thead>",
        "tbody>",
        "tr>",
        "th",
        "td",
        "a href=\"http",
        "a href=\"mailto:",
        "a>",
        "span title=\"",
        "span class=\"hl-",
        "span>",
        "input ",
        "hr>",
        "br>",
    ];

    proptest! {
        #[test]
        fn only_known_tags(pieces in prop::collection::vec(prop::sample::select(vec![
            "<script>", "</p>", "<a href=javascript:x>", "[a](", ")", "javascript:x", "http://e.org", "\"", "'",
            "<", ">", "![", "](", "\n", "\n\n", "```", "`", "# ", "- ", "> ", "|a|\n|-|\n", "&lt;", "<!--", "onerror=x",
            "[^1]", "<svg/onload=x>", "\\", "    ", "<x@y.z>", "<http://e.org/\">", "[r]", "[r]: data:x\n",
        ]), 0..20)) {
            let html = html(&pieces.concat());
            for (at, _) in html.match_indices('<') {
                let tag = html[at + 1..].trim_start_matches('/');
                prop_assert!(KNOWN.iter().any(|known| tag.starts_with(known)), "{}", &html[at..]);
            }
        }
    }
}
