//! Renders Markdown for a terminal: styles headings, lists, tables and code, and wraps words.

use anstyle::Style;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use super::text::{Piece, wrap};
use super::{Line, clean, grid, style};

/// Renders `text` in lines of at most `width`, each preceded by `margin`.
pub(crate) fn render(text: &str, width: usize, margin: &str) -> Vec<Line> {
    let clean = clean::block(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let room = width.saturating_sub(margin.width()).max(20);
    let mut renderer = Renderer { room, margin: margin.to_owned(), ..Renderer::default() };
    for event in Parser::new_ext(&clean, options) {
        renderer.event(event);
    }
    renderer.break_line();
    while renderer.lines.last().is_some_and(Line::is_blank) {
        renderer.lines.pop();
    }
    renderer.lines
}

#[derive(Default)]
struct Renderer {
    lines: Vec<Line>,
    room: usize,
    margin: String,
    /// The words of the current line with their styles.
    words: Vec<Piece>,
    styles: Vec<Style>,
    /// The next number of each enclosing list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The marker before the first line of an item.
    bullet: Option<String>,
    quotes: usize,
    code: Option<String>,
    table: Option<(Vec<Vec<String>>, usize)>,
    link: Option<String>,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, Style::new()),
            Event::Code(code) => self.text(&code, style::CODE),
            // Raw HTML is shown as text.
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html, style::DIM),
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.gap();
                self.push_line(vec![(style::DIM, "─".repeat(self.room.min(40)))]);
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }, Style::new()),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let big = matches!(level, HeadingLevel::H1 | HeadingLevel::H2);
                self.styles.push(if big { style::HEADING.underline() } else { style::HEADING });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                if !language.is_empty() {
                    self.push_line(vec![(style::DIM, format!("  {language}"))]);
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                }
                self.break_line();
                self.lists.push(first);
            }
            Tag::Item => {
                self.break_line();
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                });
            }
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(Style::new().bold()),
            Tag::Strikethrough => self.styles.push(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.styles.push(style::NAME);
                self.link = Some(dest_url.into_string());
            }
            Tag::Table(columns) => {
                self.gap();
                self.table = Some((Vec::new(), columns.len()));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some((rows, _)) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|(rows, _)| rows.last_mut()) {
                    row.push(String::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item => self.break_line(),
            TagEnd::Heading(_) => {
                self.break_line();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.break_line();
                self.quotes -= 1;
            }
            TagEnd::CodeBlock => {
                for line in self.code.take().unwrap_or_default().lines() {
                    self.push_line(vec![(style::CODE, format!("  {line}"))]);
                }
            }
            TagEnd::List(_) => {
                self.break_line();
                self.lists.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                let shown: String = self.words.iter().map(|(_, word)| word.as_str()).collect();
                if let Some(link) = self.link.take().filter(|link| !shown.ends_with(link.as_str()))
                {
                    self.text(&format!(" ({link})"), style::DIM);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, own: Style) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
        } else if let Some((rows, _)) = &mut self.table {
            if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                cell.push_str(text);
            }
        } else {
            let style = self.styles.iter().fold(own, |sum, style| combine(sum, *style));
            self.words.push((style, text.to_owned()));
        }
    }

    fn end_table(&mut self) {
        let Some((mut rows, columns)) = self.table.take() else { return };
        for row in &mut rows {
            row.resize(columns, String::new());
        }
        for line in grid::lines(&rows, self.room) {
            self.lines.push(Line::new().text(&self.margin).append(line));
        }
    }

    /// Adds an empty line before a new block, except at the beginning and inside a list.
    fn gap(&mut self) {
        self.break_line();
        let after_text = self.lines.last().is_some_and(|line| !line.is_blank());
        if after_text && self.lists.is_empty() {
            self.lines.push(Line::new());
        }
    }

    /// Ends the current line and wraps it.
    fn break_line(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(self.room / 4));
        let bullet = self.bullet.take();
        let first = format!("{indent}{}", bullet.as_deref().unwrap_or_default());
        let hang = match (&bullet, self.lists.is_empty()) {
            (Some(bullet), _) => indent.width() + bullet.width(),
            (None, false) => indent.width() + 2,
            (None, true) => 0,
        };
        let first = if bullet.is_some() { first } else { " ".repeat(hang) };
        let room = self.room.saturating_sub(hang + self.quotes * 2).max(10);
        for (n, mut line) in wrap(&words, room, room).into_iter().enumerate() {
            let start = if n == 0 { first.clone() } else { " ".repeat(hang) };
            line.insert(0, (Style::new(), start));
            self.push_line(line);
        }
    }

    fn push_line(&mut self, pieces: Vec<Piece>) {
        let hang = format!("{}{}", self.margin, "│ ".repeat(self.quotes));
        let mut line = Line::new().text(&self.margin).hang(hang);
        for _ in 0..self.quotes {
            line = line.styled(style::DIM, "│ ");
        }
        for (style, text) in pieces {
            line = line.styled(style, text);
        }
        self.lines.push(line);
    }
}

/// Combines both styles, with the colour of the second.
fn combine(first: Style, second: Style) -> Style {
    let color = second.get_fg_color().or(first.get_fg_color());
    Style::new().effects(first.get_effects() | second.get_effects()).fg_color(color)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, width: usize) -> Vec<String> {
        let lines = render(text, width, "");
        lines.iter().map(|l| anstream::adapter::strip_str(&l.render()).to_string()).collect()
    }

    #[test]
    fn blocks_of_every_kind() {
        let text = "# Title\n\nSome *words* and `code` that wrap here.\n\n- one\n- two\n  1. deep\n\n> said\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        insta::assert_snapshot!(plain(text, 24).join("\n"), @r"
        Title

        Some words and code that
        wrap here.

        • one
        • two
          1. deep

        │ said

          rust
          fn main() {}

          a  b
          1  2
        ");
    }

    #[test]
    fn no_word_of_a_table_is_lost() {
        let text = "| field | meaning |\n|---|---|\n| pool | the sockets that are open, however many |\n| 日本 | x |\n";
        insta::assert_snapshot!(plain(text, 32).join("\n"), @r"
          field  meaning

          pool   the sockets that are
                 open, however many

          日本   x
        ");
        let wide = format!("|{}\n|{}\n|{}\n", "a|".repeat(9), "-|".repeat(9), "b|".repeat(9));
        let lines = plain(&wide, 24);
        assert_eq!((lines.len(), lines[0].as_str()), (9, "  a: b"));
    }

    #[test]
    fn wide_letters_and_hostile_text() {
        assert_eq!(plain("日本語 日本語 日本語", 20), ["日本語 日本語 日本語"]);
        assert_eq!(plain("a\x1b[31mb", 40), ["a[31mb"]);
        assert_eq!(plain("<script>x</script>", 40), ["<script>x</script>"]);
        assert!(plain("", 40).is_empty());
    }
}
