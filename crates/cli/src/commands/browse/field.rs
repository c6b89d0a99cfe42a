//! A one-line text field.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthStr;

/// A line of text with a cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct Field {
    text: String,
    /// The position of the cursor in bytes, at the boundary of a character.
    at: usize,
}

impl Field {
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { at: text.len(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the column of the cursor.
    pub(super) fn column(&self) -> usize {
        self.text[..self.at].width()
    }

    /// Inserts text at the cursor, on one line.
    pub(super) fn insert(&mut self, text: &str) {
        let text: String = backstory_core::clean::line(text).into_owned();
        self.text.insert_str(self.at, &text);
        self.at += text.len();
    }

    /// Applies a key; returns whether it belongs to the field, and whether the text changed.
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<bool> {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        let before = self.text.len();
        match key.code {
            KeyCode::Char('a') if has_control => self.at = 0,
            KeyCode::Char('e') if has_control => self.at = self.text.len(),
            KeyCode::Char('u') if has_control => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            KeyCode::Char('w') if has_control => {
                let start = self.word();
                self.text.drain(start..self.at);
                self.at = start;
            }
            KeyCode::Char(_) if has_control => return None,
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                let start = self.previous();
                self.text.drain(start..self.at);
                self.at = start;
            }
            KeyCode::Delete => {
                let end = self.next();
                self.text.drain(self.at..end);
            }
            KeyCode::Left => self.at = self.previous(),
            KeyCode::Right => self.at = self.next(),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => return None,
        }
        Some(self.text.len() != before)
    }

    fn previous(&self) -> usize {
        self.text[..self.at].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        self.text[self.at..].chars().next().map_or(self.at, |c| self.at + c.len_utf8())
    }

    /// Returns the start of the word before the cursor.
    fn word(&self) -> usize {
        let before = self.text[..self.at].trim_end();
        before.rfind(' ').map_or(0, |space| space + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(field: &mut Field, code: KeyCode, modifiers: KeyModifiers) {
        field.key(KeyEvent::new(code, modifiers));
    }

    #[test]
    fn letters_are_edited_one_by_one() {
        let mut field = Field::default();
        field.insert("tide\nféed");
        assert_eq!((field.text(), field.column()), ("tide féed", 9));
        press(&mut field, KeyCode::Left, KeyModifiers::NONE);
        press(&mut field, KeyCode::Left, KeyModifiers::NONE);
        press(&mut field, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(field.text(), "tide fed");
        press(&mut field, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(field.text(), "tide ed");
        press(&mut field, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!((field.text(), field.column()), ("ed", 0));
        press(&mut field, KeyCode::Delete, KeyModifiers::NONE);
        press(&mut field, KeyCode::End, KeyModifiers::NONE);
        press(&mut field, KeyCode::Char('日'), KeyModifiers::NONE);
        assert_eq!((field.text(), field.column()), ("d日", 3));
    }
}
